"""Scaled dot-product attention."""

from __future__ import annotations

from typing import Any

from ..graph import Term
from . import ops


def scaled_dot_product_attention(
    query: Term,
    key: Term,
    value: Term,
    attn_mask: Term | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Term:
    """Returns softmax(query @ key.T * scale + mask) @ value, over [..., length, channels].

    Raises
    ------
    Unsupported
        If the inputs have more than four dimensions.
    """
    rank = query.ndim
    if rank > 4:
        raise ops.unsupported(f"attention over terms of type {query.type}")
    for _ in range(4 - rank):
        query, key, value = (ops.unsqueeze(x, 0) for x in (query, key, value))
    if rank == 3:  # heads are the second dimension of the operator
        query, key, value = (ops.transpose(x, 0, 1) for x in (query, key, value))
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = ops.unsqueeze(attn_mask, 1)
    made: Any = query.graph.Attention(query, key, value, attn_mask, is_causal=int(is_causal), scale=scale)
    made = made[0] if isinstance(made, tuple) else made
    if rank == 3:
        return ops.select(made, 1, 0)
    for _ in range(4 - rank):
        made = ops.select(made, 0, 0)
    return made
