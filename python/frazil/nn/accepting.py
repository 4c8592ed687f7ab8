"""Arguments of PyTorch's functions other than Terms: arrays, Parameters, tensors of PyTorch, and inplace=True."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

import numpy

from ..graph import Term
from .arrays import to_array
from .lazily import graph_of
from .recording import TERMS

SIMPLE = (Term, bool, int, float, str, type(None))
FIRST = {
    "input", "tensors", "tensor", "query", "x1", "condition", "sorted_sequence", "a", "theta", "weight", "operands",
    "boxes",
}  # fmt: skip


def accepting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function to convert arrays, Parameters and tensors of PyTorch among its arguments to Terms."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if not isinstance(value, SIMPLE) and _is_foreign(value):
                graph = graph_of(*args)
                args = tuple(_converted(graph, part) for part in args)
                break
        for name, value in kwargs.items():
            if not isinstance(value, SIMPLE) and _is_foreign(value):
                kwargs[name] = _converted(graph_of(*args, *kwargs.values()), value)
        return function(*args, **kwargs)

    call.accepts_arrays = True  # type: ignore[attr-defined]
    return call


def _is_foreign(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_is_foreign(part) for part in value)
    return isinstance(value, (numpy.ndarray, numpy.generic)) or (
        hasattr(value, "requires_grad_") and not isinstance(value, TERMS)
    )


def _converted(graph: Any, value: Any) -> Any:
    if isinstance(value, (tuple, list)) and _is_foreign(value):
        return [_converted(graph, part) for part in value]
    return graph.constant(to_array(value)) if _is_foreign(value) else value


def open_functions(names: dict[str, Any]) -> None:
    """Makes the functions of a module that take Terms accept arrays. Called at the end of the module."""
    for name, value in list(names.items()):
        if name.startswith("_") or not inspect.isfunction(value) or not value.__module__.startswith("frazil.nn."):
            continue
        if getattr(value, "accepts_arrays", False):
            continue
        first = next(iter(inspect.signature(value).parameters), None)
        if first in FIRST and name not in ("extent", "size", "cast", "filled"):
            names[name] = accepting(value)


def in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function with a parameter `inplace`, which modifies the input if it is true."""
    place = list(inspect.signature(function).parameters).index("inplace")

    @functools.wraps(function)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        made = function(input, *args, **kwargs)
        changes = args[place - 1] if len(args) >= place else kwargs.get("inplace", False)
        return input.assign(made) if changes and hasattr(input, "assign") else made

    return call
