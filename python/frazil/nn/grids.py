"""Sampling of images: grids of points and the interpolation at them."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..graph import Term
from . import ops


def affine_grid(theta: Term, size: Sequence[Any], align_corners: bool | None = None) -> Term:
    """Returns a grid of points for this size, [batch, channels, height, width], transformed by matrices [batch, 2, 3].
    """
    shape = ops.vector(theta.graph, list(size))
    return theta.graph.AffineGrid(theta, shape, align_corners=int(bool(align_corners)))


def grid_sample(
    input: Term, grid: Term, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Term:
    """Samples images at points between -1 and 1, [batch, height, width, 2]; also in 3D."""
    how = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if mode not in how:
        raise ops.unsupported(f"mode {mode!r} of grid_sample()")
    if mode == "bicubic" and padding_mode == "border":
        input, grid = _with_border(input, grid, bool(align_corners))
    return input.graph.GridSample(
        input, grid, mode=how[mode], padding_mode=padding_mode, align_corners=int(bool(align_corners))
    )


def _with_border(x: Term, grid: Term, corners: bool) -> tuple[Term, Term]:
    """Returns padded images and adjusted points. ONNX clamps points to the border, PyTorch does not."""
    wide = 3
    axes = numpy.array([2, 3], numpy.int64)
    padded = x.graph.Pad(x, numpy.full(4, wide, numpy.int64), None, axes, mode="edge")
    columns = []
    for i, axis in enumerate((3, 2)):
        extent = ops.extent(x, axis)
        at = ops.select(grid, -1, i)
        before, after = (size - 1 if corners else size for size in (extent, extent + 2 * wide))
        scale = ops.div(ops.cast(ops.tensor(before), grid.dtype), ops.cast(ops.tensor(after), grid.dtype))
        start = ops.sub(ops.div(2 * wide, ops.cast(ops.tensor(after), grid.dtype)), 1)
        columns.append(ops.add(ops.mul(ops.add(at, 1), scale), start))
    return padded, ops.stack(columns, -1)
