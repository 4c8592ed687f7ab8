"""Weights."""

from ...nn.module import Parameter
