"""Sequences of different lengths."""

from ....nn.packed import *  # noqa: F403
