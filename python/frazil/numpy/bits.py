"""Functions of the bits of numbers. NumPy computes those without an operator, see host.py."""

from __future__ import annotations

from typing import Any

import numpy

from ..lazy.array import LazyArray
from . import reals
from .arrays import asarray, astype
from .elementwise import is_inexact, where
from .host import call, known, tensor
from .ufuncs import absolute, add, bitwise_and, common, floor, isinf, multiply, subtract

MASKS = [  # masks of neighbouring groups of 1, 2, 4, ... bits
    numpy.uint64(((1 << 64) - 1) // ((1 << width) + 1)) for width in (1, 2, 4, 8, 16, 32)
]
known("i0", numpy.i0, lambda x: [x])
known("frexp", numpy.frexp, lambda x: [x, tensor("int32", x.shape)])
known("packbits", numpy.packbits, lambda a, axis, bitorder: [tensor("uint8", _packed(a.shape, axis, 8))])
known("unpackbits", numpy.unpackbits, lambda a, axis, count, bitorder: [tensor("uint8", _packed(a.shape, axis, 0))])


def _packed(shape: Any, axis: int | None, bits: int) -> Any:
    """Returns the shape after packing 8 bits into one number, or unpacking them; "?" if it depends on extents."""
    if shape is None or axis is None:
        return None if shape is None else ("?",)
    extents = list(shape)
    extents[axis] = -(-extents[axis] // bits) if bits and isinstance(extents[axis], int) else "?"
    return tuple(extents)


def _integers(name: str, x1: Any, x2: Any) -> LazyArray:
    x1, x2 = common(x1, x2)
    if x1.dtype.kind not in "iu":
        raise TypeError(f"{name}() of {x1.dtype}: integers have it")
    return call(name, [x1, x2])  # type: ignore[no-any-return]


def gcd(x1: Any, x2: Any) -> LazyArray:
    """Returns the greatest common divisors of integers."""
    return _integers("gcd", x1, x2)


def lcm(x1: Any, x2: Any) -> LazyArray:
    """Returns the least common multiples of integers."""
    return _integers("lcm", x1, x2)


def nextafter(x1: Any, x2: Any) -> LazyArray:
    """Returns the next number from x1 towards x2."""
    return call("nextafter", reals.reals_of(x1, x2))  # type: ignore[no-any-return]


def spacing(x: Any) -> LazyArray:
    """Returns the distance to the next number."""
    return call("spacing", [reals.real(x)])  # type: ignore[no-any-return]


def ldexp(x1: Any, x2: Any) -> LazyArray:
    """Returns x1 times 2 to the power of x2.

    Raises
    ------
    TypeError
        If x2 is not an integer.
    """
    x1, x2 = reals.real(x1), asarray(x2)
    if x2.dtype.kind not in "biu":
        raise TypeError(f"ldexp(): an exponent of element type {x2.dtype} is not an integer")
    wide = astype(x1, "float64") if x1.dtype.itemsize < 8 else x1
    low, high = floor(multiply(astype(x2, "float64"), 0.5)), astype(x2, "float64")
    parts = [low, subtract(high, low)]
    for part in parts:
        wide = multiply(wide, reals.exp2(part))
    return astype(wide, x1.dtype)


def frexp(x: Any) -> tuple[LazyArray, LazyArray]:
    """Returns mantissas, with absolute values from 0.5 to 1, and exponents to the base 2."""
    return call("frexp", [reals.real(x)], 2)  # type: ignore[no-any-return]


def modf(x: Any) -> tuple[LazyArray, LazyArray]:
    """Returns the fractional and the integral parts; both have the number's sign."""
    x = reals.real(x)
    whole = reals.trunc(x)
    rest = where(isinf(x), asarray(0.0, x.dtype), subtract(x, whole))
    return reals.copysign(rest, x), reals.copysign(whole, x)


def bitwise_count(x: Any) -> LazyArray:
    """Returns the number of one bits of the absolute value, as uint8."""
    x = asarray(x)
    if x.dtype.kind not in "biu":
        raise TypeError(f"bitwise_count() of {x.dtype}: integers have bits")
    rest = astype(absolute(x) if x.dtype != bool else x, "uint64")
    for shift, mask in zip((1, 2, 4, 8, 16, 32), MASKS):
        parts = (bitwise_and(rest, mask), bitwise_and(reals.right_shift(rest, asarray(shift, "uint64")), mask))
        rest = add(*parts)
    return astype(rest, "uint8")


def i0(x: Any) -> LazyArray:
    """Returns the modified Bessel function of the first kind, of order 0."""
    x = asarray(x)
    return call("i0", [x if is_inexact(x) else astype(x, "float64")])  # type: ignore[no-any-return]


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> LazyArray:
    """Packs 8 values into the bits of one uint8, padded with 0."""
    return call("packbits", [asarray(a)], axis=axis, bitorder=bitorder)  # type: ignore[no-any-return]


def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> LazyArray:
    """Unpacks the bits of uint8 to numbers, at most the first `count`."""
    return call("unpackbits", [asarray(a)], axis=axis, count=count, bitorder=bitorder)  # type: ignore[no-any-return]
