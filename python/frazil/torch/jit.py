"""Stand-ins for torch.jit. Nothing is scripted here."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """Returns the function or module itself, which is recorded when it is called."""
    return obj


def ignore(obj: T = None, *args: Any, **kwargs: Any) -> Any:  # type: ignore[assignment]
    """Returns the function itself. May be used as a decorator with or without arguments."""
    return obj if callable(obj) else script


export = unused = script_method = script


def is_scripting() -> bool:
    """Returns False."""
    return False


is_tracing = is_scripting
