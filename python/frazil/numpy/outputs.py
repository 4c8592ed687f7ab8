"""Results in arrays of the caller: the parameter `out`."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, TypeVar

import numpy

from ..lazy.array import LazyArray

Made = TypeVar("Made", bound=Callable[..., Any])


def stored(name: str, out: Any, made: LazyArray, where: Any = True, casting: Any = "same_kind") -> Any:
    """Copies a result into a NumPy array and returns the array. Raises TypeError for a lazy array."""
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if isinstance(out, LazyArray):
        raise TypeError(f"{name}(): out: lazy arrays are immutable: write y = {name}(...)")
    if not isinstance(out, numpy.ndarray):
        raise TypeError(f"{name}(): out is a NumPy array, not {type(out).__name__}")
    value = made.numpy()
    if numpy.broadcast_shapes(value.shape, out.shape) != out.shape:
        raise ValueError(f"{name}(): out has shape {out.shape}, the result {value.shape}")
    numpy.copyto(out, value, casting, numpy.asarray(where))
    return out


def with_out(function: Made) -> Made:
    """Adds the parameter `out` to a function: a NumPy array for the result, which is then computed immediately."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "out" not in kwargs:
            return function(*args, **kwargs)
        out = kwargs.pop("out")
        made = function(*args, **kwargs)
        return made if out is None else stored(function.__name__, out, made)

    signature = inspect.signature(function)
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="numpy.ndarray | None")
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), out])  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
