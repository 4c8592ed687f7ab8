"""Attention with several heads."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..errors import BadInput
from ..graph import Term
from . import functional as F
from . import ops
from .arrays import numpy_type
from .init import uniform
from .layers import Linear
from .module import Module, Parameter


def _added(mask: Term | None, dtype: Any) -> Term | None:
    """Converts a mask of PyTorch's modules to numbers to add. True excludes a key and becomes minus infinity."""
    if mask is None or mask.dtype != "bool":
        return mask
    return mask.graph.Where(mask, mask.graph.constant(-math.inf, dtype), mask.graph.constant(0, dtype))


class MultiheadAttention(Module):
    """Multi-head attention: softmax(q @ k.T / sqrt(channels)) @ v per head, for projections of three inputs."""

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if add_bias_kv or add_zero_attn:
            raise ops.unsupported("add_bias_kv and add_zero_attn of MultiheadAttention")
        if embed_dim % num_heads:
            raise BadInput(f"MultiheadAttention: {num_heads} heads do not divide {embed_dim} channels")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.head_dim = embed_dim // num_heads
        bound = math.sqrt(6 / (4 * embed_dim))
        one = self.kdim == self.vdim == embed_dim
        self.register_parameter("in_proj_weight", uniform((3 * embed_dim, embed_dim), bound, dtype) if one else None)
        for name, width in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            weight = None if one else uniform((embed_dim, width), bound, dtype)
            self.register_parameter(f"{name}_proj_weight", weight)
        zeros = numpy.zeros(3 * embed_dim, numpy_type(dtype))
        self.register_parameter("in_proj_bias", Parameter(zeros) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, dtype=dtype)

    def _projected(self, query: Term, key: Term, value: Term) -> list[Term]:
        e, biases = self.embed_dim, self.in_proj_bias
        if query is key and key is value:
            if self.in_proj_weight is not None:
                return list(ops.split(F.linear(query, self.in_proj_weight, biases), e, -1))
        made = []
        for i, (name, x) in enumerate((("q", query), ("k", key), ("v", value))):
            own = getattr(self, f"{name}_proj_weight")
            weight = own if own is not None else ops.narrow(self.in_proj_weight, 0, i * e, e)
            made.append(F.linear(x, weight, None if biases is None else ops.narrow(biases, 0, i * e, e)))
        return made

    def _mask(self, attn_mask: Term | None, key_padding_mask: Term | None, dtype: Any) -> Term | None:
        """Combines both masks into one that is added, [batch or 1, heads or 1, queries or 1, keys]."""
        mask, keys = _added(attn_mask, dtype), _added(key_padding_mask, dtype)
        if mask is not None and mask.ndim == 3:
            mask = ops.unflatten(mask, 0, (-1, self.num_heads))
        if keys is not None:
            keys = ops.unsqueeze(ops.unsqueeze(keys, 1), 1)
        return keys if mask is None else mask if keys is None else ops.add(mask, keys)

    def forward(
        self, query: Term, key: Term, value: Term, key_padding_mask: Term | None = None, need_weights: bool = True,
        attn_mask: Term | None = None, average_attn_weights: bool = True, is_causal: bool = False,
    ) -> tuple[Term, Term | None]:  # fmt: skip
        """Maps [length, batch, embed_dim], or [batch, length, embed_dim] with batch_first, to the same shape and the
        attention weights.

        key_padding_mask  [batch, keys], attn_mask [queries, keys] or [batch * heads, queries, keys]: True excludes a
                          key, numbers are added
        """
        whole = query.ndim == 2
        same = query is key and key is value
        if whole or not self.batch_first:
            swap = (lambda x: ops.unsqueeze(x, 0)) if whole else (lambda x: ops.transpose(x, 0, 1))
            query = swap(query)
            key, value = (query, query) if same else (swap(key), swap(value))
            key_padding_mask = (
                ops.unsqueeze(key_padding_mask, 0) if whole and key_padding_mask is not None else key_padding_mask
            )
        q, k, v = (
            ops.transpose(ops.reshape(x, *ops.size(x)[:2], self.num_heads, self.head_dim), 1, 2)
            for x in self._projected(query, key, value)
        )
        mask = self._mask(attn_mask, key_padding_mask, query.dtype)
        made = F.scaled_dot_product_attention(q, k, v, mask)
        result = self.out_proj(ops.flatten(ops.transpose(made, 1, 2), 2))
        weights = self._weights(q, k, mask, average_attn_weights) if need_weights else None
        if whole:
            return ops.select(result, 0, 0), None if weights is None else ops.select(weights, 0, 0)
        return result if self.batch_first else ops.transpose(result, 0, 1), weights

    def _weights(self, query: Term, key: Term, mask: Term | None, average: bool) -> Term:
        scores = ops.matmul(ops.mul(query, 1 / math.sqrt(self.head_dim)), ops.transpose(key, -2, -1))
        weights = F.softmax(scores if mask is None else ops.add(scores, mask), -1)
        return ops.mean(weights, 1) if average else weights
