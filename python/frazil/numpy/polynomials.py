"""Polynomials as vectors of coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _frazil
from ..lazy.array import LazyArray
from .arrays import array, asarray, astype, ones, zeros, zeros_like
from .elementwise import is_inexact
from .host import is_complex
from .linalg import eigvals, inv, lstsq
from .moves import atleast_1d
from .products import matmul, outer, vander
from .reductions import sum
from .shapes import concatenate, expand_dims, extent_of
from .statistics import convolve
from .ufuncs import add, divide, multiply, sqrt, subtract


def polyval(p: Any, x: Any) -> LazyArray:
    """Returns the value of a polynomial at each element (Horner)."""
    p, x = asarray(p), asarray(x)
    if not p.ndim:
        raise TypeError("a polynomial is a vector")
    made = zeros_like(x)
    for i in range(extent_of(p, 0)):
        made = add(multiply(made, x), p[i])
    return made


def _long(p: Any, length: int) -> LazyArray:
    """Returns a polynomial with zeros added for higher powers."""
    p = atleast_1d(p)
    missing = length - extent_of(p, 0)
    return concatenate([zeros((missing,), p.dtype), p]) if missing else p


def _together(a1: Any, a2: Any) -> tuple[LazyArray, LazyArray]:
    length = max(extent_of(atleast_1d(a1), 0), extent_of(atleast_1d(a2), 0))
    return _long(a1, length), _long(a2, length)


def polyadd(a1: Any, a2: Any) -> LazyArray:
    """Returns the sum of two polynomials."""
    return add(*_together(a1, a2))


def polysub(a1: Any, a2: Any) -> LazyArray:
    """Returns the difference of two polynomials."""
    return subtract(*_together(a1, a2))


def polymul(a1: Any, a2: Any) -> LazyArray:
    """Returns the product of two polynomials. Leading zeros are read and removed, except in a recorded function."""
    return convolve(*(each if _frazil.is_recording() else _trimmed(each) for each in (atleast_1d(a1), atleast_1d(a2))))


def _trimmed(p: LazyArray) -> LazyArray:
    """Removes leading zeros, but keeps the last coefficient."""
    if p.ndim > 1:
        raise ValueError("a polynomial is a vector")
    if not p.size:
        return zeros(1, p.dtype)
    given = numpy.flatnonzero(p.numpy())
    return p[int(given[0]) if given.size else extent_of(p, 0) - 1 :]


def polydiv(u: Any, v: Any) -> tuple[LazyArray, LazyArray]:
    """Returns the quotient and the remainder of two polynomials. Reads the leading zeros of the remainder."""
    u, v = (each if is_inexact(each) else astype(each, "float64") for each in (atleast_1d(u), atleast_1d(v)))
    count = extent_of(u, 0) - extent_of(v, 0) + 1
    if count < 1:
        return zeros(1, u.dtype), u
    parts, scale = [], divide(1.0, v[0])
    rest = u
    for _ in range(count):
        parts.append(multiply(scale, rest[:1]))
        head = subtract(rest[: extent_of(v, 0)], multiply(parts[-1], v))
        rest = concatenate([head[1:], rest[extent_of(v, 0) :]])
    small = numpy.allclose(rest.numpy(), 0, rtol=1e-14)
    return concatenate(parts), zeros(1, rest.dtype) if small or not extent_of(rest, 0) else _without_zeros(rest)


def _without_zeros(rest: LazyArray) -> LazyArray:
    """Removes leading coefficients that are nearly 0, but keeps the last."""
    far = numpy.flatnonzero(~numpy.isclose(rest.numpy(), 0, rtol=1e-14))
    return rest[int(far[0]) if far.size else extent_of(rest, 0) - 1 :]


def polyder(p: Any, m: int = 1) -> LazyArray:
    """Returns the m-th derivative."""
    if m < 0:
        raise ValueError("the number of derivatives is at least 0")
    p = asarray(p)
    for _ in range(m):
        count = extent_of(p, 0)
        p = multiply(p[:-1], numpy.arange(count - 1, 0, -1))
    return p


def polyint(p: Any, m: int = 1, k: Any = None) -> LazyArray:
    """Returns the m-th antiderivative, with the constants k."""
    if m < 0:
        raise ValueError("the number of integrals is at least 0")
    p = asarray(p)
    constants = numpy.zeros(m) if k is None else numpy.atleast_1d(k)
    constants = constants * numpy.ones(m) if len(constants) == 1 < m else constants
    if len(constants) < m:
        raise ValueError(f"{len(constants)} constants for {m} integrals")
    for i in range(m):
        count = extent_of(p, 0)
        p = concatenate([divide(p, numpy.arange(count, 0, -1)), constants[i : i + 1]])
    return p


def poly(seq_of_zeros: Any) -> LazyArray:
    """Returns the polynomial with the given roots, or the characteristic polynomial of a matrix."""
    zeros_of = atleast_1d(seq_of_zeros)
    if zeros_of.ndim == 2 and zeros_of._extents[0] == zeros_of._extents[1] and zeros_of.size:
        zeros_of = eigvals(zeros_of)
    elif zeros_of.ndim != 1:
        raise ValueError("poly() takes a vector or a square matrix")
    made = ones(1, zeros_of.dtype if is_inexact(zeros_of) else "float64")
    for i in range(extent_of(zeros_of, 0)):
        made = _times(made, zeros_of[i : i + 1])
    return made


def _times(p: LazyArray, root: LazyArray) -> LazyArray:
    """Returns a polynomial times x - root."""
    if is_complex(root):
        return array(numpy.poly(root.numpy())) if extent_of(p, 0) == 1 else array(numpy.convolve(p, [1, -root.item()]))
    return subtract(concatenate([p, zeros(1, p.dtype)]), concatenate([zeros(1, p.dtype), multiply(p, root)]))


def roots(p: Any) -> LazyArray:
    """Returns the roots of a polynomial, as eigenvalues of its companion matrix. Reads the coefficients."""
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("a polynomial is a vector")
    return array(numpy.roots(p.numpy()))


def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    """Fits a polynomial to points by least squares, with scaled lstsq()."""
    x, y = astype(x, "float64"), astype(y, "float64")
    if deg < 0:
        raise ValueError("a degree is at least 0")
    if x.ndim != 1 or not extent_of(x, 0) or y.ndim not in (1, 2):
        raise TypeError("points are a vector x, and a vector or a matrix y")
    if extent_of(x, 0) != extent_of(y, 0):
        raise TypeError(f"{extent_of(x, 0)} places for {extent_of(y, 0)} values")
    rcond = extent_of(x, 0) * numpy.finfo(numpy.float64).eps if rcond is None else rcond
    left = vander(x, deg + 1)
    if w is not None:
        weights = astype(w, "float64")
        if weights.ndim != 1 or extent_of(weights, 0) != extent_of(y, 0):
            raise TypeError("weights are a vector with one for each point")
        left = multiply(left, expand_dims(weights, 1))
        y = multiply(y, weights if y.ndim == 1 else expand_dims(weights, 1))
    scale = sqrt(sum(multiply(left, left), 0))
    left = divide(left, scale)
    found, residuals, rank, values = lstsq(left, y, rcond)
    made = divide(found, scale if y.ndim == 1 else expand_dims(scale, 1))
    if full:
        return made, residuals, rank, values, rcond
    return (made, _covariances(left, scale, residuals, y, deg, cov)) if cov else made


def _covariances(left: LazyArray, scale: LazyArray, residuals: LazyArray, y: LazyArray, deg: int, cov: Any) -> Any:
    """Returns the covariances of the coefficients of polyfit()."""
    base = divide(inv(matmul(left.T, left)), outer(scale, scale))
    if cov == "unscaled":
        return base if y.ndim == 1 else expand_dims(base, 2)
    free = extent_of(y, 0) - deg - 1
    if free <= 0:
        raise ValueError("covariances need more points than coefficients")
    factor = divide(residuals, free)
    return multiply(base, factor) if y.ndim == 1 else multiply(expand_dims(base, 2), factor)


