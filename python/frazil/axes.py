"""Axes of arrays and graph values, with the errors of NumPy."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

AxisError: Any = getattr(numpy, "exceptions", numpy).AxisError


def axis_of(axis: int, rank: int) -> int:
    """Returns an axis counted from the front. Raises AxisError, an IndexError and ValueError, if it is out of range."""
    if not -rank <= axis < rank:
        raise AxisError(f"axis {axis} of an array with {rank} axes")
    return axis % rank


def axes_of(axis: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Returns axes counted from the front. Raises ValueError for duplicates."""
    axes = tuple(axis_of(each, rank) for each in (axis if isinstance(axis, (tuple, list)) else (axis,)))
    if len(set(axes)) < len(axes):
        raise ValueError(f"an axis is given twice: {axis}")
    return axes


def order_of(axes: tuple[Any, ...], rank: int) -> tuple[int, ...]:
    """Returns the order of axes for the arguments of transpose(): none or None reverses; numbers, or one sequence."""
    given = axes[0] if len(axes) == 1 else axes or None
    order = tuple(range(rank))[::-1] if given is None else axes_of(given, rank)
    if len(order) != rank:
        raise ValueError(f"{len(order)} axes for an array with {rank}")
    return order
