"""The functions of `ops` for signals: windows and the short-time Fourier transform."""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy

from ..graph import Term
from . import basic, creation, lazily, pads, parts, shapes
from .accepting import open_functions

__all__ = ["blackman_window", "hamming_window", "hann_window", "stft"]


def _window(kind: str, n: int, periodic: bool, dtype: Any) -> Any:
    graph = lazily.current()
    return graph.Cast(getattr(graph, kind)(graph.constant(n, "int64"), periodic=int(periodic)), to=dtype or "float32")


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns the Hann window, 0.5 - 0.5 * cos."""
    return _window("HannWindow", window_length, periodic, dtype)


def hamming_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns the Hamming window, 0.54 - 0.46 * cos."""
    count = window_length if periodic else builtins.max(window_length - 1, 1)
    at = 2 * math.pi * numpy.arange(window_length) / count
    return creation.tensor((0.54 - 0.46 * numpy.cos(at)).astype(numpy.float32), dtype)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns the Blackman window, 0.42 - 0.5 * cos + 0.08 * cos of twice the angle."""
    return _window("BlackmanWindow", window_length, periodic, dtype)


def stft(
    input: Term, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None,
) -> Term:  # fmt: skip
    """Returns the short-time Fourier transform, [..., frequencies, windows, 2] with real and imaginary parts."""
    if return_complex:
        raise basic.unsupported("return_complex=True of stft()")
    step, width = hop_length or n_fft // 4, win_length or n_fft
    x = shapes.unsqueeze(input, 0) if input.ndim == 1 else input
    if center:
        x = shapes.squeeze(pads.pad(shapes.unsqueeze(x, 1), [n_fft // 2, n_fft // 2], pad_mode), 1)
    weights = creation.ones(width) if window is None else creation.term_of(input, window)
    left = (n_fft - width) // 2
    weights = pads.pad(weights, [left, n_fft - width - left])
    graph = x.graph
    made = graph.STFT(shapes.unsqueeze(x, -1), numpy.int64(step), weights, None, onesided=int(onesided is not False))
    made = shapes.transpose(made, 1, 2)
    made = basic.div(made, math.sqrt(n_fft)) if normalized else made
    return parts.select(made, 0, 0) if input.ndim == 1 else made


open_functions(globals())
