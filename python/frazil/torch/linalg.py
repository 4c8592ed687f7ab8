"""Linear algebra."""

from __future__ import annotations

from typing import Any

from ..nn import ops
from ..nn.ops import det, matrix_power

inv = ops.inverse


def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns the norm of all elements, or along dimensions."""
    return ops.norm(x, ord, dim, keepdim)


def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns vector norms, or the Frobenius norm. Raises Unsupported for other matrix norms."""
    matrices = isinstance(dim, (tuple, list)) and len(dim) == 2 or (dim is None and A.ndim == 2)
    if matrices and ord not in (None, "fro"):
        raise ops.unsupported(f"norm {ord!r} of matrices")
    return ops.norm(A, 2 if ord is None else ord, dim, keepdim)
