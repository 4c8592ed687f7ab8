"""Helpers for modules."""

from __future__ import annotations

from ....nn.reparametrized import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from . import rnn
