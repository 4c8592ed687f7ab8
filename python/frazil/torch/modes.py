"""Modes without gradients and other settings, which have no effect."""

from __future__ import annotations

import contextlib
from typing import Any, Callable

import numpy

from .._frazil import DType, dtype as dtype_of
from ..errors import Unsupported
from ..nn import ops
from ..nn.devices import device


class _Mode(contextlib.ContextDecorator):
    """A context manager and decorator without effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: Any) -> None:
        pass


class no_grad(_Mode):
    """Has no effect, as there are no gradients."""

    def __new__(cls, function: Any = None) -> Any:
        return function if callable(function) else super().__new__(cls)


class inference_mode(no_grad):
    """Has no effect, as there is only inference."""

    def __new__(cls, mode: Any = True) -> Any:
        return mode if callable(mode) else super().__new__(cls)


class autocast(_Mode):
    """Has no effect: element types stay unchanged."""


class set_grad_enabled(_Mode):
    """Has no effect for False.

    Raises
    ------
    Unsupported
        If `mode` is true.
    """

    def __init__(self, mode: bool) -> None:
        if mode:
            raise Unsupported("Frazil does not train: there are no gradients")


class enable_grad(_Mode):
    """Refuses, as there are no gradients.

    Raises
    ------
    Unsupported
        Always.
    """

    def __init__(self) -> None:
        raise Unsupported("Frazil does not train: there are no gradients")


def is_grad_enabled() -> bool:
    """Returns False."""
    return False


def get_default_dtype() -> DType:
    """Returns the element type of floating-point numbers."""
    return dtype_of("float32")


def set_default_dtype(d: Any) -> None:
    """Accepts float32, which is the default.

    Raises
    ------
    Unsupported
        If the type is another one.
    """
    if dtype_of(d).name != "float32":
        raise Unsupported(f"set_default_dtype({d}): numbers are float32 here; give dtype= or use module.to()")


def set_num_threads(count: int) -> None:
    """Refuses, as models have their own number of threads.

    Raises
    ------
    Unsupported
        Always.
    """
    raise Unsupported("set_num_threads(): give threads= to frazil.nn.compile(), or set FRAZIL_THREADS")


def get_num_threads() -> int:
    """Returns 1, as computations on Tensors run on the caller's thread."""
    return 1


def finfo(type: Any = "float32") -> Any:
    """Returns the limits of floating-point numbers."""
    return numpy.finfo(dtype_of(type).numpy)


def iinfo(type: Any) -> Any:
    """Returns the limits of integers."""
    return numpy.iinfo(dtype_of(type).numpy)


def typed(dtype: str) -> Callable[..., Any]:
    """Returns a constructor such as torch.LongTensor, for numbers or extents."""

    def make(*data: Any) -> Any:
        if len(data) == 1 and not isinstance(data[0], int):
            return ops.tensor(data[0], dtype)
        return ops.zeros(*(data or (0,)), dtype=dtype)

    make.__doc__ = f"""Returns a new Tensor of {dtype}.

Parameters
----------
*data : array, list or int
    The elements; numbers are the extents of zeros.

Returns
-------
Tensor
    A Tensor with a value.
"""
    return make
