"""Padding of arrays."""

from __future__ import annotations

from typing import Any, Callable

import numpy

from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import array as copied
from .arrays import asarray, astype, full
from .elementwise import is_inexact
from .quantiles import median
from .reductions import max, mean, min
from .shapes import broadcast_to, concatenate, extent_of, reshape, take
from .ufuncs import add, divide, floor, multiply, rint, subtract

KEYWORDS = {
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    **dict.fromkeys(("maximum", "mean", "median", "minimum"), {"stat_length"}),
    **dict.fromkeys(("reflect", "symmetric"), {"reflect_type"}),
    **dict.fromkeys(("edge", "empty", "wrap"), set()),
}
STATISTICS: dict[str, Callable[..., LazyArray]] = {"maximum": max, "minimum": min, "mean": mean, "median": median}


def _pairs(value: Any, count: int) -> list[list[Any]]:
    """Converts a number, a pair, or a pair per axis to a pair per axis."""
    return numpy.broadcast_to(numpy.asarray(value), (count, 2)).tolist()


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> LazyArray:
    """Pads each axis before and after, with a mode of numpy.pad(). 'empty' means 'constant'.

    If the mode is a function, it gets the values, which are read.
    """
    x = asarray(array)
    given = numpy.asarray(pad_width)
    if given.dtype.kind not in "iu":
        raise TypeError("widths are integers")
    if (given < 0).any():
        raise ValueError("a width is at least 0")
    if callable(mode):
        return asarray(numpy.pad(x.numpy(), pad_width, mode, **kwargs))
    if mode not in KEYWORDS:
        raise ValueError(f"pad() has no mode {mode!r}: these are {', '.join(KEYWORDS)}")
    if not kwargs.keys() <= KEYWORDS[mode]:
        raise ValueError(f"pad() by {mode!r} has no parameter {', '.join(sorted(kwargs.keys() - KEYWORDS[mode]))}")
    widths = _pairs(given, x.ndim)
    if mode in ("constant", "empty"):
        return _by_values(x, widths, _pairs(kwargs.get("constant_values", 0), x.ndim))
    if mode == "linear_ramp":
        return _by_edges(x, widths, _pairs(kwargs.get("end_values", 0), x.ndim), _ramp)
    if mode in STATISTICS:
        lengths = _pairs(kwargs.get("stat_length", None), x.ndim)
        return _by_edges(x, widths, lengths, lambda *edge: _statistic(mode, *edge))
    odd = kwargs.get("reflect_type", "even") == "odd"
    for axis, pair in enumerate(widths):
        if any(pair):
            x = _moved(x, axis, pair, mode, odd)
    return x


def _by_values(x: LazyArray, widths: list[list[int]], values: list[list[Any]]) -> LazyArray:
    for axis, (pair, fills) in enumerate(zip(widths, values)):
        shape = list(x.shape)
        edges = []
        for width, fill in zip(pair, fills):
            shape[axis] = width
            edges.append([full(tuple(shape), numpy.asarray(fill).astype(x.dtype))] if width else [])
        if edges[0] or edges[1]:
            x = concatenate([*edges[0], x, *edges[1]], axis)
    return x


def _moved(x: LazyArray, axis: int, pair: list[int], mode: str, odd: bool) -> LazyArray:
    """Pads along an axis with elements of the array. An odd reflection mirrors them around the edge values."""
    count = extent_of(x, axis)
    if not count:
        raise ValueError(f"axis {axis} has no elements: it is padded by 'constant' or 'empty'")
    if not odd or count == 1:
        at = numpy.pad(numpy.arange(count), pair, mode)  # type: ignore[call-overload]
        return operator("Gather", axis=axis)(x, copied(at, "int64"))  # type: ignore[no-any-return]
    turn = 1 if mode == "symmetric" else 0
    period = 2 * (count - 1 + turn)
    place = numpy.arange(-pair[0], count + pair[1])
    rounds, rest = place // period, place % period
    back = rest >= count
    at = numpy.where(back, period - turn - rest, rest)

    def along(numbers: Any) -> LazyArray:
        return reshape(asarray(numpy.asarray(numbers, x.dtype)), (-1, *[1] * (x.ndim - axis - 1)))

    first, last = take(x, [0], axis), take(x, [count - 1], axis)
    made = add(multiply(take(x, at, axis), along(numpy.where(back, -1, 1))), multiply(last, along(2 * back)))
    return add(made, multiply(subtract(last, first), along(2 * rounds)))


def _by_edges(x: LazyArray, widths: Any, given: Any, edge: Callable[..., LazyArray]) -> LazyArray:
    """Pads with `edge`, a function of the array, an axis, a width, the value given for an edge, and whether it is the
    last.
    """
    for axis, (pair, values) in enumerate(zip(widths, given)):
        if any(pair) and not extent_of(x, axis):
            raise ValueError(f"axis {axis} has no elements: it is padded by 'constant' or 'empty'")
        edges = [[edge(x, axis, pair[i], values[i], bool(i))] if pair[i] else [] for i in (0, 1)]
        if edges[0] or edges[1]:
            x = concatenate([*edges[0], x, *edges[1]], axis)
    return x


def _ramp(x: LazyArray, axis: int, width: int, end: Any, last: bool) -> LazyArray:
    """Returns equally spaced numbers from a value to the array's edge."""
    count = extent_of(x, axis)
    border = take(x, [count - 1 if last else 0], axis)
    real = border if is_inexact(x) else astype(border, "float64")
    steps = numpy.arange(width)[::-1] if last else numpy.arange(width)
    line = reshape(asarray(steps.astype(real.dtype)), (-1, *[1] * (x.ndim - axis - 1)))
    made = add(multiply(line, divide(subtract(real, end), width)), end)
    return astype(floor(made) if x.dtype.kind in "iu" else made, x.dtype)


def _statistic(mode: str, x: LazyArray, axis: int, width: int, length: int | None, last: bool) -> LazyArray:
    """Returns a statistic of `length` elements next to an edge, or of all."""
    count = extent_of(x, axis)
    near = count if length is None else length
    if near < 1 and mode in ("maximum", "minimum"):
        raise ValueError(f"pad() by {mode!r} of no elements")
    key = (slice(None),) * axis
    part = x[(*key, slice(count - near if near < count else 0, None) if last else slice(None, near))]
    made = STATISTICS[mode](part, axis, keepdims=True)
    if not is_inexact(x) and is_inexact(made):
        made = rint(made)
    shape = list(x.shape)
    shape[axis] = width
    return broadcast_to(astype(made, x.dtype), tuple(shape))
