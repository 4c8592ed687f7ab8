"""Files whose bytes are used in place."""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy

from ..errors import BadInput


def mapped(name: str) -> numpy.ndarray:
    """Returns the bytes of a file. Raises BadInput for an empty or unreadable one."""
    try:
        with open(name, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise BadInput(f"{name}: the file is empty")
            return numpy.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), numpy.uint8)
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}") from None


def array_at(data: numpy.ndarray, begin: int, count: int, dtype: numpy.dtype[Any]) -> numpy.ndarray:
    """Returns elements in the bytes of a file, copied only if they are not aligned."""
    made = data[begin : begin + count * dtype.itemsize].view(dtype)
    if made.ctypes.data % max(dtype.alignment, 1) or made.ctypes.data % min(dtype.itemsize, 8):
        made = made.copy()
        made.flags.writeable = False
    return made
