"""Sums without NaN, medians, counts and differences."""

from __future__ import annotations

import builtins
import math
from typing import Any, Callable

import numpy

from ..errors import Unsupported
from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import array, asarray, astype, axes_of, axis_of, full
from .elementwise import clip, is_inexact, where
from .products import einsum
from .reductions import Axis, argmax, argmin, counting, cumsum, max, mean, min, prod, sum, var
from .shapes import (
    argsort,
    broadcast_to,
    concatenate,
    extent_of,
    flip,
    ravel,
    reshape,
    sort,
    squeeze,
    stack,
    take,
    take_along_axis,
    transpose,
)
from .ufuncs import (
    add,
    common,
    divide,
    equal,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    not_equal,
    sqrt,
    subtract,
)

# ---- without NaN ----


def _without_nan(a: Any, fill: float) -> LazyArray:
    a = asarray(a)
    return where(isnan(a), asarray(fill, a.dtype), a) if is_inexact(a) else a


def _given(a: LazyArray, axis: Axis, keepdims: bool) -> LazyArray:
    """How many elements are numbers."""
    return sum(logical_not(isnan(a)), axis, keepdims=keepdims)


def nansum(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> LazyArray:
    """The sum of what is a number."""
    return sum(_without_nan(a, 0), axis, dtype, keepdims=keepdims)


def nanprod(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> LazyArray:
    """The product of what is a number."""
    return prod(_without_nan(a, 1), axis, dtype, keepdims=keepdims)


def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> LazyArray:
    """Sums of what is a number up to each element."""
    return cumsum(_without_nan(a, 0), axis, dtype)


def _extreme_number(extreme: Callable[..., LazyArray], beyond: float, a: Any, axis: Axis, keepdims: bool) -> LazyArray:
    a = asarray(a)
    if not is_inexact(a):
        return extreme(a, axis, keepdims=keepdims)
    made = extreme(_without_nan(a, beyond), axis, keepdims=keepdims)
    return where(equal(_given(a, axis, keepdims), 0), asarray(math.nan, a.dtype), made)


def nanmax(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """The largest number; NaN where there is none."""
    return _extreme_number(max, -math.inf, a, axis, keepdims)


def nanmin(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """The smallest number; NaN where there is none."""
    return _extreme_number(min, math.inf, a, axis, keepdims)


def nanargmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> LazyArray:
    """The index of the largest number; 0 where there is none."""
    return argmax(_without_nan(a, -math.inf), axis, keepdims=keepdims)


def nanargmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> LazyArray:
    """The index of the smallest number; 0 where there is none."""
    return argmin(_without_nan(a, math.inf), axis, keepdims=keepdims)


def nanmean(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False) -> LazyArray:
    """The mean of what is a number."""
    a = asarray(a)
    if not is_inexact(a):
        return mean(a, axis, dtype, keepdims=keepdims)
    a = a if dtype is None else astype(a, dtype)
    return divide(nansum(a, axis, keepdims=keepdims), astype(_given(a, axis, keepdims), a.dtype))


def nanvar(a: Any, axis: Axis = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False) -> LazyArray:
    """The variance of what is a number; NaN where there are no more than `ddof`."""
    a = asarray(a)
    if not is_inexact(a):
        return var(a, axis, dtype, ddof=ddof, keepdims=keepdims)
    a = a if dtype is None else astype(a, dtype)
    away = where(isnan(a), asarray(0.0, a.dtype), subtract(a, nanmean(a, axis, keepdims=True)))
    free = astype(subtract(_given(a, axis, keepdims), ddof), a.dtype)
    total = sum(multiply(away, away), axis, keepdims=keepdims)
    return where(less_equal(free, 0), asarray(math.nan, a.dtype), divide(total, maximum(free, 1)))


def nanstd(a: Any, axis: Axis = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False) -> LazyArray:
    """The square root of nanvar()."""
    return sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


# ---- along an axis ----


def _scan(a: LazyArray, axis: int, neutral: Any, combine: Callable[..., LazyArray]) -> LazyArray:
    """What `combine` makes of all elements up to each one, in steps of doubled length (Hillis and Steele)."""
    extent, by = extent_of(a, axis), 1
    while by < extent:
        key = (slice(None),) * axis
        shape = list(a.shape)
        shape[axis] = by
        a = combine(concatenate([full(tuple(shape), asarray(neutral, a.dtype)), a[(*key, slice(None, -by))]], axis), a)
        by *= 2
    return a


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> LazyArray:
    """Products of the elements up to each one; of all elements in a row without an axis."""
    a = asarray(a)
    a = counting(a) if dtype is None else astype(a, dtype)
    if axis is None or (not a.ndim and axis in (0, -1)):
        return _scan(ravel(a), 0, 1, multiply)
    return _scan(a, axis_of(axis, a.ndim), 1, multiply)


def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> LazyArray:
    """Products of what is a number up to each element."""
    return cumprod(_without_nan(a, 1), axis, dtype)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> LazyArray:
    """Differences of neighbours, n times; of bools whether they differ."""
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


def ediff1d(ary: Any) -> LazyArray:
    """Differences of neighbours in the flattened array."""
    row = ravel(ary)
    return subtract(row[1:], row[:-1])


def ptp(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """The largest element less the smallest."""
    return subtract(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def average(a: Any, axis: int | None = None, weights: Any = None, returned: bool = False) -> Any:
    """The mean, or the weighted mean; with the sum of weights if it is asked for."""
    a = asarray(a)
    if weights is None:
        made = mean(a, axis)
        whole: Any = astype(numpy.asarray(a.size // builtins.max(made.size, 1)), made.dtype)
        return (made, broadcast_to(whole, made.shape)) if returned else made
    weights = asarray(weights)
    a, weights = (each if is_inexact(each) else astype(each, "float64") for each in common(a, weights))
    if weights.ndim != a.ndim:
        if axis is None:
            raise TypeError("weights of another shape need an axis")
        axis = axis_of(axis, a.ndim)
        if weights._extents != (a._extents[axis],):
            raise ValueError(f"{weights._extents} weights for {a._extents[axis]} elements")
        weights = reshape(weights, (-1, *[1] * (a.ndim - axis - 1)))
    elif weights._extents != a._extents:
        raise TypeError("weights of another shape need one axis")
    whole = sum(broadcast_to(weights, a.shape), axis)
    made = divide(sum(multiply(a, weights), axis), whole)
    return (made, whole) if returned else made


# ---- by rank ----


def _in_a_row(a: Any, axis: Axis, keepdims: bool) -> tuple[LazyArray, tuple[int, ...] | None]:
    """The elements of some axes along a last one, sorted as reals, and the shape of the result with these axes."""
    a = asarray(a)
    a = a if is_inexact(a) else astype(a, "float64")
    axes = tuple(range(a.ndim)) if axis is None else axes_of(axis, a.ndim)
    rest = [each for each in range(a.ndim) if each not in axes]
    kept = tuple(1 if each in axes else a.shape[each] for each in range(a.ndim)) if keepdims else None
    a = transpose(a, [*rest, *axes])
    shape = a.shape
    return sort(reshape(a, (*shape[: len(rest)], math.prod(shape[len(rest) :]))), -1), kept


def _between(row: LazyArray, at: float) -> LazyArray:
    """The element of a sorted row at a fraction of its length, from both of its neighbours."""
    place = at * (extent_of(row, -1) - 1)
    low = int(math.floor(place))
    part = place - low
    first, second = row[..., low], row[..., builtins.min(low + 1, extent_of(row, -1) - 1)]
    step = subtract(second, first)
    if part >= 0.5:
        return subtract(second, multiply(step, 1 - part))
    return add(first, multiply(step, part))


def quantile(a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> LazyArray:
    """What a share q, from 0 to 1, of the elements does not exceed; a share between two elements lies between them."""
    if method != "linear":
        raise Unsupported(f"quantile() has no method {method!r}")
    shares = numpy.asarray(q, numpy.float64)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("a share is from 0 to 1")
    row, kept = _in_a_row(a if not shares.ndim else astype(a, "float64"), axis, keepdims)
    if not extent_of(row, -1):
        raise IndexError("a quantile of no elements")
    found = [_between(row, share) for share in shares.ravel().tolist()]
    nothing = isnan(row[..., -1])  # NaN is sorted last
    found = [where(nothing, asarray(math.nan, row.dtype), each) for each in found]
    found = found if kept is None else [reshape(each, kept) for each in found]
    if not shares.ndim:
        return found[0]
    whole = stack(found) if found else full((0, *row.shape[:-1]), asarray(0, row.dtype))
    return whole if shares.ndim == 1 else reshape(whole, (*shares.shape, *whole.shape[1:]))


def percentile(a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> LazyArray:
    """As quantile(), of hundredths."""
    shares = numpy.asarray(q, numpy.float64) / 100
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("hundredths are from 0 to 100")
    return quantile(a, shares, axis, method=method, keepdims=keepdims)


def median(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """The element in the middle, or the mean of the two."""
    row, kept = _in_a_row(a, axis, keepdims)
    count = extent_of(row, -1)
    if not count:
        made = full(row.shape[:-1], asarray(math.nan, row.dtype))
    else:
        made = multiply(add(row[..., (count - 1) // 2], row[..., count // 2]), 0.5)
        made = where(isnan(row[..., -1]), asarray(math.nan, row.dtype), made)
    return made if kept is None else reshape(made, kept)


def nanmedian(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """The median of what is a number."""
    row, kept = _in_a_row(a, axis, keepdims)
    if not extent_of(row, -1):
        return median(a, axis, keepdims=keepdims)
    count = _given(row, -1, True)
    places = [maximum(subtract(count, 1), 0) // 2, count // 2]
    pair = [take_along_axis(row, minimum(place, extent_of(row, -1) - 1), -1)[..., 0] for place in places]
    made = where(equal(count[..., 0], 0), asarray(math.nan, row.dtype), multiply(add(*pair), 0.5))
    return made if kept is None else reshape(made, kept)


# ---- counts ----


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> LazyArray:
    """The places in a sorted vector before which values stay sorted; behind equal elements with side='right'."""
    if side not in ("left", "right"):
        raise ValueError("a side is 'left' or 'right'")
    a, v = common(a, v)
    if a.ndim != 1:
        raise ValueError(f"an array with {a.ndim} axes is no sorted vector")
    a = a if sorter is None else take(a, sorter)
    count = extent_of(a, 0)
    place = broadcast_to(asarray(0, "int64"), v.shape)
    if not count:
        return place
    before = _before(side)
    for bit in reversed(range(count.bit_length())):
        probe = add(place, 1 << bit)
        fits = less_equal(probe, count)
        last = take(a, where(fits, subtract(probe, 1), asarray(0, "int64")))
        place = where(logical_and(fits, before(last, v)), probe, place)
    return place


def _before(side: str) -> Callable[[Any, Any], LazyArray]:
    """Whether an element stands before a value; NaN stands behind all numbers."""
    order = less if side == "left" else less_equal

    def before(element: LazyArray, value: LazyArray) -> LazyArray:
        if not is_inexact(element):
            return order(element, value)
        behind = isnan(value)
        behind = logical_and(behind, logical_not(isnan(element))) if side == "left" else behind
        return logical_or(order(element, value), behind)

    return before


def digitize(x: Any, bins: Any, right: bool = False) -> LazyArray:
    """The number of the interval in which each element lies; bins ascend, or descend."""
    edges = numpy.asarray(bins)
    steps = numpy.diff(edges)
    if edges.ndim != 1 or not ((steps >= 0).all() or (steps <= 0).all()):
        raise ValueError("bins are a vector that ascends or descends")
    side = "left" if right else "right"
    if (steps < 0).any():
        return subtract(edges.size, searchsorted(edges[::-1], x, side))
    return searchsorted(edges, x, side)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> LazyArray:
    """How often each number from 0 on is there, or the sums of its weights. It reads the largest number."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("numbers are counted in a vector")
    if x.dtype.kind not in "biu" or x.dtype == "uint64":
        raise TypeError(f"{x.dtype} cannot be counted")
    if minlength < 0:
        raise ValueError("a length is at least 0")
    values = astype(x, "int64")
    if extent_of(x, 0) and int(min(values).item()) < 0:
        raise ValueError("numbers that are counted are at least 0")
    length = builtins.max(minlength, int(max(values).item()) + 1 if extent_of(x, 0) else 0)
    if weights is None or not extent_of(x, 0):
        parts = broadcast_to(asarray(1, "int64"), x.shape)
    else:
        parts = astype(weights, "float64")
    if parts._extents != x._extents:
        raise ValueError(f"{parts._extents} weights for {x._extents} numbers")
    return operator("ScatterElements", axis=0, reduction="add")(full((length,), asarray(0, parts.dtype)), values, parts)


def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    """How many elements lie in each of some intervals, and the edges of these. It reads the extremes."""
    a = ravel(a)
    if isinstance(bins, str):
        raise Unsupported(f"histogram() has no bins by {bins!r}")
    if numpy.ndim(bins) == 0 and range is None and a.size:
        range = (min(a).item(), max(a).item())
    edges = numpy.histogram_bin_edges(numpy.zeros(0), numpy.asarray(bins).tolist(), range)
    if weights is not None:
        order = argsort(a)
        sums = concatenate([[0.0], cumsum(take(astype(ravel(weights), "float64"), order))])
        row = take(a, order)
    else:
        row, sums = sort(a), None
    row, edge = common(row, edges)
    behind = concatenate([searchsorted(row, edge[:-1], "left"), searchsorted(row, edge[-1:], "right")])
    counts = diff(behind if sums is None else take(sums, behind))
    if density:
        return divide(counts, multiply(numpy.diff(edges), sum(counts))), array(edges)
    return counts, array(edges)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> LazyArray:
    """A function that is linear between points, which ascend."""
    x, xp, fp = (astype(each, "float64") for each in (x, xp, fp))
    count = extent_of(xp, 0)
    if xp.ndim != 1 or fp._extents != xp._extents:
        raise ValueError("the points are two vectors of one length")
    if not count:
        raise ValueError("no points")
    behind = searchsorted(xp, x, "right")
    low = clip(subtract(behind, 1), 0, builtins.max(count - 2, 0))
    high = minimum(add(low, 1), count - 1)
    x0, x1, y0, y1 = take(xp, low), take(xp, high), take(fp, low), take(fp, high)
    slope = divide(subtract(y1, y0), subtract(x1, x0))
    made = add(multiply(slope, subtract(x, x0)), y0)
    made = where(equal(x, x1), y1, where(equal(x, x0), y0, made)) if count > 1 else broadcast_to(fp[0], x.shape)
    made = where(less(x, xp[0]), fp[0] if left is None else left, made)
    made = where(less(xp[-1], x), fp[-1] if right is None else right, made)
    return made if count == 1 else where(isnan(x), x, made)


def convolve(a: Any, v: Any, mode: str = "full") -> LazyArray:
    """The discrete convolution of two vectors."""
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
    nothing = full((m - 1,), asarray(0, a.dtype))
    places = numpy.arange(begin, end)[:, None] + numpy.arange(m)
    return sum(multiply(take(concatenate([nothing, a, nothing]), places), flip(v)), 1, a.dtype)


def correlate(a: Any, v: Any, mode: str = "valid") -> LazyArray:
    """The correlation of two vectors."""
    a, v = _vector(a), _vector(v)
    made = convolve(a, flip(v), mode)
    n, m = extent_of(a, 0), extent_of(v, 0)
    if mode != "same" or m <= n:
        return made
    return convolve(a, flip(v), "full")[(n - 1) // 2 + (0 if n % 2 else 1) : (n - 1) // 2 + (0 if n % 2 else 1) + m]


def _vector(x: Any) -> LazyArray:
    x = asarray(x)
    if x.ndim > 1:
        raise ValueError(f"an array with {x.ndim} axes is no vector")
    return x if x.ndim else reshape(x, 1)


def cov(m: Any, rowvar: bool = True, ddof: int | None = None, bias: bool = False) -> LazyArray:
    """The covariances of variables, each of which is a row."""
    m = asarray(m)
    if m.ndim > 2:
        raise ValueError("an array has more than two axes")
    m = m if is_inexact(m) else astype(m, "float64")
    row = reshape(m, (1, -1)) if m.ndim < 2 else m if rowvar or m.shape[0] == 1 else transpose(m)
    away = subtract(row, mean(row, 1, keepdims=True))
    free = extent_of(row, 1) - ((0 if bias else 1) if ddof is None else ddof)
    made = divide(einsum("an,bn->ab", away, away), asarray(float(builtins.max(free, 0)), m.dtype))
    return squeeze(made)


def corrcoef(x: Any, rowvar: bool = True) -> LazyArray:
    """The correlation coefficients of variables, each of which is a row."""
    made = cov(x, rowvar)
    if not made.ndim:
        return divide(made, made)
    scale = sqrt(take_along_axis(made, numpy.arange(extent_of(made, 0))[:, None], 1))
    return clip(divide(divide(made, scale), transpose(scale)), -1, 1)


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> LazyArray:
    """The integral along an axis by trapezoids."""
    y = asarray(y)
    axis = axis_of(axis, y.ndim)
    key = (slice(None),) * axis
    width: Any = dx
    if x is not None:
        x = asarray(x)
        width = diff(x, axis=axis if x.ndim > 1 else -1)
        width = reshape(width, (-1, *[1] * (y.ndim - axis - 1))) if x.ndim == 1 else width
    pairs = add(y[(*key, slice(1, None))], y[(*key, slice(None, -1))])
    return sum(divide(multiply(pairs, width), 2.0), axis)
