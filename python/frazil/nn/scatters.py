"""The functions of `ops` that read and write elements at indices."""

from __future__ import annotations

from typing import Any

import numpy

from ..graph import Term, Value
from . import ops
from .recording import TERMS

__all__ = [
    "gather", "index_add", "index_copy", "index_fill", "index_select", "masked_scatter", "scatter", "scatter_add",
    "scatter_reduce", "take", "take_along_dim",
]  # fmt: skip

REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def gather(input: Term, dim: int, index: Term, *, sparse_grad: bool = False) -> Term:
    """Returns the element at each index along `dim`. Other dimensions of `index` may be smaller than the input's."""
    axis = ops.axis_of(input, dim)
    return input.graph.GatherElements(_cropped(input, axis, index), index, axis=axis)


def _cropped(x: Term, axis: int, index: Any) -> Term:
    """Crops all other dimensions to the extents of the index."""
    for other in range(x.ndim):
        if other != axis and not _same(x, index, other):
            x = ops.narrow(x, other, 0, ops.extent(index, other))
    return x


def _same(x: Term, index: Any, axis: int) -> bool:
    ours, theirs = (Term.shape.__get__(value)[axis] for value in (x, index))
    return bool(ours == theirs)


def take_along_dim(input: Term, indices: Term, dim: int | None = None) -> Term:
    """Calls gather(), on the flattened input without `dim`."""
    if dim is None:
        return gather(ops.reshape(input, -1), 0, ops.reshape(indices, -1))
    return gather(input, dim, indices)


def take(input: Term, index: Term) -> Term:
    """Returns the elements of the flattened input at the indices."""
    return input.graph.Gather(ops.reshape(input, -1), index, axis=0)


def index_select(input: Term, dim: int, index: Value) -> Term:
    """Returns the slices at some indices."""
    return input.graph.Gather(input, index, axis=ops.axis_of(input, dim))


def scatter(
    input: Term, dim: int, index: Term, src: Value = 0, *, reduce: str | None = None, value: Value | None = None
) -> Term:
    """Returns `input` with the elements at indices along `dim` replaced by, or combined with, those of `src`."""
    reduction = "none" if reduce is None else REDUCTIONS[reduce]
    return _scattered(input, dim, index, src if value is None else value, reduction)


def _scattered(x: Term, dim: int, index: Any, src: Any, reduction: str) -> Term:
    axis = ops.axis_of(x, dim)
    if not isinstance(src, TERMS):
        src = ops.expand_as(x.graph.constant(src, x.dtype), index)
    elif src.type.partition("[")[2] != index.type.partition("[")[2]:
        src = _cropped(_cropped(src, -1, index), axis, index)
    return x.graph.ScatterElements(x, index, ops.cast(src, x.dtype), axis=axis, reduction=reduction)


def scatter_add(input: Term, dim: int, index: Term, src: Value) -> Term:
    """Returns `input` with elements of `src` added at indices along `dim`."""
    return _scattered(input, dim, index, src, "add")


def scatter_reduce(input: Term, dim: int, index: Term, src: Term, reduce: str, *, include_self: bool = True) -> Term:
    """Returns `input` reduced with the elements of `src` at indices: sum, prod, mean, amax or amin."""
    if reduce == "mean":
        ones = ops.full_like(src, 1)
        start = input if include_self else _scattered(input, dim, index, 0, "none")
        count = _scattered(ops.full_like(input, 1 if include_self else 0), dim, index, ones, "add")
        made = ops.div(_scattered(start, dim, index, src, "add"), ops.maximum(count, 1))
        return made if ops._kind(input.dtype) == 2 else ops.cast(made, input.dtype)
    if not include_self:
        info = numpy.finfo if ops._kind(input.dtype) == 2 else numpy.iinfo
        least, most = (info(input.dtype.numpy).min, info(input.dtype.numpy).max)  # type: ignore[union-attr]
        neutral = {"add": 0, "mul": 1, "max": least, "min": most}[REDUCTIONS[reduce]]
        input = _scattered(input, dim, index, neutral, "none")
    return _scattered(input, dim, index, src, REDUCTIONS[reduce])


def _spread(x: Term, axis: int, index: Term, like: Term) -> Term:
    """Converts indices of slices to indices of their elements."""
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    return ops.expand_as(ops.reshape(index, *shape), like)


def index_add(input: Term, dim: int, index: Term, source: Term, *, alpha: float = 1) -> Term:
    """Returns `input` with slices of `source` added at indices along `dim`."""
    axis = ops.axis_of(input, dim)
    return _scattered(input, axis, _spread(input, axis, index, source), ops.mul(source, alpha), "add")


def index_copy(input: Term, dim: int, index: Term, source: Term) -> Term:
    """Returns `input` with the slices at indices along `dim` replaced."""
    axis = ops.axis_of(input, dim)
    return _scattered(input, axis, _spread(input, axis, index, source), source, "none")


def index_fill(input: Term, dim: int, index: Term, value: Value) -> Term:
    """Returns `input` with the slices at indices along `dim` filled with one number."""
    axis = ops.axis_of(input, dim)
    slices = ops.index_select(input, axis, index)
    return _scattered(input, axis, _spread(input, axis, index, slices), ops.full_like(slices, value), "none")


def masked_scatter(input: Term, mask: Term, source: Term) -> Term:
    """Returns `input` with the elements where the mask is true replaced by the first ones of `source`."""
    chosen = ops.reshape(ops.expand_as(mask, input), -1)
    at = ops.clamp(ops.sub(ops.cumsum(ops.cast(chosen, "int64"), 0), 1), min=0)
    flat = ops.where(chosen, ops.index_select(ops.reshape(source, -1), 0, at), ops.reshape(input, -1))
    return ops.view_as(flat, input)
