"""Linear algebra under the names of numpy.linalg.

Norms, products, powers, traces and determinants are operators. NumPy computes the rest on the host: immediately, which
reads the operands and may raise LinAlgError, or in a node of a recorded function.
"""

from numpy.linalg import LinAlgError

from ..products import matmul, tensordot, vecdot
from ..shapes import matrix_transpose
from .standard import cross, diagonal, outer, trace
from .norms import cond, matrix_norm, matrix_rank, multi_dot, norm, vector_norm
from .solvers import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
    cholesky,
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    lstsq,
    matrix_power,
    pinv,
    qr,
    slogdet,
    solve,
    svd,
    svdvals,
    tensorinv,
    tensorsolve,
)
