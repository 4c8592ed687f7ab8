"""Models of modules, recorded from types or examples, and cached for calls."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any, Iterator, Mapping, NamedTuple, Sequence

import numpy

from .._frazil import dtype as dtype_of
from ..effects import NeedsValues, Watch, refused, warn_about_effects
from ..errors import BadInput, Cancelled, InternalError, LimitExceeded, OutOfMemory
from ..model import Model
from .. import trees
from .arrays import to_array
from .recording import Recording, recording

if TYPE_CHECKING:
    from .module import Module

LASTING = (Cancelled, InternalError, LimitExceeded, OutOfMemory)  # errors that forward would raise again
OWN = {
    "_parameters", "_buffers", "_modules", "_tensors", "_compiled", "_transient", "_version",
    "_hooks", "_pre_hooks", "_derived",
}  # fmt: skip
MOST = 256  # limit for models of one module
_changes = [0]  # counts changes to all modules


class Refused(Exception):
    """The error for a forward() that cannot be recorded, or that raises. Its side effects have been reverted."""


def changed(made: Any = None) -> None:
    """Notes that a module, a parameter or a Tensor attribute has changed."""
    _changes[0] += 1


@dataclasses.dataclass(frozen=True)
class Spec:
    """The type of an input.

    Parameters
    ----------
    dtype : DType
        The element type.
    shape : tuple
        The extents: numbers or names.
    """

    dtype: Any
    shape: tuple[Any, ...]


class Compiled(NamedTuple):
    """A model with the structure of the result of forward()."""

    model: Model
    structure: Any


class Entry:
    """The cached models of a module."""

    def __init__(self) -> None:
        self.changes = -1
        self.fingerprint: Any = None
        self.models: dict[Any, Any] = {}


def _fingerprint(module: Module) -> Any:
    return [
        (
            part,
            part._version,
            [(p, p._version) for p in part._parameters.values() if p is not None],
            [(id(t), t.root._version) for t in part._tensors.values()],
        )
        for part in module.modules()
    ]


def _watch(module: Module) -> Watch:
    """Watches for changes by the forward of a module and its parts to anything but their weights."""
    parts = [part for part in module.modules() if not type(part).__module__.startswith("frazil.")]
    functions = [(part.forward, part) for part in parts]
    functions += [(hook, part) for part in module.modules() for hook in (*part._hooks, *part._pre_hooks)]
    return Watch(functions, [(type(part).__name__, vars(part), OWN) for part in parts])


@contextlib.contextmanager
def refusing(module: Module) -> Iterator[None]:
    """A context manager for recording forward(). Raises Refused for exceptions and side effects, which are reverted."""
    try:
        with refused(f"forward of {type(module).__name__}", _watch(module)):
            yield
    except LASTING:
        raise
    except Exception as error:
        raise Refused(str(error)) from error


def refuse_argument(made: Any) -> None:
    """The owner of an argument, which is a Tensor of the caller. Raises NeedsValues, as it must not change."""
    raise NeedsValues("forward changes an argument in place")


def record(module: Module, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> Compiled:
    """Returns the model of forward(). Each Spec among the arguments becomes an input. Warns about side effects."""
    with warn_about_effects(f"forward of {type(module).__name__}", _watch(module)):
        return _recorded(module, args, kwargs, options, True)


def _recorded(
    module: Module, args: Sequence[Any], kwargs: Mapping[str, Any], options: Mapping[str, Any], captures: bool = False
) -> Compiled:
    names = trees.argument_names(module.forward, args, kwargs)
    graph = Recording(module.__dict__.get("graph_name") or type(module).__name__)
    graph.captures = captures
    graph.module_names = {id(part): name for name, part in module.named_modules()}
    graph.weight_names = {id(p.array): name for name, p in module.named_parameters()}
    graph.weight_names |= {id(b): name for name, b in module.named_buffers()}
    leaves, structure = trees.flatten([tuple(args), dict(kwargs)])
    labels = iter(names)
    terms = [
        graph.input(label, leaf.dtype, leaf.shape) if isinstance(leaf, Spec) else leaf
        for label, leaf in zip(labels, leaves)
    ]
    with recording(graph):
        positional, named = trees.unflatten(structure, terms)
        made = module(*positional, **named)
        results, shape = trees.flatten(made)
        for label, value in zip(trees.names(shape, "output"), results):
            graph.output(label, value)
    return Compiled(graph.build(**options), shape)


def _leaf(value: Any) -> Any:
    """Converts an argument to an array; numbers and texts are kept."""
    if value is None or isinstance(value, (bool, int, float, str, numpy.ndarray)):
        return value
    if hasattr(value, "dtype") or hasattr(value, "__dlpack__"):
        return to_array(value)
    raise BadInput(f"an argument of a module is an array, a number, or a structure of them, got {type(value).__name__}")


def _key(leaf: Any) -> Any:
    return (leaf.dtype, leaf.ndim) if isinstance(leaf, numpy.ndarray) else trees.exact(leaf)


def run(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Runs forward() on arrays with a model that is recorded once per structure of the arguments. May raise Refused."""
    if not kwargs and all(type(value) is numpy.ndarray for value in args):  # the most frequent case
        leaves: Sequence[Any] = args
        key: Any = tuple([(value.dtype, value.ndim) for value in args])
    else:
        found, structure = trees.flatten([args, kwargs])
        leaves = [_leaf(value) for value in found]
        key = (structure, *map(_key, leaves))
    models = current(module)
    compiled = models.get(key)
    if compiled is None:
        if len(models) >= MOST:
            raise Refused(f"forward was recorded for {MOST} different values: pass numbers that change as arrays")
        compiled = models[key] = _record_call(module, leaves, trees.flatten([args, kwargs])[1])
    made = compiled.model(*(leaf for leaf in leaves if isinstance(leaf, numpy.ndarray)))
    if compiled.structure == trees.LEAF:
        return made
    return trees.unflatten(compiled.structure, made if isinstance(made, tuple) else (made,))


def current(module: Module) -> dict[Any, Any]:
    """Returns the cached models of the module in its current state. Changes to it or its parts clear the cache."""
    entry = module._compiled.setdefault("entry", Entry())
    changes = _changes[0]
    if entry.changes != changes:
        fingerprint = _fingerprint(module)
        if fingerprint != entry.fingerprint:
            entry.models = {}
            entry.fingerprint = fingerprint
        entry.changes = changes
    return entry.models


def _record_call(module: Module, leaves: Sequence[Any], structure: Any) -> Compiled:
    specs = [
        Spec(dtype_of(leaf.dtype), tuple(f"d{i}_{axis}" for axis in range(leaf.ndim)))
        if isinstance(leaf, numpy.ndarray)
        else leaf
        for i, leaf in enumerate(leaves)
    ]
    args, kwargs = trees.unflatten(structure, specs)
    with refusing(module):
        return _recorded(module, args, kwargs, {})


def from_types(module: Module, inputs: Mapping[str, Any], **options: Any) -> Model:
    """Returns the model of forward() with named inputs, each given by element type and extents."""
    return record(module, (), {name: _spec(value) for name, value in inputs.items()}, options).model


def _spec(value: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], (tuple, list)) and _is_type(value[0]):
        return Spec(value[0], tuple(value[1]))
    if isinstance(value, (tuple, list)):
        return type(value)(_spec(part) for part in value)
    return {key: _spec(part) for key, part in value.items()} if isinstance(value, dict) else value


def _is_type(value: Any) -> bool:
    try:
        dtype_of(value)
    except (BadInput, TypeError):
        return False
    return True


def compile(module: Module, example_inputs: Any, dynamic: Any = True, **options: Any) -> Model:
    """Returns a model of forward(), recorded with the types of examples.

    Parameters
    ----------
    module : Module
        The module.
    example_inputs : array, tuple or dict
        An array, a tuple of positional arguments or a dict of named ones.
    dynamic : bool or dict, default True
        True: all extents may differ between runs. False: none may. A dict by input lists those that may, as named
        extents {"x": {0: "batch"}} or dimensions {"x": [0]}. Extents with the same name are equal.
    **options : any
        Options of runs, see frazil.Options.

    Returns
    -------
    Model
        The model.

    Raises
    ------
    BadInput
        If `dynamic` names an input that does not exist, or an argument is not an array, a number or a structure of
        them.
    """
    kwargs = dict(example_inputs) if isinstance(example_inputs, dict) else {}
    args = () if kwargs else tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    found, structure = trees.flatten([args, kwargs])
    labels = trees.argument_names(module.forward, args, kwargs)
    if isinstance(dynamic, Mapping) and set(dynamic) - set(labels):
        raise BadInput(f"dynamic: no input is called {sorted(set(dynamic) - set(labels))}; there are {labels}")
    specs = [_example(label, _leaf(value), dynamic) for label, value in zip(labels, found)]
    positional, named = trees.unflatten(structure, specs)
    return record(module, positional, named, options).model


def _example(label: str, leaf: Any, dynamic: Any) -> Any:
    if not isinstance(leaf, numpy.ndarray):
        return leaf
    free = dynamic.get(label, {}) if isinstance(dynamic, Mapping) else range(leaf.ndim) if dynamic else ()
    shape: list[Any] = list(leaf.shape)
    for axis in free:
        shape[axis] = free[axis] if isinstance(free, Mapping) else f"{label}_{axis % leaf.ndim}"
    return Spec(dtype_of(leaf.dtype), tuple(shape))


__all__ = ["Compiled", "Spec", "changed", "compile", "current", "from_types", "record", "run"]
