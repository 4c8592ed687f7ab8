"""What code that is also scripted by PyTorch uses: nothing is scripted here."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """The function or module: it is recorded when it is called."""
    return obj


def ignore(obj: T = None, *args: Any, **kwargs: Any) -> Any:  # type: ignore[assignment]
    """The function; a decorator also with arguments."""
    return obj if callable(obj) else script


export = unused = script_method = script


def is_scripting() -> bool:
    """Never."""
    return False


is_tracing = is_scripting
