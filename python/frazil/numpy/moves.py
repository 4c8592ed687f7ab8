"""Functions that move elements by indices that are known during recording."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..lazy.array import LazyArray, values_of
from ..lazy.operators import operator
from .arrays import array, asarray, axes_of, axis_of, full
from .elementwise import where
from .outputs import with_out
from .pads import pad
from .reductions import sum
from .shapes import (
    broadcast_to,
    concatenate,
    expand_dims,
    extent_of,
    flip,
    moveaxis,
    ravel,
    reshape,
    split,
    swapaxes,
    transpose,
)
from .ufuncs import common


def _pick(x: LazyArray, indices: Any, axis: int) -> LazyArray:
    return operator("Gather", axis=axis)(x, array(indices, "int64"))


def roll(a: Any, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> LazyArray:
    """Shifts the elements cyclically along axes."""
    a = asarray(a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    shifts, axes = numpy.broadcast_arrays(shift, axis)
    for by, each in zip(shifts.ravel().tolist(), axes.ravel().tolist()):
        a = _rolled(a, by, axis_of(each, a.ndim))
    return a


def _rolled(a: LazyArray, by: int, axis: int) -> LazyArray:
    extent = extent_of(a, axis)
    if not extent or not by % extent:
        return a
    first = extent - by % extent
    key = (slice(None),) * axis
    return concatenate([a[(*key, slice(first, None))], a[(*key, slice(None, first))]], axis)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> LazyArray:
    """Repeats each element by a common or individual count; flattens the array without an axis."""
    a = asarray(a)
    a, axis = (ravel(a), 0) if axis is None or (not a.ndim and axis in (0, -1)) else (a, axis_of(axis, a.ndim))
    counts = numpy.asarray(repeats)
    counts = counts if counts.size else counts.astype("int64")
    return _pick(a, numpy.repeat(numpy.arange(extent_of(a, axis)), counts), axis)


def resize(a: Any, new_shape: Any) -> LazyArray:
    """Returns the elements in another shape. They are repeated or truncated as needed."""
    a = ravel(a)
    size, extent = int(numpy.prod(new_shape)), extent_of(a, 0)
    if any(each < 0 for each in numpy.atleast_1d(new_shape)):
        raise ValueError("an extent is at least 0")
    if not extent:
        return full(new_shape, 0, a.dtype)
    return reshape(_pick(a, numpy.arange(size) % extent, 0), new_shape)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> LazyArray:
    """Rotates by 90 degrees, k times, from the first of two axes towards the second."""
    m = asarray(m)
    if len(axes) != 2 or not all(-m.ndim <= each < m.ndim for each in axes):
        raise ValueError(f"two axes of {m.ndim} are turned, not {axes}")
    first, second = axes_of(tuple(axes), m.ndim)
    k %= 4
    if k == 2:
        return flip(m, (first, second))
    if k == 1:
        return swapaxes(flip(m, second), first, second)
    return flip(swapaxes(m, first, second), second) if k else m


def fliplr(m: Any) -> LazyArray:
    """Reverses the columns."""
    return flip(_with_axes(m, 2), 1)


def flipud(m: Any) -> LazyArray:
    """Reverses the rows."""
    return flip(_with_axes(m, 1), 0)


def _with_axes(m: Any, least: int) -> LazyArray:
    m = asarray(m)
    if m.ndim < least:
        raise ValueError(f"an array with {m.ndim} axes; at least {least} are needed")
    return m


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> LazyArray:
    """Returns the elements whose indices along two axes are equal, or differ by `offset`, along a new last axis."""
    a = _with_axes(a, 2)
    a = moveaxis(a, axes_of((axis1, axis2), a.ndim), (-2, -1))
    rows, columns = extent_of(a, -2), extent_of(a, -1)
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    at = numpy.arange(count)
    return a[..., at + max(0, -offset), at + max(0, offset)]


def diag(v: Any, k: int = 0) -> LazyArray:
    """Returns the diagonal of a matrix, or a matrix with a vector as its diagonal."""
    v = asarray(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError(f"an array with {v.ndim} axes; a vector or a matrix is needed")
    size = extent_of(v, 0) + abs(k)
    line = pad(v, (0, abs(k)))
    return where(numpy.eye(size, k=k, dtype=bool), expand_dims(line, 1 if k >= 0 else 0), numpy.zeros((), v.dtype))


def diagflat(v: Any, k: int = 0) -> LazyArray:
    """Returns a matrix with the elements of an array as its diagonal."""
    return diag(ravel(v), k)


@with_out
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> LazyArray:
    """Returns the sum of a diagonal."""
    return sum(diagonal(a, offset, axis1, axis2), -1, dtype)


def append(arr: Any, values: Any, axis: int | None = None) -> LazyArray:
    """Appends values to an array; without an axis, both are flattened."""
    return concatenate([arr, values], axis)


def delete(arr: Any, obj: Any, axis: int | None = None) -> LazyArray:
    """Removes the elements at indices; flattens the array without an axis."""
    arr = asarray(arr)
    arr, axis = (ravel(arr), 0) if axis is None else (arr, axis_of(axis, arr.ndim))
    return _pick(arr, numpy.delete(numpy.arange(extent_of(arr, axis)), *values_of([obj])), axis)


def insert(arr: Any, obj: int, values: Any, axis: int | None = None) -> LazyArray:
    """Inserts values before an index; flattens the array without an axis."""
    arr = asarray(arr)
    arr, axis = (ravel(arr), 0) if axis is None else (arr, axis_of(axis, arr.ndim))
    extent = extent_of(arr, axis)
    if not -extent <= obj <= extent:
        raise IndexError(f"index {obj} of an axis of {extent} elements")
    key = (slice(None),) * axis
    at = obj + extent if obj < 0 else obj
    value = asarray(values, arr.dtype)
    value = moveaxis(expand_dims(value, 0), 0, axis) if 0 < value.ndim == arr.ndim - 1 else value
    if value.ndim == 1 == arr.ndim:
        shape: tuple[Any, ...] = (value.shape[0],)
    else:
        shape = (*arr.shape[:axis], value.shape[axis] if value.ndim == arr.ndim else 1, *arr.shape[axis + 1 :])
    return concatenate([arr[(*key, slice(None, at))], broadcast_to(value, shape), arr[(*key, slice(at, None))]], axis)


def broadcast_arrays(*args: Any) -> list[LazyArray]:
    """Broadcasts arrays to their common shape."""
    arrays = [asarray(each) for each in args]
    shape = numpy.broadcast_shapes(*(tuple(extent_of(each, i) for i in range(each.ndim)) for each in arrays))
    return [each if each._extents == shape else broadcast_to(each, shape) for each in arrays]


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[LazyArray]:
    """Returns the coordinates of the points of a grid, one array per vector. `copy` has no effect."""
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing is 'xy' or 'ij'")
    count = len(xi)
    lines = [reshape(x, (*[1] * i, -1, *[1] * (count - i - 1))) for i, x in enumerate(xi)]
    if indexing == "xy" and count > 1:
        lines = [swapaxes(line, 0, 1) for line in lines]
    return lines if sparse else broadcast_arrays(*lines)


def _at_least(arrays: Sequence[Any], places: Any) -> Any:
    made = [places(asarray(each)) for each in arrays]
    return made[0] if len(made) == 1 else made


def atleast_1d(*arys: Any) -> Any:
    """Adds axes up to at least one."""
    return _at_least(arys, lambda x: x if x.ndim else reshape(x, 1))


def atleast_2d(*arys: Any) -> Any:
    """Adds axes up to at least two; a vector becomes a row."""
    return _at_least(arys, lambda x: x if x.ndim > 1 else reshape(x, (1, -1)))


def atleast_3d(*arys: Any) -> Any:
    """Adds axes up to at least three; a vector lies along the second."""

    def places(x: LazyArray) -> LazyArray:
        if x.ndim > 2:
            return x
        return expand_dims(x, 2) if x.ndim == 2 else reshape(x, (1, -1, 1))

    return _at_least(arys, places)


def dstack(tup: Sequence[Any]) -> LazyArray:
    """Concatenates arrays along the third axis."""
    return concatenate([atleast_3d(each) for each in tup], 2)


def column_stack(tup: Sequence[Any]) -> LazyArray:
    """Joins vectors and matrices as columns."""
    return concatenate([each if each.ndim > 1 else reshape(each, (-1, 1)) for each in map(asarray, tup)], 1)


def hsplit(ary: Any, indices_or_sections: Any) -> list[LazyArray]:
    """Splits along the second axis; a vector along its axis."""
    ary = _with_axes(ary, 1)
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[LazyArray]:
    """Splits along the first axis."""
    return split(_with_axes(ary, 2), indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[LazyArray]:
    """Splits along the third axis."""
    return split(_with_axes(ary, 3), indices_or_sections, 2)


def rollaxis(a: Any, axis: int, start: int = 0) -> LazyArray:
    """Moves an axis before another one."""
    a = asarray(a)
    axis = axis_of(axis, a.ndim)
    if not -a.ndim <= start <= a.ndim:
        raise IndexError(f"start {start} of an array with {a.ndim} axes")
    start = start + a.ndim if start < 0 else start
    order = [each for each in range(a.ndim) if each != axis]
    order.insert(start - 1 if axis < start else start, axis)
    return transpose(a, order)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> LazyArray:
    """Returns the elements of the choice whose condition is the first true one."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"{len(condlist)} conditions for {len(choicelist)} choices")
    conditions = [asarray(each) for each in condlist]
    if any(each.dtype != bool for each in conditions):
        raise TypeError("conditions are arrays of bools")
    made = default
    for choice in choicelist:
        made, _ = common(made, choice)
    for condition, choice in zip(conditions[::-1], choicelist[::-1]):
        made = where(condition, choice, made)
    return made  # type: ignore[no-any-return]
