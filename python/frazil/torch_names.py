"""What has the name of a function of PyTorch."""

from __future__ import annotations

from typing import Any, Callable

from .nn import functional, ops, packed

SPACES = {"functional": (functional, ops, packed), "ops": (ops, functional, packed)}


def function_named(name: str, first: str) -> Callable[..., Any] | None:
    """The function of frazil.nn with this name, of the module `first` before others; None where there is none."""
    if name.startswith("_") or name.lower() != name:
        return None
    found = next((getattr(space, name) for space in SPACES[first] if hasattr(space, name)), None)
    return found if callable(found) else None
