"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any

import numpy

from ..lazy.array import LazyArray
from . import ufuncs
from .arrays import asarray, astype, axis_of
from .complexes import conjugate
from .hosted import broadcast_extents, on_host
from .einsums import einsum
from .host import is_complex, known, like, tensor
from .outputs import with_out
from .reductions import widened
from .shapes import broadcast_to, concatenate, expand_dims, extent_of, moveaxis, reshape, squeeze, take
from .ufuncs import common, multiply, power, subtract

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _product_types(a: Any, b: Any) -> list[Any]:
    """Returns the type of a matrix product of complex numbers."""
    rows = () if len(a.shape) == 1 else (a.shape[-2],)
    columns = () if len(b.shape) == 1 else (b.shape[-1],)
    shape = (*broadcast_extents(a.shape[:-2], b.shape[:-2]), *rows, *columns)
    return [tensor(numpy.result_type(like(a.dtype), like(b.dtype)), shape)]


known("matmul", numpy.matmul, _product_types)


@with_out
def matmul(x1: Any, x2: Any, *, dtype: Any = None) -> LazyArray:
    """Returns the matrix product with broadcast batch axes. NumPy computes it for complex numbers."""
    if dtype is not None:
        x1, x2 = astype(x1, dtype), astype(x2, dtype)
    if is_complex(x1) or is_complex(x2):
        return on_host("matmul", x1, x2)
    x1, x2 = common(x1, x2)
    if not x1.ndim or not x2.ndim:
        raise ValueError("matmul() of an array without axes: use multiply()")
    kind = x1.dtype
    made = ufuncs.matmul(widened(x1), widened(x2))
    return made if made.dtype == kind else astype(made, kind)


def vecdot(x1: Any, x2: Any, *, axis: int = -1) -> LazyArray:
    """Returns the inner products of vectors along an axis, with the conjugate of the first."""
    x1, x2 = common(x1, x2)
    if not x1.ndim or not x2.ndim:
        raise ValueError("vecdot() of an array without axes")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if x1._extents[-1] != x2._extents[-1] and None not in (x1._extents[-1], x2._extents[-1]):
        raise ValueError(f"vectors of {x1._extents[-1]} and {x2._extents[-1]} elements")
    rows = expand_dims(conjugate(x1) if is_complex(x1) else x1, -2)
    columns = expand_dims(x2, -1)
    return squeeze(matmul(rows, columns), (-2, -1))


def matvec(x1: Any, x2: Any) -> LazyArray:
    """Returns the products of matrices and vectors, with broadcast batch axes."""
    return squeeze(matmul(x1, expand_dims(x2, -1)), -1)


def vecmat(x1: Any, x2: Any) -> LazyArray:
    """Returns the products of conjugated vectors and matrices, with broadcast batch axes."""
    return squeeze(matmul(expand_dims(conjugate(x1), -2), x2), -2)


@with_out
def dot(a: Any, b: Any) -> LazyArray:
    """Returns the inner product of vectors, or the sums of products over the last axis of a and the last but one of b.
    """
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
    """Returns sums of products over the last axes."""
    a, b = asarray(a), asarray(b)
    if not a.ndim or not b.ndim:
        return multiply(a, b)
    _check_summed(a, b, -1)
    left, right = LETTERS[: a.ndim - 1], LETTERS[a.ndim - 1 : a.ndim + b.ndim - 2]
    return einsum(f"{left}z,{right}z->{left}{right}", a, b)


@with_out
def outer(a: Any, b: Any) -> LazyArray:
    """Returns products of all pairs of elements."""
    a, b = common(a, b)
    return multiply(a.reshape(-1, 1), b.reshape(1, -1))


def vdot(a: Any, b: Any) -> LazyArray:
    """Returns the inner product of the flattened arrays."""
    a, b = common(a, b)
    row = a.reshape(-1)
    return matmul(conjugate(row) if is_complex(row) else row, b.reshape(-1))


def tensordot(a: Any, b: Any, axes: Any = 2) -> LazyArray:
    """Returns sums of products over axes: the last ones of a and the first ones of b, or a list for each."""
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
            raise ValueError(f"axes of {a._extents[i]} and {b._extents[j]} elements are not a pair")
        second[j] = first[i]
        summed.add(first[i])
    result = "".join(letter for letter in (*first, *second) if letter not in summed)
    return einsum(f"{''.join(first)},{''.join(second)}->{result}", a, b)


def kron(a: Any, b: Any) -> LazyArray:
    """Returns the Kronecker product: each element of a is replaced by its product with b."""
    a, b = common(a, b)
    rank = max(a.ndim, b.ndim)
    a, b = (reshape(each, (*[1] * (rank - each.ndim), *each.shape)) for each in (a, b))
    shape = tuple(m * n for m, n in zip(a.shape, b.shape))
    left = expand_dims(a, tuple(range(1, 2 * rank, 2)))
    return reshape(multiply(left, expand_dims(b, tuple(range(0, 2 * rank, 2)))), shape)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> LazyArray:
    """Returns the cross products along axes of two or three elements. A missing third element is 0.

    For two vectors of two elements the result is the third element of the product.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = common(a, b)
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    counts = (extent_of(a, -1), extent_of(b, -1))
    if not set(counts) <= {2, 3}:
        raise ValueError(f"vectors have two or three elements, not {counts[0]} and {counts[1]}")
    if counts == (2, 2):
        return subtract(multiply(a[..., 0], b[..., 1]), multiply(a[..., 1], b[..., 0]))
    a, b = _of_three(a), _of_three(b)
    after, before = [1, 2, 0], [2, 0, 1]
    left = multiply(take(a, after, -1), take(b, before, -1))
    return moveaxis(subtract(left, multiply(take(a, before, -1), take(b, after, -1))), -1, axisc)


def _of_three(x: LazyArray) -> LazyArray:
    """Adds a third element 0 to vectors of two elements."""
    if extent_of(x, -1) == 3:
        return x
    return concatenate([x, broadcast_to(asarray(0, x.dtype), (*x.shape[:-1], 1))], -1)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> LazyArray:
    """Returns a row of N powers of each element."""
    x = asarray(x)
    if x.ndim != 1:
        raise ValueError("the powers of a vector are taken")
    count = extent_of(x, 0) if N is None else N
    powers = numpy.arange(count) if increasing else numpy.arange(count)[::-1]
    x = astype(x, "int64") if x.dtype.kind in "bi" else x
    return power(expand_dims(x, 1), astype(powers, x.dtype))
