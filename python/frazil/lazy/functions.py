"""Functions that are recorded once and called as one node, and parameters."""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Sequence

from .. import _frazil, trees
from ..effects import Watch, warn_about_effects
from ..errors import BadInput, LimitExceeded
from ..model import Model
from .array import LazyArray

MOST = 256  # limit for recordings of one function


def parameter(value: Any) -> LazyArray:
    """Returns weights: constant values that compiled code may contain.

    Functions cache results that depend only on rows of parameters.

    Parameters
    ----------
    value : array, list, number or Parameter
        The values. Elements are not copied if possible, and must not change then.

    Returns
    -------
    LazyArray
        The weights.

    Examples
    --------
    w = frazil.parameter(np.eye(3, dtype=np.float32))
    """
    if isinstance(value, LazyArray):
        value = value.numpy()
    return _frazil.lazy_array(
        getattr(value, "data", value) if hasattr(value, "requires_grad_") else value, None, False, True
    )


def as_lazy(value: Any, what: str = "expected an array") -> LazyArray:
    """Converts an array or a number to a lazy array. Raises BadInput, with `what` as prefix, for anything else."""
    if isinstance(value, LazyArray):
        return value
    if is_array(value) or isinstance(value, (bool, int, float)):
        return _frazil.lazy_array(value, None, True, False)
    raise BadInput(f"{what}, got a value of type {type(value).__name__}")


def is_array(leaf: Any) -> bool:
    """Returns whether an argument is an array rather than a fixed value."""
    return hasattr(leaf, "dtype") or hasattr(leaf, "__dlpack__")


class Recording:
    """A recorded function for arguments of one structure. All arguments except arrays are fixed."""

    def __init__(
        self, name: str, call: Callable[..., Any], leaves: Sequence[Any], structure: Any, watched: Callable[[], Any]
    ) -> None:
        self.name, self.call, self.structure, self.watched = name, call, structure, watched
        self.fixed = [None if is_array(leaf) else leaf for leaf in leaves]
        self.places = [i for i, leaf in enumerate(leaves) if is_array(leaf)]
        self.results: Any = None  #: structure of the results, after the recording
        self.function = _frazil.lazy_function(name, self.body)

    def body(self, *arrays: LazyArray) -> list[LazyArray]:
        """The function to record."""
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
        """Records one node, or records the function itself at its first call."""
        made = self.function(*arrays)
        if self.results == trees.LEAF:
            return made
        return trees.unflatten(self.results, made if isinstance(made, tuple) else (made,))


class Function:
    """A function of arrays, recorded when it is called with arguments of new element types, ranks or values.

    Later calls record one node, and equal calls of a batch run as one. Arguments are arrays, structures of arrays, and
    fixed values such as numbers, which become part of the recording. The result is that of the function: an array, or a
    tuple, list or dict. Values cannot be read during recording; use frazil.cond() and frazil.while_loop() for control
    flow.

    Parameters
    ----------
    function : callable
        The function.
    name : str, default ''
        Its name in messages; by default its own.
    """

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name or getattr(function, "__name__", "function")
        self._known: dict[Any, Recording] = {}
        self._plain: dict[Any, Recording] = {}  #: for calls with a _plain_key()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _frazil.is_recording():  # an enclosing recording inlines the function
            return self._function(*args, **kwargs)
        key = None if kwargs else _plain_key(args)
        try:
            known = self._plain.get(key)
        except TypeError:  # a value without a hash is refused below
            known = key = None
        if known is not None:
            return known.run([value for value in args if type(value) is LazyArray])
        leaves, structure = trees.flatten([args, kwargs])
        recording = self._recording(leaves, structure)
        if key is not None:
            self._plain[key] = recording
        return recording.run([as_lazy(leaf) for leaf in leaves if is_array(leaf)])

    def watched(self) -> Any:
        """Returns the context for recording, which warns about random numbers.

        Returns
        -------
        context manager
            A context for the recorded code.
        """
        return warn_about_effects(f"function '{self._name}'", Watch([], []))

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
        """Returns the graph as a model, which can be saved as ONNX.

        Inputs have the names of the parameters, outputs are "output", or "output_" with the index or key. Extents of
        0 and 1 are fixed. Other extents are free, and equal ones must be equal in every run.

        Parameters
        ----------
        *args : any
            Arguments with the element types and ranks of the model's inputs.
        **kwargs : any
            Named arguments.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        BadInput
            If the function returns no arrays.
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
    """Returns a key for arguments that are lazy arrays and single values; None if there are others."""
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
    """A decorator that makes a function a graph, see Function.

    Parameters
    ----------
    f : callable
        The function.

    Returns
    -------
    Function
        The recorded function.

    Examples
    --------
    @frazil.function
    def cell(h, x):
        return fnp.tanh(h @ u + x @ w)
    """
    return Function(f)
