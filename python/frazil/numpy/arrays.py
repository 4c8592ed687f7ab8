"""Creation of lazy arrays."""

from __future__ import annotations

import functools
import inspect
import math
from typing import Any, Callable, TypeVar

import numpy

from .. import _frazil
from .._frazil import dtype as dtype_of
from ..axes import AxisError, axes_of, axis_of
from ..errors import BadModel, Unsupported
from ..lazy.array import LazyArray, values_of
from ..lazy.operators import operator, ops
from .host import call, known, tensor

newaxis = None
pi, e, inf, nan = math.pi, math.e, math.inf, math.nan
Made = TypeVar("Made", bound=Callable[..., Any])


def check_device(device: Any) -> None:
    """Raises ValueError for a device other than the CPU."""
    if device not in (None, "cpu"):
        raise ValueError(f"arrays are on the device 'cpu', not {device!r}")


def with_device(function: Made) -> Made:
    """Adds the parameter `device` (None or "cpu") to a function that creates arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        check_device(kwargs.pop("device", None))
        return function(*args, **kwargs)

    signature = inspect.signature(function)
    rows = list(signature.parameters.values())
    device = inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    at = len(rows) - (rows[-1].kind is inspect.Parameter.VAR_KEYWORD)
    call.__signature__ = signature.replace(parameters=[*rows[:at], device, *rows[at:]])  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def numpy_dtype(of: Any) -> Any:
    """Returns NumPy's dtype for anything that identifies an element type."""
    return dtype_of(of).numpy


@functools.lru_cache(1 << 12, typed=True)
def ints(*values: int) -> LazyArray:
    """Returns an int64 array, which compiled code may contain as a constant."""
    return _frazil.lazy_ints(*values)


def vector(parts: Any) -> LazyArray:
    """Combines numbers and arrays without axes into one int64 array: a shape, or axes."""
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


def _cast(x: numpy.ndarray, to: str) -> numpy.ndarray:
    return x.astype(to)


known("astype", _cast, lambda x, to: [tensor(to, x.shape)])


def in_common(*values: Any) -> tuple[LazyArray, ...]:
    """Converts operands to arrays of their common element type."""
    try:
        return tuple(_frazil.in_common(*values))
    except (BadModel, Unsupported):  # no operator casts complex numbers
        arrays = [asarray(each) for each in values]
        if not any(each.dtype.kind == "c" for each in arrays):
            raise
        wide = numpy.result_type(*(each.dtype for each in arrays))
        return tuple(astype(each, wide) for each in arrays)


def common(x1: Any, x2: Any) -> tuple[LazyArray, LazyArray]:
    """Converts two operands to arrays of their common element type."""
    first, second = in_common(x1, x2)
    return first, second


def _stacked(arrays: list[LazyArray]) -> LazyArray:
    """Stacks arrays along a new first axis."""
    if len({each.ndim for each in arrays}) > 1:
        raise ValueError(f"arrays with {', '.join(str(each.ndim) for each in arrays)} axes cannot be stacked")
    return operator("Concat", axis=0)(*(ops.Unsqueeze(each, ints(0)) for each in in_common(*arrays)))


def _made(value: Any, dtype: Any, copy: bool) -> LazyArray:
    if isinstance(value, LazyArray):
        return value if dtype is None else astype(value, dtype)
    if isinstance(value, (list, tuple)) and _has_lazy(value):
        return _stacked([_made(part, dtype, copy) for part in value])
    if isinstance(value, (list, tuple)):
        value, copy = numpy.asarray(value, None if dtype is None else numpy_dtype(dtype)), False
    made = _frazil.lazy_array(value, None, copy, False)
    return made if dtype is None else astype(made, dtype)


def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: str = "K", subok: bool = False, ndmin: int = 0
) -> LazyArray:
    """Creates a lazy array from a NumPy array, a DLPack tensor, a number or a list. The elements are copied.

    The default of `dtype` is numpy.array()'s element type: float64 for Python's floats. Up to `ndmin`, axes of extent 1
    are prepended. `order` has no effect.
    """
    made = _made(object, dtype, bool(copy))
    return made if made.ndim >= ndmin else made.reshape((1,) * (ndmin - made.ndim) + made.shape)


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None
) -> LazyArray:
    """As array(), but unless `copy` is True, without a copy if possible. The elements must not change then."""
    check_device(device)
    return _made(a, dtype, copy is True)


def from_dlpack(x: Any, *, device: Any = None, copy: bool | None = None) -> LazyArray:
    """Creates a lazy array from a DLPack tensor in the CPU's memory. Without a copy, the tensor must not change."""
    check_device(device)
    return _made(x, None, bool(copy))


def astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> LazyArray:
    """Casts the elements to another type. `copy` has no effect, as arrays are immutable."""
    x = asarray(x)
    to = dtype_of(dtype)
    if x.dtype == to.numpy:
        return x
    if "complex" in to.name or x.dtype.kind == "c":
        return call("astype", [x], to=str(to.numpy))  # type: ignore[no-any-return]
    return operator("Cast", to=to.onnx)(x)


@with_device
def full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> LazyArray:
    """Returns an array filled with one value. The shape may contain arrays without axes. `order` has no effect."""
    value = asarray(fill_value, dtype)
    return ops.Expand(value, vector(shape))


def _filled(value: int, shape: Any, dtype: Any) -> LazyArray:
    if _has_lazy(shape):
        return full(shape, value, dtype)
    return asarray(numpy.full(shape, value, numpy_dtype(dtype)))


@with_device
def zeros(shape: Any, dtype: Any = numpy.float64, order: str = "C") -> LazyArray:
    """Returns zeros. `order` has no effect."""
    return _filled(0, shape, dtype)


@with_device
def ones(shape: Any, dtype: Any = numpy.float64, order: str = "C") -> LazyArray:
    """Returns ones. `order` has no effect."""
    return _filled(1, shape, dtype)


empty = zeros


@with_device
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None
) -> LazyArray:
    """Returns an array filled with one value. Shape and element type default to those of another array."""
    a = asarray(a)
    return full(a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)


@with_device
def zeros_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> LazyArray:
    """Returns zeros, as full_like()."""
    return full_like(a, 0, dtype, shape=shape)


@with_device
def ones_like(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> LazyArray:
    """Returns ones, as full_like()."""
    return full_like(a, 1, dtype, shape=shape)


empty_like = zeros_like


def _bounds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the arguments of arange() by position: (stop,), (start, stop) or (start, stop, step)."""
    given = dict(zip(("start", "stop", "step"), args))
    twice = [name for name in kwargs if name in given]
    wrong = [name for name in kwargs if name not in ("start", "stop", "step")]
    if twice or wrong or (not args and "start" not in kwargs and "stop" not in kwargs):
        raise TypeError(f"arange() takes start, stop and step, each once, got {', '.join([*twice, *wrong]) or 'none'}")
    given.update(kwargs)
    if "start" in given and given.get("stop") is None:
        given = {**given, "start": 0, "stop": given["start"]}
    step = given.get("step")
    return (given.get("start", 0), given["stop"], *(() if step is None else (step,)))


@with_device
def arange(*args: Any, dtype: Any = None, **kwargs: Any) -> LazyArray:
    """Returns the numbers from `start` (0) to `stop`, excluding it, in steps of `step` (1). Bounds may be arrays
    without axes.
    """
    args = _bounds(args, kwargs)
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


@with_device
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
    """Returns equally spaced numbers; with `retstep` also the step."""
    element = None if dtype is None else numpy_dtype(dtype)
    start, stop = values_of([start, stop])
    made = numpy.linspace(start, stop, num, endpoint, retstep, element, axis)  # type: ignore[call-overload]
    return (asarray(made[0]), made[1]) if retstep else asarray(made)


@with_device
def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = numpy.float64, order: str = "C") -> LazyArray:
    """Returns ones on a diagonal and zeros elsewhere. `order` has no effect."""
    return asarray(numpy.eye(N, M, k, numpy_dtype(dtype)))
