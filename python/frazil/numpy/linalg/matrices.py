"""What functions of matrices share: checks of operands, and functions that NumPy computes."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy
from numpy.linalg import LinAlgError

from ...lazy.array import LazyArray
from ..arrays import asarray, astype
from ..complexes import broadcast_extents, conjugate
from ..elementwise import is_inexact
from ..host import known, like, tensor
from ..shapes import swapaxes
from ..ufuncs import common


def matrix(a: Any) -> LazyArray:
    """Returns an array with two axes at least, of reals or complex numbers of 4 bytes at least."""
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
    """Two operands in one element type."""
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
    """Returns the lesser of two extents, which may be names."""
    return min(m, n) if isinstance(m, int) and isinstance(n, int) else m if m == n else f"min(({m}),({n}))"


def host_function(name: str, function: Callable[..., Any], types: Callable[..., Sequence[Any]]) -> None:
    """Makes a function of matrices known as linalg.name; `types` is called where the ranks are known."""
    known(f"linalg.{name}", function, types)


def of_first(a: Any, *shape: Any) -> Any:
    """Returns a result of the first operand's element type, with its axes before the last two."""
    return tensor(like(a.dtype), (*a.shape[:-2], *shape))


def batch(a: Any, b: Any) -> tuple[Any, ...]:
    """Returns the axes before the last two that two operands have together."""
    return tuple(broadcast_extents(a.shape[:-2], b.shape[:-2]))
