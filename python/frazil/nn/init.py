"""Initial values of parameters; as in torch.nn.init, functions change the Parameter and return it."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .module import Parameter

_random = [numpy.random.default_rng(0)]


def manual_seed(seed: int) -> None:
    """Restarts the random numbers."""
    _random[0] = numpy.random.default_rng(seed)


def uniform(shape: tuple[int, ...], bound: float, dtype: Any = None) -> Any:
    """A new parameter with values between -bound and bound."""
    return Parameter(_random[0].uniform(-bound, bound, shape).astype(dtype or numpy.float32))


def _filled(param: Parameter, values: Any) -> Parameter:
    param.data = numpy.broadcast_to(numpy.asarray(values, param.dtype), param.shape).copy()
    return param


def fan_in_of(shape: tuple[int, ...]) -> int:
    """The inputs that a result of these weights has."""
    return math.prod(shape[1:]) if len(shape) > 1 else 1


def uniform_(tensor: Parameter, a: float = 0.0, b: float = 1.0) -> Parameter:
    """Values between a and b."""
    return _filled(tensor, _random[0].uniform(a, b, tensor.shape))


def normal_(tensor: Parameter, mean: float = 0.0, std: float = 1.0) -> Parameter:
    """Values of the normal distribution."""
    return _filled(tensor, _random[0].normal(mean, std, tensor.shape))


def constant_(tensor: Parameter, val: float) -> Parameter:
    """One value everywhere."""
    return _filled(tensor, val)


def zeros_(tensor: Parameter) -> Parameter:
    """0 everywhere."""
    return _filled(tensor, 0)


def ones_(tensor: Parameter) -> Parameter:
    """1 everywhere."""
    return _filled(tensor, 1)


def xavier_uniform_(tensor: Parameter, gain: float = 1.0) -> Parameter:
    """Values of a variance by Glorot."""
    ends = fan_in_of(tensor.shape) + tensor.shape[0] * math.prod(tensor.shape[2:])
    bound = gain * math.sqrt(6 / ends)
    return uniform_(tensor, -bound, bound)


def kaiming_uniform_(
    tensor: Parameter, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Parameter:
    """Values of a variance by He."""
    bound = math.sqrt(6 / ((1 + a * a) * fan_in_of(tensor.shape)))
    return uniform_(tensor, -bound, bound)
