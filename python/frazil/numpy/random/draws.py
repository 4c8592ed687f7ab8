"""Random numbers by keys: equal keys draw equal numbers, in every run, on any number of threads."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ...lazy.array import LazyArray
from ..arrays import asarray, astype, axis_of, numpy_dtype
from ..counts import searchsorted
from ..elementwise import remainder
from ..linalg import cholesky, matmul
from ..reals import log1p
from ..reductions import argmax, cumsum
from ..shapes import argsort, extent_of, reshape, take, take_along_axis
from ..ufuncs import add, cos, divide, exp, floor, less, log, minimum, multiply, negative, power, sqrt, subtract, tan
from .keys import checked, extents, random_bits, real_numbers, split


def _element(dtype: Any) -> Any:
    """Returns the real element type. Raises TypeError for other types."""
    element = numpy_dtype(dtype)
    if element.kind != "f":
        raise TypeError(f"random real numbers are of real types, not {element}")
    return element


def _uniform(key: Any, name: str, shape: Any, dtype: Any) -> LazyArray:
    return real_numbers(checked(key, name), extents(shape), _element(dtype))


def _from_0(key: Any, name: str, shape: Any, dtype: Any) -> LazyArray:
    """Draws numbers of the exponential distribution of mean 1: finite and at least 0."""
    return negative(log1p(negative(_uniform(key, name, shape, dtype))))


def shape_of(shape: Any, *parameters: Any) -> tuple[Any, ...]:
    """Returns the given shape, or the common shape of the parameters."""
    if shape is not None:
        return extents(shape)
    return numpy.broadcast_shapes(*(asarray(each).shape for each in parameters))


def bits(key: Any, shape: Any = (), dtype: Any = numpy.uint32) -> LazyArray:
    """Returns random bits as uint32 or uint64."""
    element = numpy_dtype(dtype)
    if element.kind != "u" or element.itemsize < 4:
        raise TypeError(f"random bits are uint32 or uint64, not {element}")
    return random_bits(checked(key, "bits"), extents(shape), 8 * element.itemsize)


def uniform(key: Any, shape: Any = (), dtype: Any = numpy.float32, minval: Any = 0.0, maxval: Any = 1.0) -> LazyArray:
    """Returns uniform numbers from minval to maxval, excluding maxval."""
    made = _uniform(key, "uniform", shape, dtype)
    if isinstance(minval, (int, float)) and isinstance(maxval, (int, float)) and (minval, maxval) == (0, 1):
        return made
    low, high = astype(minval, made.dtype), astype(maxval, made.dtype)
    return add(multiply(made, subtract(high, low)), low)


def normal(key: Any, shape: Any = (), dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of the normal distribution of mean 0 and variance 1 (Box and Muller)."""
    pair = _uniform(key, "normal", (*extents(shape), 2), dtype)
    radius = sqrt(multiply(log1p(negative(pair[..., 0])), -2.0))
    return multiply(radius, cos(multiply(pair[..., 1], 2 * math.pi)))


def randint(key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = numpy.int32) -> LazyArray:
    """Returns integers from minval to maxval, excluding maxval: 64 random bits modulo their number."""
    element = numpy_dtype(dtype)
    if element.kind not in "iu":
        raise TypeError(f"random integers are of integer types, not {element}")
    low, high = astype(minval, "int64"), astype(maxval, "int64")
    span = astype(subtract(high, low), "uint64")
    place = remainder(random_bits(checked(key, "randint"), extents(shape), 64), span)
    return astype(add(astype(place, "int64"), low), element)


def _order(key: LazyArray, count: Any) -> LazyArray:
    """Returns the numbers from 0 to count - 1 in random order."""
    return argsort(real_numbers(key, (count,), numpy.float64), 0)


def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> LazyArray:
    """Returns the parts along an axis in random order, or the numbers below x if that is an integer.

    With `independent` each row along the axis has its own order.
    """
    key = checked(key, "permutation")
    if isinstance(x, (int, numpy.integer)):
        return _order(key, int(x))
    x = asarray(x)
    axis = axis_of(axis, x.ndim)
    if not independent:
        return take(x, _order(key, x.shape[axis]), axis)
    return take_along_axis(x, argsort(real_numbers(key, x.shape, numpy.float64), axis), axis)


shuffle = permutation


def choice(key: Any, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0) -> LazyArray:
    """Returns parts of an array along an axis, or numbers below an integer, with the probabilities p.

    Without `replace` no part is drawn twice.
    """
    key, size = checked(key, "choice"), extents(shape)
    a = asarray(numpy.arange(a)) if isinstance(a, (int, numpy.integer)) else asarray(a)
    axis = axis_of(axis, a.ndim)
    count, wanted = extent_of(a, axis), math.prod(size)
    if p is not None and asarray(p)._extents != (count,):
        raise ValueError(f"probabilities of shape {asarray(p)._extents} for {count} parts")
    if replace and p is None:
        return take(a, randint(key, size, 0, count, "int64"), axis)
    if replace:
        sums = cumsum(astype(p, "float64"))
        place = searchsorted(divide(sums, sums[-1]), real_numbers(key, size, numpy.float64), "right")
        return take(a, minimum(place, count - 1), axis)
    if wanted > count:
        raise ValueError(f"{wanted} of {count} parts cannot be drawn without replacement")
    if p is None:
        order = _order(key, count)
    else:
        order = argsort(negative(add(log(astype(p, "float64")), gumbel(key, (count,), numpy.float64))))
    return take(a, reshape(order[:wanted], size), axis)


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None) -> LazyArray:
    """Returns True with probability p."""
    return less(_uniform(key, "bernoulli", shape_of(shape, p), numpy.float64), astype(p, "float64"))


def categorical(key: Any, logits: Any, axis: int = -1, shape: Any = None) -> LazyArray:
    """Returns indices along an axis with probabilities softmax(logits). `shape` ends with the shape of one result."""
    logits = asarray(logits)
    axis = axis_of(axis, logits.ndim) - logits.ndim
    rest = tuple(extent for i, extent in enumerate(logits.shape) if i != axis + logits.ndim)
    whole = rest if shape is None else extents(shape)
    drawn = [*whole]
    drawn.insert(len(drawn) + 1 + axis, logits.shape[axis])
    return argmax(add(logits, gumbel(key, tuple(drawn), logits.dtype)), axis)


def exponential(key: Any, shape: Any = (), dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of the exponential distribution of mean 1."""
    return _from_0(key, "exponential", shape, dtype)


def gumbel(key: Any, shape: Any = (), dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of Gumbel's distribution of the largest value."""
    tiny = asarray(numpy.finfo(_element(dtype)).tiny, dtype)
    return negative(log(add(_from_0(key, "gumbel", shape, dtype), tiny)))


def laplace(key: Any, shape: Any = (), dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of Laplace's distribution of mean 0 and scale 1."""
    first, second = split(checked(key, "laplace"))
    return subtract(_from_0(first, "laplace", shape, dtype), _from_0(second, "laplace", shape, dtype))


def logistic(key: Any, shape: Any = (), dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of the logistic distribution of mean 0 and scale 1."""
    first, second = split(checked(key, "logistic"))
    return subtract(gumbel(first, shape, dtype), gumbel(second, shape, dtype))


def cauchy(key: Any, shape: Any = (), dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of Cauchy's distribution of location 0 and scale 1."""
    return tan(multiply(subtract(_uniform(key, "cauchy", shape, dtype), 0.5), math.pi))


def pareto(key: Any, b: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of Pareto's distribution of shape b and scale 1."""
    return exp(divide(_from_0(key, "pareto", shape_of(shape, b), dtype), astype(b, dtype)))


def rayleigh(key: Any, scale: Any = 1.0, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of Rayleigh's distribution."""
    drawn = _from_0(key, "rayleigh", shape_of(shape, scale), dtype)
    return multiply(sqrt(multiply(drawn, 2.0)), astype(scale, dtype))


def weibull_min(key: Any, scale: Any, concentration: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns numbers of Weibull's distribution."""
    drawn = _from_0(key, "weibull_min", shape_of(shape, scale, concentration), dtype)
    return multiply(power(drawn, divide(1.0, astype(concentration, dtype))), astype(scale, dtype))


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = numpy.int32) -> LazyArray:
    """Returns the number of trials with probability p until the first success."""
    drawn = _from_0(key, "geometric", shape_of(shape, p), numpy.float64)
    return astype(add(floor(divide(drawn, negative(log1p(negative(astype(p, "float64")))))), 1), dtype)


def rademacher(key: Any, shape: Any = (), dtype: Any = numpy.int32) -> LazyArray:
    """Returns 1 and -1 with equal probabilities."""
    return subtract(randint(key, shape, 0, 2, dtype) * 2, 1)


def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = numpy.float32) -> LazyArray:
    """Returns vectors of the normal distribution; NumPy computes the Cholesky factor of the covariance matrix."""
    mean, factor = astype(mean, dtype), cholesky(astype(cov, dtype))
    size = mean.shape[:-1] if shape is None else extents(shape)
    drawn = normal(key, (*size, mean.shape[-1], 1), dtype)
    return add(matmul(factor, drawn)[..., 0], mean)
