"""Random numbers that Python draws in code that is recorded once."""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import sys
import warnings
from typing import Iterator

import numpy


PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def _users_level() -> int:
    """How many frames there are to the caller's code, outside of the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
        level, frame = level + 1, frame.f_back
    return level


def _states() -> bytes:
    return pickle.dumps((random.getstate(), numpy.random.get_state(legacy=False)))


@contextlib.contextmanager
def noticed(what: str) -> Iterator[None]:
    """Warns where the block draws from the generators of `random` or `numpy.random`: later calls do not draw again."""
    before = _states()
    yield
    if _states() != before:
        warnings.warn(
            f"{what} drew random numbers while it was recorded: every call computes with these; pass them as arguments",
            stacklevel=_users_level(),
        )
