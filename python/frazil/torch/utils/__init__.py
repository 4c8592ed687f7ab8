"""Helpers: data, and checkpoints of activations."""

from __future__ import annotations

from . import checkpoint, data
