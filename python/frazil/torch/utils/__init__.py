"""Helpers: data."""

from . import data
