"""The functions of `ops` that read and write elements at indices."""

from __future__ import annotations

from typing import Any

import numpy

from ..graph import Term, Value
from . import basic, creation, parts, shapes
from .accepting import open_functions
from .recording import TERMS

__all__ = [
    "gather", "index_add", "index_copy", "index_fill", "index_select", "masked_scatter", "scatter", "scatter_add",
    "scatter_reduce", "take", "take_along_dim",
]  # fmt: skip

REDUCTIONS = {"sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min"}


def gather(input: Term, dim: int, index: Term, *, sparse_grad: bool = False) -> Term:
    """Returns the element at each index along `dim`. Other dimensions of `index` may be smaller than the input's."""
    axis = basic.axis_of(input, dim)
    return input.graph.GatherElements(_cropped(input, axis, index), index, axis=axis)


def _cropped(x: Term, axis: int, index: Any) -> Term:
    """Crops all other dimensions to the extents of the index."""
    for other in range(x.ndim):
        if other != axis and not _same(x, index, other):
            x = parts.narrow(x, other, 0, basic.extent(index, other))
    return x


def _same(x: Term, index: Any, axis: int) -> bool:
    ours, theirs = (Term.shape.__get__(value)[axis] for value in (x, index))
    return bool(ours == theirs)


def take_along_dim(input: Term, indices: Term, dim: int | None = None) -> Term:
    """Calls gather(), on the flattened input without `dim`."""
    if dim is None:
        return gather(shapes.reshape(input, -1), 0, shapes.reshape(indices, -1))
    return gather(input, dim, indices)


def take(input: Term, index: Term) -> Term:
    """Returns the elements of the flattened input at the indices."""
    return input.graph.Gather(shapes.reshape(input, -1), index, axis=0)


def index_select(input: Term, dim: int, index: Value) -> Term:
    """Returns the slices at some indices."""
    return input.graph.Gather(input, index, axis=basic.axis_of(input, dim))


def scatter(
    input: Term, dim: int, index: Term, src: Value = 0, *, reduce: str | None = None, value: Value | None = None
) -> Term:
    """Returns `input` with the elements at indices along `dim` replaced by, or combined with, those of `src`."""
    reduction = "none" if reduce is None else REDUCTIONS[reduce]
    return _scattered(input, dim, index, src if value is None else value, reduction)


def _scattered(x: Term, dim: int, index: Any, src: Any, reduction: str) -> Term:
    axis = basic.axis_of(x, dim)
    if not isinstance(src, TERMS):
        src = shapes.expand_as(x.graph.constant(src, x.dtype), index)
    elif src.type.partition("[")[2] != index.type.partition("[")[2]:
        src = _cropped(_cropped(src, -1, index), axis, index)
    return x.graph.ScatterElements(x, index, basic.cast(src, x.dtype), axis=axis, reduction=reduction)


def scatter_add(input: Term, dim: int, index: Term, src: Value) -> Term:
    """Returns `input` with elements of `src` added at indices along `dim`."""
    return _scattered(input, dim, index, src, "add")


def scatter_reduce(input: Term, dim: int, index: Term, src: Term, reduce: str, *, include_self: bool = True) -> Term:
    """Returns `input` reduced with the elements of `src` at indices: sum, prod, mean, amax or amin."""
    if reduce == "mean":
        ones = creation.full_like(src, 1)
        start = input if include_self else _scattered(input, dim, index, 0, "none")
        count = _scattered(creation.full_like(input, 1 if include_self else 0), dim, index, ones, "add")
        made = basic.div(_scattered(start, dim, index, src, "add"), basic.maximum(count, 1))
        return made if basic.kind_of(input.dtype) == 2 else basic.cast(made, input.dtype)
    if not include_self:
        info = numpy.finfo if basic.kind_of(input.dtype) == 2 else numpy.iinfo
        least, most = (info(input.dtype.numpy).min, info(input.dtype.numpy).max)  # type: ignore[union-attr]
        neutral = {"add": 0, "mul": 1, "max": least, "min": most}[REDUCTIONS[reduce]]
        input = _scattered(input, dim, index, neutral, "none")
    return _scattered(input, dim, index, src, REDUCTIONS[reduce])


def _spread(x: Term, axis: int, index: Term, like: Term) -> Term:
    """Converts indices of slices to indices of their elements."""
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    return shapes.expand_as(shapes.reshape(index, *shape), like)


def index_add(input: Term, dim: int, index: Term, source: Term, *, alpha: float = 1) -> Term:
    """Returns `input` with slices of `source` added at indices along `dim`."""
    axis = basic.axis_of(input, dim)
    return _scattered(input, axis, _spread(input, axis, index, source), basic.mul(source, alpha), "add")


def index_copy(input: Term, dim: int, index: Term, source: Term) -> Term:
    """Returns `input` with the slices at indices along `dim` replaced."""
    axis = basic.axis_of(input, dim)
    return _scattered(input, axis, _spread(input, axis, index, source), source, "none")


def index_fill(input: Term, dim: int, index: Term, value: Value) -> Term:
    """Returns `input` with the slices at indices along `dim` filled with one number."""
    axis = basic.axis_of(input, dim)
    slices = index_select(input, axis, index)
    return _scattered(input, axis, _spread(input, axis, index, slices), creation.full_like(slices, value), "none")


def masked_scatter(input: Term, mask: Term, source: Term) -> Term:
    """Returns `input` with the elements where the mask is true replaced by the first ones of `source`."""
    chosen = shapes.reshape(shapes.expand_as(mask, input), -1)
    at = basic.clamp(basic.sub(basic.cumsum(basic.cast(chosen, "int64"), 0), 1), min=0)
    flat = basic.where(chosen, index_select(shapes.reshape(source, -1), 0, at), shapes.reshape(input, -1))
    return shapes.view_as(flat, input)


open_functions(globals())
