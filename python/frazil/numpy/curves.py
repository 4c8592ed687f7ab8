"""Functions given by points."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy

from ..lazy.array import LazyArray
from .arrays import asarray, astype, axes_of, axis_of
from .counts import searchsorted
from .elementwise import clip, remainder, where
from .reductions import cumsum, sum
from .shapes import argsort, broadcast_to, concatenate, extent_of, moveaxis, reshape, take
from .statistics import diff
from .ufuncs import absolute, add, divide, equal, isnan, less, logical_and, minimum, multiply, subtract


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> LazyArray:
    """Interpolates linearly between points, which ascend, or with a period have any order."""
    x, xp, fp = (astype(each, "float64") for each in (x, xp, fp))
    if period is not None:
        return _periodic(x, xp, fp, abs(period))
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


def _periodic(x: LazyArray, xp: LazyArray, fp: LazyArray, period: float) -> LazyArray:
    """Implements interp() for periodic points: those of one period and a neighbour on both sides."""
    if period == 0:
        raise ValueError("a period is not 0")
    if xp.ndim != 1 or fp._extents != xp._extents:
        raise ValueError("the points are two vectors of one length")
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    xp = concatenate([subtract(xp[-1:], period), xp, add(xp[:1], period)])
    return interp(x, xp, concatenate([fp[-1:], fp, fp[:1]]))


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Returns the derivatives along axes by finite differences, with a spacing of 1, or given for all or each axis.

    Coordinates instead of a spacing must be known numbers. For several axes the result is a list.
    """
    f = asarray(f)
    bools = f.dtype == bool
    f = f if f.dtype.kind not in "biu" else astype(f, "float64")
    axes = tuple(range(f.ndim)) if axis is None else axes_of(axis, f.ndim)
    widths = list(varargs) or [1.0]
    if len(widths) == 1 and not numpy.ndim(widths[0]):
        widths *= len(axes)
    if len(widths) != len(axes):
        raise TypeError(f"{len(widths)} distances for {len(axes)} axes")
    if edge_order not in (1, 2):
        raise ValueError("edge_order is 1 or 2")
    if bools and all(extent_of(f, each) > edge_order for each in axes):
        raise TypeError("gradient() of bools, which have no differences: cast them by astype()")
    made = [_slopes(f, numpy.asarray(width), each, edge_order) for width, each in zip(widths, axes)]
    return made[0] if len(made) == 1 else made


def _slopes(f: LazyArray, width: numpy.ndarray, axis: int, edge_order: int) -> LazyArray:
    n = extent_of(f, axis)
    if n < edge_order + 1:
        raise ValueError(f"{n} elements along axis {axis}: at least {edge_order + 1} are needed")
    if width.ndim and (width.ndim != 1 or len(width) != n):
        raise ValueError(f"coordinates of shape {width.shape} for {n} elements")
    steps = numpy.diff(width) if width.ndim else numpy.full(n - 1, width, "float64")
    rows = moveaxis(f, axis, -1)
    if (steps == steps[0]).all():
        inner = divide(subtract(rows[..., 2:], rows[..., :-2]), 2 * steps[0])
    else:
        inner = _three([rows[..., :-2], rows[..., 1:-1], rows[..., 2:]], _inner_weights(steps))
    if edge_order == 1:
        first = divide(subtract(rows[..., 1:2], rows[..., :1]), steps[0])
        last = divide(subtract(rows[..., -1:], rows[..., -2:-1]), steps[-1])
    else:
        first = _three([rows[..., i : i + 1] for i in range(3)], _edge_weights(steps[0], steps[1]))
        last = _three([rows[..., n - 1 - i : n - i] for i in range(3)], _edge_weights(-steps[-1], -steps[-2]))
    return moveaxis(astype(concatenate([first, inner, last], -1), f.dtype), -1, axis)


def _three(arrays: list[LazyArray], weights: tuple[Any, Any, Any]) -> LazyArray:
    """Returns the weighted sum of three arrays."""
    parts = [multiply(each, numpy.asarray(weight, each.dtype)) for each, weight in zip(arrays, weights)]
    return add(add(parts[0], parts[1]), parts[2])


def _inner_weights(steps: numpy.ndarray) -> tuple[Any, Any, Any]:
    """Returns the weights of the previous neighbour, the element and the next one, for these distances between them."""
    h, k = steps[:-1], steps[1:]
    return -k / (h * (h + k)), (k - h) / (h * k), h / (k * (h + k))


def _edge_weights(h: float, k: float) -> tuple[Any, Any, Any]:
    """Returns the weights of an end and of its two neighbours, at distances h and h + k."""
    return -(2 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))


def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> LazyArray:
    """Returns angles without jumps of more than half a period, or `discont`, along an axis."""
    p = asarray(p)
    half = period / 2
    steps = diff(p, axis=axis)
    if p.dtype.kind == "c":
        raise TypeError("unwrap() of complex numbers: take their angle()")
    axis = axis_of(axis, p.ndim)
    p, steps = (each if each.dtype.kind not in "biu" else astype(each, "float64") for each in (p, steps))
    kept = subtract(remainder(add(steps, half), period), half)
    kept = where(logical_and(equal(kept, -half), less(0, steps)), asarray(half, p.dtype), kept)
    small = less(absolute(steps), half if discont is None else discont)
    more = where(small, asarray(0, p.dtype), subtract(kept, steps))
    key = (slice(None),) * axis
    return concatenate([p[(*key, slice(None, 1))], add(p[(*key, slice(1, None))], cumsum(more, axis))], axis)


def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> LazyArray:
    """Returns the integral along an axis by trapezoids."""
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
