"""The exceptions of Frazil. Their text is one line that names what is at fault."""

from __future__ import annotations


class Error(Exception):
    """Base class of every error of Frazil."""

    location: tuple[str, int] | None = None  #: file and line of the call that built a graph wrongly


class BadModel(Error, ValueError):
    """The model or graph is not valid, or operands do not fit an operator."""


class BadInput(Error, ValueError):
    """An argument, an input or an environment variable is not valid."""


class Unsupported(Error):
    """Valid, but not supported by this build; the message says what to do."""


class LimitExceeded(Error):
    """A limit of memory, steps, time or nesting was exceeded."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""


class Cancelled(Error):
    """The run was cancelled."""


class InternalError(Error):
    """A bug in Frazil."""
