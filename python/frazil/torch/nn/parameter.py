"""Weights."""

from __future__ import annotations

from ...nn.module import Parameter
