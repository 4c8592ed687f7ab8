"""Sequences of different lengths."""

from __future__ import annotations

from ....nn.packed import *  # noqa: F403
