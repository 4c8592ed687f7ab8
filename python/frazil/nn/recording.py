"""The graph that is recorded on this thread."""

from __future__ import annotations

import contextlib
import contextvars
from typing import Any, Callable, Iterator

import numpy

from ..effects import NeedsValues
from ..errors import BadInput
from ..graph import Graph, Term
from ..symbolic import Symbolic

TERMS: Any = (Symbolic,)  #: types that record operators, in a graph or lazily

_current: contextvars.ContextVar[Recording | None] = contextvars.ContextVar("recording", default=None)


class Recording(Graph):
    """A graph whose Terms behave like PyTorch's tensors: the module `tensor` sets `term_type` to frazil.nn.Tensor.

    Weights are borrowed. An array becomes a single constant, in the body that uses it first.
    """

    readable = False  #: whether its Tensors have values
    captures = False  #: whether Tensors with values become constants, even if they are not attributes

    def __init__(self, name: str = "graph") -> None:
        super().__init__(name)
        self.weight_names: dict[int, str] = {}  #: by the identity of an array
        self._weights: dict[int, tuple[numpy.ndarray, Term]] = {}
        self._derived: dict[Any, Any] = {}
        self.module_names: dict[int, str] = {}  #: by the identity of a module
        self._inside = [""]
        self._counts: dict[str, int] = {}

    def adopt(self, value: Term) -> Term:
        """Converts a Tensor with a value to a constant. Raises NeedsValues unless the graph captures values."""
        if not getattr(value.graph, "readable", False):
            raise BadInput("a term belongs to another graph or patch")
        if not self.captures:
            raise NeedsValues("forward uses a Tensor that is neither an argument nor an attribute")
        return self.weight(value.numpy())  # type: ignore[attr-defined]

    def _raw_of(self, value: Any, wanted: Any = None) -> Any:
        if isinstance(value, Term) and value.graph is not self:
            value = self.adopt(value)
        return super()._raw_of(value, wanted)

    def enter(self, module: Any) -> None:
        """Names subsequent nodes after this module, until leave()."""
        self._inside.append(self.module_names.get(id(module), self._inside[-1]))

    def leave(self) -> None:
        """Ends the naming that enter() began."""
        self._inside.pop()

    def _call(self, info: Any, inputs: Any, bodies: Any, attributes: Any, outputs: Any, name: str) -> Any:
        if not name and self._inside[-1]:
            base = f"{self._inside[-1]}.{info.name}"
            count = self._counts[base] = self._counts.get(base, 0) + 1
            name = base if count == 1 else f"{base}_{count}"
        return super()._call(info, inputs, bodies, attributes, outputs, name)

    def weight(self, array: numpy.ndarray) -> Term:
        """Returns the constant of an array, without a copy."""
        known = self._weights.get(id(array))
        if known is None:
            raw = self._raw.constant(array, None, False, self.weight_names.get(id(array), ""))
            term: Any = self.term_type(self, raw)
            term._owner = _refuse
            known = self._weights[id(array)] = (array, term)
        return known[1]

    def derived(self, module: Any, key: Any, make: Callable[[], numpy.ndarray]) -> Term:
        """Returns the constant for an array computed from the module's weights. It is computed once per key."""
        if (id(module), key) not in self._derived:
            self._derived[id(module), key] = make()
        return self.weight(self._derived[id(module), key])


def _refuse(made: Any) -> None:
    raise NeedsValues("forward changes a weight or a buffer in place")


@contextlib.contextmanager
def recording(graph: Recording) -> Iterator[Recording]:
    """Makes `graph` the current one of this thread."""
    token = _current.set(graph)
    try:
        yield graph
    finally:
        _current.reset(token)


def current_or_none() -> Recording | None:
    """Returns the graph that this thread records."""
    return _current.get()
