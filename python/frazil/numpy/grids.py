"""Indices, grids and windows. They are known numbers, which NumPy computes during recording."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy

from ..lazy.array import LazyArray, values_of
from .arrays import asarray, astype, numpy_dtype
from .shapes import concatenate, extent_of, inside, nonzero, reshape
from .types import is_number, result_type
from .ufuncs import add, multiply

index_exp, s_ = numpy.index_exp, numpy.s_


def _lazily(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(asarray(each) for each in value)
    return asarray(value)


MADE = """Returns what numpy.{0}() returns, as lazy arrays.

Parameters
----------
*args, **kwargs : any
    The parameters of numpy.{0}(). Lazy arrays among them are read.

Returns
-------
LazyArray, or a tuple or list of them
    Known numbers, also in a recorded function.
"""


def _made(name: str) -> Callable[..., Any]:
    """Wraps a NumPy function of known numbers to return lazy arrays."""
    function = getattr(numpy, name)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "dtype" in kwargs and kwargs["dtype"] is not None:
            kwargs["dtype"] = numpy_dtype(kwargs["dtype"])
        return _lazily(function(*values_of(args), **values_of(kwargs)))

    call.__doc__ = MADE.format(name)
    return call


bartlett, blackman, hamming = _made("bartlett"), _made("blackman"), _made("hamming")
hanning, kaiser, tri = _made("hanning"), _made("kaiser"), _made("tri")
identity, geomspace, logspace, indices = _made("identity"), _made("geomspace"), _made("logspace"), _made("indices")
diag_indices, tril_indices, triu_indices = _made("diag_indices"), _made("tril_indices"), _made("triu_indices")
fromiter, fromstring, frombuffer = _made("fromiter"), _made("fromstring"), _made("frombuffer")
fromfile, load, loadtxt, genfromtxt = _made("fromfile"), numpy.load, _made("loadtxt"), _made("genfromtxt")


class _Grid:
    """Coordinates for ranges in brackets, like numpy.mgrid and numpy.ogrid."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def __getitem__(self, key: Any) -> Any:
        return _lazily(self._own[key])


mgrid, ogrid = _Grid(numpy.mgrid), _Grid(numpy.ogrid)


class _Joined:
    """Arrays, numbers and ranges in brackets, concatenated: numpy.r_ and numpy.c_ without matrices."""

    def __init__(self, axis: int, least: int, first: int) -> None:
        self._settings = axis, least, first

    def __getitem__(self, key: Any) -> LazyArray:
        parts = list(key) if isinstance(key, tuple) else [key]
        axis, least, first = self._settings
        if isinstance(parts[0], str):
            numbers = [int(each) for each in parts.pop(0).split(",")]
            axis, least, first = (*numbers, *(axis, least, first)[len(numbers) :])
        made = [self._part(part, least, first) for part in parts]
        wanted = result_type(*(part if is_number(part) else each for part, each in zip(parts, made)))
        return astype(concatenate(made, axis), wanted)

    @staticmethod
    def _part(part: Any, least: int, first: int) -> LazyArray:
        if isinstance(part, slice):
            made = asarray(numpy.r_[part])
        else:
            made = asarray(part)
        given = made.ndim
        made = made if made.ndim else reshape(made, 1)
        if made.ndim >= least:
            return made
        new = least - made.ndim
        before = new if first < 0 or not given else min(first, new)
        return reshape(made, (*[1] * before, *made.shape, *[1] * (new - before)))


r_, c_ = _Joined(0, 1, -1), _Joined(-1, 2, 0)


def ix_(*args: Any) -> tuple[LazyArray, ...]:
    """Returns vectors of indices, or of bools, each along its own axis, so that x[ix_(rows, columns)] is a submatrix.
    """
    made = []
    for axis, each in enumerate(args):
        row = asarray(each)
        if row.ndim != 1:
            raise ValueError("ix_() takes vectors")
        row = nonzero(row)[0] if row.dtype == bool else astype(row, "int64") if not extent_of(row, 0) else row
        made.append(reshape(row, (*[1] * axis, -1, *[1] * (len(args) - axis - 1))))
    return tuple(made)


def fromfunction(function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    """Calls the function with the coordinates of the elements."""
    return function(*(astype(each, dtype) for each in indices(shape)), **kwargs)


def _extents(x: Any, rank: int | None) -> tuple[int, ...]:
    x = asarray(x)
    if rank is not None and x.ndim != rank:
        raise ValueError(f"an array with {x.ndim} axes is not a matrix")
    return tuple(extent_of(x, axis) for axis in range(x.ndim))


def tril_indices_from(arr: Any, k: int = 0) -> Any:
    """Returns the indices of the lower triangle of a matrix."""
    rows, columns = _extents(arr, 2)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> Any:
    """Returns the indices of the upper triangle of a matrix."""
    rows, columns = _extents(arr, 2)
    return triu_indices(rows, k, columns)


def diag_indices_from(arr: Any) -> Any:
    """Returns the indices of the diagonal of an array with equal extents."""
    extents = _extents(arr, None)
    if len(extents) < 2 or len(set(extents)) > 1:
        raise ValueError(f"an array of shape {extents} has no diagonal of all axes")
    return diag_indices(extents[0], len(extents))


def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> Any:
    """Returns the indices for which mask_func(ones((n, n)), k) is not 0."""
    return nonzero(mask_func(asarray(numpy.ones((n, n), int)), k))


def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[LazyArray, ...]:
    """Converts indices of the flattened array to indices along each axis. Raises ValueError for known ones out of
    range.
    """
    extents = tuple(int(each) for each in numpy.atleast_1d(shape))
    at = asarray(indices)
    if at.dtype.kind not in "iu":
        raise TypeError(f"indices are integers, not {at.dtype}")
    count = int(numpy.prod(extents))
    _check_inside(at, count)
    strides = numpy.array([numpy.prod(extents[i + 1 :]) for i in range(len(extents))], "int64")
    if order == "F":
        strides = numpy.array([numpy.prod(extents[:i]) for i in range(len(extents))], "int64")
    return tuple(astype(at, "int64") // int(stride) % extent for stride, extent in zip(strides, extents))


def _check_inside(at: LazyArray, extent: int) -> None:
    """Raises ValueError if known indices are out of range."""
    if at._there:
        values = at.numpy()
        if values.size and not (0 <= values.min() and values.max() < extent):
            raise ValueError(f"an index out of range for {extent} elements")


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> LazyArray:
    """Converts indices along each axis to those of the flattened array, with the modes of take()."""
    extents = tuple(int(each) for each in numpy.atleast_1d(dims))
    parts = [asarray(each) for each in multi_index]
    if len(parts) != len(extents):
        raise ValueError(f"{len(parts)} indices for {len(extents)} axes")
    if any(each.dtype.kind not in "iu" for each in parts):
        raise TypeError("indices are integers")
    modes = [mode] * len(parts) if isinstance(mode, str) else list(mode)
    made: Any = 0
    pairs = list(zip(parts, extents, modes))
    for part, extent, how in pairs if order == "C" else pairs[::-1]:
        if how == "raise":
            _check_inside(part, extent)
        else:
            part = inside(part, extent, how)
        made = add(multiply(made, extent), astype(part, "int64"))
    return made  # type: ignore[no-any-return]
