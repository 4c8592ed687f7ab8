"""Helpers for modules."""

from ....nn.reparametrized import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from . import rnn
