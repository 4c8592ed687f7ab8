"""Distributions to draw from."""

from __future__ import annotations

import math
from typing import Any

from ..errors import BadInput
from ..nn import functional as F
from ..nn import ops


class Categorical:
    """The categorical distribution with these probabilities or logits along the last dimension."""

    def __init__(self, probs: Any = None, logits: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise BadInput("Categorical: either probs or logits")
        if logits is None:
            self.probs = ops.div(probs, ops.sum(probs, -1, True))
            self.logits = ops.log(self.probs)
        else:
            self.logits = F.log_softmax(logits, -1)
            self.probs = ops.exp(self.logits)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws indices."""
        count = math.prod(sample_shape)
        drawn = ops.multinomial(self.probs, count, True)
        if not sample_shape:
            return ops.squeeze(drawn, -1)
        return ops.unflatten(ops.movedim(drawn, -1, 0), 0, tuple(sample_shape))

    def log_prob(self, value: Any) -> Any:
        """Returns the logarithms of the probabilities of indices."""
        return ops.squeeze(ops.gather(self.logits, -1, ops.unsqueeze(value, -1)), -1)

    def entropy(self) -> Any:
        """Returns the entropy of each distribution."""
        logs = ops.clamp(self.logits, min=-3.4e38)
        return ops.neg(ops.sum(ops.mul(self.probs, logs), -1))


class Normal:
    """The normal distribution."""

    def __init__(self, loc: Any, scale: Any) -> None:
        self.loc, self.scale = (x if ops.is_tensor(x) else ops.tensor(x) for x in (loc, scale))
        self.mean, self.stddev = self.loc, self.scale

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws numbers."""
        like = ops.add(self.loc, ops.mul(self.scale, 0))
        return ops.add(ops.mul(ops.randn(*sample_shape, *ops.size(like)), self.scale), self.loc)

    rsample = sample

    def log_prob(self, value: Any) -> Any:
        """Returns the logarithm of the density."""
        distance = ops.div(ops.sub(value, self.loc), self.scale)
        density = ops.add(ops.mul(ops.square(distance), 0.5), ops.log(self.scale))
        return ops.neg(ops.add(density, 0.5 * math.log(2 * math.pi)))

    def entropy(self) -> Any:
        """Returns the entropy of each distribution."""
        return ops.add(ops.log(self.scale), 0.5 + 0.5 * math.log(2 * math.pi))


class Bernoulli:
    """The Bernoulli distribution: 1 with these probabilities or logits, else 0."""

    def __init__(self, probs: Any = None, logits: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise BadInput("Bernoulli: either probs or logits")
        self.probs = probs if probs is not None else ops.sigmoid(logits)
        self.logits = logits if logits is not None else ops.log(ops.div(probs, ops.sub(1, probs)))

    def sample(self, sample_shape: Any = ()) -> Any:
        """Draws 0 and 1."""
        drawn = ops.rand(*sample_shape, *ops.size(self.probs))
        return ops.cast(ops.lt(drawn, self.probs), self.probs.dtype)

    def log_prob(self, value: Any) -> Any:
        """Returns the logarithm of the probability of 0 or 1."""
        return ops.neg(F.binary_cross_entropy_with_logits(self.logits, value, reduction="none"))
