"""Pooling, and interpolation between pixels."""

from __future__ import annotations

import math
from typing import Any, Sequence, Union

import numpy

from ..errors import BadInput
from ..graph import Term
from . import ops

Window = Union[int, Sequence[int]]


def _each(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * count


def _pooled(op: str, x: Term, count: int, kernel: Window, stride: Window | None, padding: Window, **more: Any) -> Term:
    if x.ndim == count + 1:
        return ops.select(_pooled(op, ops.unsqueeze(x, 0), count, kernel, stride, padding, **more), 0, 0)
    steps = kernel if stride is None or stride == [] else stride
    where = {"kernel_shape": _each(kernel, count), "strides": _each(steps, count), "pads": _each(padding, count) * 2}
    made = getattr(x.graph, op)(x, **where, **more)
    return made[0] if isinstance(made, tuple) else made


def _max_pool(
    x: Term, count: int, kernel_size: Window, stride: Window | None, padding: Window, dilation: Window, ceil_mode: bool,
    return_indices: bool,
) -> Term:  # fmt: skip
    more: dict[str, Any] = {"dilations": _each(dilation, count), "ceil_mode": int(ceil_mode)}
    if not return_indices:
        return _pooled("MaxPool", x, count, kernel_size, stride, padding, **more)
    if x.ndim == count + 1:
        found: Any = _max_pool(ops.unsqueeze(x, 0), count, kernel_size, stride, padding, dilation, ceil_mode, True)
        return tuple(ops.select(part, 0, 0) for part in found)  # type: ignore[return-value]
    steps = kernel_size if stride is None or stride == [] else stride
    more |= {"kernel_shape": _each(kernel_size, count), "strides": _each(steps, count)}
    values, places = x.graph.MaxPool(x, outputs=2, pads=_each(padding, count) * 2, **more)  # type: ignore[misc]
    area = math.prod(ops.extent(x, axis) for axis in range(2, x.ndim))
    return values, ops.remainder(places, area)  # type: ignore[return-value]


def _max_unpool(x: Term, indices: Term, count: int, kernel: Window, stride: Any, padding: Window, size: Any) -> Term:
    """Returns zeros with elements at the indices that max_pool() found."""
    shape = list(ops.size(x))
    steps = _each(kernel if stride is None else stride, count)
    sides = zip(shape[2:], steps, _each(kernel, count), _each(padding, count))
    extents = [(n - 1) * s - 2 * p + k for n, s, k, p in sides] if size is None else list(size)[-count:]
    flat = ops.zeros(*shape[:2], math.prod(extents), dtype=x.dtype)
    made = ops.scatter(flat, 2, ops.flatten(indices, 2), ops.flatten(x, 2))
    return ops.unflatten(made, 2, extents)


def max_unpool1d(
    input: Term, indices: Term, kernel_size: Window, stride: Any = None, padding: Window = 0, output_size: Any = None
) -> Term:
    """Returns the elements at the places where max_pool1d() found them, 0 elsewhere."""
    return _max_unpool(input, indices, 1, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Term, indices: Term, kernel_size: Window, stride: Any = None, padding: Window = 0, output_size: Any = None
) -> Term:
    """Returns the elements at the places where max_pool2d() found them, 0 elsewhere."""
    return _max_unpool(input, indices, 2, kernel_size, stride, padding, output_size)


def max_pool1d(
    input: Term, kernel_size: Window, stride: Window | None = None, padding: Window = 0, dilation: Window = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Term:  # fmt: skip
    """Returns the largest elements of windows."""
    return _max_pool(input, 1, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Term, kernel_size: Window, stride: Window | None = None, padding: Window = 0, dilation: Window = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Term:  # fmt: skip
    """Returns the largest elements of windows."""
    return _max_pool(input, 2, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(
    x: Term, count: int, kernel: Window, stride: Any, padding: Window, ceil_mode: bool, include: bool
) -> Term:
    more = {"ceil_mode": int(ceil_mode), "count_include_pad": int(include)}
    return _pooled("AveragePool", x, count, kernel, stride, padding, **more)


def avg_pool1d(
    input: Term, kernel_size: Window, stride: Window | None = None, padding: Window = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Term:  # fmt: skip
    """Returns the means of windows."""
    return _avg_pool(input, 1, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Term, kernel_size: Window, stride: Window | None = None, padding: Window = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Term:  # fmt: skip
    """Returns the means of windows."""
    if divisor_override is not None:
        raise ops.unsupported("divisor_override of avg_pool2d")
    return _avg_pool(input, 2, kernel_size, stride, padding, ceil_mode, count_include_pad)


def max_pool3d(
    input: Term, kernel_size: Window, stride: Window | None = None, padding: Window = 0, dilation: Window = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> Term:  # fmt: skip
    """Returns the largest elements of windows."""
    return _max_pool(input, 3, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool3d(
    input: Term, kernel_size: Window, stride: Window | None = None, padding: Window = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Term:  # fmt: skip
    """Returns the means of windows."""
    if divisor_override is not None:
        raise ops.unsupported("divisor_override of avg_pool3d")
    return _avg_pool(input, 3, kernel_size, stride, padding, ceil_mode, count_include_pad)


def lp_pool1d(
    input: Term, norm_type: float, kernel_size: Window, stride: Window | None = None, ceil_mode: bool = False
) -> Term:
    """Returns sums of powers of windows, and their roots."""
    return _lp_pool(avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Term, norm_type: float, kernel_size: Window, stride: Window | None = None, ceil_mode: bool = False
) -> Term:
    """Returns sums of powers of windows, and their roots."""
    return _lp_pool(avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode)


def _lp_pool(pool: Any, x: Term, norm: float, kernel: Window, stride: Window | None, ceil_mode: bool) -> Term:
    means = pool(ops.pow(x, norm), kernel, stride, 0, ceil_mode)
    count = math.prod(_each(kernel, 1 if pool is avg_pool1d else 2))
    return ops.pow(ops.mul(ops.relu(ops.abs(means)), count), 1 / norm)


def _adaptive(x: Term, output_size: Any, count: int, reduce: Any, pool: Any) -> Term:
    """Pools to the output size. Extent 1 is a reduction; other extents require known input extents.

    Extents that do not divide the input's are pooled dimension by dimension.
    """
    wanted = _each(output_size, count)
    axes = [x.ndim - count + i for i in range(count)]
    if all(size == 1 for size in wanted):
        return reduce(x, axes, True)  # type: ignore[no-any-return]
    have = [ops.extent(x, axis) for axis in axes]
    sizes = [have[i] if size is None else size for i, size in enumerate(wanted)]
    if not all(isinstance(a, int) and isinstance(b, int) for a, b in zip(have, sizes)):
        raise ops.unsupported(f"adaptive pooling of a term of type {x.type} to {output_size}")
    if all(a % b == 0 for a, b in zip(have, sizes)):
        return pool(x, [a // b for a, b in zip(have, sizes)])  # type: ignore[no-any-return]
    for axis, extent, size in zip(axes, have, sizes):
        if extent != size:
            edges = [(i * extent // size, -(-(i + 1) * extent // size)) for i in range(size)]
            x = ops.cat([reduce(ops.narrow(x, axis, a, b - a), [axis], True) for a, b in edges], axis)
    return x


def adaptive_avg_pool1d(input: Term, output_size: Any) -> Term:
    """Returns the means of as many windows."""
    return _adaptive(input, output_size, 1, ops.mean, avg_pool1d)


def adaptive_avg_pool2d(input: Term, output_size: Any) -> Term:
    """Returns the means of as many windows."""
    return _adaptive(input, output_size, 2, ops.mean, avg_pool2d)


def adaptive_max_pool1d(input: Term, output_size: Any) -> Term:
    """Returns the largest elements of as many windows."""
    return _adaptive(input, output_size, 1, ops.amax, max_pool1d)


def adaptive_max_pool2d(input: Term, output_size: Any) -> Term:
    """Returns the largest elements of as many windows."""
    return _adaptive(input, output_size, 2, ops.amax, max_pool2d)


def adaptive_avg_pool3d(input: Term, output_size: Any) -> Term:
    """Returns the means of as many windows."""
    return _adaptive(input, output_size, 3, ops.mean, avg_pool3d)


def adaptive_max_pool3d(input: Term, output_size: Any) -> Term:
    """Returns the largest elements of as many windows."""
    return _adaptive(input, output_size, 3, ops.amax, max_pool3d)


MODES = {
    "nearest": "nearest", "nearest-exact": "nearest", "linear": "linear", "bilinear": "linear", "bicubic": "cubic",
    "trilinear": "linear",
}  # fmt: skip


def interpolate(
    input: Term,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Term:
    """Resizes to `size`, or by `scale_factor`. The mode is nearest, nearest-exact, linear, bilinear or bicubic."""
    if mode not in MODES:
        raise ops.unsupported(f"mode {mode!r} of interpolate()")
    if (size is None) == (scale_factor is None):
        raise BadInput("interpolate(): either size or scale_factor")
    count = input.ndim - 2
    place = "asymmetric" if mode == "nearest" else "align_corners" if align_corners else "half_pixel"
    how: dict[str, Any] = {
        "coordinate_transformation_mode": place,
        "mode": MODES[mode],
        "axes": list(range(2, input.ndim)),
    }
    how["nearest_mode"] = "floor" if mode == "nearest" else "round_prefer_ceil"
    if size is not None:
        sizes = ops.vector(input.graph, _each(size, count))
        return input.graph.Resize(input, None, None, sizes, antialias=int(antialias), **how)
    if recompute_scale_factor:
        raise ops.unsupported("recompute_scale_factor of interpolate()")
    scales = numpy.array(_each(scale_factor, count), numpy.float32)
    return input.graph.Resize(input, None, scales, antialias=int(antialias), **how)
