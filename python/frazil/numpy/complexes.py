"""Functions of complex numbers, which NumPy computes, see host.py."""

from __future__ import annotations

from typing import Any

import numpy

from ..lazy.array import LazyArray
from . import reals
from .arrays import asarray, astype
from .host import call, is_complex, known, like, tensor
from .hosted import on_host
from .ufuncs import equal, not_equal


known("sort_complex", numpy.sort_complex, lambda x: [tensor(numpy.result_type(like(x.dtype), "F"), x.shape)])


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
    return call("sort_complex", [asarray(a)])  # type: ignore[no-any-return]


def iscomplexobj(x: Any) -> bool:
    """Returns whether the element type is complex."""
    return is_complex(x)


def isrealobj(x: Any) -> bool:
    """Returns whether the element type is not complex."""
    return not is_complex(x)
