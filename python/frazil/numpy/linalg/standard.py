"""Functions that differ between numpy.linalg and numpy: those of the array API standard."""

from __future__ import annotations

from typing import Any

from ...lazy.array import LazyArray
from .. import moves, products
from ..arrays import asarray


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> LazyArray:
    """Returns the vector products along an axis of three elements."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1._extents[axis] != 3 or x2._extents[axis] != 3:
        raise ValueError(f"vectors have three elements, not {x1._extents[axis]} and {x2._extents[axis]}")
    return products.cross(x1, x2, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> LazyArray:
    """Returns the diagonals of matrices, which lie along the last two axes."""
    return moves.diagonal(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> LazyArray:
    """Returns the sums of the diagonals of matrices, which lie along the last two axes."""
    return moves.trace(x, offset, -2, -1, dtype)


def outer(x1: Any, x2: Any, /) -> LazyArray:
    """Returns the products of all pairs of elements of two vectors."""
    x1, x2 = asarray(x1), asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"vectors, not arrays with {x1.ndim} and {x2.ndim} axes")
    return products.outer(x1, x2)
