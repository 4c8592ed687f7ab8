"""The functions of `ops` that are aliases or short formulas of others."""

from __future__ import annotations

import builtins
import math
from typing import Any, Sequence

import numpy

from ..errors import BadInput
from ..graph import Term, Value
from . import ops
from .recording import TERMS
from .views import viewing

__all__ = [
    "absolute", "acosh", "adjoint", "aminmax", "arccos", "arcsin", "arctan", "arctan2", "argwhere", "asinh", "atanh",
    "atleast_1d", "atleast_2d", "bincount", "blackman_window", "block_diag", "broadcast_tensors", "chain_matmul",
    "clamp_max",
    "clamp_min", "column_stack", "concatenate", "copysign", "deg2rad", "dist", "fix", "fliplr", "flipud", "float_power",
    "fmax", "fmin", "ger", "greater", "greater_equal", "hamming_window", "hann_window", "heaviside", "inverse", "isin",
    "kron", "less", "less_equal", "logdet", "logit", "matrix_power", "moveaxis", "nanmean", "nansum", "negative",
    "not_equal", "rad2deg", "ravel", "rot90", "row_stack", "select_scatter", "signbit", "sinc", "slice_scatter",
    "split_with_sizes", "stft", "swapdims", "tril_indices", "triu_indices", "unfold", "vdot", "xlogy",
]  # fmt: skip

_of: Any = ops
absolute, negative, arccos, arcsin, arctan, arctan2 = _of.abs, _of.neg, _of.acos, _of.asin, _of.atan, _of.atan2
greater, greater_equal, less, less_equal, not_equal = _of.gt, _of.ge, _of.lt, _of.le, _of.ne
moveaxis, swapdims, concatenate, row_stack = _of.movedim, _of.transpose, _of.cat, _of.vstack
ger, fix, vdot, split_with_sizes = _of.outer, _of.trunc, _of.dot, _of.split
asinh, acosh = _of._unary("Asinh", "The inverse of sinh."), _of._unary("Acosh", "The inverse of cosh.")
atanh = _of._unary("Atanh", "The inverse of tanh.")


def clamp_min(input: Term, min: Value) -> Term:
    """Clips to values of at least `min`."""
    return ops.maximum(input, min)


def clamp_max(input: Term, max: Value) -> Term:
    """Clips to values of at most `max`."""
    return ops.minimum(input, max)


def aminmax(input: Term, *, dim: int | None = None, keepdim: bool = False) -> tuple[Term, Term]:
    """Returns the smallest and the largest elements."""
    return ops.amin(input, dim, keepdim), ops.amax(input, dim, keepdim)


def fmax(input: Term, other: Term) -> Term:
    """Returns the larger elements. NaN is ignored if the other element is a number."""
    return _numbers(input, other, ops.maximum(input, other))


def fmin(input: Term, other: Term) -> Term:
    """Returns the smaller elements. NaN is ignored if the other element is a number."""
    return _numbers(input, other, ops.minimum(input, other))


def _numbers(input: Term, other: Term, both: Term) -> Term:
    """Returns `both`, or the number where only one element is NaN."""
    return ops.where(ops.isnan(input), other, ops.where(ops.isnan(other), input, both))  # type: ignore[no-any-return]


def ravel(input: Term) -> Term:
    """Returns the elements along one dimension."""
    return ops.reshape(input, -1)


def adjoint(input: Term) -> Term:
    """Swaps the last two dimensions."""
    return ops.transpose(input, -2, -1)


def argwhere(input: Term) -> Term:
    """Returns the indices of elements other than 0, one row each."""
    return ops.nonzero(input)


def deg2rad(input: Term) -> Term:
    """Converts degrees to radians."""
    return ops.mul(input, math.pi / 180)


def rad2deg(input: Term) -> Term:
    """Converts radians to degrees."""
    return ops.mul(input, 180 / math.pi)


def signbit(input: Term) -> Term:
    """Returns whether elements are negative, including -0."""
    if ops._kind(input.dtype) < 2:
        return ops.lt(input, 0)
    return ops.logical_or(ops.lt(input, 0), ops.lt(ops.div(1, input), 0))


def copysign(input: Term, other: Value) -> Term:
    """Returns the magnitude of the input with the sign of `other`."""
    sign = ops.term_of(input, other) if isinstance(other, TERMS) else ops.full_like(input, other)
    return ops.mul(ops.abs(ops.floating(input)), ops.where(signbit(sign), -1.0, 1.0))


def heaviside(input: Term, values: Term) -> Term:
    """Returns 0 below 0, 1 above 0, and `values` at 0."""
    return ops.where(ops.eq(input, 0), values, ops.cast(ops.gt(input, 0), input.dtype))  # type: ignore[no-any-return]


def float_power(input: Term, exponent: Value) -> Term:
    """Returns input ** exponent as float64."""
    return ops.pow(ops.cast(input, "float64"), exponent)


def logit(input: Term, eps: float | None = None) -> Term:
    """Returns log(input / (1 - input))."""
    x = input if eps is None else ops.clamp(input, eps, 1 - eps)
    return ops.log(ops.div(x, ops.sub(1, x)))


def sinc(input: Term) -> Term:
    """Returns sin(pi * input) / (pi * input), and 1 at 0."""
    x = ops.mul(input, math.pi)
    zero = ops.eq(x, 0)
    return ops.where(zero, 1.0, ops.div(ops.sin(x), ops.where(zero, 1.0, x)))  # type: ignore[no-any-return]


def xlogy(input: Term, other: Value) -> Term:
    """Returns input * log(other), or 0 where the input is 0."""
    y = other if isinstance(other, TERMS) else ops.full_like(input, other)
    made = ops.mul(input, ops.log(ops.where(ops.eq(input, 0), 1.0, y)))
    return ops.where(ops.isnan(ops.floating(y)), ops.floating(y), made)  # type: ignore[no-any-return]


def nansum(input: Term, dim: ops.Dims = None, keepdim: bool = False) -> Term:
    """Returns the sum of the elements that are not NaN."""
    return ops.sum(ops.where(ops.isnan(input), 0.0, input), dim, keepdim)


def nanmean(input: Term, dim: ops.Dims = None, keepdim: bool = False) -> Term:
    """Returns the mean of the elements that are not NaN."""
    count = ops.sum(ops.logical_not(ops.isnan(input)), dim, keepdim)
    return ops.div(nansum(input, dim, keepdim), count)


def dist(input: Term, other: Term, p: float = 2) -> Term:
    """Returns the p-norm of input - other."""
    return ops.norm(ops.sub(input, other), p)


def isin(elements: Term, test_elements: Term) -> Term:
    """Returns whether each element is in `test_elements`."""
    return ops.any(ops.eq(ops.unsqueeze(elements, -1), ops.reshape(test_elements, -1)), -1)


def bincount(input: Term, weights: Term | None = None, minlength: int = 0) -> Term:
    """Returns the count of each number. Reads the largest one."""
    count = builtins.max(int(ops.max(input)) + 1, minlength) if ops.numel(input) else minlength
    hits = ops.eq(ops.unsqueeze(ops.arange(count), 1), ops.unsqueeze(input, 0))
    if weights is None:
        return ops.sum(hits, 1)
    return ops.sum(ops.mul(ops.cast(hits, weights.dtype), weights), 1)


def atleast_1d(input: Term) -> Term:
    """Adds dimensions up to at least one."""
    return ops.reshape(input, 1) if input.ndim == 0 else input


def atleast_2d(input: Term) -> Term:
    """Adds dimensions up to at least two."""
    return input if input.ndim > 1 else ops.unsqueeze(atleast_1d(input), 0)


def column_stack(tensors: Sequence[Term]) -> Term:
    """Joins tensors as columns."""
    return ops.cat([ops.reshape(part, -1, 1) if part.ndim < 2 else part for part in tensors], 1)


def block_diag(*tensors: Term) -> Term:
    """Returns a matrix with the others on its diagonal, and 0 elsewhere."""
    parts = [atleast_2d(part) for part in ops._sizes(tensors)]
    whole = sum(ops.extent(part, 1) for part in parts)
    rows, before = [], 0
    for part in parts:
        width = ops.extent(part, 1)
        pads = ops.vector(part.graph, [0, before, 0, whole - before - width])
        rows.append(part.graph.Pad(part, pads, part.graph.constant(0, part.dtype)))
        before = before + width
    return ops.cat(rows, 0)


def broadcast_tensors(*tensors: Term) -> tuple[Term, ...]:
    """Broadcasts all tensors to their common shape."""
    parts = ops._sizes(tensors)
    whole = parts[0]
    for part in parts[1:]:
        whole = ops.add(ops.mul(whole, 0), ops.mul(part, 0))
    return tuple(ops.expand_as(part, whole) for part in parts)


def chain_matmul(*matrices: Term) -> Term:
    """Returns the product of matrices."""
    made = matrices[0]
    for other in matrices[1:]:
        made = ops.matmul(made, other)
    return made


def matrix_power(input: Term, n: int) -> Term:
    """Returns the product of a matrix with itself, n times."""
    if n < 0:
        return matrix_power(inverse(input), -n)
    made = ops.add(ops.mul(input, 0), ops.cast(ops.on_diagonal(input), input.dtype)) if n == 0 else input
    return chain_matmul(made, *[input] * builtins.max(n - 1, 0))


def inverse(input: Term) -> Term:
    """Returns the inverse of matrices."""
    return input.graph.com_microsoft.Inverse(input)


def logdet(input: Term) -> Term:
    """Returns the logarithm of determinants."""
    return ops.log(ops.det(input))


def kron(input: Term, other: Term) -> Term:
    """Returns the Kronecker product of matrices."""
    a, b = ops.size(input), ops.size(other)
    made = ops.mul(ops.reshape(input, a[0], 1, a[1], 1), ops.reshape(other, 1, b[0], 1, b[1]))
    return ops.reshape(made, a[0] * b[0], a[1] * b[1])


def fliplr(input: Term) -> Term:
    """Reverses the second dimension."""
    return ops.flip(input, 1)


def flipud(input: Term) -> Term:
    """Reverses the first dimension."""
    return ops.flip(input, 0)


def rot90(input: Term, k: int = 1, dims: Sequence[int] = (0, 1)) -> Term:
    """Rotates by 90 degrees, k times."""
    for _ in range(k % 4):
        input = ops.transpose(ops.flip(input, dims[1]), *dims)
    return input


def tril_indices(row: int, col: int, offset: int = 0, **_: Any) -> Any:
    """Returns the indices of the lower triangle of a matrix."""
    return ops.tensor(numpy.stack(numpy.tril_indices(row, offset, col)))


def triu_indices(row: int, col: int, offset: int = 0, **_: Any) -> Any:
    """Returns the indices of the upper triangle of a matrix."""
    return ops.tensor(numpy.stack(numpy.triu_indices(row, offset, col)))


def select_scatter(input: Term, src: Value, dim: int, index: int) -> Term:
    """Returns the input with the slice at an index replaced."""
    return ops.put(input, (*[slice(None)] * ops.axis_of(input, dim), index), src)


def slice_scatter(
    input: Term, src: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Term:
    """Returns the input with the slices from `start` to `end` replaced."""
    return ops.put(input, (*[slice(None)] * ops.axis_of(input, dim), slice(start, end, step)), src)


def _unfolded(source: Term, new: Term, *_: Any) -> Any:
    raise BadInput("unfold(): windows that overlap do not change in place")


@viewing(_unfolded, flat=lambda *_: False)
def unfold(input: Term, dimension: int, size: int, step: int) -> Term:
    """Returns the windows along a dimension, in a new last dimension."""
    axis = ops.axis_of(input, dimension)
    count = (ops.extent(input, axis) - size) // step + 1
    starts = ops.mul(ops.arange(count), step) if isinstance(count, TERMS) else None
    at: Any = (
        numpy.arange(count)[:, None] * step + numpy.arange(size)
        if starts is None
        else ops.add(ops.unsqueeze(starts, 1), ops.arange(size))
    )
    return ops.movedim(input.graph.Gather(input, at, axis=axis), axis + 1, -1)


def _window(kind: str, n: int, periodic: bool, dtype: Any) -> Any:
    graph = ops.current()
    return graph.Cast(getattr(graph, kind)(graph.constant(n, "int64"), periodic=int(periodic)), to=dtype or "float32")


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns the Hann window, 0.5 - 0.5 * cos."""
    return _window("HannWindow", window_length, periodic, dtype)


def hamming_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns the Hamming window, 0.54 - 0.46 * cos."""
    count = window_length if periodic else builtins.max(window_length - 1, 1)
    at = 2 * math.pi * numpy.arange(window_length) / count
    return ops.tensor((0.54 - 0.46 * numpy.cos(at)).astype(numpy.float32), dtype)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns the Blackman window, 0.42 - 0.5 * cos + 0.08 * cos of twice the angle."""
    return _window("BlackmanWindow", window_length, periodic, dtype)


def stft(
    input: Term, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Term:  # fmt: skip
    """Returns the short-time Fourier transform, [..., frequencies, windows, 2] with real and imaginary parts."""
    from . import functional as F

    if return_complex:
        raise ops.unsupported("return_complex=True of stft()")
    step, width = hop_length or n_fft // 4, win_length or n_fft
    x = ops.unsqueeze(input, 0) if input.ndim == 1 else input
    if center:
        x = ops.squeeze(F.pad(ops.unsqueeze(x, 1), [n_fft // 2, n_fft // 2], pad_mode), 1)
    weights = ops.ones(width) if window is None else ops.term_of(input, window)
    left = (n_fft - width) // 2
    weights = F.pad(weights, [left, n_fft - width - left])
    graph = x.graph
    made = graph.STFT(ops.unsqueeze(x, -1), numpy.int64(step), weights, None, onesided=int(onesided is not False))
    made = ops.transpose(made, 1, 2)
    made = ops.div(made, math.sqrt(n_fft)) if normalized else made
    return ops.select(made, 0, 0) if input.ndim == 1 else made
