"""The graph that is recorded on this thread."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, Callable, Iterator

import numpy

from ..errors import BadInput
from ..graph import Builder, Graph, Term
from ..lazy.array import LazyArray

TERMS: Any = (Term, LazyArray)  #: what records: in a graph, or as it runs

_state = threading.local()


class Recording(Graph):
    """A graph whose Terms have PyTorch's habits: frazil.nn.Tensor.

    Weights are borrowed, and one array is one constant, in whichever body it is used first.
    """

    def __init__(self, name: str = "graph") -> None:
        from .tensor import Tensor

        super().__init__(name)
        self.term_type = Tensor
        self.weight_names: dict[int, str] = {}  #: by the identity of an array
        self._weights: dict[int, tuple[numpy.ndarray, Term]] = {}
        self._derived: dict[Any, Any] = {}
        self.module_names: dict[int, str] = {}  #: by the identity of a module
        self._inside = [""]
        self._counts: dict[str, int] = {}

    def enter(self, module: Any) -> None:
        """Nodes are called like this module from now on, until leave()."""
        self._inside.append(self.module_names.get(id(module), self._inside[-1]))

    def leave(self) -> None:
        """The end of what enter() began."""
        self._inside.pop()

    def _call(self, info: Any, inputs: Any, bodies: Any, attributes: Any, outputs: Any, name: str) -> Any:
        if not name and self._inside[-1]:
            base = f"{self._inside[-1]}.{info.name}"
            count = self._counts[base] = self._counts.get(base, 0) + 1
            name = base if count == 1 else f"{base}_{count}"
        return super()._call(info, inputs, bodies, attributes, outputs, name)

    def weight(self, array: numpy.ndarray) -> Term:
        """The constant of an array, without a copy."""
        known = self._weights.get(id(array))
        if known is None:
            raw = self._raw.constant(array, None, False, self.weight_names.get(id(array), ""))
            known = self._weights[id(array)] = (array, self.term_type(self, raw))
        return known[1]

    def derived(self, key: Any, make: Callable[[], numpy.ndarray]) -> Term:
        """The constant of an array that is made from weights, once for each key."""
        if key not in self._derived:
            self._derived[key] = make()
        return self.weight(self._derived[key])


@contextlib.contextmanager
def recording(graph: Recording) -> Iterator[Recording]:
    """Makes `graph` the current one of this thread."""
    before = current_or_none()
    _state.graph = graph
    try:
        yield graph
    finally:
        _state.graph = before


def current_or_none() -> Recording | None:
    """The graph that this thread records."""
    return getattr(_state, "graph", None)


def current() -> Recording:
    """The graph that this thread records. BadInput when there is none."""
    graph = current_or_none()
    if graph is None:
        raise BadInput("no graph is being recorded: call this in the forward of a module, or with a Term")
    return graph


def graph_of(*values: Any) -> Builder:
    """Where the first Term or lazy array among the values records, else the graph that is recorded."""
    for value in values:
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, TERMS):
                return part.graph
    return current()
