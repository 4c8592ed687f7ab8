"""Slices as NumPy has them, by the operator Slice, which reads a negative start otherwise."""

from __future__ import annotations

from typing import Any

import numpy

FIRST, LAST = -(2**63), 2**63 - 1  #: beyond the first and behind the last element of any axis


def cuts(start: Any, stop: Any, step: int, extent: int | None) -> list[tuple[Any, Any, int]]:
    """The slices (start, stop, step), one after the other, that give the elements start:stop:step of an axis.

    Slice moves a start before the first element to that element; NumPy, with a negative step, then takes none. `extent`
    is that of the axis, None: unknown.
    """
    if step == 0:
        raise ValueError("the step of a slice is 0")
    begin = _plain(start if start is not None else (0 if step > 0 else LAST))
    end = _plain(stop if stop is not None else (LAST if step > 0 else FIRST))
    if step > 0 or not isinstance(begin, int) or begin >= 0:
        return [(begin, end, step)]
    if extent is not None:
        return [(begin + extent, end, step)] if begin + extent >= 0 else [(0, 0, 1)]
    # The elements up to the start, backwards: the end counts from it.
    if isinstance(end, int) and FIRST < end < 0:
        end = end - begin - 1 if end < begin else LAST
    return [(0, LAST if begin == -1 else begin + 1, 1), (LAST, end, step)]


def _plain(bound: Any) -> Any:
    return int(bound) if isinstance(bound, numpy.integer) else bound
