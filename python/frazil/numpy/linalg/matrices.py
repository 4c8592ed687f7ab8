"""Shared by functions of matrices: checks of operands, and functions that NumPy computes."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy
from numpy.linalg import LinAlgError

from ...lazy.array import LazyArray
from ..arrays import asarray, astype
from ..complexes import conjugate
from ..hosted import broadcast_extents
from ..elementwise import is_inexact
from ..host import known, like, tensor
from ..shapes import swapaxes
from ..ufuncs import common


def matrix(a: Any) -> LazyArray:
    """Returns an array with at least two axes, of reals or complex numbers of at least 4 bytes."""
    a = asarray(a)
    if a.dtype == numpy.float16:
        raise TypeError("linear algebra needs float32 or float64: cast float16 by astype()")
    if a.ndim < 2:
        raise LinAlgError(f"an array with {a.ndim} axes; a matrix has two at least")
    return a if is_inexact(a) else astype(a, "float64")


def square(a: Any) -> LazyArray:
    """Returns matrix(a). Raises LinAlgError unless its last two extents are equal."""
    a = matrix(a)
    rows, columns = a._extents[-2:]
    if rows != columns and None not in (rows, columns):
        raise LinAlgError(f"a matrix of {rows} by {columns} is not square")
    return a


def together(a: LazyArray, b: Any) -> tuple[LazyArray, LazyArray]:
    """Casts two operands to one element type."""
    b = asarray(b)
    if b.dtype == numpy.float16:
        raise TypeError("linear algebra needs float32 or float64: cast float16 by astype()")
    return common(a, b if is_inexact(b) else astype(b, "float64"))


def adjoint(a: LazyArray) -> LazyArray:
    """Returns the conjugate of the transposed matrix."""
    return conjugate(swapaxes(a, -1, -2))


# ---- types of the results of NumPy's functions ----


def real_part(dtype: Any) -> Any:
    """Returns the element type of absolute values."""
    return numpy.zeros(0, like(dtype)).real.dtype


def wide(dtype: Any) -> Any:
    """Returns the complex element type of this precision."""
    return numpy.result_type(like(dtype), numpy.complex64)


def least(m: Any, n: Any) -> Any:
    """Returns the minimum of two extents, which may be names."""
    return min(m, n) if isinstance(m, int) and isinstance(n, int) else m if m == n else f"min(({m}),({n}))"


def host_function(name: str, function: Callable[..., Any], types: Callable[..., Sequence[Any]]) -> None:
    """Registers a function of matrices as linalg.name. `types` is called if the ranks are known."""
    known(f"linalg.{name}", function, types)


def of_first(a: Any, *shape: Any) -> Any:
    """Returns the type of a result with the first operand's element type and batch axes."""
    return tensor(like(a.dtype), (*a.shape[:-2], *shape))


def batch(a: Any, b: Any) -> tuple[Any, ...]:
    """Returns the broadcast batch axes of two operands."""
    return tuple(broadcast_extents(a.shape[:-2], b.shape[:-2]))
