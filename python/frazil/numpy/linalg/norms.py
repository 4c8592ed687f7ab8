"""Norms, ranks and condition numbers of vectors and matrices."""

from __future__ import annotations

import builtins
import math
from typing import Any, Sequence

import numpy

from ...lazy.array import LazyArray
from ..arrays import asarray, astype, axes_of
from ..hosted import on_host
from ..elementwise import is_inexact, where
from ..host import is_complex
from ..outputs import with_out
from ..products import dot, matmul
from ..reductions import any, max, min, sum
from ..shapes import expand_dims, extent_of, moveaxis, ravel, reshape, squeeze
from ..ufuncs import absolute, divide, greater, isnan, logical_and, logical_not, multiply, not_equal, power, sqrt
from .matrices import LinAlgError, matrix, square
from .solvers import eigvalsh, inv, svdvals

Order = Any


def _sizes(x: LazyArray) -> LazyArray:
    """Returns absolute values as reals."""
    if is_complex(x):
        return on_host("absolute", x)
    return absolute(x if is_inexact(x) else astype(x, "float64"))


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Order = 2) -> LazyArray:
    """Returns the norms of vectors along axes, or of all elements without an axis."""
    size = _sizes(asarray(x))
    axes = tuple(range(size.ndim)) if axis is None else axes_of(axis, size.ndim)
    if isinstance(ord, str):
        raise ValueError(f"vectors have no norm of order {ord!r}")
    if ord == math.inf:
        return max(size, axes, keepdims=keepdims)
    if ord == -math.inf:
        return min(size, axes, keepdims=keepdims)
    if ord == 0:
        return astype(sum(not_equal(size, 0), axes, keepdims=keepdims), size.dtype)
    if ord == 1:
        return sum(size, axes, keepdims=keepdims)
    if ord == 2:
        return sqrt(sum(multiply(size, size), axes, keepdims=keepdims))
    return power(sum(power(size, float(ord)), axes, keepdims=keepdims), 1 / ord)


def matrix_norm(x: Any, *, keepdims: bool = False, ord: Order = "fro") -> LazyArray:
    """Returns the norms of matrices, along the last two axes."""
    x = matrix(x)
    made = _of_matrices(x, ord)
    return expand_dims(made, (-2, -1)) if keepdims else made


def _of_matrices(x: LazyArray, ord: Order) -> LazyArray:
    if ord is None or ord in ("fro", "f"):
        return vector_norm(x, axis=(-2, -1))
    if ord == "nuc":
        return sum(svdvals(x), -1)
    if ord in (2, -2):
        return max(svdvals(x), -1) if ord == 2 else min(svdvals(x), -1)
    extreme = {1: max, -1: min, math.inf: max, -math.inf: min}.get(ord)
    if extreme is None:
        raise ValueError(f"matrices have no norm of order {ord!r}")
    return extreme(sum(_sizes(x), -2 if ord in (1, -1) else -1), -1)


def norm(x: Any, ord: Order = None, axis: Any = None, keepdims: bool = False) -> LazyArray:
    """Returns the norms of vectors along one axis or of matrices along two, or of all elements without an axis."""
    x = asarray(x)
    if axis is None:
        if ord is None or (x.ndim == 1 and ord == 2):
            made = vector_norm(ravel(x))
            return reshape(made, (1,) * x.ndim) if keepdims else made
        axis = tuple(range(x.ndim))
    axes = axes_of(axis, x.ndim)
    if len(axes) == 1:
        return vector_norm(x, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError(f"a norm is that of vectors or of matrices, not along {len(axes)} axes")
    made = matrix_norm(moveaxis(x, axes, (-2, -1)), ord=ord)
    return expand_dims(made, tuple(sorted(axes))) if keepdims else made


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> LazyArray:
    """Returns the number of singular values above `tol`, or above `rtol` times the largest.

    The default of `rtol` is the precision of the element type times the larger extent.
    """
    A = asarray(A)
    if A.ndim < 2:
        return astype(logical_not(sum(not_equal(A, 0)) == 0), "int64")
    A = matrix(A)
    values = absolute(eigvalsh(A)) if hermitian else svdvals(A)
    if tol is None:
        precision = builtins.max(extent_of(A, -2), extent_of(A, -1)) * numpy.finfo(values.dtype).eps
        share = precision if rtol is None else rtol
        tol = multiply(max(values, -1, keepdims=True, initial=0), _column(share, values))
    else:
        tol = _column(tol, values)
    return sum(greater(values, tol), -1)


def _column(given: Any, values: LazyArray) -> LazyArray:
    """Reshapes a limit per matrix for comparison with its singular values."""
    given = astype(given, values.dtype)
    return expand_dims(given, -1) if given.ndim else given


def cond(x: Any, p: Order = None) -> LazyArray:
    """Returns the condition numbers of matrices: the norm times the norm of the inverse."""
    x = asarray(x)
    if x.size == 0:
        raise LinAlgError("a condition number of no elements")
    if p is None or p in (2, -2):
        values = svdvals(matrix(x))
        first, last = values[..., 0], values[..., -1]
        made = divide(last, first) if p == -2 else divide(first, last)
    else:
        x = square(x)
        try:
            made = multiply(_of_matrices(x, p), _of_matrices(inv(x), p))
        except LinAlgError:
            made = asarray(numpy.full(x._extents[:-2], math.inf, x.dtype))
    lost = logical_and(isnan(made), logical_not(any(isnan(x), (-2, -1))))
    return where(lost, asarray(math.inf, made.dtype), made)


@with_out
def multi_dot(arrays: Sequence[Any]) -> LazyArray:
    """Returns the product of matrices, in the order with the fewest multiplications. Both ends may be vectors."""
    made = [asarray(each) for each in arrays]
    if len(made) < 2:
        raise ValueError("a product has two matrices at least")
    if len(made) == 2:
        return dot(*made)
    row, column = made[0].ndim == 1, made[-1].ndim == 1
    made[0] = expand_dims(made[0], 0) if row else made[0]
    made[-1] = expand_dims(made[-1], 1) if column else made[-1]
    if builtins.any(each.ndim != 2 for each in made):
        raise LinAlgError("multi_dot() has matrices, and vectors at the ends")
    whole = _chain(made, _splits([extent_of(made[0], 0), *(extent_of(each, 1) for each in made)]), 0, len(made) - 1)
    return squeeze(whole, (0,) * row + (1,) * column) if row or column else whole


def _splits(extents: list[int]) -> dict[tuple[int, int], int]:
    """Returns the best split of each part of a chain of matrices."""
    count = len(extents) - 1
    cost = {(i, i): 0 for i in range(count)}
    best = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + extents[i] * extents[k + 1] * extents[j + 1], k) for k in range(i, j)
            ]
            cost[i, j], best[i, j] = builtins.min(options)
    return best


def _chain(arrays: list[LazyArray], splits: dict[tuple[int, int], int], i: int, j: int) -> LazyArray:
    if i == j:
        return arrays[i]
    k = splits[i, j]
    return matmul(_chain(arrays, splits, i, k), _chain(arrays, splits, k + 1, j))
