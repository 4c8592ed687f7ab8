"""Functions of real numbers that combine several operators. Integers become reals as in NumPy."""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy

from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray, astype, full_like
from .elementwise import is_inexact, where
from .outputs import with_out
from .ufuncs import (
    absolute,
    add,
    arctan,
    ceil,
    common,
    divide,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    invert,
    isinf,
    isnan,
    less,
    log,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    power,
    sign,
    sin,
    sqrt,
    subtract,
)

REAL_OF_BYTES = {1: "float16", 2: "float32"}  # NumPy's real type for integers of this size; float64 for others


def real(x: Any) -> LazyArray:
    """Returns real numbers unchanged. Casts others to the type that functions of reals use."""
    x = asarray(x)
    if x.dtype.kind == "c":
        raise TypeError("a function of real numbers, not of complex ones")
    return x if is_inexact(x) else astype(x, REAL_OF_BYTES.get(x.dtype.itemsize, "float64"))


def reals_of(x1: Any, x2: Any) -> tuple[LazyArray, LazyArray]:
    """Casts two operands to a common real type. A Python number takes the other's type."""
    x1, x2 = (each if isinstance(each, (int, float)) else real(each) for each in (x1, x2))
    x1, x2 = common(x1, x2)
    return real(x1), real(x2)


def _widely(function: Callable[..., LazyArray], *args: Any) -> LazyArray:
    """Applies a function of reals, computed in 32 bits for 16-bit types."""
    arrays = list(reals_of(*args)) if len(args) == 2 else [real(args[0])]
    kind = arrays[0].dtype
    if kind.itemsize > 2:
        return function(*arrays)
    return astype(function(*(astype(each, "float32") for each in arrays)), kind)


def log1p(x: Any) -> LazyArray:
    """Returns log(1 + x), accurate for small x (Kahan's correction for the rounding of 1 + x)."""

    def made(x: LazyArray) -> LazyArray:
        whole = add(x, 1)
        lost = subtract(whole, 1)
        near = multiply(log(whole), divide(x, lost))
        return where(equal(lost, 0), x, where(isinf(whole), log(whole), near))

    return _widely(made, x)


def expm1(x: Any) -> LazyArray:
    """Returns exp(x) - 1, accurate for small x (Kahan's correction, as in log1p())."""

    def made(x: LazyArray) -> LazyArray:
        whole = exp(x)
        less_one = subtract(whole, 1)
        near = multiply(less_one, divide(x, log(whole)))
        far = logical_or(isinf(whole), equal(less_one, -1))
        return where(equal(whole, 1), x, where(far, less_one, near))

    return _widely(made, x)


def exp2(x: Any) -> LazyArray:
    """Returns 2 to the power of x."""
    return _widely(lambda x: power(asarray(2.0, x.dtype), x), x)


def cbrt(x: Any) -> LazyArray:
    """Returns the real cube root."""

    def made(x: LazyArray) -> LazyArray:
        root = power(absolute(x), 1 / 3)
        better = subtract(root, divide(subtract(root, divide(absolute(x), multiply(root, root))), 3))
        return multiply(sign(x), where(logical_or(equal(root, 0), isinf(root)), root, better))

    return _widely(made, x)


def fabs(x: Any) -> LazyArray:
    """Returns the absolute value, as a real number."""
    return absolute(real(x))


def float_power(x1: Any, x2: Any) -> LazyArray:
    """Returns x1 to the power of x2, as float64. Complex numbers are complex128."""
    if any(isinstance(each, LazyArray) and each.dtype.kind == "c" for each in (x1, x2)):
        raise TypeError("float_power() of complex numbers")  # the ufunc then uses NumPy
    return power(astype(x1, "float64"), astype(x2, "float64"))


def signbit(x: Any) -> LazyArray:
    """Returns whether elements are negative or -0."""
    x = asarray(x)
    if not is_inexact(x):
        return less(x, 0) if x.dtype.kind == "i" else astype(full_like(x, 0), bool)
    return logical_or(less(x, 0), logical_and(equal(x, 0), less(divide(1, x), 0)))


def copysign(x1: Any, x2: Any) -> LazyArray:
    """Returns x1 with the sign of x2."""
    x1, x2 = reals_of(x1, x2)
    return where(not_equal(signbit(x1), signbit(x2)), negative(x1), x1)


def heaviside(x1: Any, x2: Any) -> LazyArray:
    """Returns 0 for negative x1, 1 for positive ones, and x2 where x1 is 0."""
    x1, x2 = reals_of(x1, x2)
    step = where(greater(x1, 0), asarray(1.0, x1.dtype), where(less(x1, 0), asarray(0.0, x1.dtype), x2))
    return where(isnan(x1), x1, step)


def trunc(x: Any) -> LazyArray:
    """Rounds towards 0."""
    x = asarray(x)
    return where(signbit(x), ceil(x), floor(x)) if is_inexact(x) else x


@with_out
def fix(x: Any) -> LazyArray:
    """Rounds towards 0."""
    return trunc(x)


def arctan2(x1: Any, x2: Any) -> LazyArray:
    """Returns the angle of the point (x2, x1), from -pi to pi."""

    def made(y: LazyArray, x: LazyArray) -> LazyArray:
        far = logical_and(isinf(y), isinf(x))
        one = asarray(1.0, x.dtype)
        y, x = where(far, copysign(one, y), y), where(far, copysign(one, x), x)
        at_zero = logical_and(equal(y, 0), equal(x, 0))
        angle = where(at_zero, copysign(asarray(0.0, x.dtype), multiply(y, copysign(one, x))), arctan(divide(y, x)))
        return where(signbit(x), add(angle, copysign(asarray(math.pi, x.dtype), y)), angle)

    return _widely(made, x1, x2)


def hypot(x1: Any, x2: Any) -> LazyArray:
    """Returns sqrt(x1 * x1 + x2 * x2) without intermediate overflow."""

    def made(x: LazyArray, y: LazyArray) -> LazyArray:
        x, y = absolute(x), absolute(y)
        large = maximum(x, y)
        part = where(equal(large, 0), asarray(0.0, x.dtype), divide(minimum(x, y), large))
        far = logical_or(isinf(x), isinf(y))
        return where(far, asarray(math.inf, x.dtype), multiply(large, sqrt(add(multiply(part, part), 1))))

    return _widely(made, x1, x2)


def logaddexp(x1: Any, x2: Any) -> LazyArray:
    """Returns log(exp(x1) + exp(x2)) without intermediate overflow."""

    def made(x: LazyArray, y: LazyArray) -> LazyArray:
        more = log1p(exp(negative(absolute(subtract(x, y)))))
        return where(equal(x, y), add(x, math.log(2)), add(maximum(x, y), more))

    return _widely(made, x1, x2)


def logaddexp2(x1: Any, x2: Any) -> LazyArray:
    """Returns log2(2**x1 + 2**x2) without intermediate overflow."""

    def made(x: LazyArray, y: LazyArray) -> LazyArray:
        more = multiply(log1p(exp2(negative(absolute(subtract(x, y))))), 1 / math.log(2))
        return where(equal(x, y), add(x, 1), add(maximum(x, y), more))

    return _widely(made, x1, x2)


def sinc(x: Any) -> LazyArray:
    """Returns sin(pi x) / (pi x), and 1 at 0."""
    x = asarray(x)
    x = x if is_inexact(x) else astype(x, "float64")
    angle = multiply(where(equal(x, 0), asarray(1e-20, x.dtype), x), math.pi)
    return divide(sin(angle), angle) if x.dtype.itemsize > 2 else _widely(sinc, x)


def deg2rad(x: Any) -> LazyArray:
    """Converts degrees to radians."""
    return _widely(lambda x: multiply(x, math.pi / 180), x)


def rad2deg(x: Any) -> LazyArray:
    """Converts radians to degrees."""
    return _widely(lambda x: multiply(x, 180 / math.pi), x)


radians, degrees = deg2rad, rad2deg


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> LazyArray:
    """Replaces NaN and infinities by numbers; the defaults are 0 and the largest numbers of the type."""
    x = asarray(x)
    if not is_inexact(x):
        return x
    limits = numpy.finfo(x.dtype)
    low, high = limits.min if neginf is None else neginf, limits.max if posinf is None else posinf
    finite = where(isinf(x), where(greater(x, 0), asarray(high, x.dtype), asarray(low, x.dtype)), x)
    return where(isnan(x), asarray(nan, x.dtype), finite)


@with_out
def isposinf(x: Any) -> LazyArray:
    """Returns whether elements are positive infinity."""
    real(x)
    return logical_and(isinf(x), greater(x, 0))


@with_out
def isneginf(x: Any) -> LazyArray:
    """Returns whether elements are negative infinity."""
    real(x)
    return logical_and(isinf(x), less(x, 0))


def _passing_nan(extreme: Callable[[Any, Any], LazyArray], x1: Any, x2: Any) -> LazyArray:
    x1, x2 = common(x1, x2)
    made = extreme(x1, x2)
    return where(isnan(x1), x2, where(isnan(x2), x1, made)) if is_inexact(x1) else made


def fmax(x1: Any, x2: Any) -> LazyArray:
    """Returns the larger element; NaN only if both are NaN."""
    return _passing_nan(maximum, x1, x2)


def fmin(x1: Any, x2: Any) -> LazyArray:
    """Returns the smaller element; NaN only if both are NaN."""
    return _passing_nan(minimum, x1, x2)


def _shifted(x1: Any, x2: Any, move: Callable[[LazyArray, LazyArray, LazyArray], LazyArray]) -> LazyArray:
    x1, x2 = common(x1, x2)
    if is_inexact(x1):
        raise TypeError(f"bits of {x1.dtype} cannot be shifted")
    x1, x2 = (astype(each, "int8") if each.dtype == bool else each for each in (x1, x2))
    bits = 8 * x1.dtype.itemsize
    unsigned = f"uint{bits}"
    by = astype(minimum(maximum(x2, 0), bits - 1), unsigned)
    gone = logical_or(greater_equal(x2, bits), less(x2, 0))
    return move(x1, where(gone, asarray(bits - 1, unsigned), by), gone)


def _shift_right(x: LazyArray, by: LazyArray) -> LazyArray:
    return operator("BitShift", direction="RIGHT")(astype(x, by.dtype), by)


def left_shift(x1: Any, x2: Any) -> LazyArray:
    """Shifts bits to the left; shifting out all bits gives 0."""

    def move(x: LazyArray, by: LazyArray, gone: LazyArray) -> LazyArray:
        made = operator("BitShift", direction="LEFT")(astype(x, by.dtype), by)
        return where(gone, asarray(0, x.dtype), astype(made, x.dtype))

    return _shifted(x1, x2, move)


def right_shift(x1: Any, x2: Any) -> LazyArray:
    """Shifts bits to the right and keeps the sign."""

    def move(x: LazyArray, by: LazyArray, gone: LazyArray) -> LazyArray:
        if x.dtype.kind == "u":
            return where(gone, asarray(0, x.dtype), _shift_right(x, by))
        below = less(x, 0)
        made = astype(_shift_right(where(below, invert(x), x), by), x.dtype)
        return where(below, invert(made), made)

    return _shifted(x1, x2, move)


def imag(val: Any) -> LazyArray:
    """Returns zeros, as the numbers are real."""
    return full_like(val, 0)
