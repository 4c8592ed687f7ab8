"""Inverses, determinants, equations and decompositions of matrices.

NumPy computes them (host.py), except that det() is ONNX's Det, and inv() in a recorded function is Inverse.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy
from numpy.linalg import LinAlgError

from ... import _frazil
from ...lazy.array import LazyArray
from ...lazy.operators import operator
from ..arrays import asarray, eye
from ..complexes import imag, real
from ..host import call, is_complex, like, tensor
from ..products import matmul
from ..reductions import any
from ..shapes import broadcast_to, expand_dims, extent_of, reshape, squeeze, transpose
from .matrices import (
    adjoint,
    batch,
    host_function,
    least,
    matrix,
    of_first,
    real_part,
    square,
    together,
    wide,
)


class EigResult(NamedTuple):
    """The result of eig()."""

    eigenvalues: LazyArray
    eigenvectors: LazyArray


class EighResult(NamedTuple):
    """The result of eigh()."""

    eigenvalues: LazyArray
    eigenvectors: LazyArray


class QRResult(NamedTuple):
    """The result of qr()."""

    Q: LazyArray
    R: LazyArray


class SlogdetResult(NamedTuple):
    """The result of slogdet()."""

    sign: LazyArray
    logabsdet: LazyArray


class SVDResult(NamedTuple):
    """The result of svd()."""

    U: LazyArray
    S: LazyArray
    Vh: LazyArray


host_function("inv", numpy.linalg.inv, lambda a: [a])
host_function("det", numpy.linalg.det, lambda a: [of_first(a)])
host_function("slogdet", numpy.linalg.slogdet, lambda a: [of_first(a), tensor(real_part(a.dtype), a.shape[:-2])])
host_function("solve", numpy.linalg.solve, lambda a, b: [tensor(like(a.dtype), (*batch(a, b), *b.shape[-2:]))])
host_function("cholesky", numpy.linalg.cholesky, lambda a: [a])
host_function(
    "eigh",
    lambda a, UPLO: numpy.linalg.eigh(a, UPLO),
    lambda a, UPLO: [tensor(real_part(a.dtype), a.shape[:-1]), a],
)
host_function("eigvalsh", numpy.linalg.eigvalsh, lambda a, UPLO: [tensor(real_part(a.dtype), a.shape[:-1])])
host_function(
    "pinv",
    numpy.linalg.pinv,
    lambda a, rcond, hermitian: [of_first(a, a.shape[-1], a.shape[-2])],
)


def _eig(a: numpy.ndarray) -> list[numpy.ndarray]:
    return [each.astype(numpy.result_type(each, numpy.complex64)) for each in numpy.linalg.eig(a)]


host_function("eig", _eig, lambda a: [tensor(wide(a.dtype), a.shape[:-1]), tensor(wide(a.dtype), a.shape)])


def _svd_types(a: Any, full_matrices: bool, compute_uv: bool, hermitian: bool) -> list[Any]:
    m, n = a.shape[-2:]
    k = least(m, n)
    values = tensor(real_part(a.dtype), (*a.shape[:-2], k))
    if not compute_uv:
        return [values]
    return [of_first(a, m, m if full_matrices else k), values, of_first(a, n if full_matrices else k, n)]


host_function("svd", numpy.linalg.svd, _svd_types)


def _qr_types(a: Any, mode: str) -> list[Any]:
    m, n = a.shape[-2:]
    k = least(m, n)
    if mode == "r":
        return [of_first(a, k, n)]
    return [of_first(a, m, m), a] if mode == "complete" else [of_first(a, m, k), of_first(a, k, n)]


host_function("qr", numpy.linalg.qr, _qr_types)


def _lstsq(a: numpy.ndarray, b: numpy.ndarray, rcond: float | None) -> Any:
    made = numpy.linalg.lstsq(a, b, rcond)
    return made[0], made[1], numpy.int32(made[2]), made[3]


def _lstsq_types(a: Any, b: Any, rcond: float | None) -> list[Any]:
    values = tensor(real_part(a.dtype), (least(*a.shape),))
    residuals = tensor(real_part(a.dtype), ("?",))
    return [tensor(like(a.dtype), (a.shape[1], b.shape[1])), residuals, tensor("int32", ()), values]


host_function("lstsq", _lstsq, _lstsq_types)


def det(a: Any) -> LazyArray:
    """Returns the determinants of matrices."""
    a = square(a)
    return call("linalg.det", [a]) if is_complex(a) else operator("Det")(a)


def slogdet(a: Any) -> SlogdetResult:
    """Returns the signs of determinants and the logarithms of their absolute values."""
    return SlogdetResult(*call("linalg.slogdet", [square(a)], 2))


def inv(a: Any) -> LazyArray:
    """Returns the inverses. Raises LinAlgError for a singular matrix, which a recorded function does not detect."""
    a = square(a)
    if _frazil.is_recording() and not is_complex(a):
        return operator("com.microsoft.Inverse")(a)
    return call("linalg.inv", [a])  # type: ignore[no-any-return]


def solve(a: Any, b: Any) -> LazyArray:
    """Solves a @ x = b for a vector or matrices b. Raises LinAlgError for a singular matrix."""
    a, b = together(square(a), b)
    column = b.ndim == 1
    if not b.ndim:
        raise ValueError("solve(): b is a vector or has matrices")
    rows = expand_dims(b, 1) if column else b
    if rows._extents[-2] != a._extents[-1] and None not in (rows._extents[-2], a._extents[-1]):
        raise ValueError(f"solve(): {rows._extents[-2]} rows for a matrix of {a._extents[-1]} columns")
    rank = max(a.ndim, rows.ndim)
    a, rows = (reshape(each, (*[1] * (rank - each.ndim), *each.shape)) for each in (a, rows))
    made = call("linalg.solve", [a, rows])
    return squeeze(made, -1) if column else made  # type: ignore[no-any-return]


def tensorsolve(a: Any, b: Any, axes: Any = None) -> LazyArray:
    """Solves tensordot(a, x, x.ndim) = b. `axes` of a are moved to its end."""
    a, b = asarray(a), asarray(b)
    if axes is not None:
        moved = [each % a.ndim for each in axes]
        a = transpose(a, [*(i for i in range(a.ndim) if i not in moved), *moved])
    rest = a.shape[b.ndim :]
    count = math.prod(rest)
    if a.size != count * count:
        raise LinAlgError(f"tensorsolve(): an array of shape {a._extents} is not a square matrix of {count} columns")
    return reshape(solve(reshape(a, (count, count)), reshape(b, -1)), rest)


def tensorinv(a: Any, ind: int = 2) -> LazyArray:
    """Returns the inverse with respect to tensordot(a, b, ind)."""
    a = asarray(a)
    if ind <= 0:
        raise ValueError("ind is at least 1")
    first, rest = a.shape[:ind], a.shape[ind:]
    return reshape(inv(reshape(a, (math.prod(first), -1))), (*rest, *first))


def cholesky(a: Any, *, upper: bool = False) -> LazyArray:
    """Returns the lower triangle L with L @ L.T = a, or its adjoint. Raises LinAlgError if a is not positive definite.
    """
    made = call("linalg.cholesky", [square(a)])
    return adjoint(made) if upper else made  # type: ignore[no-any-return]


def qr(a: Any, mode: str = "reduced") -> Any:
    """Returns Q with orthonormal columns and the upper triangle R with Q @ R = a; with mode='r' only R."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr() has modes 'reduced', 'complete' and 'r', not {mode!r}")
    if mode == "r":
        return call("linalg.qr", [matrix(a)], mode=mode)
    return QRResult(*call("linalg.qr", [matrix(a)], 2, mode=mode))


def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Returns U, the singular values S in descending order, and Vh with U @ diag(S) @ Vh = a; or only the values."""
    keywords = {"full_matrices": full_matrices, "compute_uv": compute_uv, "hermitian": hermitian}
    if not compute_uv:
        return call("linalg.svd", [matrix(a)], **keywords)
    return SVDResult(*call("linalg.svd", [matrix(a)], 3, **keywords))


def svdvals(x: Any) -> LazyArray:
    """Returns the singular values in descending order."""
    return svd(x, compute_uv=False)  # type: ignore[no-any-return]


def _check_triangle(UPLO: str) -> str:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError(f"UPLO is 'L' or 'U', not {UPLO!r}")
    return UPLO.upper()


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """Returns the eigenvalues of symmetric matrices in ascending order, and eigenvectors as columns."""
    UPLO = _check_triangle(UPLO)
    return EighResult(*call("linalg.eigh", [square(a)], 2, UPLO=UPLO))


def eigvalsh(a: Any, UPLO: str = "L") -> LazyArray:
    """Returns the eigenvalues of symmetric matrices in ascending order."""
    UPLO = _check_triangle(UPLO)
    return call("linalg.eigvalsh", [square(a)], UPLO=UPLO)  # type: ignore[no-any-return]


def eig(a: Any) -> EigResult:
    """Returns eigenvalues, and eigenvectors as columns. They are complex unless all are real and values can be read."""
    values, vectors = call("linalg.eig", [square(a)], 2)
    if is_complex(a) or _frazil.is_recording() or bool(any(imag(values) != 0)):
        return EigResult(values, vectors)
    return EigResult(real(values), real(vectors))


def eigvals(a: Any) -> LazyArray:
    """Returns the eigenvalues, as eig()."""
    return eig(a).eigenvalues


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[LazyArray, LazyArray, LazyArray, LazyArray]:
    """Returns the x that minimises norm(a @ x - b), the sums of squares of a @ x - b, and the rank and singular values
    of a.

    Singular values below `rcond` times the largest are treated as 0. Its default is the precision times the larger
    extent.
    """
    a, b = together(matrix(a), b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise LinAlgError("lstsq() has a matrix, and a vector or a matrix")
    if a._extents[0] != b._extents[0] and None not in (a._extents[0], b._extents[0]):
        raise LinAlgError(f"lstsq(): {b._extents[0]} rows for {a._extents[0]}")
    column = b.ndim == 1
    made = call("linalg.lstsq", [a, expand_dims(b, 1) if column else b], 4, rcond=rcond)
    return (squeeze(made[0], 1) if column else made[0], *made[1:])  # type: ignore[return-value]


def pinv(a: Any, rcond: float = 1e-15, hermitian: bool = False, *, rtol: float | None = None) -> LazyArray:
    """Returns the pseudo-inverses. Singular values below `rcond`, or `rtol`, times the largest are treated as 0."""
    rcond = rcond if rtol is None else rtol
    return call("linalg.pinv", [matrix(a)], rcond=float(rcond), hermitian=hermitian)  # type: ignore[no-any-return]


def matrix_power(a: Any, n: int) -> LazyArray:
    """Returns the n-th power of matrices; for negative n of their inverses."""
    a = asarray(a)
    if isinstance(n, bool) or not isinstance(n, (int, numpy.integer)):
        raise TypeError("an exponent is an integer")
    extents = square(a)._extents
    if n < 0:
        return matrix_power(inv(a), -n)
    made: Any = None
    while n:
        made = a if made is None and n % 2 else matmul(made, a) if n % 2 else made
        n //= 2
        a = matmul(a, a) if n else a
    return broadcast_to(eye(extent_of(a, -1), dtype=a.dtype), extents) if made is None else made
