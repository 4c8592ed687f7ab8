"""Running products, differences, averages, covariances and convolutions."""

from __future__ import annotations

import builtins
from typing import Any, Callable

import numpy

from ..lazy.array import LazyArray
from .arrays import asarray, astype, axis_of, full
from .complexes import conjugate
from .elementwise import clip, is_inexact, where
from .outputs import with_out
from .einsums import einsum
from .reductions import Axis, counting, cumsum, max, mean, min, sum
from .shapes import (
    broadcast_to,
    concatenate,
    extent_of,
    flip,
    ravel,
    reshape,
    squeeze,
    take,
    take_along_axis,
    transpose,
)
from .ufuncs import common, divide, maximum, multiply, not_equal, sqrt, subtract


def scanned(a: LazyArray, axis: int, combine: Callable[..., LazyArray]) -> LazyArray:
    """Returns the inclusive scan with `combine`, in steps of doubled length (Hillis and Steele)."""
    extent, by = extent_of(a, axis), 1
    key = (slice(None),) * axis
    while by < extent:
        pairs = combine(a[(*key, slice(None, -by))], a[(*key, slice(by, None))])
        a, by = concatenate([a[(*key, slice(None, by))], pairs], axis), 2 * by
    return a


@with_out
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> LazyArray:
    """Returns the cumulative products, of the flattened array without an axis."""
    a = asarray(a)
    a = counting(a) if dtype is None else astype(a, dtype)
    if axis is None or (not a.ndim and axis in (0, -1)):
        return scanned(ravel(a), 0, multiply)
    return scanned(a, axis_of(axis, a.ndim), multiply)


def _with_first(made: LazyArray, first: int, axis: int) -> LazyArray:
    edge = (*made.shape[:axis], 1, *made.shape[axis + 1 :])
    return concatenate([full(edge, asarray(first, made.dtype)), made], axis)


def _cumulative(scan: Callable[..., LazyArray], first: int, x: Any, axis: Any, dtype: Any, include: bool) -> LazyArray:
    x = asarray(x)
    if axis is None and x.ndim > 1:
        raise ValueError(f"an array with {x.ndim} axes needs an axis")
    place = axis_of(-1 if axis is None else axis, x.ndim) if x.ndim else 0
    made = scan(x, place, dtype)
    return _with_first(made, first, place) if include else made


@with_out
def cumulative_sum(x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> LazyArray:
    """Returns the cumulative sums along an axis, optionally with a leading 0."""
    return _cumulative(cumsum, 0, x, axis, dtype, include_initial)


@with_out
def cumulative_prod(x: Any, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> LazyArray:
    """Returns the cumulative products along an axis, optionally with a leading 1."""
    return _cumulative(cumprod, 1, x, axis, dtype, include_initial)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> LazyArray:
    """Returns the differences of neighbours, n times; for bools whether they differ."""
    a = asarray(a)
    if n < 0:
        raise ValueError("the number of times is at least 0")
    if not n:
        return a
    if not a.ndim:
        raise ValueError("an array without axes has no neighbours")
    axis = axis_of(axis, a.ndim)
    edge = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    ends = [None if each is None else asarray(each) for each in (prepend, append)]
    before, behind = (None if each is None else each if each.ndim else broadcast_to(each, edge) for each in ends)
    if before is not None or behind is not None:
        a = concatenate([each for each in (before, a, behind) if each is not None], axis)
    key = (slice(None),) * axis
    for _ in range(n):
        late, early = a[(*key, slice(1, None))], a[(*key, slice(None, -1))]
        a = not_equal(late, early) if a.dtype == bool else subtract(late, early)
    return a


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> LazyArray:
    """Returns the differences of neighbours in the flattened array, with optional values at both ends."""
    row = ravel(ary)
    ends = [None if each is None else _castable(each, row) for each in (to_begin, to_end)]
    pieces = [ends[0], subtract(row[1:], row[:-1]), ends[1]]
    return concatenate([each for each in pieces if each is not None])


def _castable(given: Any, row: LazyArray) -> LazyArray:
    """Casts values to a row's element type. Raises TypeError if the kind would change."""
    values = ravel(given)
    if not numpy.can_cast(values.dtype, row.dtype, "same_kind"):
        raise TypeError(f"{values.dtype} is not cast to {row.dtype}")
    return astype(values, row.dtype)


@with_out
def ptp(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the largest element minus the smallest."""
    return subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Returns the mean, or the weighted mean, optionally with the sum of weights."""
    a = asarray(a)
    if weights is None:
        made = mean(a, axis, keepdims=keepdims)
        whole: Any = astype(numpy.asarray(a.size // builtins.max(made.size, 1)), made.dtype)
        return (made, broadcast_to(whole, made.shape)) if returned else made
    weights = asarray(weights)
    a, weights = (each if is_inexact(each) else astype(each, "float64") for each in common(a, weights))
    if weights.ndim != a.ndim:
        if not isinstance(axis, int):
            raise TypeError("weights of another shape need an axis")
        axis = axis_of(axis, a.ndim)
        if weights._extents != (a._extents[axis],):
            raise ValueError(f"{weights._extents} weights for {a._extents[axis]} elements")
        weights = reshape(weights, (-1, *[1] * (a.ndim - axis - 1)))
    elif weights._extents != a._extents:
        raise TypeError("weights of another shape need one axis")
    whole = sum(broadcast_to(weights, a.shape), axis, keepdims=keepdims)
    made = divide(sum(multiply(a, weights), axis, keepdims=keepdims), whole)
    return (made, whole) if returned else made


def convolve(a: Any, v: Any, mode: str = "full") -> LazyArray:
    """Returns the discrete convolution of two vectors."""
    a, v = common(_vector(a), _vector(v))
    if not extent_of(a, 0) or not extent_of(v, 0):
        raise ValueError("a vector has no elements")
    if extent_of(v, 0) > extent_of(a, 0):
        a, v = v, a
    n, m = extent_of(a, 0), extent_of(v, 0)
    if mode not in ("full", "same", "valid"):
        raise ValueError("a mode is 'full', 'same' or 'valid'")
    begin, end = {"full": (0, n + m - 1), "same": ((m - 1) // 2, (m - 1) // 2 + n), "valid": (m - 1, n)}[mode]
    if a.dtype == bool:
        return astype(convolve(astype(a, "int64"), astype(v, "int64"), mode), bool)
    places = numpy.arange(begin, end)[:, None] + numpy.arange(m) - (m - 1)
    inside = (places >= 0) & (places < n)  # elsewhere the product is skipped, as it would be NaN for infinities
    products = multiply(take(a, numpy.clip(places, 0, n - 1)), flip(v))
    return sum(where(inside, products, asarray(0, a.dtype)), 1, a.dtype)


def correlate(a: Any, v: Any, mode: str = "valid") -> LazyArray:
    """Returns the correlation of two vectors."""
    if not asarray(a).ndim or not asarray(v).ndim:
        raise ValueError("correlate() of an array without axes")
    a, v = _vector(a), _vector(v)
    v = conjugate(v) if v.dtype.kind == "c" else v
    made = convolve(a, flip(v), mode)
    n, m = extent_of(a, 0), extent_of(v, 0)
    if mode != "same" or m <= n:
        return made
    return convolve(a, flip(v), "full")[(n - 1) // 2 + (0 if n % 2 else 1) : (n - 1) // 2 + (0 if n % 2 else 1) + m]


def _vector(x: Any) -> LazyArray:
    x = asarray(x)
    if x.ndim > 1:
        raise ValueError(f"an array with {x.ndim} axes is not a vector")
    return x if x.ndim else reshape(x, 1)


def _variables(m: Any, y: Any, rowvar: bool) -> LazyArray:
    """Returns the rows of one or two arrays as variables."""
    rows: list[LazyArray] = []
    for each in (m, y):
        each = None if each is None else asarray(each)
        if each is None:
            continue
        if each.ndim > 2:
            raise ValueError("an array has more than two axes")
        flat = each.ndim < 2
        each = reshape(each, (1, -1)) if flat else each
        alone = not rows and extent_of(each, 0) == 1
        rows.append(each if rowvar or alone or flat else transpose(each))
    return concatenate(rows)


def _weights(given: Any, count: int, name: str) -> LazyArray | None:
    """Returns weights of observations as float64."""
    if given is None:
        return None
    weights = numpy.asarray(given)
    if weights.ndim != 1:
        raise RuntimeError(f"{name} are a vector")
    if len(weights) != count:
        raise RuntimeError(f"{len(weights)} {name} for {count} observations")
    if (weights < 0).any():
        raise ValueError(f"{name} are at least 0")
    if name == "fweights" and (weights != numpy.rint(weights)).any():
        raise TypeError("fweights are integers")
    return asarray(weights.astype("float64"))


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> LazyArray:
    """Returns the covariances of variables, which are the rows of m and y.

    `fweights` are the counts of the observations, `aweights` their importance.
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof is an integer")
    rows = _variables(m, y, rowvar)
    rows = astype(rows, "float64" if dtype is None else dtype)
    count, less_by = extent_of(rows, 1), (0 if bias else 1) if ddof is None else ddof
    often, much = _weights(fweights, count, "fweights"), _weights(aweights, count, "aweights")
    weights = often if much is None else much if often is None else multiply(often, much)
    if weights is None:
        free: Any = asarray(float(builtins.max(count - less_by, 0)), rows.dtype)
        away = subtract(rows, mean(rows, 1, keepdims=True))
        weighed = away
    else:
        whole = sum(weights)
        lost: Any = less_by if much is None else divide(multiply(sum(multiply(weights, much)), less_by), whole)
        free = maximum(subtract(whole, lost), 0)
        away = subtract(rows, divide(sum(multiply(rows, weights), 1, keepdims=True), whole))
        weighed = multiply(away, weights)
    return squeeze(divide(einsum("an,bn->ab", away, weighed), free))


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> LazyArray:
    """Returns the correlation coefficients of variables, which are the rows of x and y."""
    made = cov(x, y, rowvar, dtype=dtype)
    if not made.ndim:
        return divide(made, made)
    scale = sqrt(take_along_axis(made, numpy.arange(extent_of(made, 0))[:, None], 1))
    return clip(divide(divide(made, scale), transpose(scale)), -1, 1)
