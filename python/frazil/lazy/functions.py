"""Functions that are recorded once and called as one node, and weights."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Sequence

from .. import _frazil, trees
from ..effects import Watch, told
from ..errors import BadInput, LimitExceeded
from ..model import Model
from .array import LazyArray

MOST = 256  # recordings of one function


def parameter(value: Any) -> LazyArray:
    """Weights: values that never change, which what is compiled contains. Elements are not copied where that is possible.

    Functions remember what they compute from rows of parameters alone.
    """
    if isinstance(value, LazyArray):
        value = value.numpy()
    return _frazil.lazy_array(
        getattr(value, "data", value) if hasattr(value, "requires_grad_") else value, None, False, True
    )


def as_lazy(value: Any, what: str = "expected an array") -> LazyArray:
    """An array or a number as a lazy array. BadInput for anything else, which `what` says first."""
    if isinstance(value, LazyArray):
        return value
    if is_array(value) or isinstance(value, (bool, int, float)):
        return _frazil.lazy_array(value, None, True, False)
    raise BadInput(f"{what}, got a value of type {type(value).__name__}")


def is_array(leaf: Any) -> bool:
    """Whether an argument is an array, and no value that stays the same."""
    return hasattr(leaf, "dtype") or hasattr(leaf, "__dlpack__")


class Recording:
    """A function for arguments of one structure, in which everything but arrays is fixed."""

    def __init__(
        self, name: str, call: Callable[..., Any], leaves: Sequence[Any], structure: Any, watched: Callable[[], Any]
    ) -> None:
        self.name, self.call, self.structure, self.watched = name, call, structure, watched
        self.fixed = [None if is_array(leaf) else leaf for leaf in leaves]
        self.places = [i for i, leaf in enumerate(leaves) if is_array(leaf)]
        self.results: Any = None  #: their structure, once it has been recorded
        self.function = _frazil.lazy_function(name, self.body)

    def body(self, *arrays: LazyArray) -> list[LazyArray]:
        """What is recorded."""
        leaves = list(self.fixed)
        for place, array in zip(self.places, arrays):
            leaves[place] = array
        args, kwargs = trees.unflatten(self.structure, leaves)
        with self.watched():
            made, structure = trees.flatten(self.call(*args, **kwargs))
        if self.results not in (None, structure):
            raise BadInput(f"function '{self.name}' returns another structure than before: {structure}")
        if not made:
            raise BadInput(f"function '{self.name}' returns no arrays")
        self.results = structure
        return [as_lazy(value, f"function '{self.name}' returns arrays") for value in made]

    def run(self, arrays: Sequence[LazyArray]) -> Any:
        """Records one node, or what the function does where it is called for the first time."""
        made = self.function(*arrays)
        if self.results == trees.LEAF:
            return made
        return trees.unflatten(self.results, made if isinstance(made, tuple) else (made,))


class Function:
    """A function of arrays that is recorded when it is called with arguments of new element types, ranks or values.

    Later calls record one node, and equal calls of a batch run as one. Arguments are arrays, structures of them, and values
    that stay the same, such as numbers, which belong to what is recorded. It returns what the function returns: an array, or
    a tuple, list or dict. Nothing can be read while it is recorded: frazil.cond() and frazil.while_loop() decide.
    """

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name or getattr(function, "__name__", "function")
        self._known: dict[Any, Recording] = {}
        self._plain: dict[Any, Recording] = {}  #: those of calls that _plain_key() has a key for

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _frazil.is_recording():  # a function that is recorded has the nodes of those that it calls
            return self._function(*args, **kwargs)
        key = None if kwargs else _plain_key(args)
        try:
            known = self._plain.get(key)
        except TypeError:  # a value without a hash, which is refused below
            known = key = None
        if known is not None:
            return known.run([value for value in args if type(value) is LazyArray])
        leaves, structure = trees.flatten([args, kwargs])
        recording = self._recording(leaves, structure)
        if key is not None:
            self._plain[key] = recording
        return recording.run([as_lazy(leaf) for leaf in leaves if is_array(leaf)])

    def watched(self) -> Any:
        """The block in which the function is recorded: warns where it draws random numbers."""
        return told(f"function '{self._name}'", Watch([], []))

    def _recording(self, leaves: Sequence[Any], structure: Any) -> Recording:
        key = (structure, *(None if is_array(leaf) else trees.exact(leaf) for leaf in leaves))
        try:
            known = self._known.get(key)
        except TypeError:
            kinds = sorted({type(leaf).__name__ for leaf in leaves if not is_array(leaf)})
            raise BadInput(
                f"function '{self._name}': an argument is an array, or a value with a hash, got {', '.join(kinds)}"
            ) from None
        if known is None:
            if len(self._known) >= MOST:
                raise LimitExceeded(
                    f"function '{self._name}' was recorded for {MOST} different values: pass numbers that change as arrays"
                )
            known = self._known[key] = Recording(self._name, self._function, leaves, structure, self.watched)
        return known

    def model(self, *args: Any, **kwargs: Any) -> Model:
        """The graph as a model, which saves as ONNX, for arguments of these element types and ranks.

        Inputs are called like the parameters, outputs "output", or "output_" with the index or key. Extents of 0 and 1 are
        fixed; others are free, and those that are equal here are equal in every run.
        """
        leaves, structure = trees.flatten([args, kwargs])
        recording = Recording(self._name, self._function, leaves, structure, self.watched)
        names = trees.argument_names(self._function, args, kwargs)
        inputs = [names[place] for place in recording.places]
        arrays = [as_lazy(leaf) for leaf in leaves if is_array(leaf)]
        handle = _frazil.lazy_model(
            recording.function, arrays, inputs.__getitem__, lambda k: trees.names(recording.results, "output")[k]
        )
        return Model(handle, _frazil.Options())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<frazil.Function {self._name!r}>"


def _plain_key(args: tuple[Any, ...]) -> Any:
    """The kinds of arguments that are lazy arrays and single values; None where others are among them."""
    key: list[Any] = []
    for value in args:
        kind = type(value)
        if kind is LazyArray:
            key.append(LazyArray)
        elif value is None or kind.__hash__ is None or isinstance(value, tuple) or is_array(value):
            return None
        else:
            key.append(trees.exact(value))
    return tuple(key)


def function(f: Callable[..., Any]) -> Function:
    """Code as a graph: a decorator, see Function.

    @frazil.function
    def cell(h, x):
        return fnp.tanh(h @ u + x @ w)
    """
    return Function(f)
