"""Making lazy arrays."""

from __future__ import annotations

import functools
import math
from typing import Any, Sequence

import numpy

from .. import _frazil
from .._frazil import dtype as dtype_of
from ..lazy.array import LazyArray
from ..lazy.operators import operator, ops

newaxis = None
pi, e, inf, nan = math.pi, math.e, math.inf, math.nan


def numpy_dtype(of: Any) -> Any:
    """NumPy's dtype of anything that names an element type."""
    return dtype_of(of).numpy


@functools.lru_cache(1 << 12, typed=True)
def ints(*values: int) -> LazyArray:
    """Some numbers of int64, which what is compiled may contain."""
    return _frazil.lazy_ints(*values)


def vector(parts: Any) -> LazyArray:
    """Numbers and arrays without axes as one array of int64: a shape, or axes."""
    if isinstance(parts, LazyArray) and parts.ndim:
        return astype(parts, "int64")
    parts = tuple(parts) if isinstance(parts, (tuple, list, numpy.ndarray)) else (parts,)
    if not any(isinstance(part, LazyArray) for part in parts):
        return ints(*parts)
    pieces = [
        ops.Reshape(astype(part, "int64"), ints(-1)) if isinstance(part, LazyArray) else ints(part) for part in parts
    ]
    return ops.Concat(*pieces, axis=0) if len(pieces) > 1 else pieces[0]


def _has_lazy(value: Any) -> bool:
    return isinstance(value, LazyArray) or (isinstance(value, (list, tuple)) and any(_has_lazy(part) for part in value))


def _made(value: Any, dtype: Any, copy: bool) -> LazyArray:
    if isinstance(value, LazyArray):
        return value if dtype is None else astype(value, dtype)
    if isinstance(value, (list, tuple)) and _has_lazy(value):
        from .shapes import stack

        return stack([_made(part, dtype, copy) for part in value])
    if isinstance(value, (list, tuple)):
        value, copy = numpy.asarray(value, None if dtype is None else numpy_dtype(dtype)), False
    made = _frazil.lazy_array(value, None, copy, False)
    return made if dtype is None else astype(made, dtype)


def array(object: Any, dtype: Any = None) -> LazyArray:
    """A lazy array of a NumPy array, a DLPack tensor, a number or a list, whose elements are copied.

    Without `dtype` it is the element type that numpy.array() chooses: float64 for Python's floats.
    """
    return _made(object, dtype, True)


def asarray(a: Any, dtype: Any = None) -> LazyArray:
    """As array(), but without a copy where that is possible: the elements must not change afterwards."""
    return _made(a, dtype, False)


def astype(x: Any, dtype: Any) -> LazyArray:
    """The elements cast to another type."""
    x = asarray(x)
    to = dtype_of(dtype)
    if x.dtype == to.numpy:
        return x
    if "complex" in to.name or x.dtype.kind == "c":
        from .complexes import cast

        return cast(x, to.numpy)
    return operator("Cast", to=to.onnx)(x)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> LazyArray:
    """One value everywhere; the shape may have arrays without axes. `order` changes nothing."""
    value = asarray(fill_value, dtype)
    return ops.Expand(value, vector(shape))


def _filled(value: int, shape: Any, dtype: Any) -> LazyArray:
    if _has_lazy(shape):
        return full(shape, value, dtype)
    return asarray(numpy.full(shape, value, numpy_dtype(dtype)))


def zeros(shape: Any, dtype: Any = numpy.float64, order: str = "C") -> LazyArray:
    """Zeros. `order` changes nothing."""
    return _filled(0, shape, dtype)


def ones(shape: Any, dtype: Any = numpy.float64, order: str = "C") -> LazyArray:
    """Ones. `order` changes nothing."""
    return _filled(1, shape, dtype)


empty = zeros


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> LazyArray:
    """One value everywhere, in the shape and element type of another array, unless these are given."""
    a = asarray(a)
    return full(a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)


def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> LazyArray:
    """Zeros, as full_like()."""
    return full_like(a, 0, dtype, shape=shape)


def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> LazyArray:
    """Ones, as full_like()."""
    return full_like(a, 1, dtype, shape=shape)


empty_like = zeros_like


def arange(*args: Any, dtype: Any = None) -> LazyArray:
    """The numbers from `start` (0) to `stop`, in steps of `step` (1); bounds may be arrays without axes."""
    if _has_lazy(args):
        start, stop, step = (
            args[0] if len(args) > 1 else 0,
            args[min(len(args) - 1, 1)],
            args[2] if len(args) > 2 else 1,
        )
        bounds = _frazil.in_common(start, stop, step)
        made = ops.Range(*(bounds if bounds[0].dtype.kind == "f" else (astype(each, "int64") for each in bounds)))
        return made if dtype is None else astype(made, dtype)
    return asarray(numpy.arange(*args, dtype=None if dtype is None else numpy_dtype(dtype)))


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    *,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers at equal distances; with `retstep` also the distance."""
    element = None if dtype is None else numpy_dtype(dtype)
    made = numpy.linspace(start, stop, num, endpoint, retstep, element, axis)  # type: ignore[call-overload]
    return (asarray(made[0]), made[1]) if retstep else asarray(made)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = numpy.float64, order: str = "C") -> LazyArray:
    """Ones on a diagonal, zeros elsewhere. `order` changes nothing."""
    return asarray(numpy.eye(N, M, k, numpy_dtype(dtype)))


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front. Raises IndexError (NumPy's AxisError is one) outside of the rank."""
    if not -rank <= axis < rank:
        raise IndexError(f"axis {axis} of an array with {rank} axes")
    return axis % rank


def axes_of(axis: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Some axes, counted from the front. Raises ValueError for one that is there twice."""
    axes = tuple(axis_of(each, rank) for each in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) < len(axes):
        raise ValueError(f"an axis is given twice: {axis}")
    return axes
