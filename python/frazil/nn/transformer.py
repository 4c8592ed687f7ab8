"""The layers of transformers, and stacks of them."""

from __future__ import annotations

import copy
from typing import Any

import numpy

from ..graph import Term
from . import functional as F
from . import ops
from .attention import MultiheadAttention
from .containers import ModuleList
from .layers import LayerNorm, Linear
from .module import Module


class _Layer(Module):
    """The base of transformer layers: two linear layers with an activation between them."""

    attentions: tuple[str, ...] = ()

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, batch_first=batch_first, dtype=dtype))
        self.linear1 = Linear(d_model, dim_feedforward, dtype=dtype)
        self.linear2 = Linear(dim_feedforward, d_model, dtype=dtype)
        for i in range(len(self.attentions) + 1):
            setattr(self, f"norm{i + 1}", LayerNorm(d_model, layer_norm_eps, dtype=dtype))
        self.norm_first = norm_first
        self.activation = getattr(F, activation) if isinstance(activation, str) else activation

    def _feed(self, x: Term) -> Term:
        return self.linear2(self.activation(self.linear1(x)))  # type: ignore[no-any-return]

    def _added(self, x: Term, norm: Any, part: Any) -> Term:
        """Adds the part's result to x, with the norm before or after it."""
        if self.norm_first:
            return ops.add(x, part(norm(x)))
        return norm(ops.add(x, part(x)))  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear layers, each with a residual connection and a layer norm."""

    attentions = ("self_attn",)

    def forward(
        self, src: Term, src_mask: Term | None = None, src_key_padding_mask: Term | None = None, is_causal: bool = False
    ) -> Term:
        """Maps [length, batch, d_model], or [batch, length, d_model] with batch_first, to the same shape."""

        def attend(x: Term) -> Term:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0]  # type: ignore[no-any-return]

        return self._added(self._added(src, self.norm1, attend), self.norm2, self._feed)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's results and two linear layers, each with a residual connection and a
    layer norm.
    """

    attentions = ("self_attn", "multihead_attn")

    def forward(
        self, tgt: Term, memory: Term, tgt_mask: Term | None = None, memory_mask: Term | None = None,
        tgt_key_padding_mask: Term | None = None, memory_key_padding_mask: Term | None = None,
    ) -> Term:  # fmt: skip
        """As TransformerEncoderLayer.forward(), with the encoder's results as `memory`."""

        def attend(x: Term) -> Term:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0]  # type: ignore[no-any-return]

        def look(x: Term) -> Term:
            found = self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask)
            return found[0]  # type: ignore[no-any-return]

        x = self._added(self._added(tgt, self.norm1, attend), self.norm2, look)
        return self._added(x, self.norm3, self._feed)


class _Stack(Module):
    """Copies of a layer in sequence, and a norm at the end."""

    def _stack(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _end(self, x: Term) -> Term:
        return x if self.norm is None else self.norm(x)  # type: ignore[no-any-return]


class TransformerEncoder(_Stack):
    """Encoder layers in sequence."""

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True
    ) -> None:
        super().__init__()
        self._stack(encoder_layer, num_layers, norm)

    def forward(
        self, src: Term, mask: Term | None = None, src_key_padding_mask: Term | None = None, is_causal: bool = False
    ) -> Term:
        """Returns a result of the same shape."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return self._end(src)


class TransformerDecoder(_Stack):
    """Decoder layers in sequence."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self._stack(decoder_layer, num_layers, norm)

    def forward(self, tgt: Term, memory: Term, *masks: Any, **named_masks: Any) -> Term:
        """Returns a result in the shape of `tgt`. Masks are those of TransformerDecoderLayer.forward()."""
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named_masks)
        return self._end(tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = F.relu,
        custom_encoder: Module | None = None, custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        of_layers = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first)
        encoder = TransformerEncoderLayer(*of_layers, dtype=dtype)
        decoder = TransformerDecoderLayer(*of_layers, dtype=dtype)
        norms = [LayerNorm(d_model, layer_norm_eps, dtype=dtype) for _ in range(2)]
        self.encoder = custom_encoder or TransformerEncoder(encoder, num_encoder_layers, norms[0])
        self.decoder = custom_decoder or TransformerDecoder(decoder, num_decoder_layers, norms[1])
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Term, tgt: Term, src_mask: Term | None = None, tgt_mask: Term | None = None,
        memory_mask: Term | None = None, src_key_padding_mask: Term | None = None,
        tgt_key_padding_mask: Term | None = None, memory_key_padding_mask: Term | None = None,
    ) -> Term:  # fmt: skip
        """Returns a result in the shape of `tgt`."""
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(  # type: ignore[no-any-return]
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None) -> Any:
        """Returns minus infinity above the diagonal, and 0 elsewhere."""
        return ops.tensor(numpy.triu(numpy.full((sz, sz), -numpy.inf, numpy.float32), 1))
