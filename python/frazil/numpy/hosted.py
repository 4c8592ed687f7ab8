"""Elementwise functions that NumPy computes, for complex operands."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..lazy.array import LazyArray
from .arrays import asarray, astype
from .host import call, known, like, tensor
from .types import is_number


def broadcast_extents(first: Any, second: Any) -> Any:
    """Returns the broadcast shape. Extents may be names; "?" where a name meets another one."""
    if first is None or second is None:
        return None
    rank = max(len(first), len(second))
    pairs = zip((1,) * (rank - len(first)) + tuple(first), (1,) * (rank - len(second)) + tuple(second))
    return tuple(a if a == b or b == 1 else b if a == 1 else "?" for a, b in pairs)


def _know(name: str, function: Any) -> None:
    """Registers an elementwise function of NumPy."""

    def types(*given: Any) -> Sequence[Any]:
        dtype = function(*(numpy.ones(1, like(each.dtype)) for each in given)).dtype
        shape = given[0].shape
        for each in given[1:]:
            shape = broadcast_extents(shape, each.shape)
        return [tensor(dtype, shape)]

    known(name, function, types)


for _name, _function in vars(numpy).items():
    if isinstance(_function, numpy.ufunc) and _function.nout == 1 and _name != "matmul":
        _know(_name, _function)
for _name in ("real", "imag", "angle", "iscomplex", "isreal"):
    _know(_name, getattr(numpy, _name))


def on_host(name: str, *operands: Any) -> LazyArray:
    """Applies an elementwise function with NumPy, for complex operands."""
    arrays = [asarray(each) for each in operands]
    if len(arrays) > 1:  # promotes here, as NumPy 1 decides by values
        kinds = [array.dtype for array, each in zip(arrays, operands) if not is_number(each)]
        wide = numpy.result_type(numpy.complex64, *kinds) if kinds else numpy.dtype("complex128")
        arrays = [astype(each, wide) for each in arrays]
    return call(name, arrays)  # type: ignore[no-any-return]
