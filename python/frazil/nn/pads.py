"""Padding."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..errors import BadInput
from ..graph import Term
from . import basic
from .accepting import open_functions


def pad(input: Term, pad: Sequence[Any], mode: str = "constant", value: float | None = None) -> Term:
    """Pads before and after each dimension, starting with the last. The mode is constant, reflect, replicate or
    circular.
    """
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in modes or len(pad) % 2 or len(pad) // 2 > input.ndim:
        raise BadInput(f"pad(): mode {mode!r} with {len(pad)} numbers for a term of type {input.type}")
    count = len(pad) // 2
    axes = numpy.array([input.ndim - 1 - i for i in range(count)], numpy.int64)
    pads = basic.vector(input.graph, [*pad[::2], *pad[1::2]])
    filler = (value or 0) if mode == "constant" and input.dtype != "bool" else None
    return input.graph.Pad(input, pads, filler, axes, mode=modes[mode])


open_functions(globals())
