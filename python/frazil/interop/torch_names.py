"""Look-up of PyTorch's functions by name."""

from __future__ import annotations

from typing import Any, Callable

from ..nn import functional, ops, packed

SPACES = {"functional": (functional, ops, packed), "ops": (ops, functional, packed)}


def function_named(name: str, first: str) -> Callable[..., Any] | None:
    """Returns the function of frazil.nn with this name, preferably from the module `first`; None if there is none."""
    if name.startswith("_") or name.lower() != name:
        return None
    found = next((getattr(space, name) for space in SPACES[first] if hasattr(space, name)), None)
    return found if callable(found) else None
