"""Structures of values: tuples, lists and dicts, with all other values as leaves."""

from __future__ import annotations

import inspect
import struct
from typing import Any, Callable, Iterator, Mapping, Sequence

LEAF = "*"


def exact(value: Any) -> Any:
    """Returns a key for a value. Keys are equal for equal values, except that 1, True and 1.0 differ, and 0.0 and -0.0
    differ. NaN equals itself.
    """
    kind = type(value)
    if kind is float:
        return (kind, value.hex() if value == value else struct.pack("d", value))
    if kind is complex:
        return (kind, exact(value.real), exact(value.imag))
    if isinstance(value, tuple):
        return (kind, *map(exact, value))
    if isinstance(value, frozenset):
        return (kind, frozenset(map(exact, value)))
    return (kind, value)


def flatten(value: Any) -> tuple[list[Any], Any]:
    """Returns the leaves in order, and the structure. Equal structures compare equal. None is part of the structure."""
    leaves: list[Any] = []
    return leaves, _shape(value, leaves)


def _shape(value: Any, leaves: list[Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return (type(value), tuple(_shape(part, leaves) for part in value))
    if isinstance(value, dict):
        return (type(value), tuple(value), tuple(_shape(part, leaves) for part in value.values()))
    leaves.append(value)
    return LEAF


def unflatten(structure: Any, leaves: Sequence[Any]) -> Any:
    """Returns the value with this structure and these leaves."""
    return _fill(structure, iter(leaves))


def _fill(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is None:
        return None
    if structure == LEAF:
        return next(leaves)
    kind, parts = structure[0], [_fill(part, leaves) for part in structure[-1]]
    if len(structure) == 3:
        return kind(zip(structure[1], parts))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def names(structure: Any, base: str) -> list[str]:
    """Returns a name for each leaf: `base` followed by its path."""
    if structure is None:
        return []
    if structure == LEAF:
        return [base]
    keys = structure[1] if len(structure) == 3 else range(len(structure[-1]))
    return [name for key, part in zip(keys, structure[-1]) for name in names(part, f"{base}_{key}")]


def argument_names(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """Returns a name for each leaf of the arguments: the parameter's name followed by the path."""
    bases: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        many = parameter.kind is parameter.VAR_POSITIONAL
        bases += [f"{parameter.name}_{i}" for i in range(len(args) - len(bases))] if many else [parameter.name]
    made = []
    for name, value in (*zip(bases, args), *kwargs.items()):
        made += names(flatten(value)[1], name)
    return made
