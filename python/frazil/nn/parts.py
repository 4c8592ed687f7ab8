"""The functions of `ops` that return parts of a Term, as views."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..errors import Unsupported
from ..graph import Term, Value
from . import basic
from .accepting import open_functions
from .indexing import put
from .recording import TERMS
from .views import attach, is_flat, viewing

__all__ = ["chunk", "narrow", "select", "split", "unbind"]


def _selected(source: Term, new: Term, dim: int, index: Value) -> Any:
    return put(source, (*[slice(None)] * basic.axis_of(source, dim), index), new)


def _narrowed(source: Term, new: Term, dim: int, start: Value, length: Value) -> Any:
    part = slice(start, start + length)  # type: ignore[operator]
    return put(source, (*[slice(None)] * basic.axis_of(source, dim), part), new)


def split(input: Term, split_size: Any, dim: int = 0) -> tuple[Term, ...]:
    """Splits into parts of this extent, or of these. The extent along `dim` must be known unless all parts are given.
    """
    axis = basic.axis_of(input, dim)
    if isinstance(split_size, (tuple, list)):
        pieces = list(split_size)
    else:
        whole = basic.extent(input, axis)
        if not isinstance(whole, int) or not isinstance(split_size, int):
            raise Unsupported(f"split() of a term of type {input.type}: the number of pieces is known in a run only")
        pieces = [min(split_size, whole - at) for at in range(0, whole, split_size)] or [0]
    made = input.graph.Split(input, basic.vector(input.graph, pieces), axis=axis, outputs=len(pieces))
    return _pieces(input, axis, pieces, made if isinstance(made, tuple) else (made,))


def _pieces(x: Term, axis: int, extents: Sequence[Any], made: tuple[Term, ...]) -> tuple[Term, ...]:
    """Returns the results of Split as views."""
    start: Any = 0
    for part, extent in zip(made, extents):
        at = (axis, start, extent)
        read, write = (lambda s, at=at: narrow(s, *at)), (lambda s, new, at=at: _narrowed(s, new, *at))
        attach(part, x, read, write, is_flat(x) and axis == 0)
        start = start + extent
    return made


def chunk(input: Term, chunks: int, dim: int = 0) -> tuple[Term, ...]:
    """Splits into about equal parts: `chunks`, or fewer if the extent is known to be too small."""
    axis = basic.axis_of(input, dim)
    whole = basic.extent(input, axis)
    if isinstance(whole, int):
        return split(input, max(1, -(-whole // chunks)), axis)
    made = input.graph.Split(input, axis=axis, num_outputs=chunks, outputs=chunks)
    return made if isinstance(made, tuple) else (made,)


def unbind(input: Term, dim: int = 0) -> tuple[Term, ...]:
    """Returns all slices along `dim`, whose extent must be known."""
    axis = basic.axis_of(input, dim)
    whole = basic.extent(input, axis)
    if not isinstance(whole, int):
        raise Unsupported(f"unbind() of a term of type {input.type}: the number of slices is known in a run only")
    return tuple(select(input, axis, i) for i in range(whole))


@viewing(_selected, flat=lambda dim, index: dim == 0)
def select(input: Term, dim: int, index: Value) -> Term:
    """Returns the slice at an index."""
    at: Any = index if isinstance(index, TERMS) else numpy.asarray(index, numpy.int64)
    return input.graph.Gather(input, at, axis=basic.axis_of(input, dim))


@viewing(_narrowed, flat=lambda dim, start, length: dim == 0)
def narrow(input: Term, dim: int, start: Value, length: Value) -> Term:
    """Returns `length` slices from `start`."""
    axis = basic.axis_of(input, dim)
    end = start + length  # type: ignore[operator]
    return Term.__getitem__(input, (*[slice(None)] * axis, slice(start, end)))


open_functions(globals())
