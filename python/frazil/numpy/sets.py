"""Comparisons of whole arrays, values as sets, and elements that fulfil a condition."""

from __future__ import annotations

from typing import Any, Sequence

from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray, astype, axis_of
from .elementwise import is_inexact, isclose
from .moves import broadcast_arrays
from .outputs import with_out
from .reductions import all
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
from .ufuncs import common, equal, isnan, logical_and, logical_not, logical_or, minimum


def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, see isclose(). It reads the result."""
    return bool(all(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    """Whether two arrays have one shape and equal elements. It reads the result."""
    a1, a2 = asarray(a1), asarray(a2)
    if a1._extents != a2._extents:
        return False
    same = equal(a1, a2)
    if equal_nan and is_inexact(a1) and is_inexact(a2):
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return bool(all(same))


def array_equiv(a1: Any, a2: Any) -> bool:
    """Whether two arrays have equal elements once they are broadcast. It reads the result."""
    try:
        a1, a2 = broadcast_arrays(a1, a2)
    except ValueError:
        return False
    return bool(all(equal(a1, a2)))


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> LazyArray:
    """Whether each element is one of some values."""
    element, values = common(element, ravel(test_elements))
    if not extent_of(values, 0):
        made = broadcast_to(asarray(False), element.shape)
    else:
        row = sort(values)
        place = minimum(searchsorted(row, element), extent_of(row, 0) - 1)
        made = equal(take(row, place), element)
    return logical_not(made) if invert else made


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> LazyArray:
    """isin() of the flattened array."""
    return isin(ravel(ar1), ar2, assume_unique, invert)


def argwhere(a: Any) -> LazyArray:
    """The indices of elements that are not 0, a row for each."""
    a = asarray(a)
    if not a.ndim:
        return argwhere(reshape(a, 1))[:, :0]
    return stack(nonzero(a), 1)


def flatnonzero(a: Any) -> LazyArray:
    """The indices of elements of the flattened array that are not 0."""
    return nonzero(ravel(a))[0]


def extract(condition: Any, arr: Any) -> LazyArray:
    """The elements where the condition holds, in a row."""
    return take(ravel(arr), flatnonzero(condition))


@with_out
def compress(condition: Any, a: Any, axis: int | None = None) -> LazyArray:
    """The parts along an axis for which the condition holds; of the flattened array without one."""
    a = asarray(a)
    a, axis = (ravel(a), 0) if axis is None else (a, axis_of(axis, a.ndim))
    chosen = asarray(condition)
    if chosen.ndim != 1:
        raise ValueError("the condition is a vector")
    return take(a, flatnonzero(chosen), axis)


def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The values of the flattened array, sorted, each once; with first indices, the place of each element, counts."""
    row = ravel(ar)
    if row.dtype == bool:
        found = unique(astype(row, "uint8"), return_index, return_inverse, return_counts)
        return (astype(found[0], bool), *found[1:]) if isinstance(found, tuple) else astype(found, bool)
    values, first, place, counts = operator("Unique", 4, sorted=1)(row)
    wanted = [values]
    for asked, made in ((return_index, first), (return_inverse, place), (return_counts, counts)):
        wanted += [made] if asked else []
    return tuple(wanted) if len(wanted) > 1 else values


def union1d(ar1: Any, ar2: Any) -> LazyArray:
    """The values of either array, sorted, each once."""
    return unique(concatenate([ar1, ar2], None))  # type: ignore[no-any-return]


def intersect1d(ar1: Any, ar2: Any) -> LazyArray:
    """The values that both arrays have, sorted, each once."""
    ar1, ar2 = common(ravel(ar1), ravel(ar2))
    values = unique(ar1)
    return values[isin(values, ar2)]  # type: ignore[no-any-return]


def setdiff1d(ar1: Any, ar2: Any) -> LazyArray:
    """The values of the first array that the second does not have, sorted, each once."""
    values = unique(ar1)
    return values[isin(values, ar2, invert=True)]  # type: ignore[no-any-return]


def setxor1d(ar1: Any, ar2: Any) -> LazyArray:
    """The values that one of two arrays has, sorted, each once."""
    ar1, ar2 = common(ravel(ar1), ravel(ar2))
    return sort(concatenate([setdiff1d(ar1, ar2), setdiff1d(ar2, ar1)]))


def lexsort(keys: Sequence[Any], axis: int = -1) -> LazyArray:
    """The indices that sort by several keys, of which the last one counts most."""
    made = [asarray(each) for each in keys]
    if not made:
        raise TypeError("there is no key")
    order = argsort(made[0], axis)
    for key in made[1:]:
        order = take_along_axis(order, argsort(take_along_axis(key, order, axis), axis), axis)
    return order
