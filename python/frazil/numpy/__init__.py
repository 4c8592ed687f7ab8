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
from .elementwise import (
    clip,
    divmod,
    floor_divide,
    fmod,
    isclose,
    isfinite,
    log2,
    log10,
    reciprocal,
    remainder,
    round,
    square,
    where,
)
from .products import dot, einsum, inner, outer, vdot
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
from .ufuncs import *  # noqa: F403

mod, around, concat, pow = remainder, round, concatenate, power  # noqa: F405
