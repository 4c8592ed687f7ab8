"""Indexing of Tensors as in PyTorch and NumPy, for reading and writing."""

from __future__ import annotations

from typing import Any

import numpy

from ..graph import Term
from . import basic, creation, shapes
from .accepting import open_functions
from .views import attach, is_flat


def is_array(part: Any) -> bool:
    """Returns whether an index is an array with axes or a mask."""
    if isinstance(part, Term):
        return part.ndim > 0 or part.dtype == "bool"
    return isinstance(part, (list, range, numpy.ndarray)) and (numpy.ndim(part) > 0 or _is_mask(part))


def _is_mask(part: Any) -> bool:
    return part.dtype == "bool" if isinstance(part, Term) else numpy.asarray(part).dtype == bool


def get(x: Any, key: Any) -> Any:
    """Returns x[key]: a view for numbers, slices and None, else a copy."""
    parts = tuple(map(_plain, key)) if isinstance(key, tuple) else (_plain(key),)
    arrays = [part for part in parts if is_array(part)]
    if not arrays:
        made = Term.__getitem__(x, parts)
        read, write = (lambda source: Term.__getitem__(source, parts)), (lambda source, new: put(source, parts, new))
        return attach(made, x, read, write, is_flat(x) and _leading(parts))
    others = [part for part in parts if not is_array(part)]
    if len(arrays) == 1 and not _is_mask(arrays[0]) and all(isinstance(o, (slice, type(Ellipsis))) for o in others):
        return Term.__getitem__(x, parts)
    if len(parts) == 1 and _is_mask(parts[0]):
        return _masked(x, _term(x, parts[0]))
    return _picked(x, parts)


def _plain(part: Any) -> Any:
    """Converts arrays of rank 0 to numbers. Tensors with values are kept."""
    if hasattr(part, "requires_grad_") and not isinstance(part, Term):
        return part.tensor() if hasattr(part, "tensor") else part.numpy()
    if isinstance(part, range):
        return list(part)
    return part.item() if isinstance(part, numpy.ndarray) and part.ndim == 0 and part.dtype != bool else part


def _leading(parts: tuple[Any, ...]) -> bool:
    """Returns whether the parts select contiguous elements: numbers, then one slice with step 1, then whole dimensions.
    """
    rest = list(parts)
    while rest and isinstance(rest[0], int):
        rest.pop(0)
    if rest and isinstance(rest[0], slice) and rest[0].step in (None, 1):
        rest.pop(0)
    return all(part is None or part is Ellipsis or part == slice(None) for part in rest)


def _term(x: Any, part: Any) -> Any:
    if isinstance(part, Term):
        return basic.cast(part, "bool") if part.dtype == "uint8" else part
    return x.graph.constant(numpy.asarray(part) if _is_mask(part) else numpy.asarray(part, numpy.int64))


def _masked(x: Any, mask: Any) -> Any:
    """Returns x[mask] for a mask over the first dimensions."""
    if mask.ndim == 0:
        x, mask = shapes.unsqueeze(x, 0), shapes.reshape(mask, 1)
    if mask.ndim > 1:
        x = shapes.flatten(x, 0, mask.ndim - 1)
    return x.graph.Compress(x, shapes.reshape(mask, -1), axis=0)


def _picked(x: Any, parts: tuple[Any, ...]) -> Any:
    """Returns x[...] for several index arrays, or one among numbers and new axes. Unlike in NumPy, numbers are applied
    first.
    """
    parts = _without_masks(x, parts)
    used = sum(part is not None and part is not Ellipsis for part in parts)
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    parts = (*parts[:at], *[slice(None)] * (x.ndim - used), *parts[at + 1 :])
    for axis, part in enumerate(parts):
        if part is None:
            x = shapes.unsqueeze(x, axis)
    parts = tuple(slice(None) if part is None else part for part in parts)
    x = Term.__getitem__(x, tuple(slice(None) if is_array(part) else part for part in parts))
    parts = tuple(part for part in parts if isinstance(part, slice) or is_array(part))  # other parts removed dimensions
    axes = [axis for axis, part in enumerate(parts) if not isinstance(part, slice)]
    terms = [_term(x, parts[axis]) for axis in axes]
    whole = terms[0]
    for term in terms[1:]:
        whole = basic.add(whole, basic.mul(term, 0))
    columns = [shapes.unsqueeze(basic.add(term, basic.mul(whole, 0)), -1) for term in terms]
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    made = x.graph.GatherND(shapes.permute(x, *axes, *rest), shapes.cat(columns, -1))
    if axes != list(range(axes[0], axes[0] + len(axes))) or axes[0] == 0:
        return made
    count, front = whole.ndim, axes[0]
    order = [*range(count, count + front), *range(count), *range(count + front, made.ndim)]
    return shapes.permute(made, order)


def _without_masks(x: Any, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    made: list[Any] = []
    for part in parts:
        made += basic.where(_term(x, part)) if is_array(part) and _is_mask(part) else [part]
    return tuple(made)


def put(x: Any, key: Any, value: Any) -> Any:
    """Returns `x` with the elements at x[key] replaced by `value`, which is broadcast."""
    value = value if isinstance(value, Term) else x.graph.constant(value, x.dtype)
    value = basic.cast(value, x.dtype)
    only = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if is_array(only) and _is_mask(only) and value.ndim == 0:
        mask = _term(x, only)
        for _ in range(x.ndim - mask.ndim):
            mask = shapes.unsqueeze(mask, -1)
        return x.graph.Where(mask, value, x)
    places = get(shapes.reshape(creation.arange_of(x), *basic.size(x)), key)
    while value.ndim > places.ndim:
        value = shapes.squeeze(value, 0)
    updates = shapes.reshape(shapes.expand_as(value, places), -1)
    made = x.graph.ScatterElements(shapes.reshape(x, -1), shapes.reshape(places, -1), updates, axis=0)
    return x.graph.Reshape(made, x.graph.Shape(x))


open_functions(globals())
