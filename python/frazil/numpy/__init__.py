"""Lazy arrays under NumPy's names: what is written runs when a value is read.

    import frazil.numpy as fnp
    y = fnp.tanh(fnp.matmul(x, w) + b)    # records
    print(y)                              # runs

What a function takes and gives is NumPy 2's: element types (numbers take that of the arrays beside them), axes, shapes. A
parameter that NumPy has besides is not there, and what an operator cannot do is refused.
"""

from numpy import (
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

from ..lazy.array import LazyArray as ndarray
from .arrays import (
    arange,
    array,
    asarray,
    astype,
    e,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    inf,
    linspace,
    nan,
    newaxis,
    ones,
    ones_like,
    pi,
    zeros,
    zeros_like,
)
from .bits import frexp, i0, modf, packbits, unpackbits
from .complexes import angle, imag, iscomplex, iscomplexobj, isreal, isrealobj, real
from .counts import bincount, digitize, histogram, histogram2d, histogram_bin_edges, histogramdd, searchsorted
from .curves import gradient, interp, trapz, unwrap
from .einsums import einsum
from .elementwise import clip, divmod, isclose, round, where
from .moves import (
    append,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    column_stack,
    delete,
    diag,
    diagflat,
    diagonal,
    dsplit,
    dstack,
    fliplr,
    flipud,
    hsplit,
    insert,
    meshgrid,
    pad,
    repeat,
    resize,
    roll,
    rollaxis,
    rot90,
    select,
    trace,
    vsplit,
)
from .nans import (
    nanargmax,
    nanargmin,
    nancumprod,
    nancumsum,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
)
from .products import cross, dot, inner, kron, matmul, outer, tensordot, vander, vdot, vecdot
from .quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from .reals import fix, isneginf, isposinf, nan_to_num, sinc
from .reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumsum,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from .shapes import (
    array_split,
    argsort,
    broadcast_to,
    concatenate,
    expand_dims,
    flip,
    hstack,
    matrix_transpose,
    moveaxis,
    nonzero,
    ravel,
    reshape,
    sort,
    split,
    squeeze,
    stack,
    swapaxes,
    take,
    take_along_axis,
    take_at,
    tile,
    transpose,
    tril,
    triu,
    vstack,
)
from .sets import (
    allclose,
    argwhere,
    array_equal,
    array_equiv,
    compress,
    extract,
    flatnonzero,
    in1d,
    intersect1d,
    isin,
    lexsort,
    setdiff1d,
    setxor1d,
    union1d,
    unique,
)
from .statistics import average, convolve, corrcoef, correlate, cov, cumprod, diff, ediff1d, ptp
from . import fft, linalg, random
from .ufunc import ufunc
from .ufunc_table import *  # noqa: F403

around, round_, concat = round, round, concatenate
