"""Lazy arrays under NumPy's names. Operations are recorded and run when a value is read.

    import frazil.numpy as fnp
    y = fnp.tanh(fnp.matmul(x, w) + b)    # records
    print(y)                              # runs

Functions follow NumPy 2 in element types (numbers take that of the other operands), axes and shapes. docs/reference/python.md
lists the names. The module is the namespace of the Python array API standard 2022.12.
"""

import sys as _sys

from numpy import (
    array2string,
    array_repr,
    array_str,
    base_repr,
    binary_repr,
    bool_,
    broadcast_shapes,
    byte,
    cdouble,
    complex128,
    complex64,
    complexfloating,
    csingle,
    double,
    dtype,
    einsum_path,
    errstate,
    euler_gamma,
    float16,
    float32,
    float64,
    floating,
    format_float_positional,
    format_float_scientific,
    generic,
    get_printoptions,
    geterr,
    half,
    inexact,
    int16,
    int32,
    int64,
    int_,
    int8,
    intc,
    integer,
    intp,
    isscalar,
    issubdtype,
    iterable,
    little_endian,
    longlong,
    may_share_memory,
    min_scalar_type,
    ndenumerate,
    ndindex,
    number,
    printoptions,
    promote_types,
    save,
    savetxt,
    savez,
    savez_compressed,
    set_printoptions,
    seterr,
    shares_memory,
    short,
    signedinteger,
    single,
    testing,
    typename,
    ubyte,
    uint16,
    uint32,
    uint64,
    uint,
    uint8,
    uintc,
    uintp,
    False_,
    True_,
    ulonglong,
    unsignedinteger,
    ushort,
)

from ..docstrings import complete as _complete
from ..lazy.array import LazyArray as ndarray, set_functions as _set_functions
from . import assigns, fft, linalg, random
from .arrays import (
    arange,
    array,
    asarray,
    astype,
    AxisError,
    e,
    empty,
    empty_like,
    eye,
    from_dlpack,
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
from .assigns import copyto, fill_diagonal, place, put, put_along_axis, putmask
from .bits import bitwise_count, frexp, i0, modf, packbits, unpackbits
from .complexes import angle, imag, iscomplex, iscomplexobj, isreal, isrealobj, real, real_if_close, sort_complex
from .counts import bincount, digitize, histogram, histogram2d, histogram_bin_edges, histogramdd, searchsorted
from .curves import gradient, interp, trapz, unwrap
from .einsums import einsum
from .elementwise import clip, divmod, isclose, round, where
from .glossary import BY_KEYS as _BY_KEYS, GLOSSARY as _GLOSSARY, LINEAR as _LINEAR
from .grids import (
    bartlett,
    blackman,
    c_,
    diag_indices,
    diag_indices_from,
    frombuffer,
    fromfile,
    fromfunction,
    fromiter,
    fromstring,
    genfromtxt,
    geomspace,
    hamming,
    hanning,
    identity,
    index_exp,
    indices,
    ix_,
    kaiser,
    load,
    loadtxt,
    logspace,
    mask_indices,
    mgrid,
    ogrid,
    r_,
    ravel_multi_index,
    s_,
    tri,
    tril_indices,
    tril_indices_from,
    triu_indices,
    triu_indices_from,
    unravel_index,
)
from .indexing import take_at
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
    repeat,
    resize,
    roll,
    rollaxis,
    rot90,
    select,
    trace,
    vsplit,
)
from .nans import nanargmax, nanargmin, nancumprod, nancumsum, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar
from .pads import pad
from .picks import (
    apply_along_axis,
    apply_over_axes,
    argpartition,
    asanyarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    block,
    choose,
    copy,
    msort,
    partition,
    piecewise,
    trim_zeros,
    vectorize,
)
from .polynomials import poly, polyadd, polyder, polydiv, polyfit, polyint, polymul, polysub, polyval, roots
from .products import cross, dot, inner, kron, matmul, matvec, outer, tensordot, vander, vdot, vecdot, vecmat
from .quantiles import median, nanmedian, nanpercentile, nanquantile, percentile, quantile
from .reals import fix, isneginf, isposinf, nan_to_num, sinc
from .reductions import all, amax, amin, any, argmax, argmin, count_nonzero, cumsum, max, mean, min, prod, std, sum, var
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
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from .shapes import (
    argsort,
    array_split,
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
    tile,
    transpose,
    tril,
    triu,
    unstack,
    vstack,
)
from .statistics import (
    average,
    convolve,
    corrcoef,
    correlate,
    cov,
    cumprod,
    cumulative_prod,
    cumulative_sum,
    diff,
    ediff1d,
    ptp,
)
from .types import can_cast, common_type, finfo, iinfo, isdtype, ndim, result_type, shape, size
from .ufunc import ufunc
from .ufunc_table import *  # noqa: F403

bool = bool_
around, round_, concat, permute_dims, row_stack = round, round, concatenate, transpose, vstack
trapezoid, cumproduct, product, sometrue, alltrue = trapz, cumprod, prod, any, all
__array_api_version__ = "2022.12"

_complete(vars(linalg).values(), _LINEAR)
_complete(vars(fft).values(), _GLOSSARY)
_complete(vars(random).values(), _BY_KEYS)
_complete([*vars(_sys.modules[__name__]).values(), assigns.At], _GLOSSARY)
_set_functions(_sys.modules[__name__])
