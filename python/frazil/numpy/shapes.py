"""Functions that move, select or join elements."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..lazy.array import LazyArray
from ..lazy.operators import operator, ops
from .arrays import asarray, astype, axes_of, axis_of, ints, numpy_dtype, vector
from .elementwise import remainder
from .host import call, known, tensor
from .outputs import with_out
from .places import nonzero
from .ufuncs import in_common, maximum, minimum, subtract


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> LazyArray:
    """Returns the elements in another shape. One extent may be -1, and extents may be arrays without axes.

    With order="F" the first axis varies fastest, in the array and in the result. `copy` has no effect.
    """
    if _columns_first(order):
        wanted = tuple(shape)[::-1] if isinstance(shape, (tuple, list)) else shape
        return transpose(reshape(transpose(a), wanted))
    return operator("Reshape", allowzero=1)(asarray(a), vector(shape))


def _columns_first(order: str) -> bool:
    """Returns whether an order is Fortran's. Arrays have no order themselves. Raises ValueError for an unknown order.
    """
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"an order is one of 'C', 'F', 'A', 'K', not {order!r}")
    return order == "F"


def ravel(a: Any, order: str = "C") -> LazyArray:
    """Returns the elements along one axis, in the order of reshape()."""
    return reshape(a, -1, order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> LazyArray:
    """Permutes the axes; reverses them without `axes`."""
    return asarray(a).transpose(axes)


def swapaxes(a: Any, axis1: int, axis2: int) -> LazyArray:
    """Swaps two axes."""
    return asarray(a).swapaxes(axis1, axis2)


def matrix_transpose(x: Any) -> LazyArray:
    """Swaps the last two axes."""
    return asarray(x).mT


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> LazyArray:
    """Moves axes to other positions; the rest keeps its order."""
    a = asarray(a)
    moved, to = axes_of(source, a.ndim), axes_of(destination, a.ndim)
    if len(moved) != len(to):
        raise ValueError(f"{len(moved)} axes to move to {len(to)} places")
    order = [axis for axis in range(a.ndim) if axis not in moved]
    for place, axis in sorted(zip(to, moved)):
        order.insert(place, axis)
    return transpose(a, order)


def expand_dims(a: Any, axis: int | Sequence[int] = 0) -> LazyArray:
    """Inserts axes of extent 1 at these positions of the result."""
    a = asarray(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    return ops.Unsqueeze(a, ints(*axes_of(axis, a.ndim + count)))


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> LazyArray:
    """Removes axes of extent 1: the given ones, or all."""
    a = asarray(a)
    extents = a._extents
    if not extents and axis in (0, -1):
        return a
    axes = [i for i, n in enumerate(extents) if n == 1] if axis is None else axes_of(axis, len(extents))
    for each in axes:
        if extents[each] not in (1, None):
            raise ValueError(f"axis {each} has {extents[each]} elements, not one")
    return ops.Squeeze(a, ints(*axes)) if axes else a


def broadcast_to(array: Any, shape: Any) -> LazyArray:
    """Returns the elements repeated along axes of extent 1 and new ones."""
    array = asarray(array)
    wanted = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    extents = array._extents
    for have, want in zip(extents[::-1], wanted[::-1]):
        if isinstance(want, int) and have not in (1, want, None):
            raise ValueError(f"an array of shape {extents} cannot be broadcast to {wanted}")
    if len(extents) > len(wanted):
        raise ValueError(f"an array of shape {extents} cannot be broadcast to {wanted}")
    return ops.Expand(array, vector(wanted))


@with_out
def concatenate(
    arrays: Sequence[Any], axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind"
) -> LazyArray:
    """Concatenates arrays along an axis, or flattened for axis None. `dtype` is that of the result."""
    made = list(in_common(*(asarray(each) for each in arrays)))
    if dtype is not None:
        made = [_cast(each, dtype, casting) for each in made]
    if axis is None:
        made, axis = [ravel(each) for each in made], 0
    if not all(each.ndim for each in made):
        raise ValueError("arrays without axes cannot be concatenated: use stack()")
    return operator("Concat", axis=axis_of(axis, made[0].ndim))(*made)


def _cast(x: LazyArray, dtype: Any, casting: Any) -> LazyArray:
    if not numpy.can_cast(x.dtype, numpy_dtype(dtype), casting):
        raise TypeError(f"{x.dtype} is not cast to {numpy_dtype(dtype)} by the rule {casting!r}")
    return astype(x, dtype)


@with_out
def stack(arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: Any = "same_kind") -> LazyArray:
    """Stacks arrays of equal shapes along a new axis."""
    arrays = [asarray(each) for each in arrays]
    if len({each.ndim for each in arrays}) > 1:
        raise ValueError(f"arrays with {', '.join(str(each.ndim) for each in arrays)} axes cannot be stacked")
    return concatenate([expand_dims(each, axis) for each in arrays], axis, dtype=dtype, casting=casting)


def vstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> LazyArray:
    """Stacks arrays vertically; those with one axis are rows."""
    rows = [each if each.ndim > 1 else reshape(each, (1, -1)) for each in map(asarray, tup)]
    return concatenate(rows, dtype=dtype, casting=casting)


def hstack(tup: Sequence[Any], *, dtype: Any = None, casting: Any = "same_kind") -> LazyArray:
    """Stacks arrays horizontally."""
    made = [each if each.ndim else reshape(each, -1) for each in map(asarray, tup)]
    return concatenate(made, 0 if made[0].ndim == 1 else 1, dtype=dtype, casting=casting)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[LazyArray, ...]:
    """Returns the slices along an axis, without that axis."""
    x = asarray(x)
    axis = axis_of(axis, x.ndim)
    return tuple(take(x, i, axis) for i in range(extent_of(x, axis)))


def extent_of(x: LazyArray, axis: int) -> int:
    """Returns a known extent. Raises ValueError if a recorded function has an array of any extent."""
    extent = x._extents[axis]
    if extent is None:
        raise ValueError("the extent of an array of a traced function is not known")
    return extent


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[LazyArray]:
    """Splits as split(), into parts that may differ by one element."""
    x = asarray(ary)
    axis = axis_of(axis, x.ndim)
    if not isinstance(indices_or_sections, int):
        return _split_at(x, list(indices_or_sections), axis)
    if indices_or_sections < 1:
        raise ValueError(f"{indices_or_sections} parts")
    extent = extent_of(x, axis)
    least, more = divmod(extent, indices_or_sections)
    return _split_to(x, [least + 1] * more + [least] * (indices_or_sections - more), axis)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[LazyArray]:
    """Splits along an axis into a number of equal parts, or before the given indices."""
    x = asarray(ary)
    place = axis_of(axis, x.ndim)
    if isinstance(indices_or_sections, int) and indices_or_sections > 0:
        extent = x._extents[place]
        if extent is None:  # the run refuses sizes with another sum
            size = ops.Div(ops.Slice(ops.Shape(x), ints(place), ints(place + 1)), indices_or_sections)
            sizes = ops.Expand(size, ints(indices_or_sections))
            return list(_several(operator("Split", indices_or_sections, axis=place)(x, sizes)))
        if extent % indices_or_sections:
            raise ValueError(f"{extent} elements are no {indices_or_sections} equal parts")
    return array_split(x, indices_or_sections, axis)


def _several(made: Any) -> tuple[LazyArray, ...]:
    return made if isinstance(made, tuple) else (made,)


def _split_to(x: LazyArray, sizes: list[int], axis: int) -> list[LazyArray]:
    return list(_several(operator("Split", len(sizes), axis=axis)(x, ints(*sizes))))


def _split_at(x: LazyArray, indices: list[int], axis: int) -> list[LazyArray]:
    bounds = [0, *indices, None]
    key = (slice(None),) * axis
    return [x[(*key, slice(begin, end))] for begin, end in zip(bounds, bounds[1:])]


@with_out
def take(a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> LazyArray:
    """Returns the elements at indices along an axis, of the flattened array without an axis.

    Indices out of range are errors; mode="wrap" takes them modulo the extent, and "clip" clips them.
    """
    a = asarray(a)
    flat = axis is None or (not a.ndim and axis in (0, -1))
    a, axis = (ravel(a), 0) if flat else (a, axis_of(axis, a.ndim))  # type: ignore[arg-type]
    if mode != "raise":
        indices = inside(indices, a.shape[axis], mode)
    return operator("Gather", axis=axis)(a, indices_of(indices, a._extents[axis]))


def inside(indices: Any, extent: Any, mode: str) -> LazyArray:
    """Converts indices of an axis according to a mode of take()."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"a mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    at = asarray(indices)
    if mode == "raise":
        return indices_of(at, extent if isinstance(extent, int) else None)
    return remainder(at, extent) if mode == "wrap" else maximum(minimum(at, subtract(extent, 1)), 0)


def indices_of(indices: Any, extent: int | None) -> LazyArray:
    """Converts indices along an axis of this extent (None: unknown). Known values are checked."""
    made = asarray(indices)
    if made.dtype.kind not in "iu":
        if not isinstance(indices, LazyArray) and made.size == 0:
            return astype(made, "int64")
        raise IndexError(f"indices are integers, not {made.dtype}")
    if extent is not None and made._there:
        values = made.numpy()
        for bound in (values.item(),) if values.size == 1 else (values.min(), values.max()) if values.size else ():
            if not -extent <= bound < extent:
                raise IndexError(f"index {bound} of an axis of {extent} elements")
    return made if made.dtype in (numpy.int32, numpy.int64) else astype(made, "int64")


def take_along_axis(arr: Any, indices: Any, axis: int) -> LazyArray:
    """Returns the elements at individual indices along an axis; the other axes are broadcast."""
    arr, at = asarray(arr), asarray(indices)
    axis = axis_of(axis, arr.ndim)
    if at.ndim != arr.ndim:
        raise ValueError(f"indices with {at.ndim} axes for an array with {arr.ndim}")
    at, shapes = indices_of(at, arr._extents[axis]), (list(arr._extents), list(at._extents))
    for each in range(arr.ndim):
        have, want = shapes[0][each], shapes[1][each]
        if each == axis or have == want or None in (have, want):
            continue
        if 1 not in (have, want):
            raise IndexError(f"axis {each} has {have} elements, that of the indices {want}")
        shapes[0][each] = shapes[1][each] = have if want == 1 else want
    if None not in shapes[0] and None not in shapes[1]:
        arr, at = broadcast_to(arr, tuple(shapes[0])), broadcast_to(at, tuple(shapes[1]))
    return operator("GatherElements", axis=axis)(arr, at)


def tile(A: Any, reps: int | Sequence[int]) -> LazyArray:
    """Repeats the array along each axis."""
    A, counts = asarray(A), list(reps) if isinstance(reps, (tuple, list)) else [reps]
    counts = [1] * (A.ndim - len(counts)) + counts
    if len(counts) > A.ndim:
        A = expand_dims(A, tuple(range(len(counts) - A.ndim)))
    return ops.Tile(A, vector(counts))


def flip(m: Any, axis: int | Sequence[int] | None = None) -> LazyArray:
    """Reverses the elements along axes, or along all."""
    m = asarray(m)
    axes = range(m.ndim) if axis is None else axes_of(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


def tril(m: Any, k: int = 0) -> LazyArray:
    """Sets elements above a diagonal to 0."""
    return operator("Trilu", upper=0)(asarray(m), k)


def triu(m: Any, k: int = 0) -> LazyArray:
    """Sets elements below a diagonal to 0."""
    return operator("Trilu", upper=1)(asarray(m), k)


def _argsort(a: numpy.ndarray, axis: int) -> Any:
    return numpy.argsort(a, axis, "stable")


known("argsort", _argsort, lambda a, axis: [tensor("int64", a.shape)])


def _sorted(a: Any, axis: int | None) -> tuple[LazyArray, LazyArray]:
    a = asarray(a)
    a, axis = (ravel(a), 0) if axis is None else (a, axis_of(axis, a.ndim))
    if a.dtype.kind == "c":
        places = call("argsort", [a], axis=axis)
        return take_along_axis(a, places, axis), places
    count = a.shape[axis]
    values, indices = operator("TopK", 2, axis=axis, largest=0)(a, vector([count]))
    return values, indices


KINDS_OF_SORT = (None, "quicksort", "mergesort", "heapsort", "stable")


def _check_kind(kind: Any, order: Any) -> None:
    """Raises ValueError for a kind that NumPy lacks. All kinds are stable here."""
    if kind not in KINDS_OF_SORT:
        raise ValueError(f"a kind of sort is one of {', '.join(map(repr, KINDS_OF_SORT[1:]))}, not {kind!r}")
    if order is not None:
        raise ValueError("order= names fields, which these elements do not have")


def sort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool = True,
    descending: bool = False,
) -> LazyArray:
    """Sorts in ascending order along an axis, or the flattened array for axis None. All kinds are stable."""
    _check_kind(kind, order)
    a = asarray(a)
    if descending:
        return take_along_axis(*_along(a, argsort(a, axis, descending=True), axis))
    return astype(_sorted(astype(a, "uint8"), axis)[0], bool) if a.dtype == bool else _sorted(a, axis)[0]


def _along(a: LazyArray, at: LazyArray, axis: int | None) -> tuple[LazyArray, LazyArray, int]:
    return (ravel(a), at, 0) if axis is None else (a, at, axis)


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool = True,
    descending: bool = False,
) -> LazyArray:
    """Returns the indices that sort. All kinds are stable."""
    _check_kind(kind, order)
    a = asarray(a)
    a = a if a.ndim or axis not in (0, -1) else reshape(a, 1)
    if descending:
        place = 0 if axis is None else axis_of(axis, a.ndim)
        row = flip(ravel(a) if axis is None else a, place)
        return subtract(extent_of(row, place) - 1, flip(argsort(row, place), place))
    return _sorted(astype(a, "uint8") if a.dtype == bool else a, axis)[1]
