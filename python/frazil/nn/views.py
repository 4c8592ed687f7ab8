"""Tensors that share elements: a change in place through one of them is visible through the others."""

from __future__ import annotations

import functools
from typing import Any, Callable

from .._frazil import DType, dtypes
from ..effects import NeedsValues
from ..errors import BadInput
from ..graph import Builder, Term
from ..lazy.array import LazyArray
from .basic import cast, kind_of

TYPES = {known.numpy: known for known in dtypes}
Write = Callable[..., Any]  # takes the source and the written value


class View:
    """The relation of a Tensor to another one, its source: how to read it, and how to write a changed one back."""

    __slots__ = ("source", "read", "write", "contiguous", "seen", "root")

    def __init__(self, source: Shared, read: Callable[[Any], Any], write: Write, flat: bool) -> None:
        self.source, self.read, self.write, self.contiguous = source, read, write, flat
        self.root: Shared = source.root
        self.seen = self.root._version


class Shared(Term):
    """A Term whose elements can be changed in place, together with its views and the Terms that it is a view of.

    A change creates a new value in the graph. `_owner` is called with the Term after a change, and may refuse it.
    """

    __slots__ = ("_held", "_base", "_version", "_owner", "_depth")

    def __init__(self, graph: Builder, raw: Any) -> None:
        self._base: View | None = None
        self._version = 0
        self._owner: Callable[[Shared], None] | None = None
        self._depth = len(graph._bodies)
        self.graph = graph
        self._held = raw

    @property
    def _raw(self) -> Any:  # type: ignore[override]
        base = self._base
        if base is not None and base.seen != base.root._version:
            self._held, base.seen = base.read(base.source)._raw, base.root._version
        return self._held

    @property
    def root(self) -> Shared:
        """The Term that this one is directly or indirectly a view of, or itself."""
        return self if self._base is None else self._base.root

    @property
    def dtype(self) -> DType | None:
        """The element type."""
        raw = self._raw
        return TYPES[raw.dtype] if isinstance(raw, LazyArray) else Term.dtype.__get__(self)

    @property
    def ndim(self) -> int:
        """The rank."""
        raw = self._raw
        return raw.ndim if isinstance(raw, LazyArray) else Term.ndim.__get__(self)

    def assign(self, made: Any) -> Shared:
        """Assigns the elements of another value, broadcast and cast as in PyTorch.

        Returns
        -------
        Tensor
            The Tensor itself.

        Raises
        ------
        BadInput
            If the elements cannot be cast in place, or the shapes do not fit.
        NeedsValues
            If the Tensor is from outside of a cond() or while_loop().
        """
        if not isinstance(made, Term):
            made = self.graph.constant(made, None if hasattr(made, "dtype") else self.dtype)
        if made.type != self.type:
            made = self._fitted(made)
        if len(self.graph._bodies) != self._depth:
            raise NeedsValues("a Tensor from outside of a cond() or while_loop() changes in place: return it")
        if self._base is not None:
            base = self._base
            base.source.assign(base.write(base.source, made))
            return self
        self.become(made)
        return self

    def become(self, made: Any) -> None:
        """Takes another value of any type.

        Raises
        ------
        BadInput
            If the Tensor is a view.
        """
        if self._base is not None:
            raise BadInput("a view of a Tensor keeps its shape: use the function without '_'")
        if self._owner is not None:
            self._owner(made)
        self._held = made._raw
        self._version += 1

    def _fitted(self, made: Any) -> Any:
        if made.dtype != self.dtype:
            if kind_of(made.dtype) > kind_of(self.dtype):
                raise BadInput(f"result type {made.dtype} can't be cast in place to the element type {self.dtype}")
            made = cast(made, self.dtype)
        if made.ndim > self.ndim:
            raise BadInput(f"a Tensor of type {self.type} does not change in place to {made.type}")
        return made.graph.Expand(made, self.graph.Shape(self)) if made.type != self.type else made


def is_flat(x: Any) -> bool:
    """Returns whether the elements are in row-major order, as far as views are known."""
    base = getattr(x, "_base", None)
    return base is None or base.contiguous


def attach(made: Any, source: Any, read: Callable[[Any], Any], write: Write, flat: bool) -> Any:
    """Makes `made` a view of `source` if that can change in place."""
    if isinstance(source, Shared) and isinstance(made, Shared) and made is not source and made._base is None:
        made._base = View(source, read, write, flat)
    return made


def viewing(write: Write, flat: Callable[..., bool] | None = None) -> Callable[[Write], Write]:
    """Decorates a function whose result shares its input's elements. `write` writes a changed result back to the input.

    flat  of the arguments after the input: whether the result of a contiguous input is contiguous. Without it,
    the result is,
          and that of another input is a copy.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(input: Any, *args: Any, **kwargs: Any) -> Any:
            made = function(input, *args, **kwargs)
            if flat is None and not is_flat(input):
                return made
            return attach(
                made,
                input,
                lambda source: function(source, *args, **kwargs),
                lambda source, new: write(source, new, *args, **kwargs),
                is_flat(input) and (flat is None or flat(*args, **kwargs)),
            )

        return call

    return decorate
