"""The functions of `ops` that move or repeat elements."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..errors import BadInput, Unsupported
from ..graph import Term
from . import basic
from .accepting import open_functions
from .lazily import graph_of
from .recording import TERMS
from .views import is_flat, viewing

__all__ = [
    "broadcast_to", "cat", "concat", "contiguous", "detach", "diff", "expand", "expand_as",
    "flatten", "flip",
    "masked_select", "movedim", "nonzero", "permute", "repeat", "repeat_interleave", "reshape", "roll",
    "squeeze", "stack", "swapaxes", "t", "tile", "transpose", "tril", "triu", "unflatten",
    "unsqueeze",
    "view", "view_as",
]  # fmt: skip


def contiguous(input: Term, **_: Any) -> Term:
    """Returns the same Term, or a copy if its elements are not in row-major order."""
    return input if is_flat(input) else basic.clone(input)


@viewing(lambda source, new: new, flat=lambda: True)
def detach(input: Term) -> Term:
    """Returns a copy. There are no gradients to detach."""
    return basic.clone(input)


def _as_before(source: Term, new: Term, *_: Any, **__: Any) -> Term:
    return new.graph.Reshape(new, source.graph.Shape(source))


def _unpermuted(source: Term, new: Term, *dims: Any) -> Term:
    order = [basic.axis_of(source, dim) for dim in basic.sizes_of(dims)]
    return permute(new, [order.index(axis) for axis in range(len(order))])


def _refused(source: Term, new: Term, *_: Any) -> Any:
    raise BadInput("expand(): elements of an expanded Tensor are the same: clone() it before it changes in place")


def _reshaped(input: Term, *shape: Any) -> Term:
    if len(shape) == 1 and isinstance(shape[0], TERMS) and shape[0].ndim == 1:
        return input.graph.Reshape(input, shape[0])
    return input.graph.Reshape(input, basic.vector(input.graph, basic.sizes_of(shape)))


@viewing(_as_before)
def reshape(input: Term, *shape: Any) -> Term:
    """Returns the elements in another shape: numbers and scalar Terms with at most one -1, or one Term with all
    extents.
    """
    return _reshaped(input, *shape)


@viewing(_as_before, flat=lambda *_, **__: True)
def view(input: Term, *shape: Any) -> Term:
    """Returns a view in another shape, or the bits as another element type."""
    if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list, *TERMS)):
        return input.graph.BitCast(input, to=shape[0])
    return _reshaped(input, *shape)


@viewing(_as_before, flat=lambda *_, **__: True)
def view_as(input: Term, other: Term) -> Term:
    """Returns the elements in the shape of another Term."""
    return input.graph.Reshape(input, other.graph.Shape(other))


def flatten(input: Term, start_dim: int = 0, end_dim: int = -1) -> Term:
    """Merges the dimensions from start_dim to end_dim."""
    if input.ndim == 0:
        return reshape(input, 1)
    first, last = basic.axis_of(input, start_dim), basic.axis_of(input, end_dim)
    if first == last:
        return input
    head = [basic.extent(input, axis) for axis in range(first)]
    tail = [basic.extent(input, axis) for axis in range(last + 1, input.ndim)]
    return reshape(input, *head, -1, *tail)


def unflatten(input: Term, dim: int, sizes: Sequence[Any]) -> Term:
    """Splits one dimension into several."""
    axis = basic.axis_of(input, dim)
    shape = basic.size(input)
    return view(input, *shape[:axis], *sizes, *shape[axis + 1 :])


@viewing(_unpermuted, flat=lambda *_: False)
def permute(input: Term, *dims: Any) -> Term:
    """Permutes the dimensions."""
    return input.graph.Transpose(input, perm=[basic.axis_of(input, dim) for dim in basic.sizes_of(dims)])


@viewing(lambda source, new, dim0, dim1: transpose(new, dim0, dim1), flat=lambda *_, **__: False)
def transpose(input: Term, dim0: int, dim1: int) -> Term:
    """Swaps two dimensions."""
    perm = list(range(input.ndim))
    a, b = basic.axis_of(input, dim0), basic.axis_of(input, dim1)
    perm[a], perm[b] = perm[b], perm[a]
    return input.graph.Transpose(input, perm=perm)


swapaxes = transpose


def t(input: Term) -> Term:
    """Transposes a matrix."""
    if input.ndim > 2:
        raise BadInput(f"t() of a term of type {input.type}")
    return transpose(input, 0, 1) if input.ndim == 2 else input


def movedim(input: Term, source: Any, destination: Any) -> Term:
    """Moves dimensions to other positions."""
    pairs = zip(*((part,) if isinstance(part, int) else part for part in (source, destination)))
    moved = {basic.axis_of(input, to): basic.axis_of(input, at) for at, to in pairs}
    rest = iter(axis for axis in range(input.ndim) if axis not in moved.values())
    return permute(input, [moved[axis] if axis in moved else next(rest) for axis in range(input.ndim)])


@viewing(_as_before, flat=lambda *_, **__: True)
def unsqueeze(input: Term, dim: int) -> Term:
    """Inserts a dimension of extent 1."""
    return input.graph.Unsqueeze(input, numpy.array([basic.axis_of(input, dim, 1)], numpy.int64))


@viewing(_as_before, flat=lambda *_, **__: True)
def squeeze(input: Term, dim: Any = None) -> Term:
    """Removes dimensions of extent 1: `dim`, or all. An extent along `dim` that is known only in a run must be 1 then.

    Raises Unsupported without `dim` if an extent is known only in a run.
    """
    shape = Term.shape.__get__(input) or ()
    if dim is None and any(not isinstance(extent, int) for extent in shape):
        raise Unsupported(f"squeeze() of a term of type {input.type}: name the dimension")
    dims = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    axes = [axis for axis in (basic.axis_of(input, d) for d in dims) if shape[axis] == 1 or isinstance(shape[axis], str)]
    return input.graph.Squeeze(input, numpy.array(axes, numpy.int64)) if axes else input


def cat(tensors: Sequence[Term], dim: int = 0) -> Term:
    """Concatenates along `dim`."""
    graph = graph_of(tensors)
    first = next(part for part in tensors if isinstance(part, TERMS))
    whole = first
    for part in tensors:
        whole = basic.promoted(whole, part)[0]
    parts = [basic.promoted(part, whole)[0] for part in tensors]
    return graph.Concat(*parts, axis=basic.axis_of(first, dim))


concat = cat


def stack(tensors: Sequence[Term], dim: int = 0) -> Term:
    """Stacks along a new dimension."""
    graph = graph_of(tensors)
    terms = [part if isinstance(part, TERMS) else graph.constant(part) for part in tensors]
    return cat([unsqueeze(term, dim) for term in terms], basic.axis_of(terms[0], dim, 1))


@viewing(_refused, flat=lambda *_: False)
def expand(input: Term, *sizes: Any) -> Term:
    """Repeats along dimensions of extent 1, without a copy; -1 keeps an extent."""
    parts = [1 if isinstance(part, int) and part == -1 else part for part in basic.sizes_of(sizes)]
    return input.graph.Expand(input, basic.vector(input.graph, parts))


broadcast_to = expand


def expand_as(input: Term, other: Term) -> Term:
    """Returns expand() to the shape of another Term."""
    return input.graph.Expand(input, other.graph.Shape(other))


def repeat(input: Term, *sizes: Any) -> Term:
    """Repeats along every dimension; new dimensions come first."""
    counts = basic.sizes_of(sizes)
    for _ in range(len(counts) - input.ndim):
        input = unsqueeze(input, 0)
    return input.graph.Tile(input, basic.vector(input.graph, counts))


def tile(input: Term, *dims: Any) -> Term:
    """As repeat(), with 1 for missing dimensions."""
    counts = basic.sizes_of(dims)
    return repeat(input, *[1] * (input.ndim - len(counts)), *counts)


def repeat_interleave(input: Term, repeats: int, dim: int | None = None) -> Term:
    """Repeats each slice `repeats` times."""
    x, axis = (reshape(input, -1), 0) if dim is None else (input, basic.axis_of(input, dim))
    counts = [repeats if i == axis + 1 else 1 for i in range(x.ndim + 1)]
    return flatten(repeat(unsqueeze(x, axis + 1), *counts), axis, axis + 1)


def flip(input: Term, *dims: Any) -> Term:
    """Reverses the slices along dimensions."""
    axes = [basic.axis_of(input, dim) for dim in basic.sizes_of(dims)]
    return Term.__getitem__(input, tuple(slice(None, None, -1 if i in axes else None) for i in range(input.ndim)))


def roll(input: Term, shifts: Any, dims: Any = None) -> Term:
    """Shifts the slices along dimensions by `shifts`, cyclically."""
    if dims is None:
        return view_as(roll(reshape(input, -1), shifts, 0), input)
    pairs = ((shifts, dims),) if isinstance(dims, int) else zip(shifts, dims)
    for shift, dim in pairs:
        axis = basic.axis_of(input, dim)
        whole = basic.extent(input, axis)
        at = (whole - shift) % whole if isinstance(whole, int) else basic.remainder(basic.sub(whole, shift), whole)
        head = (slice(None),) * axis
        cut = Term.__getitem__
        input = cat([cut(input, (*head, slice(at, None))), cut(input, (*head, slice(None, at)))], axis)
    return input


def diff(input: Term, dim: int = -1) -> Term:
    """Returns the differences of neighbours."""
    head = (slice(None),) * basic.axis_of(input, dim)
    cut = Term.__getitem__
    return basic.sub(cut(input, (*head, slice(1, None))), cut(input, (*head, slice(None, -1))))


def tril(input: Term, diagonal: int = 0) -> Term:
    """Returns the lower triangle, with 0 elsewhere."""
    return input.graph.Trilu(input, numpy.array(diagonal, numpy.int64), upper=0)


def triu(input: Term, diagonal: int = 0) -> Term:
    """Returns the upper triangle, with 0 elsewhere."""
    return input.graph.Trilu(input, numpy.array(diagonal, numpy.int64), upper=1)


def nonzero(input: Term) -> Term:
    """Returns the indices of elements other than 0, one row each."""
    return transpose(input.graph.NonZero(input), 0, 1)


def masked_select(input: Term, mask: Term) -> Term:
    """Returns the elements where the mask is true."""
    return input.graph.Compress(input, reshape(expand_as(mask, input), -1))


open_functions(globals())
