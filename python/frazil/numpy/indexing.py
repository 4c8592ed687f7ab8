"""Elements and parts by indices: x[key]."""

from __future__ import annotations

import builtins
from typing import Any

import numpy

from ..errors import BadModel
from ..lazy.array import LazyArray
from ..lazy.operators import operator, ops
from ..slices import FIRST, LAST, cuts
from .arrays import asarray, astype, ints, vector
from .elementwise import where
from .shapes import concatenate, expand_dims, indices_of, moveaxis, nonzero, transpose
from .ufuncs import add, less, maximum


def take_at(a: LazyArray, key: Any) -> LazyArray:
    """Implements a[key]: integers, slices, None, Ellipsis, arrays of integers, one array of bools."""
    key = key if isinstance(key, tuple) else (key,)
    parts = _whole_key(a, key)
    news = [i for i, part in enumerate(_results(parts)) if part is None]
    plain = [part for part in parts if part is not None]
    a = _take_slices(a, [(axis, part) for axis, part in enumerate(plain) if isinstance(part, slice)])
    chosen = [(axis, part) for axis, part in enumerate(plain) if not isinstance(part, slice)]
    if any(_is_array(part) for _, part in chosen) and (len(chosen) > 1 or news):
        return _take_arrays(a, parts, _dots_between(key))
    for axis, part in reversed(chosen):
        a = operator("Gather", axis=axis)(a, part)
    return ops.Unsqueeze(a, ints(*news)) if news else a


def _dots_between(key: tuple[Any, ...]) -> bool:
    """Returns whether '...' is between indices, even if it stands for no axes."""
    places = [i for i, part in enumerate(key) if not _stays(part)]
    return builtins.any(part is Ellipsis and places[0] < i < places[-1] for i, part in enumerate(key))


def _is_array(part: Any) -> bool:
    return isinstance(part, LazyArray) and part.ndim > 0


def _results(parts: list[Any]) -> list[Any]:
    """Returns the parts that become axes of the result in addition to those of arrays."""
    return [part for part in parts if part is None or isinstance(part, slice)]


def _whole_key(a: LazyArray, key: tuple[Any, ...]) -> list[Any]:
    """Returns a part for each axis, and None for new axes. Arrays and integers become lazy arrays."""
    parts = [part if _stays(part) else _index(part) for part in key]
    used = builtins.sum(_width(part) for part in parts)
    if used > a.ndim:
        raise IndexError(f"{used} indices for an array with {a.ndim} axes")
    dots = [i for i, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index has at most one '...'")
    at = dots[0] if dots else len(parts)
    parts[at : at + 1] = [slice(None)] * (a.ndim - used)
    whole: list[Any] = []
    axis = 0
    for part in parts:
        whole.extend([part] if _stays(part) else _places(part, a._extents[axis : axis + _width(part)]))
        axis += _width(part)
    return whole


def _stays(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice)


def _is_mask(part: Any) -> bool:
    return isinstance(part, LazyArray) and part.dtype == bool


def _width(part: Any) -> int:
    """Returns the number of axes that a part of an index uses."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if _is_mask(part) else 1


def _index(part: Any) -> Any:
    """Returns an index as an integer or a lazy array."""
    if isinstance(part, (int, numpy.integer)) and not isinstance(part, bool):
        return int(part)
    made = asarray(part)
    if made.dtype == bool and not made.ndim:
        raise IndexError("a single bool is not an index")
    return made if made.dtype == bool else indices_of(part, None)


def _places(part: Any, extents: tuple[int | None, ...]) -> list[LazyArray]:
    """Converts an index along axes of these extents to indices along each axis; for a mask, those of its true elements.
    """
    if isinstance(part, int):
        return [indices_of(ints(part), extents[0]).reshape(())]
    if not _is_mask(part):
        return [indices_of(part, extents[0])]
    for have, want in zip(part._extents, extents):
        if have != want and None not in (have, want):
            raise IndexError(f"a mask of shape {part._extents} for axes of {extents}")
    return list(nonzero(part))


def _take_slices(a: LazyArray, slices: list[tuple[int, slice]]) -> LazyArray:
    layers: list[list[tuple[Any, ...]]] = [[], []]
    for axis, part in slices:
        if part == slice(None):
            continue
        step = 1 if part.step is None else part.step
        for layer, (start, stop, by) in zip(layers, _cuts(a, axis, part.start, part.stop, step)):
            layer.append((start, stop, axis, by))
    for rows in layers:
        if rows:
            a = ops.Slice(a, *(vector(list(column)) for column in zip(*rows)))
    return a


def _cuts(a: LazyArray, axis: int, start: Any, stop: Any, step: int) -> list[tuple[Any, Any, int]]:
    """As slices.cuts(), for bounds that may be arrays."""
    if step > 0 or not (isinstance(start, LazyArray) or isinstance(stop, LazyArray)):
        return cuts(start, stop, step, a._extents[axis])
    count = a.shape[axis]

    def from_front(bound: Any) -> LazyArray:
        bound = astype(bound, "int64")
        return where(less(bound, 0), add(bound, count), bound)

    behind = LAST if start is None else maximum(add(from_front(start), 1), 0)
    before = FIRST if stop is None else from_front(stop)
    return [(0, behind, 1), (LAST, before if stop is None else where(less(before, 0), FIRST, before), step)]


def _take_arrays(a: LazyArray, parts: list[Any], apart: bool) -> LazyArray:
    """Returns the elements at several index arrays, which are broadcast.

    Their axes replace the first index array, or come first if other parts are between the index arrays. `apart` means
    that '...' without axes is between them.
    """
    places = [i for i, part in enumerate(parts) if isinstance(part, LazyArray)]
    axes = [axis for axis, part in enumerate(part for part in parts if part is not None) if isinstance(part, LazyArray)]
    indices = [parts[i] for i in places]
    whole = indices[0]
    try:
        for index in indices[1:]:
            whole = whole + index * 0
    except BadModel as error:
        raise IndexError(str(error)) from None
    columns = [expand_dims(index + whole * 0, -1) for index in indices]
    rest = [axis for axis in range(a.ndim) if axis not in axes]
    made = ops.GatherND(transpose(a, [*axes, *rest]), concatenate(columns, -1))
    # The axes are those of the indices, then those of the rest. New ones are inserted in between.
    rank = whole.ndim
    adjacent = not apart and places == list(range(places[0], places[0] + len(places)))
    before = len(_results(parts[: places[0]])) if adjacent else 0
    news = [i for i, part in enumerate(_results(parts)) if part is None]
    made = ops.Unsqueeze(made, ints(*(rank + new for new in news))) if news else made
    return moveaxis(made, tuple(range(rank)), tuple(range(before, before + rank))) if before else made
