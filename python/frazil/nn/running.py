"""Calls of modules outside of a recording: with a recorded graph, or by running forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy

from .. import _frazil, trees
from ..errors import LimitExceeded
from ..graph import Term
from ..lazy.array import LazyArray
from ..lazy.functions import Function
from . import calls
from .lazily import LazyRecording, immediate, unwrapped, wrapped
from .arrays import to_array
from .recording import current_or_none, recording

if TYPE_CHECKING:
    from .module import Module


def run(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls forward() on arrays, lazy arrays or Tensors, and returns values of the same kind."""
    inside = current_or_none()
    if inside is not None:
        return _on_tensors(module, args, kwargs)
    if not kwargs and "direct" not in module._compiled and all(type(value) is numpy.ndarray for value in args):
        try:
            return calls.run(module, args, kwargs)
        except calls.Refused:
            return _on_arrays(module, args, kwargs)
    kinds = {_kind(value) for value in trees.flatten([args, kwargs])[0]}
    if Term in kinds:
        return _on_tensors(module, args, kwargs)
    return (_on_lazy if LazyArray in kinds else _on_arrays)(module, args, kwargs)


def _kind(value: Any) -> Any:
    return Term if isinstance(value, Term) else LazyArray if isinstance(value, LazyArray) else None


def reason(module: Module) -> str | None:
    """Returns why forward runs in each call.

    Parameters
    ----------
    module : Module
        The module.

    Returns
    -------
    str or None
        None if forward is recorded, or has not been called.
    """
    found: str | None = module._compiled.get("direct")
    return found


def _on_arrays(module: Module, args: Any, kwargs: Any) -> Any:
    def direct() -> Any:
        graph = immediate()
        leaves, structure = trees.flatten([args, kwargs])
        terms = [graph.constant(leaf) if isinstance(leaf, numpy.ndarray) else leaf for leaf in map(calls._leaf, leaves)]
        made, shape = trees.flatten(_forward(module, *trees.unflatten(structure, terms)))
        return trees.unflatten(shape, [to_array(x) if isinstance(x, Term) else x for x in made])

    return _recorded_or(module, lambda: calls.run(module, args, kwargs), direct)


def _on_lazy(module: Module, args: Any, kwargs: Any) -> Any:
    def direct() -> Any:
        return unwrapped(_forward(module, *wrapped([args, kwargs])))

    if _frazil.is_recording():
        return _function(module)(*args, **kwargs)
    return _recorded_or(module, lambda: _function(module)(*args, **kwargs), direct)


def _on_tensors(module: Module, args: Any, kwargs: Any) -> Any:
    def recorded() -> Any:
        plain_args, plain_kwargs = unwrapped([args, kwargs])
        return wrapped(_function(module)(*plain_args, **plain_kwargs))

    def direct() -> Any:
        return _forward(module, args, kwargs)

    alone = not module._modules and type(module).__module__.startswith("frazil.nn.") and not module.several
    return direct() if alone else _recorded_or(module, recorded, direct)


def _forward(module: Module, args: Any, kwargs: Any) -> Any:
    """Calls forward() on Tensors with values."""
    with recording(immediate()):
        return module.hooked(args, kwargs)


def _recorded_or(module: Module, recorded: Callable[[], Any], direct: Callable[[], Any]) -> Any:
    if "direct" in module._compiled:
        return direct()
    try:
        return recorded()
    except (calls.Refused, LimitExceeded) as error:
        refusal = error
    made = direct()
    module._compiled["direct"] = str(refusal)
    return made


def _function(module: Module) -> Function:
    """Returns forward() as a function of lazy arrays, which records one node per call outside of a recording."""
    functions = calls.current(module)
    if "lazy" not in functions:
        functions["lazy"] = ModuleFunction(module)
    made: Function = functions["lazy"]
    return made


class ModuleFunction(Function):
    """The forward() of a module as a function of lazy arrays."""

    def __init__(self, module: Module) -> None:
        super().__init__(_forward_of(module), type(module).__name__)
        self._module = module

    def watched(self) -> Any:
        """Returns a context that refuses side effects."""
        return calls.refusing(self._module)


def _forward_of(module: Module) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        graph = LazyRecording()
        leaves, structure = trees.flatten([args, kwargs])
        term: Any = graph.term_type
        terms = [term(graph, leaf) if isinstance(leaf, LazyArray) else leaf for leaf in leaves]
        for leaf in terms:
            if isinstance(leaf, Term):
                leaf._owner = calls.refuse_argument  # type: ignore[attr-defined]
        with recording(graph):
            positional, named = trees.unflatten(structure, terms)
            made, shape = trees.flatten(module(*positional, **named))
        return trees.unflatten(shape, [graph._raw_of(value) for value in made])

    return forward
