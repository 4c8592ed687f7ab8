"""Sampling of pictures at points: grids and what is read at them."""

from __future__ import annotations

from typing import Any, Sequence

from ..graph import Term
from . import ops


def affine_grid(theta: Term, size: Sequence[Any], align_corners: bool | None = None) -> Term:
    """The points of a grid of this size, [batch, channels, height, width], moved by matrices [batch, 2, 3]; also in 3D."""
    shape = ops.vector(theta.graph, list(size))
    return theta.graph.AffineGrid(theta, shape, align_corners=int(bool(align_corners)))


def grid_sample(
    input: Term, grid: Term, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Term:
    """The elements of pictures at points between -1 and 1, [batch, height, width, 2]; also in 3D."""
    how = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if mode not in how:
        raise ops.unsupported(f"mode {mode!r} of grid_sample()")
    return input.graph.GridSample(
        input, grid, mode=how[mode], padding_mode=padding_mode, align_corners=int(bool(align_corners))
    )
