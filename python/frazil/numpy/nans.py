"""Sums and other reductions that ignore NaN."""

from __future__ import annotations

import math
from typing import Any, Callable

from ..lazy.array import LazyArray
from .arrays import asarray, astype
from .elementwise import is_inexact
from .elementwise import where as where_holds
from .outputs import with_out
from .reductions import Axis, argmax, argmin, cumsum, max, mean, min, prod, squares, sum, var
from .statistics import cumprod
from .ufuncs import divide, equal, isnan, less_equal, logical_and, logical_not, maximum, sqrt, subtract


def _without_nan(a: Any, fill: float) -> LazyArray:
    a = asarray(a)
    return where_holds(isnan(a), asarray(fill, a.dtype), a) if is_inexact(a) else a


def _numbers(a: LazyArray, where: Any) -> LazyArray:
    """Returns which elements are selected and not NaN."""
    given = logical_not(isnan(a))
    return given if where is None else logical_and(given, where)


def _given(a: LazyArray, axis: Axis, keepdims: bool, where: Any = None) -> LazyArray:
    """Returns the number of elements that are not NaN."""
    return sum(_numbers(a, where), axis, keepdims=keepdims)


@with_out
def nansum(
    a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> LazyArray:
    """Returns the sum, ignoring NaN."""
    return sum(_without_nan(a, 0), axis, dtype, keepdims=keepdims, initial=initial, where=where)


@with_out
def nanprod(
    a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> LazyArray:
    """Returns the product, ignoring NaN."""
    return prod(_without_nan(a, 1), axis, dtype, keepdims=keepdims, initial=initial, where=where)


@with_out
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> LazyArray:
    """Returns the cumulative sums, ignoring NaN."""
    return cumsum(_without_nan(a, 0), axis, dtype)


@with_out
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> LazyArray:
    """Returns the cumulative products, ignoring NaN."""
    return cumprod(_without_nan(a, 1), axis, dtype)


def _extreme_number(
    extreme: Callable[..., LazyArray], beyond: float, a: Any, axis: Axis, keepdims: bool, initial: Any, where: Any
) -> LazyArray:
    a = asarray(a)
    more = {"keepdims": keepdims, "initial": initial, "where": where}
    if not is_inexact(a):
        return extreme(a, axis, **more)
    made = extreme(_without_nan(a, beyond), axis, **more)
    if initial is not None:
        return made
    return where_holds(equal(_given(a, axis, keepdims), 0), asarray(math.nan, a.dtype), made)


@with_out
def nanmax(a: Any, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> LazyArray:
    """Returns the largest element, ignoring NaN; NaN if all are NaN."""
    return _extreme_number(max, -math.inf, a, axis, keepdims, initial, where)


@with_out
def nanmin(a: Any, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> LazyArray:
    """Returns the smallest element, ignoring NaN; NaN if all are NaN."""
    return _extreme_number(min, math.inf, a, axis, keepdims, initial, where)


@with_out
def nanargmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the index of the largest element, ignoring NaN; 0 if all are NaN."""
    return argmax(_without_nan(a, -math.inf), axis, keepdims=keepdims)


@with_out
def nanargmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the index of the smallest element, ignoring NaN; 0 if all are NaN."""
    return argmin(_without_nan(a, math.inf), axis, keepdims=keepdims)


@with_out
def nanmean(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None) -> LazyArray:
    """Returns the mean, ignoring NaN."""
    a = asarray(a)
    if not is_inexact(a):
        return mean(a, axis, dtype, keepdims=keepdims, where=where)
    a = a if dtype is None else astype(a, dtype)
    total = nansum(a, axis, keepdims=keepdims, where=where)
    return divide(total, astype(_given(a, axis, keepdims, where), a.dtype))


@with_out
def nanvar(
    a: Any, axis: Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False, where: Any = None
) -> LazyArray:
    """Returns the variance, ignoring NaN; NaN if there are at most `ddof` numbers."""
    a = asarray(a)
    if not is_inexact(a):
        return var(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where)
    a = a if dtype is None else astype(a, dtype)
    centred = subtract(a, nanmean(a, axis, keepdims=True, where=where))
    away = where_holds(_numbers(a, where), centred, asarray(0.0, a.dtype))
    total = sum(squares(away), axis, keepdims=keepdims)
    free = astype(subtract(_given(a, axis, keepdims, where), ddof), total.dtype)
    return where_holds(less_equal(free, 0), asarray(math.nan, total.dtype), divide(total, maximum(free, 1)))


@with_out
def nanstd(
    a: Any, axis: Axis = None, dtype: Any = None, *, ddof: float = 0, keepdims: bool = False, where: Any = None
) -> LazyArray:
    """Returns the square root of nanvar()."""
    return sqrt(nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where))
