"""The functions of `ops` that are aliases or short formulas of others."""

from __future__ import annotations

import builtins
import math
from typing import Any, Sequence

import numpy

from ..errors import BadInput
from ..graph import Term, Value
from . import basic, creation, indexing, pairs, parts, shapes
from .accepting import open_functions
from .recording import TERMS
from .views import viewing

__all__ = [
    "absolute", "acosh", "adjoint", "aminmax", "arccos", "arcsin", "arctan", "arctan2", "argwhere", "asinh", "atanh",
    "atleast_1d", "atleast_2d", "bincount", "block_diag", "broadcast_tensors", "chain_matmul",
    "clamp_max",
    "clamp_min", "column_stack", "concatenate", "copysign", "deg2rad", "dist", "fix", "fliplr", "flipud", "float_power",
    "fmax", "fmin", "ger", "greater", "greater_equal", "heaviside", "inverse", "isin",
    "kron", "less", "less_equal", "logdet", "logit", "matrix_power", "moveaxis", "nanmean", "nansum", "negative",
    "not_equal", "rad2deg", "ravel", "rot90", "row_stack", "select_scatter", "signbit", "sinc", "slice_scatter",
    "split_with_sizes", "swapdims", "tril_indices", "triu_indices", "unfold", "vdot", "xlogy",
]  # fmt: skip

absolute, negative, arccos = basic.abs, basic.neg, basic.acos
arcsin, arctan, arctan2 = basic.asin, basic.atan, pairs.atan2
greater, greater_equal, less, less_equal, not_equal = basic.gt, basic.ge, basic.lt, basic.le, basic.ne
moveaxis, swapdims, concatenate, row_stack = shapes.movedim, shapes.transpose, shapes.cat, pairs.vstack
ger, fix, vdot, split_with_sizes = pairs.outer, pairs.trunc, basic.dot, parts.split
asinh = basic.unary("Asinh", "Returns the inverse hyperbolic sine.")
acosh = basic.unary("Acosh", "Returns the inverse hyperbolic cosine.")
atanh = basic.unary("Atanh", "Returns the inverse hyperbolic tangent.")
asinh.__name__, acosh.__name__, atanh.__name__ = "asinh", "acosh", "atanh"


def clamp_min(input: Term, min: Value) -> Term:
    """Clips to values of at least `min`."""
    return basic.maximum(input, min)


def clamp_max(input: Term, max: Value) -> Term:
    """Clips to values of at most `max`."""
    return basic.minimum(input, max)


def aminmax(input: Term, *, dim: int | None = None, keepdim: bool = False) -> tuple[Term, Term]:
    """Returns the smallest and the largest elements."""
    return basic.amin(input, dim, keepdim), basic.amax(input, dim, keepdim)


def fmax(input: Term, other: Term) -> Term:
    """Returns the larger elements. NaN is ignored if the other element is a number."""
    return _numbers(input, other, basic.maximum(input, other))


def fmin(input: Term, other: Term) -> Term:
    """Returns the smaller elements. NaN is ignored if the other element is a number."""
    return _numbers(input, other, basic.minimum(input, other))


def _numbers(input: Term, other: Term, both: Term) -> Term:
    """Returns `both`, or the number where only one element is NaN."""
    return basic.where(basic.isnan(input), other, basic.where(basic.isnan(other), input, both))  # type: ignore[no-any-return]


def ravel(input: Term) -> Term:
    """Returns the elements along one dimension."""
    return shapes.reshape(input, -1)


def adjoint(input: Term) -> Term:
    """Swaps the last two dimensions."""
    return shapes.transpose(input, -2, -1)


def argwhere(input: Term) -> Term:
    """Returns the indices of elements other than 0, one row each."""
    return shapes.nonzero(input)


def deg2rad(input: Term) -> Term:
    """Converts degrees to radians."""
    return basic.mul(input, math.pi / 180)


def rad2deg(input: Term) -> Term:
    """Converts radians to degrees."""
    return basic.mul(input, 180 / math.pi)


def signbit(input: Term) -> Term:
    """Returns whether elements are negative, including -0."""
    if basic.kind_of(input.dtype) < 2:
        return basic.lt(input, 0)
    return basic.logical_or(basic.lt(input, 0), basic.lt(basic.div(1, input), 0))


def copysign(input: Term, other: Value) -> Term:
    """Returns the magnitude of the input with the sign of `other`."""
    sign = creation.term_of(input, other) if isinstance(other, TERMS) else creation.full_like(input, other)
    return basic.mul(basic.abs(basic.floating(input)), basic.where(signbit(sign), -1.0, 1.0))


def heaviside(input: Term, values: Term) -> Term:
    """Returns 0 below 0, 1 above 0, and `values` at 0."""
    return basic.where(basic.eq(input, 0), values, basic.cast(basic.gt(input, 0), input.dtype))  # type: ignore[no-any-return]


def float_power(input: Term, exponent: Value) -> Term:
    """Returns input ** exponent as float64."""
    return basic.pow(basic.cast(input, "float64"), exponent)


def logit(input: Term, eps: float | None = None) -> Term:
    """Returns log(input / (1 - input))."""
    x = input if eps is None else basic.clamp(input, eps, 1 - eps)
    return basic.log(basic.div(x, basic.sub(1, x)))


def sinc(input: Term) -> Term:
    """Returns sin(pi * input) / (pi * input), and 1 at 0."""
    x = basic.mul(input, math.pi)
    zero = basic.eq(x, 0)
    return basic.where(zero, 1.0, basic.div(basic.sin(x), basic.where(zero, 1.0, x)))  # type: ignore[no-any-return]


def xlogy(input: Term, other: Value) -> Term:
    """Returns input * log(other), or 0 where the input is 0."""
    y = other if isinstance(other, TERMS) else creation.full_like(input, other)
    made = basic.mul(input, basic.log(basic.where(basic.eq(input, 0), 1.0, y)))
    return basic.where(basic.isnan(basic.floating(y)), basic.floating(y), made)  # type: ignore[no-any-return]


def nansum(input: Term, dim: basic.Dims = None, keepdim: bool = False) -> Term:
    """Returns the sum of the elements that are not NaN."""
    return basic.sum(basic.where(basic.isnan(input), 0.0, input), dim, keepdim)


def nanmean(input: Term, dim: basic.Dims = None, keepdim: bool = False) -> Term:
    """Returns the mean of the elements that are not NaN."""
    count = basic.sum(basic.logical_not(basic.isnan(input)), dim, keepdim)
    return basic.div(nansum(input, dim, keepdim), count)


def dist(input: Term, other: Term, p: float = 2) -> Term:
    """Returns the p-norm of input - other."""
    return basic.norm(basic.sub(input, other), p)


def isin(elements: Term, test_elements: Term) -> Term:
    """Returns whether each element is in `test_elements`."""
    return basic.any(basic.eq(shapes.unsqueeze(elements, -1), shapes.reshape(test_elements, -1)), -1)


def bincount(input: Term, weights: Term | None = None, minlength: int = 0) -> Term:
    """Returns the count of each number. Reads the largest one."""
    count = builtins.max(int(basic.max(input)) + 1, minlength) if basic.numel(input) else minlength
    hits = basic.eq(shapes.unsqueeze(creation.arange(count), 1), shapes.unsqueeze(input, 0))
    if weights is None:
        return basic.sum(hits, 1)
    return basic.sum(basic.mul(basic.cast(hits, weights.dtype), weights), 1)


def atleast_1d(input: Term) -> Term:
    """Adds dimensions up to at least one."""
    return shapes.reshape(input, 1) if input.ndim == 0 else input


def atleast_2d(input: Term) -> Term:
    """Adds dimensions up to at least two."""
    return input if input.ndim > 1 else shapes.unsqueeze(atleast_1d(input), 0)


def column_stack(tensors: Sequence[Term]) -> Term:
    """Joins tensors as columns."""
    return shapes.cat([shapes.reshape(part, -1, 1) if part.ndim < 2 else part for part in tensors], 1)


def block_diag(*tensors: Term) -> Term:
    """Returns a matrix with the others on its diagonal, and 0 elsewhere."""
    parts = [atleast_2d(part) for part in basic.sizes_of(tensors)]
    whole = sum(basic.extent(part, 1) for part in parts)
    rows, before = [], 0
    for part in parts:
        width = basic.extent(part, 1)
        pads = basic.vector(part.graph, [0, before, 0, whole - before - width])
        rows.append(part.graph.Pad(part, pads, part.graph.constant(0, part.dtype)))
        before = before + width
    return shapes.cat(rows, 0)


def broadcast_tensors(*tensors: Term) -> tuple[Term, ...]:
    """Broadcasts all tensors to their common shape."""
    parts = basic.sizes_of(tensors)
    whole = parts[0]
    for part in parts[1:]:
        whole = basic.add(basic.mul(whole, 0), basic.mul(part, 0))
    return tuple(shapes.expand_as(part, whole) for part in parts)


def chain_matmul(*matrices: Term) -> Term:
    """Returns the product of matrices."""
    made = matrices[0]
    for other in matrices[1:]:
        made = basic.matmul(made, other)
    return made


def matrix_power(input: Term, n: int) -> Term:
    """Returns the product of a matrix with itself, n times."""
    if n < 0:
        return matrix_power(inverse(input), -n)
    made = basic.add(basic.mul(input, 0), basic.cast(pairs.on_diagonal(input), input.dtype)) if n == 0 else input
    return chain_matmul(made, *[input] * builtins.max(n - 1, 0))


def inverse(input: Term) -> Term:
    """Returns the inverse of matrices."""
    return input.graph.com_microsoft.Inverse(input)


def logdet(input: Term) -> Term:
    """Returns the logarithm of determinants."""
    return basic.log(basic.det(input))


def kron(input: Term, other: Term) -> Term:
    """Returns the Kronecker product of matrices."""
    a, b = basic.size(input), basic.size(other)
    made = basic.mul(shapes.reshape(input, a[0], 1, a[1], 1), shapes.reshape(other, 1, b[0], 1, b[1]))
    return shapes.reshape(made, a[0] * b[0], a[1] * b[1])


def fliplr(input: Term) -> Term:
    """Reverses the second dimension."""
    return shapes.flip(input, 1)


def flipud(input: Term) -> Term:
    """Reverses the first dimension."""
    return shapes.flip(input, 0)


def rot90(input: Term, k: int = 1, dims: Sequence[int] = (0, 1)) -> Term:
    """Rotates by 90 degrees, k times."""
    for _ in range(k % 4):
        input = shapes.transpose(shapes.flip(input, dims[1]), *dims)
    return input


def tril_indices(row: int, col: int, offset: int = 0, **_: Any) -> Any:
    """Returns the indices of the lower triangle of a matrix."""
    return creation.tensor(numpy.stack(numpy.tril_indices(row, offset, col)))


def triu_indices(row: int, col: int, offset: int = 0, **_: Any) -> Any:
    """Returns the indices of the upper triangle of a matrix."""
    return creation.tensor(numpy.stack(numpy.triu_indices(row, offset, col)))


def select_scatter(input: Term, src: Value, dim: int, index: int) -> Term:
    """Returns the input with the slice at an index replaced."""
    return indexing.put(input, (*[slice(None)] * basic.axis_of(input, dim), index), src)


def slice_scatter(
    input: Term, src: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Term:
    """Returns the input with the slices from `start` to `end` replaced."""
    return indexing.put(input, (*[slice(None)] * basic.axis_of(input, dim), slice(start, end, step)), src)


def _unfolded(source: Term, new: Term, *_: Any) -> Any:
    raise BadInput("unfold(): windows that overlap do not change in place")


@viewing(_unfolded, flat=lambda *_: False)
def unfold(input: Term, dimension: int, size: int, step: int) -> Term:
    """Returns the windows along a dimension, in a new last dimension."""
    axis = basic.axis_of(input, dimension)
    count = (basic.extent(input, axis) - size) // step + 1
    starts = basic.mul(creation.arange(count), step) if isinstance(count, TERMS) else None
    at: Any = (
        numpy.arange(count)[:, None] * step + numpy.arange(size)
        if starts is None
        else basic.add(shapes.unsqueeze(starts, 1), creation.arange(size))
    )
    return shapes.movedim(input.graph.Gather(input, at, axis=axis), axis + 1, -1)


open_functions(globals())
