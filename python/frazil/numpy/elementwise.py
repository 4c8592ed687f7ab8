"""Elementwise functions that combine several operators. Those of one operator are in python/src/elementwise.cc."""

from __future__ import annotations

import math
from typing import Any

from ..errors import BadModel
from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray, astype
from .outputs import with_out
from .places import nonzero
from .ufuncs import (
    absolute,
    add,
    bitwise_and,
    common,
    divide,
    equal,
    floor,
    greater,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    not_equal,
    power,
    rint,
    subtract,
)


def is_inexact(x: LazyArray) -> bool:
    """Returns whether elements are real numbers, not bools or integers."""
    return x.dtype.kind not in "biu"


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Returns `x` where the condition is true, else `y`. Without these, returns nonzero(condition)."""
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ValueError("where() takes both x and y, or neither")
    x, y = common(x, y)
    return operator("Where")(astype(condition, bool), x, y)


def remainder(x1: Any, x2: Any) -> LazyArray:
    """Returns x1 % x2, with the sign of x2."""
    x1, x2 = common(x1, x2)
    if not is_inexact(x1):
        return _of_divisors(operator("Mod"), x1, x2)
    rest = operator("Mod", fmod=1)(x1, x2)
    nothing = where(less(x2, 0), asarray(-0.0, x2.dtype), asarray(0.0, x2.dtype))
    return where(equal(rest, 0), nothing, where(_other_sign(rest, x2), add(rest, x2), rest))


def _other_sign(rest: LazyArray, x2: LazyArray) -> LazyArray:
    """Returns whether a remainder is not 0 and its sign differs from the divisor's."""
    return logical_and(not_equal(rest, 0), not_equal(less(rest, 0), less(x2, 0)))


def _of_divisors(operation: Any, x1: LazyArray, x2: LazyArray) -> LazyArray:
    """Applies an operation to integers, with result 0 where the divisor is 0."""
    x1, x2 = _numbers(x1), _numbers(x2)
    none = equal(x2, 0)
    return where(none, 0, operation(x1, where(none, 1, x2)))


def floor_divide(x1: Any, x2: Any) -> LazyArray:
    """Returns x1 // x2, rounded down."""
    x1, x2 = common(x1, x2)
    if not is_inexact(x1):
        return _of_divisors(lambda a, b: operator("Div")(subtract(a, operator("Mod")(a, b)), b), x1, x2)
    whole, rest = divide(x1, x2), operator("Mod", fmod=1)(x1, x2)
    parts = divide(subtract(x1, rest), x2)
    parts = where(_other_sign(rest, x2), subtract(parts, 1), parts)
    down = floor(parts)
    down = where(greater(subtract(parts, down), 0.5), add(down, 1), down)
    down = where(equal(parts, 0), multiply(whole, 0), down)  # with the sign of the quotient
    return where(equal(x2, 0), whole, down)


def divmod(x1: Any, x2: Any) -> tuple[LazyArray, LazyArray]:
    """Returns x1 // x2 and x1 % x2."""
    for each in (x1, x2):
        if isinstance(each, LazyArray) and each.dtype.kind == "c":
            raise TypeError("complex numbers have no remainder")
    return floor_divide(x1, x2), remainder(x1, x2)


def fmod(x1: Any, x2: Any) -> LazyArray:
    """Returns x1 % x2, with the sign of x1."""
    x1, x2 = common(x1, x2)
    return operator("Mod", fmod=1)(x1, x2) if is_inexact(x1) else _of_divisors(operator("Mod", fmod=1), x1, x2)


def _numbers(x: LazyArray) -> LazyArray:
    """Casts bools to int8, as NumPy does for division."""
    return astype(x, "int8") if x.dtype == bool else x


@with_out
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> LazyArray:
    """Clips to [a_min, a_max], also named `min` and `max`; None means no limit."""
    if (min is not None and a_min is not None) or (max is not None and a_max is not None):
        raise ValueError("a limit is given twice")
    a_min, a_max = min if a_min is None else a_min, max if a_max is None else a_max
    low = asarray(a) if a_min is None else maximum(a, a_min)
    return low if a_max is None else minimum(low, a_max)


@with_out
def round(a: Any, decimals: int = 0) -> LazyArray:
    """Rounds to a number of decimals, half to even."""
    a = asarray(a)
    if decimals >= 0 and not is_inexact(a):
        return rint(a) if a.dtype == bool else a
    if decimals == 0:
        return rint(a)
    if not is_inexact(a):
        raise TypeError("integers cannot be rounded to tens: cast them by astype()")
    factor = 10.0 ** abs(decimals)
    return divide(rint(multiply(a, factor)), factor) if decimals > 0 else multiply(rint(divide(a, factor)), factor)


def power_of(x1: Any, x2: Any) -> LazyArray:
    """Returns x1 ** x2: small and unsigned integers wrap around, bools become int8."""
    try:
        return power(x1, x2)
    except (BadModel, TypeError):
        first, second = common(x1, x2)
        if is_inexact(first):
            raise
    kind = "int8" if first.dtype == bool else first.dtype
    return astype(power(astype(first, "int64"), astype(second, "int64")), kind)


def square(x: Any) -> LazyArray:
    """Returns x * x."""
    x = _numbers(asarray(x))
    return multiply(x, x)


def reciprocal(x: Any) -> LazyArray:
    """Returns 1 / x, of real numbers.

    Raises
    ------
    TypeError
        If the elements are integers.
    """
    x = asarray(x)
    if not is_inexact(x):
        raise TypeError("integers have no reciprocals: cast them by astype()")
    return operator("Reciprocal")(x)


def _logarithm(x: Any, base: float) -> LazyArray:
    made = multiply(log(x), 1 / math.log(base))
    whole = rint(made)
    return where(equal(power(asarray(base).astype(made.dtype), whole), x), whole, made)


def log2(x: Any) -> LazyArray:
    """Returns the logarithm to the base 2; exact for powers of 2."""
    return _logarithm(x, 2.0)


def log10(x: Any) -> LazyArray:
    """Returns the logarithm to the base 10; exact for powers of 10."""
    return _logarithm(x, 10.0)


def isfinite(x: Any) -> LazyArray:
    """Returns whether elements are neither infinite nor NaN."""
    x = asarray(x)
    return logical_not(logical_or(isnan(x), isinf(x)))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> LazyArray:
    """Returns whether elements differ by at most atol + rtol * abs(b)."""
    a, b = common(a, b)
    a, b = (astype(each, "int8") if each.dtype == bool else each for each in (a, b))
    near = less_equal(absolute(subtract(a, b)), add(multiply(absolute(b), rtol), atol))
    close = logical_or(equal(a, b), bitwise_and(near, isfinite(b)))
    return logical_or(close, logical_and(isnan(a), isnan(b))) if equal_nan else close
