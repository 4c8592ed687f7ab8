"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any

import numpy

from .. import _frazil
from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray, astype, axis_of
from .shapes import expand_dims, extent_of, reshape, take
from .ufuncs import common, matmul, multiply, power, subtract

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def dot(a: Any, b: Any) -> LazyArray:
    """Of vectors the inner product, of matrices the product; sums over the last axis of a and the last but one of b."""
    a, b = asarray(a), asarray(b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    if b.ndim <= 2 and a.ndim <= 2:
        return matmul(a, b)
    left, right = LETTERS[: a.ndim], LETTERS[a.ndim : a.ndim + b.ndim]
    inner = -1 if b.ndim == 1 else -2
    _check_summed(a, b, inner)
    right = right.replace(right[inner], left[-1])
    return einsum(f"{left},{right}->{left[:-1]}{right.replace(left[-1], '')}", a, b)


def _check_summed(a: LazyArray, b: LazyArray, axis: int) -> None:
    """Raises ValueError unless the last axis of a and this one of b have the same extent."""
    left, right = a._extents[-1], b._extents[axis]
    if left != right and None not in (left, right):
        raise ValueError(f"arrays of shapes {a._extents} and {b._extents}: {left} and {right} elements to sum over")


def inner(a: Any, b: Any) -> LazyArray:
    """Sums over the last axes."""
    a, b = asarray(a), asarray(b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    _check_summed(a, b, -1)
    left, right = LETTERS[: a.ndim - 1], LETTERS[a.ndim - 1 : a.ndim + b.ndim - 2]
    return einsum(f"{left}z,{right}z->{left}{right}", a, b)


def outer(a: Any, b: Any) -> LazyArray:
    """Products of all pairs of elements."""
    a, b = common(a, b)
    return multiply(a.reshape(-1, 1), b.reshape(1, -1))


def vdot(a: Any, b: Any) -> LazyArray:
    """The inner product of the flattened arrays."""
    a, b = common(a, b)
    return matmul(a.reshape(-1), b.reshape(-1))


def einsum(subscripts: str, *operands: Any) -> LazyArray:
    """Sums of products by Einstein's convention."""
    return operator("Einsum", equation=subscripts)(*_frazil.in_common(*operands))


def tensordot(a: Any, b: Any, axes: Any = 2) -> LazyArray:
    """Sums of products over some axes: the last ones of a and the first ones of b, or a list of each."""
    a, b = asarray(a), asarray(b)
    if isinstance(axes, (int, numpy.integer)):
        pairs = list(zip(range(-axes, 0), range(axes)))
    else:
        left, right = (numpy.atleast_1d(each).tolist() for each in axes)
        if len(left) != len(right):
            raise ValueError(f"{len(left)} axes for {len(right)}")
        pairs = list(zip(left, right))
    first, second = list(LETTERS[: a.ndim]), list(LETTERS[a.ndim : a.ndim + b.ndim])
    summed = set()
    for i, j in pairs:
        i, j = axis_of(i, a.ndim), axis_of(j, b.ndim)
        if a._extents[i] != b._extents[j] and None not in (a._extents[i], b._extents[j]):
            raise ValueError(f"axes of {a._extents[i]} and {b._extents[j]} elements are no pair")
        second[j] = first[i]
        summed.add(first[i])
    result = "".join(letter for letter in (*first, *second) if letter not in summed)
    return einsum(f"{''.join(first)},{''.join(second)}->{result}", a, b)


def kron(a: Any, b: Any) -> LazyArray:
    """Products of all pairs of elements: each element of a in place of itself times b."""
    a, b = common(a, b)
    rank = max(a.ndim, b.ndim)
    a, b = (reshape(each, (*[1] * (rank - each.ndim), *each.shape)) for each in (a, b))
    shape = tuple(m * n for m, n in zip(a.shape, b.shape))
    left = expand_dims(a, tuple(range(1, 2 * rank, 2)))
    return reshape(multiply(left, expand_dims(b, tuple(range(0, 2 * rank, 2)))), shape)


def cross(a: Any, b: Any) -> LazyArray:
    """The vector products along the last axes, of three elements."""
    a, b = common(a, b)
    if a._extents[-1:] != (3,) or b._extents[-1:] != (3,):
        raise ValueError("vectors have three elements")
    after, before = [1, 2, 0], [2, 0, 1]
    return subtract(
        multiply(take(a, after, -1), take(b, before, -1)), multiply(take(a, before, -1), take(b, after, -1))
    )


def vander(x: Any, N: int | None = None, increasing: bool = False) -> LazyArray:
    """The powers of each element, in a row of N."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("the powers of a vector are taken")
    count = extent_of(x, 0) if N is None else N
    powers = numpy.arange(count) if increasing else numpy.arange(count)[::-1]
    x = astype(x, "int64") if x.dtype.kind in "bi" else x
    return power(expand_dims(x, 1), astype(powers, x.dtype))
