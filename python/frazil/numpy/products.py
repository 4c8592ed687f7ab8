"""Products of matrices and tensors."""

from __future__ import annotations

from typing import Any

from .. import _frazil
from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray
from .ufuncs import common, matmul, multiply

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
