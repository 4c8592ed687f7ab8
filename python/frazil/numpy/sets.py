"""Comparisons of whole arrays, set operations, and elements that fulfil a condition."""

from __future__ import annotations

from typing import Any, NamedTuple, Sequence

from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray, astype, axis_of
from .elementwise import is_inexact, isclose
from .moves import broadcast_arrays
from .outputs import with_out
from .reductions import all, cumsum
from .shapes import (
    argsort,
    broadcast_to,
    concatenate,
    extent_of,
    nonzero,
    ravel,
    reshape,
    sort,
    stack,
    take,
    take_along_axis,
)
from .counts import searchsorted
from .ufuncs import common, equal, isnan, logical_and, logical_not, logical_or, minimum, not_equal, subtract


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Returns whether all elements are close, see isclose(). Reads the result."""
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Returns whether two arrays have equal shapes and elements. Reads the result."""
    a1, a2 = asarray(a1), asarray(a2)
    if a1._extents != a2._extents:
        return False
    same = equal(a1, a2)
    if equal_nan and is_inexact(a1) and is_inexact(a2):
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return bool(all(same))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Returns whether two arrays have equal elements after broadcasting. Reads the result."""
    try:
        a1, a2 = broadcast_arrays(a1, a2)
    except ValueError:
        return False
    return bool(all(equal(a1, a2)))


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> LazyArray:
    """Returns whether each element is one of some values."""
    element, values = common(element, ravel(test_elements))
    if not extent_of(values, 0):
        made = broadcast_to(asarray(False), element.shape)
    else:
        row = sort(values)
        place = minimum(searchsorted(row, element), extent_of(row, 0) - 1)
        made = equal(take(row, place), element)
    return logical_not(made) if invert else made


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> LazyArray:
    """Returns isin() of the flattened array."""
    return isin(ravel(ar1), ar2, assume_unique, invert)


def argwhere(a: Any) -> LazyArray:
    """Returns the indices of elements that are not 0, one row for each."""
    a = asarray(a)
    if not a.ndim:
        return argwhere(reshape(a, 1))[:, :0]
    return stack(nonzero(a), 1)


def flatnonzero(a: Any) -> LazyArray:
    """Returns the indices of elements of the flattened array that are not 0."""
    return nonzero(ravel(a))[0]


def extract(condition: Any, arr: Any) -> LazyArray:
    """Returns the elements where the condition is true, as a vector."""
    return take(ravel(arr), flatnonzero(condition))


@with_out
def compress(condition: Any, a: Any, axis: int | None = None) -> LazyArray:
    """Returns the slices along an axis where the condition is true, of the flattened array without an axis."""
    a = asarray(a)
    a, axis = (ravel(a), 0) if axis is None else (a, axis_of(axis, a.ndim))
    chosen = asarray(condition)
    if chosen.ndim != 1:
        raise ValueError("the condition is a vector")
    return take(a, flatnonzero(chosen), axis)


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
) -> Any:
    """Returns the sorted unique values of the flattened array. Optional results: first indices, inverse positions,
    counts.

    With an axis, returns the unique slices in lexicographic order. All NaNs are one value, or with equal_nan=False
    distinct values.
    """
    row = ravel(ar) if axis is None else asarray(ar)
    place = 0 if axis is None else axis_of(axis, row.ndim)
    kind = row.dtype
    found = list(_found(astype(row, "uint8") if kind == bool else row, None if axis is None else place, equal_nan))
    found[0] = astype(found[0], kind)
    wanted = [found[0]]
    for asked, made in zip((return_index, return_inverse, return_counts), found[1:]):
        wanted += [made] if asked else []
    return tuple(wanted) if len(wanted) > 1 else found[0]


def _found(row: LazyArray, axis: int | None, equal_nan: bool) -> tuple[LazyArray, ...]:
    """Returns values, first indices, inverse positions and counts."""
    if not is_inexact(row) or axis is not None:
        along = {} if axis is None else {"axis": axis}
        return operator("Unique", 4, sorted=1, **along)(row)  # type: ignore[no-any-return]
    order = argsort(row)
    line = take(row, order)
    before, after = line[:-1], line[1:]
    new = not_equal(before, after)
    new = logical_and(new, logical_not(logical_and(isnan(before), isnan(after)))) if equal_nan else new
    new = concatenate([broadcast_to(asarray(True), (min(1, extent_of(row, 0)),)), new])
    begin = flatnonzero(new)
    ends = concatenate([begin[1:], broadcast_to(asarray(extent_of(row, 0)), begin[:1].shape)])
    numbers = subtract(cumsum(new), 1)
    return line[begin], take(order, begin), take(numbers, argsort(order)), subtract(ends, begin)


class UniqueAllResult(NamedTuple):
    """The result of unique_all()."""

    values: LazyArray
    indices: LazyArray
    inverse_indices: LazyArray
    counts: LazyArray


class UniqueCountsResult(NamedTuple):
    """The result of unique_counts()."""

    values: LazyArray
    counts: LazyArray


class UniqueInverseResult(NamedTuple):
    """The result of unique_inverse()."""

    values: LazyArray
    inverse_indices: LazyArray


def unique_all(x: Any) -> UniqueAllResult:
    """Returns the unique values, their first indices, the inverse positions and counts. Each NaN is a value."""
    x = asarray(x)
    values, first, place, counts = unique(x, True, True, True, equal_nan=False)
    return UniqueAllResult(values, first, reshape(place, x.shape), counts)


def unique_counts(x: Any) -> UniqueCountsResult:
    """Returns the unique values and their counts. Each NaN is a value."""
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> UniqueInverseResult:
    """Returns the unique values and the inverse positions. Each NaN is a value."""
    x = asarray(x)
    values, place = unique(x, return_inverse=True, equal_nan=False)
    return UniqueInverseResult(values, reshape(place, x.shape))


def unique_values(x: Any) -> LazyArray:
    """Returns the unique values. Each NaN is a value."""
    return unique(x, equal_nan=False)  # type: ignore[no-any-return]


def union1d(ar1: Any, ar2: Any) -> LazyArray:
    """Returns the sorted unique values of either array."""
    return unique(concatenate([ar1, ar2], None))  # type: ignore[no-any-return]


def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Returns the sorted unique values in both arrays, optionally with their first indices in both."""
    ar1, ar2 = common(ravel(ar1), ravel(ar2))
    values, first = unique(ar1, return_index=True)
    both = isin(values, ar2)
    if not return_indices:
        return values[both]
    others, second = unique(ar2, return_index=True)
    return values[both], first[both], second[isin(others, ar1)]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> LazyArray:
    """Returns the sorted unique values of the first array that are not in the second."""
    values = ravel(ar1) if assume_unique else unique(ar1)
    return values[isin(values, ar2, invert=True)]  # type: ignore[no-any-return]


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> LazyArray:
    """Returns the sorted unique values that are in exactly one of two arrays."""
    ar1, ar2 = common(ravel(ar1), ravel(ar2))
    return sort(concatenate([setdiff1d(ar1, ar2), setdiff1d(ar2, ar1)]))


def lexsort(keys: Sequence[Any], axis: int = -1) -> LazyArray:
    """Returns the indices that sort by several keys, the last being the primary one."""
    made = [asarray(each) for each in keys]
    if not made:
        raise TypeError("there is no key")
    order = argsort(made[0], axis)
    for key in made[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order
