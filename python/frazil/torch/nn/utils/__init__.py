"""Helpers for modules."""

from . import rnn
