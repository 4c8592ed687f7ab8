"""Functions of complex numbers, which NumPy computes, see host.py."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..lazy.array import LazyArray
from . import reals
from .arrays import asarray, astype
from .host import call, is_complex, known, like, tensor
from .types import is_number
from .ufuncs import equal, not_equal


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


def _cast(x: numpy.ndarray, to: str) -> numpy.ndarray:
    return x.astype(to)


known("sort_complex", numpy.sort_complex, lambda x: [tensor(numpy.result_type(like(x.dtype), "F"), x.shape)])
known("astype", _cast, lambda x, to: [tensor(to, x.shape)])


def cast(x: LazyArray, dtype: Any) -> LazyArray:
    """Implements astype() from or to complex elements."""
    return call("astype", [x], to=str(dtype))  # type: ignore[no-any-return]


def real(val: Any) -> LazyArray:
    """Returns the real parts."""
    return on_host("real", val) if is_complex(val) else asarray(val)


def imag(val: Any) -> LazyArray:
    """Returns the imaginary parts; zeros of real numbers."""
    return on_host("imag", val) if is_complex(val) else reals.imag(val)


def conjugate(x: Any) -> LazyArray:
    """Returns the elements with negated imaginary parts."""
    if is_complex(x):
        return on_host("conjugate", x)
    x = asarray(x)
    return astype(x, "int8") if x.dtype == bool else x


def iscomplex(x: Any) -> LazyArray:
    """Returns whether the imaginary part is not 0."""
    return on_host("iscomplex", x) if is_complex(x) else not_equal(reals.imag(x), 0)


def isreal(x: Any) -> LazyArray:
    """Returns whether the imaginary part is 0."""
    return on_host("isreal", x) if is_complex(x) else equal(reals.imag(x), 0)


def angle(z: Any, deg: bool = False) -> LazyArray:
    """Returns the angle in the complex plane, in radians or degrees: 0 for positive numbers, pi for negative ones."""
    if is_complex(z):
        made = on_host("angle", z)
    else:
        z = asarray(z)
        made = reals.arctan2(0, astype(z, "int64") if z.dtype == bool else z)
    return reals.rad2deg(made) if deg else made


def real_if_close(a: Any, tol: float = 100) -> LazyArray:
    """Returns the real parts if all imaginary parts are small, which it reads."""
    a = asarray(a)
    if not is_complex(a):
        return a
    limit = tol * numpy.finfo(a.dtype).eps if tol > 1 else tol
    return real(a) if (abs(a.numpy().imag) < limit).all() else a


def sort_complex(a: Any) -> LazyArray:
    """Returns the elements sorted by their real parts, then by the imaginary ones, as complex numbers."""
    return call("sort_complex", [a])  # type: ignore[no-any-return]


def iscomplexobj(x: Any) -> bool:
    """Returns whether the element type is complex."""
    return is_complex(x)


def isrealobj(x: Any) -> bool:
    """Returns whether the element type is not complex."""
    return not is_complex(x)
