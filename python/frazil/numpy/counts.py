"""Positions in sorted vectors, and counts."""

from __future__ import annotations

import builtins
import functools
from typing import Any, Callable

import numpy

from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import array, asarray, astype, full
from .elementwise import is_inexact, where
from .reductions import cumsum, max, min, sum
from .shapes import argsort, broadcast_to, concatenate, extent_of, ravel, reshape, sort, stack, take
from .statistics import diff
from .ufuncs import (
    add,
    common,
    divide,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    subtract,
)


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> LazyArray:
    """Returns the insertion positions of values into a sorted vector; after equal elements with side='right'."""
    if side not in ("left", "right"):
        raise ValueError("a side is 'left' or 'right'")
    a, v = common(a, v)
    if a.ndim != 1:
        raise ValueError(f"an array with {a.ndim} axes is not a sorted vector")
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
    """Returns the comparison for elements before a value. NaN follows all numbers."""
    order = less if side == "left" else less_equal

    def before(element: LazyArray, value: LazyArray) -> LazyArray:
        if not is_inexact(element):
            return order(element, value)
        behind = isnan(value)
        behind = logical_and(behind, logical_not(isnan(element))) if side == "left" else behind
        return logical_or(order(element, value), behind)

    return before


def digitize(x: Any, bins: Any, right: bool = False) -> LazyArray:
    """Returns the index of the interval that contains each element. The bins ascend or descend."""
    edges = numpy.asarray(bins)
    steps = numpy.diff(edges)
    if edges.ndim != 1 or not ((steps >= 0).all() or (steps <= 0).all()):
        raise ValueError("bins are a vector that ascends or descends")
    side = "left" if right else "right"
    if (steps < 0).any():
        return subtract(edges.size, searchsorted(edges[::-1], x, side))
    return searchsorted(edges, x, side)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> LazyArray:
    """Returns the counts of the numbers from 0, or the sums of their weights. Reads the largest number."""
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
    return _summed(values, parts, length)


def _summed(places: LazyArray, parts: LazyArray, length: int) -> LazyArray:
    """Returns the sums of the values for each position."""
    return operator("ScatterElements", axis=0, reduction="add")(full((length,), asarray(0, parts.dtype)), places, parts)


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> LazyArray:
    """Returns the edges of the intervals of histogram(). Reads the elements if NumPy chooses the number of bins."""
    return array(_edges(ravel(a), bins, range, weights))


def _edges(a: LazyArray, bins: Any, range: Any, weights: Any = None) -> numpy.ndarray:
    if isinstance(bins, str):
        return numpy.histogram_bin_edges(a.numpy(), bins, range, weights)
    if numpy.ndim(bins) == 0 and range is None and a.size:
        range = (min(a).item(), max(a).item())
    return numpy.histogram_bin_edges(numpy.zeros(0), numpy.asarray(bins).tolist(), range)


def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    """Returns the number of elements in each interval, and the edges. Reads the extremes."""
    a = ravel(a)
    edges = _edges(a, bins, range, weights)
    if weights is not None:
        if asarray(weights).size != a.size:
            raise ValueError(f"{asarray(weights).size} weights for {a.size} elements")
        order = argsort(a)
        real = ravel(weights)
        real = real if is_inexact(real) else astype(real, "int64")
        sums = concatenate([full((1,), asarray(0, real.dtype)), cumsum(take(real, order))])
        row = take(a, order)
    else:
        row, sums = sort(a), None
    row, edge = common(row, edges)
    after = concatenate([searchsorted(row, edge[:-1], "left"), searchsorted(row, edge[-1:], "right")])
    counts = diff(after if sums is None else take(sums, after))
    if density:
        return divide(counts, multiply(numpy.diff(edges), sum(counts))), array(edges)
    return counts, array(edges)


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    """Returns the number of points in each cell of a grid, and a list of the edges along each axis. Reads the extremes.
    """
    points = stack([asarray(each) for each in sample], 1) if isinstance(sample, (tuple, list)) else asarray(sample)
    points = points if points.ndim > 1 else reshape(points, (-1, 1))
    rank = extent_of(points, 1)
    lines = [bins] * rank if isinstance(bins, (int, numpy.integer)) else list(bins)
    if len(lines) != rank or (range is not None and len(range) != rank):
        raise ValueError(f"bins and ranges of another number than {rank} axes")
    edges, cells = [], asarray(0)
    inside = asarray(True)
    for i, line in enumerate(lines):
        edges.append(_edges(points[:, i], line, None if range is None else range[i]))
        cell, holds = _cell(points[:, i], edges[-1])
        cells = add(multiply(cells, len(edges[-1]) - 1), cell)
        inside = logical_and(inside, holds)
    shape = tuple(len(each) - 1 for each in edges)
    each_weight = asarray(1.0) if weights is None else astype(weights, "float64")
    counts = _summed(cells, where(inside, broadcast_to(each_weight, cells.shape), asarray(0.0)), int(numpy.prod(shape)))
    counts = reshape(counts, shape)
    if density:
        volume = functools.reduce(numpy.multiply.outer, [numpy.diff(each) for each in edges])
        counts = divide(counts, multiply(volume, sum(counts)))
    return counts, [array(each) for each in edges]


def _cell(x: LazyArray, edges: numpy.ndarray) -> tuple[LazyArray, LazyArray]:
    """Returns the interval of each element, and whether there is one. The last interval includes its upper end."""
    place = subtract(searchsorted(edges, x, "right"), 1)
    last = len(edges) - 2
    holds = logical_and(less_equal(edges[0], x), less_equal(x, edges[-1]))
    return maximum(minimum(place, last), 0), holds


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[LazyArray, LazyArray, LazyArray]:
    """Returns the number of points in each cell of a grid, and the edges along both axes. Reads the extremes."""
    if not isinstance(bins, (int, numpy.integer)) and len(bins) not in (1, 2):
        bins = [numpy.asarray(bins)] * 2
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
