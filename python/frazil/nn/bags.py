"""Sums, means and maxima of embeddings."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..errors import BadInput
from ..graph import Term
from . import ops
from .init import uniform
from .module import Module, Parameter


def embedding_bag(
    input: Term, weight: Any, offsets: Term | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Term | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Term:  # fmt: skip
    """Reduces the rows of `weight` at the indices of each bag by sum, mean or max.

    input    [bags, length], or one dimension with the positions of the bags in `offsets`
    """
    if max_norm is not None:
        raise ops.unsupported("max_norm of an embedding")
    if mode not in ("sum", "mean", "max"):
        raise BadInput(f"embedding_bag(): mode is 'sum', 'mean' or 'max', got {mode!r}")
    if per_sample_weights is not None and mode != "sum":
        raise BadInput(f"embedding_bag(): per_sample_weights need mode 'sum', got {mode!r}")
    if (input.ndim == 1) != (offsets is not None):
        raise BadInput("embedding_bag(): offsets are needed for an input of one dimension, and for no other")
    rows = input.graph.Gather(weight, ops.reshape(input, -1), axis=0)
    if input.ndim == 2:
        bags = ops.floor_divide(ops.arange_of(input), ops.extent(input, 1))
        count: Any = ops.extent(input, 0)
    else:
        bags, count = _bags_of(input, offsets, include_last_offset)  # type: ignore[arg-type]
    if per_sample_weights is not None:
        rows = ops.mul(rows, ops.reshape(per_sample_weights, -1, 1))
    flat = ops.reshape(input, -1)
    width = ops.extent(rows, 1)
    if padding_idx is None:
        kept = ops.full_like(flat, True, dtype="bool")
    else:
        place = padding_idx if padding_idx >= 0 else ops.extent(ops.term_of(input, weight), 0) + padding_idx
        kept = ops.ne(flat, place)
    return _reduced(rows, bags, kept, ops.zeros(count, width, dtype=rows.dtype), mode)


def _bags_of(input: Term, offsets: Term, last: bool) -> tuple[Term, Any]:
    """Returns the bag of each index, and the number of bags."""
    starts = ops.cast(offsets, "int64")
    places = ops.arange_of(input)
    if last:
        starts = ops.narrow(starts, 0, 0, ops.extent(starts, 0) - 1)
    bags = ops.sub(ops.sum(ops.le(ops.unsqueeze(starts, 0), ops.unsqueeze(places, 1)), 1), 1)
    return bags, ops.extent(starts, 0)


def _reduced(rows: Term, bags: Term, kept: Term, zeros: Term, mode: str) -> Term:
    weights = ops.cast(kept, rows.dtype)
    if mode == "max":
        least = float(numpy.finfo(rows.dtype.numpy).min)  # type: ignore[union-attr]
        low = ops.where(ops.unsqueeze(kept, 1), rows, least)
        made = ops.scatter_reduce(
            ops.full_like(zeros, least), 0, ops.expand_as(ops.unsqueeze(bags, 1), low), low, "amax"
        )
        return ops.where(ops.eq(made, least), 0.0, made)
    made = ops.index_add(zeros, 0, bags, ops.mul(rows, ops.unsqueeze(weights, 1)))
    if mode == "sum":
        return made
    counts = ops.index_add(ops.select(ops.transpose(zeros, 0, 1), 0, 0), 0, bags, weights)
    return ops.div(made, ops.unsqueeze(ops.clamp(counts, min=1), 1))


class EmbeddingBag(Module):
    """An embedding whose rows are reduced for each bag of indices."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
        include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if max_norm is not None:
            raise ops.unsupported("max_norm of an embedding")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.include_last_offset, self.padding_idx = include_last_offset, padding_idx
        drawn = uniform((num_embeddings, embedding_dim), math.sqrt(3), dtype)
        self.weight = drawn if _weight is None else Parameter(_weight)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> EmbeddingBag:
        """Returns a module with this table."""
        rows, width = numpy.shape(embeddings)
        return cls(rows, width, _weight=embeddings, **options)

    def forward(self, input: Term, offsets: Term | None = None, per_sample_weights: Any = None) -> Term:
        """Maps indices [bags, length], or [indices] with offsets, to [bags, embedding_dim]."""
        return embedding_bag(
            input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
            # type: ignore[arg-type]
            include_last_offset=self.include_last_offset, padding_idx=self.padding_idx,
        )  # fmt: skip
