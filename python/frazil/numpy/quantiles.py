"""Medians and quantiles: elements by their position in sorted order."""

from __future__ import annotations

import builtins
import math
import types
from typing import Any

import numpy

from ..lazy.array import LazyArray
from . import ufuncs
from .arrays import asarray, astype, axes_of, full
from .elementwise import clip, is_inexact, where
from .outputs import with_out
from .reductions import Axis, sum
from .shapes import extent_of, reshape, sort, stack, take_along_axis, transpose
from .ufuncs import add, equal, isnan, logical_not, maximum, minimum, multiply, subtract

CONTINUOUS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "linear": (1, 1),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}  # alpha and beta of Hyndman and Fan, "Sample quantiles in statistical packages", 1996
WHOLE = {"lower", "higher", "nearest", "inverted_cdf", "closest_observation"}  # methods that return elements
METHODS = {*CONTINUOUS, *WHOLE, "midpoint", "averaged_inverted_cdf"}
TIES = int(numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0")  # NumPy 2 rounds ties to odd positions
LAZY = types.SimpleNamespace(floor=ufuncs.floor, ceil=ufuncs.ceil, rint=ufuncs.rint, where=where, clip=clip)


def _place(xp: Any, count: Any, q: float, method: str) -> Any:
    """Returns the fractional position of a share q in a sorted row of `count` numbers."""
    last = count - 1
    if method in CONTINUOUS:
        alpha, beta = CONTINUOUS[method]
        place = last * q if method == "linear" else count * q + (alpha + q * (1 - alpha - beta)) - 1
    elif method in ("inverted_cdf", "averaged_inverted_cdf"):
        down = xp.floor(count * q - 1)
        on = 0 if method == "inverted_cdf" else 0.5
        place = down + xp.where(count * q - 1 == down, on, 1)
    elif method == "closest_observation":
        down = xp.floor(count * q - 1.5)
        place = xp.where((count * q - 1.5 == down) & (down % 2 == TIES), down, down + 1)
    elif method == "nearest":
        place = xp.rint(last * q)
    else:
        low, high = xp.floor(last * q), xp.ceil(last * q)
        place = {"lower": low, "higher": high, "midpoint": (low + high) * 0.5}[method]
    return xp.clip(place, 0, last)


def _lerp(first: LazyArray, second: LazyArray, part: float) -> LazyArray:
    """Interpolates linearly between two values, with NumPy's rounding."""
    step = subtract(second, first)
    return subtract(second, multiply(step, 1 - part)) if part >= 0.5 else add(first, multiply(step, part))


def _between(row: LazyArray, at: float, method: str) -> LazyArray:
    """Returns the quantile of sorted rows from its two neighbours."""
    last = extent_of(row, -1) - 1
    place = float(_place(numpy, numpy.float64(last + 1), at, method))
    low = int(math.floor(place))
    first = row[..., low]
    return first if method in WHOLE else _lerp(first, row[..., builtins.min(low + 1, last)], place - low)


def _shares(q: Any, most: int) -> numpy.ndarray:
    """Returns shares from 0 to 1, given as parts of `most`."""
    shares = numpy.asarray(q, numpy.float64) / most
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"a share is from 0 to {most}")
    return shares


def _check_method(method: str) -> None:
    if method not in METHODS:
        raise ValueError(f"{method!r} is not a method of quantiles: these are {', '.join(sorted(METHODS))}")


def _in_a_row(
    a: Any, axis: Axis, keepdims: bool, whole: bool = False
) -> tuple[LazyArray, tuple[int, ...] | None]:
    """Returns the elements of some axes sorted along a new last axis, and the shape of the result that keeps these
    axes.

    Elements are cast to reals unless `whole` is true.
    """
    a = asarray(a)
    a = a if is_inexact(a) or whole else astype(a, "float64")
    axes = tuple(range(a.ndim)) if axis is None else axes_of(axis, a.ndim)
    rest = [each for each in range(a.ndim) if each not in axes]
    kept = tuple(1 if each in axes else a.shape[each] for each in range(a.ndim)) if keepdims else None
    a = transpose(a, [*rest, *axes])
    shape = a.shape
    return sort(reshape(a, (*shape[: len(rest)], math.prod(shape[len(rest) :]))), -1), kept


def _quantile(a: Any, shares: numpy.ndarray, axis: Axis, method: str, keepdims: bool, numbers: bool) -> LazyArray:
    """Returns the quantiles of all elements; `numbers` ignores NaN."""
    _check_method(method)
    a = asarray(a)
    if a.dtype == bool and method not in WHOLE:
        raise TypeError("a quantile of bools, which have no differences: cast them by astype()")
    if shares.ndim and method not in WHOLE:
        a = astype(a, "float64")
    row, kept = _in_a_row(a, axis, keepdims, method in WHOLE)
    if not extent_of(row, -1):
        if not numbers:
            raise IndexError("a quantile of no elements")
        found = [full(row.shape[:-1], asarray(math.nan, row.dtype)) for _ in range(shares.size)]
    else:
        given = _given(row) if numbers and is_inexact(row) else None
        found = [_found(row, share, method, given) for share in shares.ravel().tolist()]
    found = found if kept is None else [reshape(each, kept) for each in found]
    if not shares.ndim:
        return found[0]
    made = stack(found) if found else full((0, *row.shape[:-1]), asarray(0, row.dtype))
    return made if shares.ndim == 1 else reshape(made, (*shares.shape, *made.shape[1:]))


def _found(row: LazyArray, share: float, method: str, given: LazyArray | None) -> LazyArray:
    """Returns a quantile of sorted rows with NaN last. `given` is the number of numbers in each; None includes NaN."""
    if given is not None:
        return _among(row, given, share, method)
    found = _between(row, share, method)
    return where(isnan(row[..., -1]), asarray(math.nan, row.dtype), found) if is_inexact(row) else found


def _given(row: LazyArray) -> LazyArray:
    return sum(logical_not(isnan(row)), -1, keepdims=True)


def _among(row: LazyArray, given: LazyArray, share: float, method: str) -> LazyArray:
    """Returns a quantile of the first `given` elements of sorted rows."""
    place = _place(LAZY, maximum(astype(given, "float64"), 1), share, method)
    low = LAZY.floor(place)
    near = [astype(minimum(each, subtract(given, 1)), "int64") for each in (low, add(low, 1))]
    first, second = (take_along_axis(row, maximum(each, 0), -1) for each in near)
    part = astype(subtract(place, low), row.dtype)
    step = subtract(second, first)
    made = where(part >= 0.5, subtract(second, multiply(step, 1 - part)), add(first, multiply(step, part)))
    made = first if method in WHOLE else where(equal(part, 0), first, made)
    return where(equal(given, 0), asarray(math.nan, row.dtype), made)[..., 0]


@with_out
def quantile(a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> LazyArray:
    """Returns the quantile for a share q from 0 to 1, by a method of numpy.quantile()."""
    return _quantile(a, _shares(q, 1), axis, method, keepdims, False)


@with_out
def percentile(a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> LazyArray:
    """As quantile(), for q in percent."""
    return _quantile(a, _shares(q, 100), axis, method, keepdims, False)


@with_out
def nanquantile(a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> LazyArray:
    """Returns the quantile, ignoring NaN; NaN if all are NaN."""
    return _quantile(a, _shares(q, 1), axis, method, keepdims, True)


@with_out
def nanpercentile(a: Any, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> LazyArray:
    """As nanquantile(), for q in percent."""
    return _quantile(a, _shares(q, 100), axis, method, keepdims, True)


@with_out
def median(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the middle element, or the mean of the middle two."""
    row, kept = _in_a_row(a, axis, keepdims)
    count = extent_of(row, -1)
    if not count:
        made = full(row.shape[:-1], asarray(math.nan, row.dtype))
    else:
        made = multiply(add(row[..., (count - 1) // 2], row[..., count // 2]), 0.5)
        made = where(isnan(row[..., -1]), asarray(math.nan, row.dtype), made)
    return made if kept is None else reshape(made, kept)


@with_out
def nanmedian(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the median, ignoring NaN."""
    row, kept = _in_a_row(a, axis, keepdims)
    if not extent_of(row, -1):
        return median(a, axis, keepdims=keepdims)
    count = _given(row)
    places = [maximum(subtract(count, 1), 0) // 2, count // 2]
    pair = [take_along_axis(row, minimum(place, extent_of(row, -1) - 1), -1)[..., 0] for place in places]
    made = where(equal(count[..., 0], 0), asarray(math.nan, row.dtype), multiply(add(*pair), 0.5))
    return made if kept is None else reshape(made, kept)
