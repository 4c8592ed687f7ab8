"""The exceptions of Frazil. Their text is one line that names the faulty object."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Iterator


class Error(Exception):
    """Base class of every error of Frazil.

    Attributes
    ----------
    location : tuple of str and int, or None
        File and line of the faulty call that built a graph.
    node : str
        The node at fault, as the text names it: "node 'If_12' (If)"; empty if there is none.
    """

    location: tuple[str, int] | None = None  #: file and line of the faulty call that built a graph
    node: str = ""  #: the node at fault, as the text names it: "node 'If_12' (If)"


class BadModel(Error, ValueError):
    """The model or graph is not valid, or operands do not fit an operator."""


class BadInput(Error, ValueError):
    """An argument, an input or an environment variable is not valid."""


class Unsupported(Error):
    """The operation is valid, but this build does not support it. The message contains advice."""


class LimitExceeded(Error):
    """A limit of memory, steps, time or nesting was exceeded."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed."""


class Cancelled(Error):
    """The run was cancelled."""


class InternalError(Error):
    """A bug in Frazil."""


class FileError(BadInput, OSError):
    """A file or folder cannot be read or written. The usual causes are also the exceptions that open() raises.

    Parameters
    ----------
    *args : any
        As for OSError: the number, the text and the path.
    """

    def __init__(self, *args: object) -> None:
        OSError.__init__(self, *args)

    __str__ = OSError.__str__


class _NotFound(FileError, FileNotFoundError):
    pass


class _IsFolder(FileError, IsADirectoryError):
    pass


class _NoPermission(FileError, PermissionError):
    pass


for _class, _base in ((_NotFound, FileNotFoundError), (_IsFolder, IsADirectoryError), (_NoPermission, PermissionError)):
    _class.__name__ = _class.__qualname__ = _base.__name__

_BY_CAUSE = {errno.ENOENT: _NotFound, errno.EISDIR: _IsFolder, errno.EACCES: _NoPermission, errno.EPERM: _NoPermission}


def _cause(path: str, writing: bool) -> int | None:
    """Returns the errno for opening a file; None if it can be opened."""
    if writing and not os.path.isdir(path):
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            return errno.ENOENT
        return None if os.access(path if os.path.exists(path) else folder, os.W_OK) else errno.EACCES
    try:
        with open(path, "ab" if writing else "rb"):
            return None
    except OSError as error:
        return error.errno


@contextlib.contextmanager
def of_file(path: str, *, writing: bool = False) -> Iterator[None]:
    """Raises FileError, and the exception of open(), if an error is caused by a file that cannot be opened."""
    try:
        yield
    except BadInput as error:
        cause = _cause(path, writing)
        if cause is None:
            raise
        raise _BY_CAUSE.get(cause, FileError)(cause, os.strerror(cause), path) from error
