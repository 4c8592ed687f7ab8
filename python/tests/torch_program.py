"""What a program of PyTorch's tutorials is here, and the arrays that programs are called with."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A source text, and the arguments of its calls."""

    text: str
    arrays: Callable[[np.random.Generator], list[list[Any]]]


def floats(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.normal(size=shape).astype(np.float32)


def tokens(random: np.random.Generator, most: int, *shape: int) -> np.ndarray:
    return random.integers(0, most, shape)
