"""Tensors that are lazy arrays, and the graph in which a function records."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Callable

import numpy

from .. import _frazil, trees
from .._frazil import OperatorInfo
from ..errors import Unsupported
from ..graph import Builder, Term
from ..lazy.array import LazyArray
from ..lazy.functions import parameter
from ..lazy.operators import INFOS, make, ops
from . import calls
from .recording import TERMS, Recording, current_or_none

if TYPE_CHECKING:
    from .module import Module


class LazyBody:
    """The body that a Builder adds nodes to in a recorded function of lazy arrays."""

    def constant(self, value: Any, dtype: Any, copy: bool, name: str) -> LazyArray:
        """Returns a constant. Without a copy it becomes a weight."""
        return ops.constant(value, dtype) if copy else parameter(value)

    def op(self, op: str, inputs: list[Any], attributes: list[Any], outputs: int, name: str) -> tuple[LazyArray, ...]:
        """Returns the results of an operator."""
        made = make(INFOS[op] if op in INFOS else _host(op), attributes, outputs)(*inputs)
        return made if isinstance(made, tuple) else (made,)

    def region(self, op: str, *arguments: Any) -> Any:
        """Raises Unsupported: operators with bodies other than If and Loop are not available."""
        raise Unsupported(f"{op} in a module that is called with lazy arrays")

    def if_else(self, condition: LazyArray, then: Callable[..., Any], otherwise: Callable[..., Any], name: str) -> Any:
        """Records an If with both branches."""
        return _frazil.recorded_cond(condition, lambda: then(self, []), lambda: otherwise(self, []))

    def loop(
        self, trips: Any, condition: Any, carried: list[Any], body: Callable[..., Any], collected: int, name: str
    ) -> Any:
        """Records a Loop. The iteration number and the condition become carried values."""
        if collected:
            raise Unsupported("a loop that collects values, in a module that is called with lazy arrays")
        first = ops.constant(True) if condition is None else condition

        def holds(i: LazyArray, runs: LazyArray, *_: LazyArray) -> list[LazyArray]:
            return [runs if trips is None else runs & (i < trips)]

        def step(i: LazyArray, runs: LazyArray, *values: LazyArray) -> list[LazyArray]:
            return [i + 1, *body(self, [i, runs, *values])]

        return _frazil.recorded_loop(holds, step, [ops.constant(0), first, *carried])[2:]

    def type(self, raw: LazyArray) -> str:
        """Returns the type as text."""
        return raw.type


def _host(op: str) -> OperatorInfo:
    return next(info for info in _frazil.operators() if info.full_name == op)


class LazyRecording(Recording):
    """Records forward on Tensors that are lazy arrays."""

    def __init__(self) -> None:
        super().__init__()
        Builder.__init__(self, LazyBody())  # type: ignore[arg-type]

    def _raw_of(self, value: Any, wanted: Any = None) -> Any:
        if value is None or isinstance(value, LazyArray):
            return value
        return super()._raw_of(value, wanted)


class Immediate(LazyRecording):
    """The graph of Tensors with values: lazy arrays that can be read."""

    readable = True

    def __init__(self) -> None:
        super().__init__()
        for info in INFOS.values():
            if not info.domain and not info.bodies:
                self.__dict__[info.name] = self._quick(getattr(ops, info.name))

    def _quick(self, operator: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps an operator of lazy arrays, which caches attributes, for Tensors."""
        term: Any = self.term_type

        def call(*inputs: Any, **attributes: Any) -> Any:
            for name, value in attributes.items():
                if type(value) is list:
                    attributes[name] = tuple(value)
            raws = [x._raw if isinstance(x, Term) else x.tensor()._raw if hasattr(x, "tensor") else x for x in inputs]
            made = operator(*raws, **attributes)
            return tuple(term(self, x) for x in made) if isinstance(made, tuple) else term(self, made)

        return call

    def enter(self, module: Any) -> None:
        """Does nothing, as lazy arrays record the lines of the program instead."""

    def leave(self) -> None:
        """Does nothing."""

    def _raw_of(self, value: Any, wanted: Any = None) -> Any:
        if hasattr(value, "tensor"):  # a Parameter
            return value.tensor()._raw
        return super()._raw_of(value, wanted)

    def weight(self, array: numpy.ndarray) -> Term:
        """Returns the array as a weight."""
        return self.term_type(self, parameter(array))  # type: ignore[arg-type]

    def derived(self, module: Module, key: Any, make: Callable[[], numpy.ndarray]) -> Term:
        """Returns a weight computed from the module's weights. It is cached until they change."""
        known = calls.current(module)
        if ("derived", key) not in known:
            known["derived", key] = parameter(make())
        return self.term_type(self, known["derived", key])


@functools.lru_cache(maxsize=None)
def immediate() -> Immediate:
    """Returns the only instance."""
    return Immediate()


def current() -> Recording:
    """Returns the graph that this thread records, or that of Tensors with values."""
    graph = current_or_none()
    if graph is not None:
        return graph
    return immediate()


def graph_of(*values: Any) -> Builder:
    """Returns the graph of the Terms or lazy arrays among the values, else the current graph.

    The recorded graph has precedence over that of Tensors with values.
    """
    found = None
    for value in values:
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, TERMS):
                if not getattr(part.graph, "readable", False):
                    return part.graph
                found = part.graph
    return found or current()


def wrapped(value: Any) -> Any:
    """Converts lazy arrays in a structure to Tensors."""
    graph = immediate()
    leaves, structure = trees.flatten(value)
    term: Any = graph.term_type
    return trees.unflatten(structure, [term(graph, x) if isinstance(x, LazyArray) else x for x in leaves])


def unwrapped(value: Any) -> Any:
    """Converts Tensors in a structure to lazy arrays."""
    leaves, structure = trees.flatten(value)
    return trees.unflatten(structure, [x._raw if isinstance(x, Term) else x for x in leaves])
