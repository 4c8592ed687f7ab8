"""Indices of elements."""

from __future__ import annotations

from typing import Any

from ..lazy.array import LazyArray
from ..lazy.operators import ops
from .arrays import asarray, astype


def nonzero(a: Any) -> tuple[LazyArray, ...]:
    """Returns the indices of elements that are not 0, one array per axis."""
    a = asarray(a)
    if not a.ndim:
        raise ValueError("nonzero() of an array without axes")
    rows = ops.NonZero(astype(a, bool) if a.dtype.kind not in "biuf" else a)
    return tuple(rows[axis] for axis in range(a.ndim))
