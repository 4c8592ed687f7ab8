"""Data sets and batches."""

from __future__ import annotations

import math
import random
from typing import Any, Callable, Iterator, Sequence

import numpy

from ...nn import ops


class Dataset:
    """Examples by index. Subclasses implement __getitem__ and __len__."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")


class TensorDataset(Dataset):
    """A data set of the slices of Tensors with equal first extents."""

    def __init__(self, *tensors: Any) -> None:
        self.tensors = tensors

    def __getitem__(self, index: int) -> Any:
        return tuple(part[index] for part in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


def default_collate(batch: Sequence[Any]) -> Any:
    """Combines examples into a batch: stacks Tensors, arrays and numbers, also in structures."""
    first = batch[0]
    if isinstance(first, dict):
        return {key: default_collate([part[key] for part in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        return [default_collate(parts) for parts in zip(*batch)]
    if isinstance(first, str):
        return list(batch)
    if isinstance(first, (bool, int)):
        return ops.tensor(list(batch))
    if isinstance(first, float):
        return ops.tensor(numpy.array(batch))
    return ops.stack([ops.as_tensor(part) for part in batch])


class DataLoader:
    """Batches of a data set, loaded on the calling thread."""

    def __init__(
        self, dataset: Any, batch_size: int = 1, shuffle: bool = False,
        collate_fn: Callable[[Any], Any] | None = None, drop_last: bool = False, num_workers: int = 0, **_: Any,
    ) -> None:  # fmt: skip
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.collate_fn = default_collate if collate_fn is None else collate_fn

    def __len__(self) -> int:
        count = len(self.dataset) / self.batch_size
        return math.floor(count) if self.drop_last else math.ceil(count)

    def __iter__(self) -> Iterator[Any]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            random.shuffle(order)
        for i in range(len(self)):
            places = order[i * self.batch_size : (i + 1) * self.batch_size]
            yield self.collate_fn([self.dataset[place] for place in places])
