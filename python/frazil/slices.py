"""NumPy's slices as uses of the operator Slice, which treats a negative start differently."""

from __future__ import annotations

from typing import Any

import numpy

FIRST, LAST = -(2**63), 2**63 - 1  #: bounds before the first and after the last element of any axis


def cuts(start: Any, stop: Any, step: int, extent: int | None) -> list[tuple[Any, Any, int]]:
    """Returns the consecutive slices (start, stop, step) that select the elements start:stop:step of an axis.

    Slice clamps a start before the first element to that element. NumPy then selects no element if the step is
    negative. `extent` is that of the axis; None if unknown.
    """
    if step == 0:
        raise ValueError("the step of a slice is 0")
    begin = _plain(start if start is not None else (0 if step > 0 else LAST))
    end = _plain(stop if stop is not None else (LAST if step > 0 else FIRST))
    if step > 0 or not isinstance(begin, int) or begin >= 0:
        return [(begin, end, step)]
    if extent is not None:
        return [(begin + extent, end, step)] if begin + extent >= 0 else [(0, 0, 1)]
    # Takes the elements up to the start and reverses them, so the end is relative to the start.
    if isinstance(end, int) and FIRST < end < 0:
        end = end - begin - 1 if end < begin else LAST
    return [(0, LAST if begin == -1 else begin + 1, 1), (LAST, end, step)]


def _plain(bound: Any) -> Any:
    return int(bound) if isinstance(bound, numpy.integer) else bound
