"""Initial values of parameters. As in torch.nn.init, functions modify the Parameter and return it."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ..errors import BadInput
from . import creation
from .arrays import numpy_type
from .module import Parameter


def generator() -> numpy.random.Generator:
    """Returns the random number generator for initial values."""
    return creation._random[0]


def uniform(shape: tuple[int, ...], bound: float, dtype: Any = None) -> Any:
    """Returns a new parameter with values between -bound and bound."""
    return Parameter(generator().uniform(-bound, bound, shape).astype(numpy_type(dtype)))


def _filled(param: Any, values: Any) -> Any:
    param.copy_(numpy.asarray(values).astype(param.dtype.numpy))
    return param


def fan_in_of(shape: tuple[int, ...]) -> int:
    """Returns the number of inputs of each result for weights of this shape."""
    return math.prod(shape[1:]) if len(shape) > 1 else 1


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0) -> Any:
    """Fills with uniform values between a and b."""
    return _filled(tensor, generator().uniform(a, b, tensor.shape))


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Fills with values of the normal distribution."""
    return _filled(tensor, generator().normal(mean, std, tensor.shape))


def constant_(tensor: Any, val: float) -> Any:
    """Fills with one value."""
    return _filled(tensor, val)


def zeros_(tensor: Any) -> Any:
    """Fills with 0."""
    return _filled(tensor, 0)


def ones_(tensor: Any) -> Any:
    """Fills with 1."""
    return _filled(tensor, 1)


def _ends(tensor: Any) -> tuple[int, int]:
    """Returns the numbers of inputs and outputs of weights."""
    if len(tensor.shape) < 2:
        raise BadInput(f"weights of shape {tuple(tensor.shape)} have no inputs and outputs: two dimensions are needed")
    return fan_in_of(tensor.shape), tensor.shape[0] * math.prod(tensor.shape[2:])


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Returns the gain for the standard deviation of an activation function."""
    known = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4, "sigmoid": 1.0, "linear": 1.0}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity.startswith("conv"):
        return 1.0
    if nonlinearity not in known:
        raise BadInput(f"calculate_gain(): nonlinearity is one of {sorted(known)} or leaky_relu, got {nonlinearity!r}")
    return known[nonlinearity]


def xavier_uniform_(tensor: Any, gain: float = 1.0) -> Any:
    """Fills with uniform values of Glorot's variance."""
    bound = gain * math.sqrt(6 / sum(_ends(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Any, gain: float = 1.0) -> Any:
    """Fills with normal values of Glorot's variance."""
    return normal_(tensor, 0.0, gain * math.sqrt(2 / sum(_ends(tensor))))


def _he(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    ends = _ends(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(ends)


def kaiming_uniform_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Any:
    """Fills with uniform values of He's variance."""
    bound = math.sqrt(3) * _he(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Any:
    """Fills with normal values of He's variance."""
    return normal_(tensor, 0.0, _he(tensor, a, mode, nonlinearity))


def trunc_normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Any:
    """Fills with values of the normal distribution truncated to [a, b]."""
    values = generator().normal(mean, std, tensor.shape)
    while (outside := (values < a) | (values > b)).any():
        values[outside] = generator().normal(mean, std, int(outside.sum()))
    return _filled(tensor, values)


def orthogonal_(tensor: Any, gain: float = 1) -> Any:
    """Fills with a matrix whose rows or columns are orthogonal."""
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    q, r = numpy.linalg.qr(generator().normal(size=(max(rows, columns), min(rows, columns))))
    q *= numpy.sign(numpy.diagonal(r))
    return _filled(tensor, gain * (q.T if rows < columns else q).reshape(tensor.shape))


def eye_(tensor: Any) -> Any:
    """Fills with the identity matrix."""
    return _filled(tensor, numpy.eye(*tensor.shape))
