"""Random numbers of the gamma distribution and of derived distributions."""

from __future__ import annotations

from typing import Any

import numpy

from ... import _frazil
from ...lazy.array import LazyArray
from ...lazy.functions import function
from ..arrays import asarray, astype, numpy_dtype
from ..elementwise import where
from ..reductions import all, sum
from ..shapes import broadcast_to, ravel, reshape
from ..ufuncs import (
    add,
    divide,
    greater,
    less,
    log,
    logical_and,
    logical_not,
    logical_or,
    multiply,
    power,
    sqrt,
    subtract,
)
from .keys import checked, extents, fold_in, real_numbers, split
from .draws import shape_of, normal

MOST_TRIES = 64  # the chance to need more is below 10**-80


@function
def _gamma(key: LazyArray, a: LazyArray) -> LazyArray:
    """Draws a number for each shape parameter of at least 1, by rejection.

    Marsaglia, Tsang, "A Simple Method for Generating Gamma Variables", ACM TOMS 26 (3), 2000.
    """
    d = subtract(a, 1 / 3)
    c = divide(1 / 3, sqrt(d))

    def again(number: LazyArray, done: LazyArray, made: LazyArray) -> tuple[LazyArray]:
        return (logical_and(less(number, MOST_TRIES), logical_not(all(done))),)

    def tried(number: LazyArray, done: LazyArray, made: LazyArray) -> list[LazyArray]:
        first, second = split(fold_in(key, number))
        x, u = normal(first, a.shape, a.dtype), real_numbers(second, a.shape, a.dtype)
        v = power(add(multiply(c, x), 1), 3)
        positive = greater(v, 0)
        v = where(positive, v, asarray(1.0, a.dtype))
        bound = add(multiply(multiply(x, x), 0.5), multiply(d, add(subtract(log(v), v), 1)))
        accepted = logical_and(positive, less(log(u), bound))
        new = logical_and(accepted, logical_not(done))
        return [add(number, 1), logical_or(done, accepted), where(new, d * v, made)]

    return _frazil.recorded_loop(again, tried, [asarray(numpy.int64(0)), less(a, 0), d])[2]  # type: ignore[no-any-return]


def gamma(key: Any, a: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of the gamma distribution of shape a and scale 1."""
    key, size = checked(key, "gamma"), shape_of(shape, a)
    if numpy_dtype(dtype).kind != "f":
        raise TypeError(f"random real numbers are of real types, not {numpy_dtype(dtype)}")
    first, second = split(key)
    wide = ravel(broadcast_to(astype(a, "float64"), size))
    small = less(wide, 1)
    made = _gamma(first, where(small, add(wide, 1), wide))
    u = subtract(1.0, real_numbers(second, wide.shape, numpy.float64))
    made = multiply(made, where(small, power(u, divide(1.0, wide)), asarray(1.0)))
    return astype(reshape(made, size), dtype)


def beta(key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of the beta distribution."""
    first, second = split(checked(key, "beta"))
    size = shape_of(shape, a, b)
    x, y = gamma(first, a, size, numpy.float64), gamma(second, b, size, numpy.float64)
    return astype(divide(x, add(x, y)), dtype)


def dirichlet(key: Any, alpha: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns vectors of Dirichlet's distribution: shares that sum up to 1."""
    alpha = asarray(alpha)
    size = alpha.shape[:-1] if shape is None else extents(shape)
    made = gamma(key, alpha, (*size, alpha.shape[-1]), numpy.float64)
    return astype(divide(made, sum(made, -1, keepdims=True)), dtype)


def chisquare(key: Any, df: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of the chi-square distribution with df degrees of freedom."""
    return multiply(gamma(key, divide(df, 2), shape, dtype), 2.0)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of Student's distribution."""
    first, second = split(checked(key, "t"))
    size = shape_of(shape, df)
    spread = divide(chisquare(second, df, size, numpy.float64), astype(df, "float64"))
    return astype(divide(normal(first, size, numpy.float64), sqrt(spread)), dtype)
