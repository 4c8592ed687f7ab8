"""Reductions along axes or over all elements."""

from __future__ import annotations

import builtins
import math
from typing import Any, Sequence, Union

import numpy

from ..lazy.array import LazyArray
from ..lazy.operators import operator, ops
from .arrays import asarray, astype, axes_of, axis_of, ints, vector
from .hosted import on_host
from .elementwise import is_inexact
from .elementwise import where as where_holds
from .host import call, known, like, tensor
from .outputs import with_out
from .ufuncs import add, divide, equal, maximum, minimum, multiply, not_equal, sqrt, subtract

Axis = Union[int, Sequence[int], None]


def axes_to_reduce(x: LazyArray, axis: Axis) -> tuple[int, ...]:
    """Returns the axes to reduce, counted from the front. For an array without axes, 0 and -1 are accepted."""
    if axis is None or (not x.ndim and axis in (0, -1)):
        return tuple(range(x.ndim))
    return axes_of(axis, x.ndim)


def _check_axes(x: LazyArray, axis: Axis) -> None:
    """Raises IndexError for axes out of range, including for arrays without axes."""
    if axis is not None:
        axes_of(axis, x.ndim)


def _reduce(op: str, x: LazyArray, axis: Axis, keepdims: bool) -> LazyArray:
    axes = axes_to_reduce(x, axis)
    if not axes:
        return x
    extreme = op in ("ReduceMax", "ReduceMin")  # which take int8 and uint8
    small = x.dtype.kind in "iu" and x.dtype.itemsize < 4 and not (extreme and x.dtype.itemsize == 1)
    made = operator(op, keepdims=int(keepdims))(widened(x) if small else x, None if axis is None else ints(*axes))
    if small and extreme:  # without elements the result is the wider type's limit
        limits = numpy.iinfo(x.dtype)
        made = minimum(maximum(made, limits.min), limits.max)
    return astype(made, x.dtype) if small else made


def widened(x: LazyArray) -> LazyArray:
    """Casts small integers to 32 bits, which more operators support; bools to int32."""
    if x.dtype.kind not in "biu" or x.dtype.itemsize >= 4:
        return x
    return astype(x, "uint32" if x.dtype.kind == "u" else "int32")


def _of_complex(name: str, a: LazyArray, axis: Axis, keepdims: bool, **keywords: Any) -> LazyArray:
    """Computes a reduction of complex numbers with NumPy."""
    axes = list(axes_to_reduce(a, axis))
    return call(f"reduce.{name}", [a], axes=axes, keepdims=keepdims, **keywords)  # type: ignore[no-any-return]


def _know_reduction(name: str) -> None:
    """Registers NumPy's function for _of_complex()."""

    def function(a: numpy.ndarray, axes: list[int], keepdims: bool, **keywords: Any) -> Any:
        return getattr(numpy, name)(a, axis=tuple(axes), keepdims=keepdims, **keywords)

    def types(a: Any, axes: list[int], keepdims: bool, **keywords: Any) -> list[Any]:
        shape = [1 if i in axes else extent for i, extent in enumerate(a.shape)]
        shape = shape if keepdims else [extent for i, extent in enumerate(a.shape) if i not in axes]
        dtype = numpy.zeros(1, like(a.dtype)).real.dtype if name == "var" else like(a.dtype)
        return [tensor(dtype, tuple(shape))]

    known(f"reduce.{name}", function, types)


def _cumsum(a: numpy.ndarray, axis: int) -> Any:
    return numpy.cumsum(a, axis)


known("cumsum", _cumsum, lambda a, axis: [a])


def _know_place(name: str) -> None:
    """Registers argmax() or argmin() of complex numbers."""

    def function(a: numpy.ndarray, axis: int) -> Any:
        return getattr(numpy, name)(a, axis)

    def types(a: Any, axis: int) -> list[Any]:
        return [tensor("int64", tuple(n for i, n in enumerate(a.shape) if i != axis % len(a.shape)))]

    known(name, function, types)


_know_place("argmax")
_know_place("argmin")
for _name in ("sum", "prod", "mean", "var", "max", "min"):
    _know_reduction(_name)


def counting(x: LazyArray) -> LazyArray:
    """Casts small integers and bools to the type in which NumPy sums them."""
    kind, size = x.dtype.kind, x.dtype.itemsize
    return x if kind not in "biu" or size == 8 else astype(x, "uint64" if kind == "u" else "int64")


def _not_empty(x: LazyArray, axis: Axis, name: str) -> LazyArray:
    extents = x._extents
    if any_empty([extents[each] for each in axes_to_reduce(x, axis)]):
        raise ValueError(f"{name}() of no elements")
    return x


def any_empty(extents: Sequence[int | None]) -> bool:
    """Returns whether an extent is known to be 0."""
    return 0 in extents


def _chosen(a: LazyArray, where: Any, neutral: Any) -> LazyArray:
    """Replaces the elements for which `where` is false by a neutral one. None selects all."""
    return a if where is None else where_holds(where, a, asarray(neutral, a.dtype))


def _total(
    op: str, combine: Any, neutral: int, a: Any, axis: Axis, dtype: Any, keepdims: bool, initial: Any, where: Any
) -> LazyArray:
    a = asarray(a)
    a = _chosen(counting(a) if dtype is None else astype(a, dtype), where, neutral)
    if a.dtype.kind == "c":
        made = _of_complex("prod" if neutral else "sum", a, axis, keepdims)
        return made if initial is None else on_host(combine.__name__, made, initial)
    made = _reduce(op, a, axis, keepdims)
    return made if initial is None else astype(combine(made, initial), a.dtype)


@with_out
def sum(
    a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> LazyArray:
    """Returns the sum of `initial` and the elements for which `where` is true. Bools and small integers become
    (u)int64.
    """
    return _total("ReduceSum", add, 0, a, axis, dtype, keepdims, initial, where)


@with_out
def prod(
    a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, initial: Any = None, where: Any = None
) -> LazyArray:
    """Returns the product of `initial` and the elements for which `where` is true. Bools and small integers become
    (u)int64.
    """
    return _total("ReduceProd", multiply, 1, a, axis, dtype, keepdims, initial, where)


@with_out
def mean(a: Any, axis: Axis = None, dtype: Any = None, *, keepdims: bool = False, where: Any = None) -> LazyArray:
    """Returns the mean of the elements for which `where` is true; float64 for integers."""
    a = asarray(a)
    _check_axes(a, axis)
    if dtype is None:
        dtype = a.dtype if is_inexact(a) else "float64"
    a = astype(a, dtype)
    if where is None:
        complex_ones = a.dtype.kind == "c"
        return _of_complex("mean", a, axis, keepdims) if complex_ones else _reduce("ReduceMean", a, axis, keepdims)
    given = ops.Expand(astype(where, bool), vector(a.shape))
    total, count = sum(a, axis, keepdims=keepdims, where=given), sum(given, axis, keepdims=keepdims)
    return divide(total, astype(count, dtype))


@with_out
def max(a: Any, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> LazyArray:
    """Returns the maximum of `initial` and the elements for which `where` is true."""
    return _extreme("ReduceMax", "max", maximum, asarray(a), axis, keepdims, initial, where)


@with_out
def min(a: Any, axis: Axis = None, *, keepdims: bool = False, initial: Any = None, where: Any = None) -> LazyArray:
    """Returns the minimum of `initial` and the elements for which `where` is true."""
    return _extreme("ReduceMin", "min", minimum, asarray(a), axis, keepdims, initial, where)


amax, amin = max, min


def _extreme(
    op: str, name: str, combine: Any, a: LazyArray, axis: Axis, keepdims: bool, initial: Any, where: Any
) -> LazyArray:
    if initial is None and where is not None:
        raise ValueError(f"{name}() of chosen elements needs an initial value")
    if initial is None:
        _not_empty(a, axis, name)
    a = _chosen(a, where, initial)
    if a.dtype.kind == "c" and initial is None:
        return _of_complex(name, a, axis, keepdims)
    made = _reduce(op, astype(a, "uint8") if a.dtype == bool else a, axis, keepdims)
    made = astype(made, a.dtype)
    return made if initial is None else astype(combine(made, asarray(initial, a.dtype)), a.dtype)


@with_out
def any(a: Any, axis: Axis = None, *, keepdims: bool = False, where: Any = None) -> LazyArray:
    """Returns whether any element for which `where` is true is not 0."""
    return not_equal(sum(astype(a, bool), axis, keepdims=keepdims, where=where), 0)


@with_out
def all(a: Any, axis: Axis = None, *, keepdims: bool = False, where: Any = None) -> LazyArray:
    """Returns whether all elements for which `where` is true are not 0."""
    return equal(sum(equal(astype(a, bool), False), axis, keepdims=keepdims, where=where), 0)


def count_nonzero(a: Any, axis: Axis = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the number of elements that are not 0."""
    return sum(astype(a, bool), axis, keepdims=keepdims)


def squares(x: LazyArray) -> LazyArray:
    """Returns the squares of absolute values, as reals."""
    if x.dtype.kind != "c":
        return multiply(x, x)
    size = on_host("absolute", x)
    return multiply(size, size)


@with_out
def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
    correction: float | None = None,
) -> LazyArray:
    """Returns the variance of the elements for which `where` is true. The divisor is their number minus `ddof`.

    `correction` is another name of `ddof`.
    """
    a, ddof = asarray(a), ddof if correction is None else correction
    _check_axes(a, axis)
    if dtype is not None or not is_inexact(a):
        a = astype(a, dtype or "float64")
    if a.dtype.kind == "c" and where is None:
        return _of_complex("var", a, axis, keepdims, ddof=ddof)
    centred = subtract(a, mean(a, axis, keepdims=True, where=where))
    total = sum(squares(centred), axis, keepdims=keepdims, where=where)
    count: Any
    if where is None:
        shape = a.shape
        count = math.prod([shape[each] for each in axes_to_reduce(a, axis)])
    else:
        count = sum(ops.Expand(astype(where, bool), vector(a.shape)), axis, keepdims=keepdims)
    if isinstance(count, LazyArray):
        return divide(total, maximum(astype(subtract(count, ddof), total.dtype), 0))
    return divide(total, builtins.max(count - ddof, 0))


@with_out
def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: bool = False,
    where: Any = None,
    correction: float | None = None,
) -> LazyArray:
    """Returns the square root of var()."""
    return sqrt(var(a, axis, dtype, ddof=ddof, keepdims=keepdims, where=where, correction=correction))


def _kept(a: LazyArray, axis: Axis) -> tuple[Any, ...]:
    """Returns the shape of an array after a reduction that keeps its axes."""
    axes = axes_to_reduce(a, axis)
    return tuple(1 if i in axes else extent for i, extent in enumerate(a.shape))


def _arg(op: str, a: Any, axis: int | None, keepdims: bool) -> LazyArray:
    a = asarray(a)
    _not_empty(a, axis, op.lower())
    if a.dtype == bool:
        a = astype(a, "uint8")
    if a.dtype.kind == "c":
        flat = axis is None or not a.ndim
        place = -1 if axis is None or flat else axis_of(axis, a.ndim)
        made = call(op.lower(), [a.reshape(-1) if flat else a], axis=place)
        return made if not keepdims else made.reshape(_kept(a, axis))
    if axis is not None and not (a.ndim == 0 and axis in (0, -1)):
        return operator(op, axis=axis_of(axis, a.ndim), keepdims=int(keepdims))(a)
    made = operator(op, axis=0, keepdims=0)(ops.Reshape(a, ints(-1)))
    return ops.Reshape(made, ints(*[1] * a.ndim)) if keepdims else made


@with_out
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the index of the first largest element, of the flattened array without an axis."""
    return _arg("ArgMax", a, axis, keepdims)


@with_out
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> LazyArray:
    """Returns the index of the first smallest element, of the flattened array without an axis."""
    return _arg("ArgMin", a, axis, keepdims)


@with_out
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> LazyArray:
    """Returns the cumulative sums, of the flattened array without an axis."""
    a = asarray(a)
    a = counting(a) if dtype is None else astype(a, dtype)
    if a.dtype.kind == "c":
        flat = axis is None or not a.ndim
        return call("cumsum", [a.reshape(-1) if flat else a], axis=0 if axis is None or flat else axis_of(axis, a.ndim))
    if axis is None or (not a.ndim and axis in (0, -1)):
        return ops.CumSum(ops.Reshape(a, ints(-1)), 0)
    return ops.CumSum(a, axis_of(axis, a.ndim))
