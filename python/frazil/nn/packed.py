"""Sequences of different lengths, as in torch.nn.utils.rnn."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

import numpy

from ..effects import NeedsValues
from ..errors import BadInput
from ..graph import Term, Value
from . import ops
from .creation import tensor, term_of
from .recording import TERMS

__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "unpad_sequence",
]  # fmt: skip


class Padded(NamedTuple):
    """Sequences in one Term [length, batch, ...], and their lengths. `sorted` is () if they are sorted by length."""

    values: Any
    lengths: Any
    sorted: tuple[()] | None


class _Packed(NamedTuple):
    padded: Padded


class PackedSequence(_Packed):
    """Sequences of different lengths without padding.

    They are stored with padding, the form that recurrent layers take. `data`, `batch_sizes` and the orders are computed
    on access.
    """

    __slots__ = ()

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if isinstance(data, Padded):
            return super().__new__(cls, data)
        sizes = batch_sizes.tolist()
        lengths = tensor([sum(size > i for size in sizes) for i in range(sizes[0])])
        if unsorted_indices is not None:
            lengths = ops.index_select(lengths, 0, unsorted_indices)
        empty = Padded(ops.zeros(len(sizes), sizes[0]), lengths, () if sorted_indices is None else None)
        return super().__new__(cls, empty)._with_data(data)

    def _order(self) -> Any:
        return ops.argsort(self.padded.lengths, descending=True)

    @property
    def sorted_indices(self) -> Any:
        """The order by length, longest first; None for sequences that are sorted."""
        return self._order() if self.padded.sorted is None else None

    @property
    def unsorted_indices(self) -> Any:
        """The inverse of sorted_indices."""
        return ops.argsort(self._order()) if self.padded.sorted is None else None

    @property
    def batch_sizes(self) -> Any:
        """The number of sequences that are longer than each index."""
        return ops.sum(_mask(self.padded), 1)

    @property
    def data(self) -> Any:
        """The elements of all sequences: for each index, those of the longer sequences, longest first."""
        order = self._order()
        values = ops.index_select(self.padded.values, 1, order)
        mask = ops.index_select(_mask(self.padded), 1, order)
        return ops.flatten(values, 0, 1).graph.Compress(ops.flatten(values, 0, 1), ops.reshape(mask, -1), axis=0)

    def _with_data(self, data: Any) -> PackedSequence:
        """Returns the sequences with other elements, in the form of `data`."""
        mask, order = _mask(self.padded), self._order()
        ranks = ops.argsort(order)
        flat = ops.reshape(ops.index_select(mask, 1, order), -1)
        at = ops.clamp(ops.sub(ops.cumsum(ops.cast(flat, "int64"), 0), 1), min=0)
        rows = ops.unflatten(ops.index_select(data, 0, at), 0, ops.size(mask))
        return self.with_values(ops.index_select(rows, 1, ranks))

    def with_values(self, values: Any) -> PackedSequence:
        """Returns the sequences with other elements, in padded form."""
        return PackedSequence(self.padded._replace(values=values))

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Casts as Tensor.to()."""
        return self.with_values(self.padded.values.to(*args, **kwargs))


def _mask(padded: Padded) -> Any:
    """Returns which elements belong to sequences, [length, batch]."""
    length = ops.max(padded.lengths)
    places = ops.arange(length)
    return ops.lt(ops.unsqueeze(places, 1), ops.unsqueeze(padded.lengths, 0))


def _length_first(x: Any, batch_first: bool) -> Any:
    return ops.transpose(x, 0, 1) if batch_first else x


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs sequences of these lengths, [length, batch, ...], or [batch, length, ...] with batch_first."""
    found = lengths if isinstance(lengths, TERMS) else term_of(input, numpy.asarray(lengths, numpy.int64))
    found = ops.cast(found, "int64")
    if enforce_sorted:
        _check_sorted(found)
    values = _length_first(input, batch_first)
    return PackedSequence(Padded(ops.narrow(values, 0, 0, ops.max(found)), found, () if enforce_sorted else None))


def _check_sorted(lengths: Any) -> None:
    try:
        known = lengths.tolist()
    except NeedsValues:
        return  # a recorded graph computes the same results for any order
    if known != sorted(known, reverse=True):
        raise BadInput("pack_padded_sequence(): sort sequences by decreasing length, or pass enforce_sorted=False")


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Returns the sequences padded at their ends, and their lengths."""
    values, lengths, _ = sequence.padded
    mask = _mask(sequence.padded)
    for _ in range(values.ndim - 2):
        mask = ops.unsqueeze(mask, -1)
    made = ops.where(mask, values, ops.filled(values, (), padding_value))
    if total_length is not None:
        made = _padded(made, total_length - ops.extent(made, 0), padding_value)
    return _length_first(made, batch_first), lengths


def pad_sequence(sequences: Sequence[Any], batch_first: bool = False, padding_value: float = 0.0) -> Any:
    """Combines Terms of different lengths into one, padded at their ends."""
    terms = [part if isinstance(part, TERMS) else tensor(part) for part in sequences]
    lengths = [ops.extent(term, 0) for term in terms]
    most: Any = lengths[0]
    for length in lengths[1:]:
        most = max(most, length) if isinstance(most, int) and isinstance(length, int) else ops.maximum(most, length)
    rows = [_padded(term, most - length, padding_value) for term, length in zip(terms, lengths)]
    return ops.stack(rows, 0 if batch_first else 1)


def _padded(term: Any, count: Any, value: float) -> Any:
    zeros = [0] * (term.ndim - 1)
    pads = ops.vector(term.graph, [0, *zeros, count, *zeros])
    return term.graph.Pad(term, pads, ops.filled(term, (), value))


def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Converts Terms of different lengths to a PackedSequence."""
    lengths: list[Value] = [ops.extent(part, 0) for part in sequences]
    return pack_padded_sequence(pad_sequence(sequences), _vector(sequences, lengths), False, enforce_sorted)


def _vector(sequences: Sequence[Any], lengths: list[Any]) -> Any:
    return ops.vector(sequences[0].graph, lengths)


def unpad_sequence(padded_sequences: Term, lengths: Any, batch_first: bool = False) -> list[Any]:
    """Returns the sequences without their padding."""
    rows = ops.unbind(padded_sequences, 0 if batch_first else 1)
    return [ops.narrow(row, 0, 0, length) for row, length in zip(rows, lengths)]
