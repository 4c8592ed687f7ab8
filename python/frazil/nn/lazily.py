"""Modules on lazy arrays: forward is recorded as a function of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy

from .. import _frazil, trees
from .._frazil import OperatorInfo
from ..errors import Unsupported
from ..graph import Builder
from ..lazy.array import LazyArray
from ..lazy.functions import Function, parameter
from ..lazy.operators import INFOS, make, ops
from . import calls
from .recording import Recording, recording

if TYPE_CHECKING:
    from .module import Module


class LazyBody:
    """What a Builder adds nodes to, in a function of lazy arrays that is recorded."""

    def constant(self, value: Any, dtype: Any, copy: bool, name: str) -> LazyArray:
        """A value; one that is not copied is a weight."""
        return ops.constant(value, dtype) if copy else parameter(value)

    def op(self, op: str, inputs: list[Any], attributes: list[Any], outputs: int, name: str) -> tuple[LazyArray, ...]:
        """The results of an operator."""
        made = make(INFOS[op] if op in INFOS else _host(op), attributes, outputs)(*inputs)
        return made if isinstance(made, tuple) else (made,)

    def region(self, op: str, *arguments: Any) -> Any:
        """Refuses operators with bodies but for If and Loop."""
        raise Unsupported(f"{op} in a module that is called with lazy arrays")

    def if_else(self, condition: LazyArray, then: Callable[..., Any], otherwise: Callable[..., Any], name: str) -> Any:
        """Both sides."""
        return _frazil.recorded_cond(condition, lambda: then(self, []), lambda: otherwise(self, []))

    def loop(
        self, trips: Any, condition: Any, carried: list[Any], body: Callable[..., Any], collected: int, name: str
    ) -> Any:
        """With the number of the iteration and whether there is a next one among the carried values."""
        if collected:
            raise Unsupported("a loop that collects values, in a module that is called with lazy arrays")
        first = ops.constant(True) if condition is None else condition

        def holds(i: LazyArray, runs: LazyArray, *_: LazyArray) -> list[LazyArray]:
            return [runs if trips is None else runs & (i < trips)]

        def step(i: LazyArray, runs: LazyArray, *values: LazyArray) -> list[LazyArray]:
            return [i + 1, *body(self, [i, runs, *values])]

        return _frazil.recorded_loop(holds, step, [ops.constant(0), first, *carried])[2:]

    def type(self, raw: LazyArray) -> str:
        """As text."""
        return raw.type


def _host(op: str) -> OperatorInfo:
    return next(info for info in _frazil.operators() if info.full_name == op)


class LazyRecording(Recording):
    """Records what forward does on Tensors that are lazy arrays."""

    def __init__(self) -> None:
        super().__init__()
        Builder.__init__(self, LazyBody())  # type: ignore[arg-type]

    def _raw_of(self, value: Any, wanted: Any = None) -> Any:
        if value is None or isinstance(value, LazyArray):
            return value
        return super()._raw_of(value, wanted)


def run(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """forward() of lazy arrays: one node for each call, where no function is recorded."""
    functions = calls.current(module)
    if "lazy" not in functions:
        functions["lazy"] = Function(_forward_of(module), type(module).__name__)
    return functions["lazy"](*args, **kwargs)


def _forward_of(module: Module) -> Callable[..., Any]:
    def forward(*args: Any, **kwargs: Any) -> Any:
        graph = LazyRecording()
        leaves, structure = trees.flatten([args, kwargs])
        term: Any = graph.term_type
        terms = [term(graph, leaf) if isinstance(leaf, LazyArray) else leaf for leaf in leaves]
        with recording(graph):
            positional, named = trees.unflatten(structure, terms)
            made, shape = trees.flatten(module(*positional, **named))
        return trees.unflatten(shape, [graph._raw_of(value) for value in made])

    return forward


def has_lazy(values: Sequence[Any]) -> bool:
    """Whether a lazy array is among the values, or in structures of them."""
    return any(type(value) is not numpy.ndarray and _is_lazy(value) for value in values)


def _is_lazy(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return has_lazy(value)
    return has_lazy(list(value.values())) if isinstance(value, dict) else isinstance(value, LazyArray)
