"""The functions of `ops` that combine other functions."""

from __future__ import annotations

import builtins
import math
from typing import Any, Callable, Sequence

import numpy

from ..errors import BadInput
from ..graph import Term, Value
from . import basic, creation, parts, scatters, shapes
from .accepting import open_functions
from .lazily import graph_of
from .recording import TERMS

__all__ = [
    "addcdiv", "addcmul", "allclose", "atan2", "baddbmm", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
    "bucketize",
    "cdist", "count_nonzero", "cross", "cumprod", "diag", "diagonal", "diag_embed", "equal", "erfc", "exp2", "expm1",
    "fmod", "frac",
    "hstack", "hypot", "inner", "is_floating_point", "is_tensor", "isclose", "isfinite", "kthvalue", "lerp", "log10",
    "log1p",
    "log2", "logaddexp", "median", "meshgrid", "nan_to_num", "outer", "positive", "searchsorted", "std_mean",
    "tensor_split",
    "tensordot",
    "trace", "trunc", "unique", "var_mean", "vstack",
]  # fmt: skip


def addcmul(input: Term, tensor1: Term, tensor2: Value, *, value: float = 1) -> Term:
    """Returns input + value * tensor1 * tensor2."""
    return basic.add(input, basic.mul(basic.mul(tensor1, tensor2), value))


def addcdiv(input: Term, tensor1: Term, tensor2: Value, *, value: float = 1) -> Term:
    """Returns input + value * tensor1 / tensor2."""
    return basic.add(input, basic.mul(basic.div(tensor1, tensor2), value))


def baddbmm(input: Term, batch1: Term, batch2: Term, *, beta: float = 1, alpha: float = 1) -> Term:
    """Returns beta * input + alpha * batch1 @ batch2."""
    return basic.addmm(input, batch1, batch2, beta=beta, alpha=alpha)


def lerp(input: Term, end: Value, weight: Value) -> Term:
    """Returns input + weight * (end - input)."""
    return basic.add(input, basic.mul(basic.sub(end, input), weight))


def isfinite(input: Term) -> Term:
    """Returns whether elements are neither infinite nor NaN."""
    if basic.kind_of(input.dtype) < 2:
        return creation.full_like(input, True, dtype="bool")
    return basic.logical_not(basic.logical_or(basic.isnan(input), basic.isinf(input)))


def isclose(input: Term, other: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Term:
    """Returns whether elements differ by at most atol + rtol * |other|."""
    a, b = basic.promoted(input, other)
    same = basic.eq(a, b)
    if basic.kind_of(a.dtype) < 2:
        a, b = basic.floating(a), basic.floating(b)
    near = basic.le(basic.abs(basic.sub(a, b)), basic.add(basic.mul(basic.abs(b), rtol), atol))
    found = basic.logical_or(same, basic.logical_and(near, isfinite(b)))
    return basic.logical_or(found, basic.logical_and(basic.isnan(a), basic.isnan(b))) if equal_nan else found


def allclose(input: Term, other: Value, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Returns whether isclose() holds for all elements. Reads values."""
    return bool(basic.all(isclose(input, other, rtol, atol, equal_nan)))


def equal(input: Term, other: Term) -> bool:
    """Returns whether shapes and elements are equal. Reads values."""
    return tuple(basic.size(input)) == tuple(basic.size(other)) and bool(basic.all(basic.eq(input, other)))


def is_tensor(obj: Any) -> bool:
    """Returns whether this is a Term or a lazy array."""
    return isinstance(obj, TERMS)


def is_floating_point(input: Term) -> bool:
    """Returns whether elements are floating-point numbers."""
    return basic.kind_of(input.dtype) == 2


def exp2(input: Term) -> Term:
    """Returns 2 ** input."""
    return basic.exp(basic.mul(basic.floating(input), math.log(2)))


def expm1(input: Term) -> Term:
    """Returns exp(input) - 1."""
    x = basic.floating(input)
    half = basic.div(x, 2)
    return basic.mul(basic.mul(basic.exp(half), basic.sinh(half)), 2)


def log1p(input: Term) -> Term:
    """Returns log(1 + input), accurate near 0."""
    x = basic.floating(input)
    whole = basic.add(x, 1)
    rest = basic.sub(whole, 1)
    return basic.where(basic.eq(rest, 0), x, basic.div(basic.mul(basic.log(whole), x), basic.where(basic.eq(rest, 0), 1.0, rest)))


def log2(input: Term) -> Term:
    """Returns the logarithm to the base of 2."""
    return basic.div(basic.log(input), math.log(2))


def log10(input: Term) -> Term:
    """Returns the logarithm to the base of 10."""
    return basic.div(basic.log(input), math.log(10))


def logaddexp(input: Term, other: Term) -> Term:
    """Returns log(exp(input) + exp(other))."""
    most = basic.maximum(input, other)
    return basic.add(most, log1p(basic.exp(basic.neg(basic.abs(basic.sub(input, other))))))


def erfc(input: Term) -> Term:
    """Returns 1 - erf(input)."""
    return basic.sub(1, basic.erf(input))


def hypot(input: Term, other: Value) -> Term:
    """Returns the square root of the sum of squares."""
    return basic.sqrt(basic.add(basic.square(input), basic.mul(other, other)))


def atan2(input: Term, other: Term) -> Term:
    """Returns the angle of the point (other, input)."""
    y, x = basic.promoted(basic.floating(input), basic.floating(other))
    angle = basic.atan(basic.div(y, x))
    turned = basic.add(angle, basic.where(basic.lt(y, 0), -math.pi, math.pi))
    right = basic.where(basic.gt(x, 0), angle, turned)
    up = basic.where(basic.eq(y, 0), creation.full_like(y, 0), basic.mul(basic.sign(y), math.pi / 2))
    return basic.where(basic.eq(x, 0), up, right)


def trunc(input: Term) -> Term:
    """Rounds towards 0."""
    return input if basic.kind_of(input.dtype) < 2 else basic.mul(basic.sign(input), basic.floor(basic.abs(input)))


def frac(input: Term) -> Term:
    """Returns input - trunc(input)."""
    return basic.sub(input, trunc(input))


def fmod(input: Term, other: Value) -> Term:
    """Returns the remainder with the sign of the input."""
    a, b = basic.promoted(input, other)
    return a.graph.Mod(a, b, fmod=1)


def positive(input: Term) -> Term:
    """Returns the input."""
    return input


def nan_to_num(input: Term, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Term:
    """Replaces NaN and infinite elements by numbers."""
    limits = numpy.finfo(input.dtype.numpy)  # type: ignore[union-attr]
    made = basic.where(basic.isnan(input), nan, input)
    least, most = (float(limits.min) if neginf is None else neginf), (float(limits.max) if posinf is None else posinf)
    return basic.clamp(made, least, most)


def _bitwise(name: str, logical: str, op: str, doc: str) -> Callable[[Value, Value], Term]:
    def function(input: Value, other: Value) -> Term:
        a, b = basic.promoted(input, other)
        return getattr(a.graph, logical if a.dtype == "bool" else op)(a, b)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


bitwise_and = _bitwise("bitwise_and", "And", "BitwiseAnd", "Returns the bits that both operands have.")
bitwise_or = _bitwise("bitwise_or", "Or", "BitwiseOr", "Returns the bits that any operand has.")
bitwise_xor = _bitwise("bitwise_xor", "Xor", "BitwiseXor", "Returns the bits that exactly one operand has.")


def bitwise_not(input: Term) -> Term:
    """Inverts the bits."""
    return ~input


def count_nonzero(input: Term, dim: basic.Dims = None) -> Term:
    """Returns the number of elements other than 0."""
    return basic.sum(basic.ne(input, 0), dim)


def var_mean(
    input: Term, dim: basic.Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: int = 1
) -> Any:
    """Returns var() and mean()."""
    return basic.var(input, dim, unbiased, keepdim, correction=correction), basic.mean(input, dim, keepdim)


def std_mean(
    input: Term, dim: basic.Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: int = 1
) -> Any:
    """Returns std() and mean()."""
    return basic.std(input, dim, unbiased, keepdim, correction=correction), basic.mean(input, dim, keepdim)


def cumprod(input: Term, dim: int, *, dtype: Any = None) -> Term:
    """Returns the cumulative products along `dim`."""
    x = basic.cast(input, dtype) if dtype is not None else basic.counting(input)
    return x.graph.CumProd(x, numpy.array(basic.axis_of(x, dim), numpy.int64))


def kthvalue(input: Term, k: int, dim: int = -1, keepdim: bool = False) -> basic.Pair:
    """Returns the k-th smallest element along `dim`, and its index."""
    values, indices = (parts.narrow(part, dim, k - 1, 1) for part in basic.topk(input, k, dim, largest=False))
    return basic.Pair(values, indices) if keepdim else basic.Pair(shapes.squeeze(values, dim), shapes.squeeze(indices, dim))


def median(input: Term, dim: int | None = None, keepdim: bool = False) -> Any:
    """Returns the lower median, with its index if `dim` is given."""
    if dim is None:
        return median(shapes.reshape(input, -1), 0).values
    ordered = basic.sort(input, dim)
    axis = basic.axis_of(input, dim)
    middle = (basic.extent(input, axis) - 1) // 2
    found = [parts.narrow(part, axis, middle, 1) for part in ordered]
    return basic.Pair(*found) if keepdim else basic.Pair(*(shapes.squeeze(part, axis) for part in found))


def cdist(x1: Term, x2: Term, p: float = 2.0) -> Term:
    """Returns the p-norms of the differences of all pairs of rows."""
    return basic.norm(basic.sub(shapes.unsqueeze(x1, -2), shapes.unsqueeze(x2, -3)), p, -1)


def cross(input: Term, other: Term, dim: int | None = None) -> Term:
    """Returns the cross products of vectors along `dim`, by default the first dimension of extent 3."""
    if dim is None:
        extents = [part if isinstance(part, int) else 0 for part in basic.size(input)]
        if 3 not in extents:
            raise BadInput(f"cross() of a term of type {input.type}: name the dimension, none is known to be 3")
        dim = extents.index(3)
    return basic.sub(
        basic.mul(shapes.roll(input, -1, dim), shapes.roll(other, -2, dim)),
        basic.mul(shapes.roll(input, -2, dim), shapes.roll(other, -1, dim))
    )


def diagonal(input: Term, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Term:
    """Returns the diagonal of two dimensions in a new last dimension."""
    first, second = basic.axis_of(input, dim1), basic.axis_of(input, dim2)
    rest = [axis for axis in range(input.ndim) if axis not in (first, second)]
    x = shapes.permute(input, *rest, first, second)
    rows, columns = basic.extent(x, -2), basic.extent(x, -1)
    height, width = rows + builtins.min(offset, 0), columns - builtins.max(offset, 0)
    if _open(rows, columns):
        places = creation.arange(basic.clamp(basic.minimum(height, width), min=0))
    else:
        places = input.graph.constant(numpy.arange(builtins.max(builtins.min(height, width), 0)))
    at = basic.mul(basic.add(places, builtins.max(-offset, 0)), columns)
    at = basic.add(basic.add(at, places), builtins.max(offset, 0))
    return scatters.index_select(shapes.flatten(x, -2), -1, at)


_diagonal_of = diagonal  # diag() has a parameter of this name


def _open(*extents: Any) -> bool:
    return builtins.any(isinstance(extent, TERMS) for extent in extents)


def diag(input: Term, diagonal: int = 0) -> Term:
    """Returns the diagonal of a matrix, or a matrix with this diagonal."""
    return diag_embed(input, diagonal) if input.ndim == 1 else _diagonal_of(input, diagonal)


def diag_embed(input: Term, offset: int = 0) -> Term:
    """Returns matrices with these diagonals, and 0 elsewhere."""
    first, last = builtins.max(offset, 0), builtins.max(-offset, 0)
    whole = basic.mul(shapes.unsqueeze(input, -1), basic.cast(on_diagonal(input), input.dtype))
    pads = numpy.array([*[0] * (input.ndim - 1), last, first, *[0] * (input.ndim - 1), first, last], numpy.int64)
    return whole.graph.Pad(whole, pads, whole.graph.constant(0, whole.dtype)) if offset else whole


def _places(x: Term, axis: int) -> Term:
    """Returns 0, 1, 2, ... for the slices along a dimension."""
    count = basic.extent(x, axis)
    return creation.arange(count) if _open(count) else x.graph.constant(numpy.arange(count))


def on_diagonal(x: Term, rows: int = -1) -> Term:
    """Returns a mask of the elements on the diagonal of dimension `rows` and the last one."""
    return basic.eq(shapes.unsqueeze(_places(x, rows), 1), shapes.unsqueeze(_places(x, -1), 0))


def trace(input: Term) -> Term:
    """Returns the sum of the diagonal."""
    return basic.sum(diagonal(input))


def inner(input: Term, other: Term) -> Term:
    """Returns sums of products along the last dimensions."""
    return tensordot(input, other, ([-1], [-1])) if input.ndim and other.ndim else basic.mul(input, other)


def outer(input: Term, vec2: Term) -> Term:
    """Returns products of all pairs of elements."""
    return basic.mul(shapes.unsqueeze(input, 1), shapes.unsqueeze(vec2, 0))


def tensordot(a: Term, b: Term, dims: Any = 2) -> Term:
    """Returns sums of products along dimensions: a number of last and first dimensions, or a pair of lists."""
    left, right = (range(-dims, 0), range(dims)) if isinstance(dims, int) else dims
    ours, theirs = [basic.axis_of(a, dim) for dim in left], [basic.axis_of(b, dim) for dim in right]
    kept = [axis for axis in range(a.ndim) if axis not in ours], [axis for axis in range(b.ndim) if axis not in theirs]
    shape = [basic.extent(a, axis) for axis in kept[0]] + [basic.extent(b, axis) for axis in kept[1]]
    common = math.prod(basic.extent(a, axis) for axis in ours)
    product = basic.matmul(
        shapes.reshape(shapes.permute(a, *kept[0], *ours), -1, common),
        shapes.reshape(shapes.permute(b, *theirs, *kept[1]), common, -1)
    )
    return shapes.reshape(product, *shape) if shape else shapes.reshape(product, ())


def hstack(tensors: Sequence[Term]) -> Term:
    """Concatenates along the second dimension, or along the only one."""
    return shapes.cat(tensors, 0 if tensors[0].ndim < 2 else 1)


def vstack(tensors: Sequence[Term]) -> Term:
    """Concatenates along the first of at least two dimensions."""
    return shapes.cat([shapes.unsqueeze(part, 0) if part.ndim == 1 else part for part in tensors], 0)


def tensor_split(input: Term, indices_or_sections: Any, dim: int = 0) -> tuple[Term, ...]:
    """Splits into parts whose extents differ by at most one, or at the given indices."""
    whole = basic.extent(input, basic.axis_of(input, dim))
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        return parts.split(input, [whole // count + (i < whole % count) for i in range(count)], dim)
    edges = [0, *indices_or_sections, whole]
    return parts.split(input, [b - a for a, b in zip(edges, edges[1:])], dim)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Term, ...]:
    """Returns the coordinates of a grid."""
    parts = basic.sizes_of(tensors)
    count, made = len(parts), []
    order = [1, 0, *range(2, count)] if indexing == "xy" and count > 1 else list(range(count))
    shape = [basic.extent(parts[i], 0) for i in order]
    for i, part in enumerate(parts):
        place = order.index(i)
        made.append(shapes.expand(shapes.reshape(part, *[-1 if axis == place else 1 for axis in range(count)]), *shape))
    return tuple(made)


def searchsorted(sorted_sequence: Term, input: Any, *, right: bool = False, **_: Any) -> Term:
    """Returns the insertion positions of elements into a sorted sequence."""
    graph = graph_of(sorted_sequence, input)
    x = input if isinstance(input, TERMS) else graph.constant(input)
    edges = sorted_sequence if sorted_sequence.ndim == 1 else shapes.unsqueeze(sorted_sequence, -2)
    compare = basic.le if right else basic.lt
    return basic.sum(compare(edges, shapes.unsqueeze(x, -1)), -1)


def bucketize(input: Term, boundaries: Term, *, right: bool = False, **_: Any) -> Term:
    """Returns the insertion positions of elements into sorted boundaries."""
    return searchsorted(boundaries, input, right=right)


def unique(
    input: Term, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """Returns the unique elements in ascending order."""
    axis = None if dim is None else basic.axis_of(input, dim)
    x = shapes.reshape(input, -1) if dim is None else input
    found = x.graph.Unique(x, axis=0 if axis is None else axis, sorted=1, outputs=4)
    inverse = shapes.view_as(found[2], input) if dim is None else found[2]
    made = (found[0], *[inverse] * return_inverse, *[found[3]] * return_counts)
    return made if len(made) > 1 else made[0]


open_functions(globals())
