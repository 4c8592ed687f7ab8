"""Functions that select elements, join blocks and apply Python functions."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy

from ..lazy.array import LazyArray, values_of
from .arrays import array, asarray, astype, axes_of, axis_of, zeros_like
from .elementwise import where
from .moves import broadcast_arrays
from .outputs import with_out
from .reductions import all
from .shapes import (
    argsort,
    concatenate,
    expand_dims,
    extent_of,
    inside,
    moveaxis,
    reshape,
    sort,
    stack,
    take_along_axis,
)
from .ufuncs import isnan, isinf, logical_or, not_equal


def _check_kth(kth: Any, extent: int) -> None:
    for each in numpy.atleast_1d(kth).tolist():
        if not -extent <= each < extent:
            raise ValueError(f"place {each} of {extent} elements")


def partition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> LazyArray:
    """Returns the elements with those at positions kth as in sort(). All of them are sorted."""
    a = asarray(a)
    _check_kth(kth, a.size if axis is None else extent_of(a, axis_of(axis, a.ndim)))
    return sort(a, axis)


def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None) -> LazyArray:
    """Returns the indices of partition()."""
    a = asarray(a)
    _check_kth(kth, a.size if axis is None else extent_of(a, axis_of(axis, a.ndim)))
    return argsort(a, axis)


def msort(a: Any) -> LazyArray:
    """Returns the elements sorted along the first axis."""
    return sort(a, 0)


@with_out
def choose(a: Any, choices: Any, *, mode: str = "raise") -> LazyArray:
    """Returns for each index in a the element of that choice, with the modes of take()."""
    arrays = list(choices) if isinstance(choices, (tuple, list)) else [choices[i] for i in range(len(choices))]
    a = asarray(a)
    if a.dtype.kind not in "biu":
        raise TypeError(f"indices are integers, not {a.dtype}")
    a = astype(a, "int64")
    if mode == "raise" and a._there and a.size and not 0 <= a.numpy().min() <= a.numpy().max() < len(arrays):
        raise ValueError(f"an index is not a choice of {len(arrays)}")
    at, *parts = broadcast_arrays(a, *arrays)
    at = at if mode == "raise" else inside(at, len(parts), mode)
    whole = stack(list(concatenate_types(parts)))
    return take_along_axis(whole, expand_dims(at, 0), 0)[0]


def concatenate_types(parts: Sequence[LazyArray]) -> list[LazyArray]:
    """Casts arrays to their common element type."""
    wanted = numpy.result_type(*(each.dtype for each in parts))
    return [astype(each, wanted) for each in parts]


def block(arrays: Any) -> LazyArray:
    """Joins nested lists of blocks. The innermost lists are joined along the last axis."""
    depth = _depth(arrays)
    leaves: list[LazyArray] = []
    _leaves(arrays, leaves)
    rank = max(depth, *(each.ndim for each in leaves))
    return _joined(arrays, depth, rank)


def _leaves(value: Any, found: list[LazyArray]) -> None:
    if isinstance(value, list):
        for part in value:
            _leaves(part, found)
    else:
        found.append(asarray(value))


def _depth(value: Any) -> int:
    if isinstance(value, tuple):
        raise TypeError("block() takes lists, not tuples")
    if not isinstance(value, list):
        return 0
    if not value:
        raise ValueError("block() of an empty list")
    depths = {_depth(part) for part in value}
    if len(depths) > 1:
        raise ValueError("block() takes lists of one depth")
    return 1 + depths.pop()


def _joined(value: Any, depth: int, rank: int) -> LazyArray:
    if not isinstance(value, list):
        made = asarray(value)
        return reshape(made, (*[1] * (rank - made.ndim), *made.shape))
    return concatenate([_joined(part, depth - 1, rank) for part in value], -depth)


def trim_zeros(filt: Any, trim: str = "fb") -> LazyArray:
    """Returns a vector without leading and trailing zeros, which it reads."""
    row = asarray(filt)
    if not row.ndim:
        raise TypeError("trim_zeros() of an array without axes")
    if row.ndim > 1:
        raise ValueError(f"an array with {row.ndim} axes is not a vector")
    given = numpy.flatnonzero(not_equal(row, 0).numpy())
    if not given.size:
        return row[:0]
    first = int(given[0]) if "f" in trim.lower() else 0
    last = int(given[-1]) + 1 if "b" in trim.lower() else extent_of(row, 0)
    return row[first:last]


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> LazyArray:
    """Returns, for each element, the function or number of its last true condition. An extra one is the default.

    Functions are called with all elements.
    """
    x = asarray(x)
    conditions = condlist if isinstance(condlist, (list, tuple)) and numpy.ndim(condlist[0]) == x.ndim else [condlist]
    holds = [astype(asarray(each), bool) for each in conditions]
    if len(funclist) not in (len(holds), len(holds) + 1):
        raise ValueError(f"{len(funclist)} functions for {len(holds)} conditions")
    made = zeros_like(x) if len(funclist) == len(holds) else _piece(funclist[-1], x, args, kw)
    for condition, function in zip(holds, funclist):
        made = where(condition, _piece(function, x, args, kw), made)
    return astype(made, x.dtype)


def _piece(function: Any, x: LazyArray, args: Any, kw: Any) -> LazyArray:
    return astype(function(x, *args, **kw) if callable(function) else asarray(function), x.dtype)


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> LazyArray:
    """Applies a function of vectors along an axis. Its results replace that axis."""
    arr = asarray(arr)
    axis = axis_of(axis, arr.ndim)
    rest = [extent_of(arr, i) for i in range(arr.ndim) if i != axis]
    rows = reshape(moveaxis(arr, axis, -1), (-1, extent_of(arr, axis)))
    if not extent_of(rows, 0):
        raise ValueError("apply_along_axis() of no vectors")
    made = stack([asarray(func1d(rows[i], *args, **kwargs)) for i in range(extent_of(rows, 0))])
    inner = tuple(made.shape[1:])
    made = reshape(made, (*rest, *inner))
    return moveaxis(made, tuple(range(len(rest), len(rest) + len(inner))), tuple(range(axis, axis + len(inner))))


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> LazyArray:
    """Returns the array after func(a, axis) for each axis. Removed axes are kept with extent 1."""
    made = asarray(a)
    rank = made.ndim
    for axis in axes_of(tuple(numpy.atleast_1d(axes).tolist()), rank):
        after = asarray(func(made, axis))
        made = expand_dims(after, axis) if after.ndim == made.ndim - 1 else after
        if made.ndim != rank:
            raise ValueError("the function does not return an array of the right number of axes")
    return made


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> LazyArray:
    """As asarray(), for finite elements, which it reads."""
    made = asarray(a, dtype)
    if made.dtype.kind == "f" and not bool(all(logical_or(isnan(made), isinf(made)) == False)):  # noqa: E712
        raise ValueError("an array with NaN or infinities")
    return made


def copy(a: Any, order: str = "K", subok: bool = False) -> LazyArray:
    """Returns the lazy array itself, which is immutable, or a copy of another array."""
    return array(a)


class vectorize:
    """A Python function of numbers as a function of arrays. It is called once per element.

    It reads its arguments. `signature` is refused; frazil.batch() runs code on many instances together.
    """

    def __init__(self, pyfunc: Callable[..., Any], otypes: Any = None, doc: Any = None, excluded: Any = None) -> None:
        self._own = numpy.vectorize(pyfunc, otypes, doc, excluded)
        self.__doc__ = self._own.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self._own(*values_of(args), **values_of(kwargs))
        return tuple(asarray(each) for each in made) if isinstance(made, tuple) else asarray(made)


ascontiguousarray = asfortranarray = asanyarray = asarray
