"""Recurrent layers and cells."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..errors import BadInput
from ..graph import Term
from . import functional as F
from . import ops
from .init import uniform
from .module import Module
from .packed import PackedSequence
from .lazily import current


class _Recurrent(Module):
    """Layers of a recurrent operator. Its gates are ordered differently than PyTorch's: `order` has their positions in
    PyTorch.
    """

    op = ""
    order: tuple[int, ...] = (0,)
    states = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if proj_size:
            raise ops.unsupported(f"proj_size of {type(self).__name__}")
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional = batch_first, dropout, bidirectional
        bound, rows = 1 / math.sqrt(hidden_size), len(self.order) * hidden_size
        for layer, side in self._sides():
            width = input_size if layer == 0 else hidden_size * (1 + bidirectional)
            setattr(self, f"weight_ih_l{layer}{side}", uniform((rows, width), bound, dtype))
            setattr(self, f"weight_hh_l{layer}{side}", uniform((rows, hidden_size), bound, dtype))
            if bias:
                setattr(self, f"bias_ih_l{layer}{side}", uniform((rows,), bound, dtype))
                setattr(self, f"bias_hh_l{layer}{side}", uniform((rows,), bound, dtype))

    def _sides(self) -> list[tuple[int, str]]:
        sides = ["", "_reverse"] if self.bidirectional else [""]
        return [(layer, side) for layer in range(self.num_layers) for side in sides]

    def _stacked(self, layer: int, names: tuple[str, ...]) -> Term:
        """Returns the weights of a layer in the operator's form: [directions, gates * hidden, ...]."""

        def make() -> numpy.ndarray:
            sides = [side for at, side in self._sides() if at == layer]
            rows = [[self._parameters[f"{name}_l{layer}{side}"].array for name in names] for side in sides]
            return numpy.stack([numpy.concatenate([self._ordered(part) for part in parts]) for parts in rows])

        return current().derived(self, (layer, names), make)

    def _ordered(self, weight: numpy.ndarray) -> numpy.ndarray:
        gates = weight.reshape(len(self.order), self.hidden_size, *weight.shape[1:])
        return gates[list(self.order)].reshape(weight.shape)

    def _layer(self, x: Term, layer: int, initial: list[Term | None], lengths: Term | None) -> tuple[Term, ...]:
        weights = [self._stacked(layer, (name,)) for name in ("weight_ih", "weight_hh")]
        biases = self._stacked(layer, ("bias_ih", "bias_hh")) if self.bias else None
        direction = "bidirectional" if self.bidirectional else "forward"
        make = getattr(x.graph, self.op)
        made = make(
            x, *weights, biases, lengths, *initial, hidden_size=self.hidden_size, direction=direction,
            outputs=1 + self.states, **self._attributes(),
        )  # fmt: skip
        y = ops.transpose(made[0], 1, 2)  # [length, batch, directions, hidden]
        return (ops.flatten(y, 2) if self.bidirectional else ops.select(y, 2, 0), *made[1:])

    def _attributes(self) -> dict[str, Any]:
        return {}

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Maps [length, batch, input_size], or [batch, length, input_size] with batch_first, to the results and the
        last state.

        For a PackedSequence, returns a PackedSequence and the states after the last element of each sequence.

        hx  the first state: [layers * directions, batch, hidden_size], of an LSTM a pair; by default zeros
        """
        if isinstance(input, PackedSequence):
            x, state = self._layers(input.padded.values, self._first(hx), ops.cast(input.padded.lengths, "int32"))
            return input.with_values(x), state[0] if self.states == 1 else tuple(state)
        whole = input.ndim == 2
        x = ops.unsqueeze(input, 1) if whole else ops.transpose(input, 0, 1) if self.batch_first else input
        first = [ops.unsqueeze(part, 1) if whole else part for part in self._first(hx)]
        x, finals = self._layers(x, first, None)
        if whole:
            x, finals = ops.select(x, 1, 0), [ops.select(part, 1, 0) for part in finals]
        elif self.batch_first:
            x = ops.transpose(x, 0, 1)
        return x, finals[0] if self.states == 1 else tuple(finals)

    def _first(self, hx: Any) -> list[Any]:
        """Returns the parts of the initial state."""
        first = [] if hx is None else list(hx) if isinstance(hx, (tuple, list)) else [hx]
        if first and len(first) != self.states:
            raise BadInput(f"{type(self).__name__}: hx has {len(first)} parts, expected {self.states}")
        return first

    def _layers(self, x: Term, first: list[Any], lengths: Term | None) -> tuple[Term, list[Term]]:
        """Returns the results of the last layer, [length, batch, ...], and the last states of all."""
        sides, last = 1 + self.bidirectional, []
        for layer in range(self.num_layers):
            initial = [ops.narrow(part, 0, layer * sides, sides) for part in first]
            x, *state = self._layer(x, layer, [*initial, *[None] * (self.states - len(initial))], lengths)
            last.append(state)
        return x, [ops.cat(parts, 0) if len(parts) > 1 else parts[0] for parts in zip(*last)]


class LSTM(_Recurrent):
    """Layers of long short-term memory."""

    op, order, states = "LSTM", (0, 3, 1, 2), 2


class GRU(_Recurrent):
    """Layers of gated recurrent units."""

    op, order = "GRU", (1, 0, 2)

    def _attributes(self) -> dict[str, Any]:
        return {"linear_before_reset": 1}


class RNN(_Recurrent):
    """Layers of h = tanh(W x + R h + b)."""

    op = "RNN"

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )
        self.nonlinearity = nonlinearity

    def _attributes(self) -> dict[str, Any]:
        name = {"tanh": "Tanh", "relu": "Relu"}[self.nonlinearity]
        return {"activations": [name] * (1 + self.bidirectional)}


class _Cell(Module):
    """One step of a recurrent layer."""

    gates = 1
    several = True

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        bound, rows = 1 / math.sqrt(hidden_size), self.gates * hidden_size
        self.weight_ih = uniform((rows, input_size), bound, dtype)
        self.weight_hh = uniform((rows, hidden_size), bound, dtype)
        self.register_parameter("bias_ih", uniform((rows,), bound, dtype) if bias else None)
        self.register_parameter("bias_hh", uniform((rows,), bound, dtype) if bias else None)

    def _products(self, input: Term, hidden: Term) -> tuple[Term, Term]:
        return F.linear(input, self.weight_ih, self.bias_ih), F.linear(hidden, self.weight_hh, self.bias_hh)

    def _zeros(self, input: Term) -> Term:
        return ops.zeros(*ops.size(input)[:-1], self.hidden_size, dtype=input.dtype)


class LSTMCell(_Cell):
    """One step of an LSTM."""

    gates = 4

    def forward(self, input: Term, hx: Any = None) -> tuple[Term, Term]:
        """Maps [batch, input_size] and a state to the next state."""
        h, c = hx if hx is not None else (self._zeros(input),) * 2
        i, f, g, o = ops.chunk(ops.add(*self._products(input, h)), 4, -1)
        cell = ops.add(ops.mul(F.sigmoid(f), c), ops.mul(F.sigmoid(i), F.tanh(g)))
        return ops.mul(F.sigmoid(o), F.tanh(cell)), cell


class GRUCell(_Cell):
    """One step of a GRU."""

    gates = 3

    def forward(self, input: Term, hx: Term | None = None) -> Term:
        """Maps [batch, input_size] and a state to the next state."""
        h = hx if hx is not None else self._zeros(input)
        ours, theirs = (ops.chunk(x, 3, -1) for x in self._products(input, h))
        r, z = (F.sigmoid(ops.add(ours[i], theirs[i])) for i in (0, 1))
        n = F.tanh(ops.add(ours[2], ops.mul(r, theirs[2])))
        return ops.add(n, ops.mul(z, ops.sub(h, n)))


class RNNCell(_Cell):
    """One step of h = tanh(W x + R h + b)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Term, hx: Term | None = None) -> Term:
        """Maps [batch, input_size] and a state to the next state."""
        made = ops.add(*self._products(input, hx if hx is not None else self._zeros(input)))
        return F.tanh(made) if self.nonlinearity == "tanh" else F.relu(made)
