"""Functions by elements that are made of several operators; the others are operators (python/src/elementwise.cc)."""

from __future__ import annotations

import math
from typing import Any

from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray, astype
from .ufuncs import (
    absolute,
    add,
    bitwise_and,
    common,
    divide,
    equal,
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
    rint,
    subtract,
)


def is_inexact(x: LazyArray) -> bool:
    """Whether elements are real numbers, not bools or integers."""
    return x.dtype.kind not in "biu"


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`x` where the condition holds, else `y`; without them nonzero(condition)."""
    if x is None or y is None:
        from .shapes import nonzero

        return nonzero(condition)
    x, y = common(x, y)
    return operator("Where")(astype(condition, bool), x, y)


def remainder(x1: Any, x2: Any) -> LazyArray:
    """x1 % x2, with the sign of x2."""
    x1, x2 = common(x1, x2)
    if not is_inexact(x1):
        return operator("Mod")(_numbers(x1), _numbers(x2))
    rest = operator("Mod", fmod=1)(x1, x2)
    other_sign = logical_and(not_equal(rest, 0), not_equal(less(rest, 0), less(x2, 0)))
    return where(other_sign, add(rest, x2), rest)


def floor_divide(x1: Any, x2: Any) -> LazyArray:
    """x1 // x2, rounded down."""
    x1, x2 = common(x1, x2)
    return rint(operator("Div")(subtract(x1, remainder(x1, x2)), x2))


def divmod(x1: Any, x2: Any) -> tuple[LazyArray, LazyArray]:
    """x1 // x2 and x1 % x2."""
    return floor_divide(x1, x2), remainder(x1, x2)


def fmod(x1: Any, x2: Any) -> LazyArray:
    """x1 % x2, with the sign of x1."""
    return operator("Mod", fmod=1)(*(_numbers(x) for x in common(x1, x2)))


def _numbers(x: LazyArray) -> LazyArray:
    if x.dtype == bool:
        raise TypeError("bools cannot be divided: cast them by astype()")
    return x


def clip(a: Any, a_min: Any = None, a_max: Any = None) -> LazyArray:
    """At least `a_min` and at most `a_max`; None: no limit."""
    low = asarray(a) if a_min is None else maximum(a, a_min)
    return low if a_max is None else minimum(low, a_max)


def round(a: Any, decimals: int = 0) -> LazyArray:
    """To so many decimals, half to even."""
    a = asarray(a)
    if decimals == 0 or (decimals > 0 and not is_inexact(a)):
        return rint(a)
    if not is_inexact(a):
        raise TypeError("integers cannot be rounded to tens: cast them by astype()")
    factor = 10.0 ** abs(decimals)
    return divide(rint(multiply(a, factor)), factor) if decimals > 0 else multiply(rint(divide(a, factor)), factor)


def square(x: Any) -> LazyArray:
    """x * x."""
    x = asarray(x)
    return multiply(x, x)


def reciprocal(x: Any) -> LazyArray:
    """1 / x, of real numbers."""
    x = asarray(x)
    if not is_inexact(x):
        raise TypeError("integers have no reciprocals: cast them by astype()")
    return operator("Reciprocal")(x)


def log2(x: Any) -> LazyArray:
    """The logarithm to the base 2."""
    return multiply(log(x), 1 / math.log(2))


def log10(x: Any) -> LazyArray:
    """The logarithm to the base 10."""
    return multiply(log(x), 1 / math.log(10))


def isfinite(x: Any) -> LazyArray:
    """Whether it is neither infinite nor not a number."""
    x = asarray(x)
    return logical_not(logical_or(isnan(x), isinf(x)))


def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> LazyArray:
    """Whether elements differ by at most atol + rtol * abs(b)."""
    a, b = common(a, b)
    near = less_equal(absolute(subtract(a, b)), add(multiply(absolute(b), rtol), atol))
    close = logical_or(equal(a, b), bitwise_and(near, isfinite(b)))
    return logical_or(close, logical_and(isnan(a), isnan(b))) if equal_nan else close
