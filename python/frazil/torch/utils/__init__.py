"""Helpers: data, and checkpoints of activations."""

from . import checkpoint, data
