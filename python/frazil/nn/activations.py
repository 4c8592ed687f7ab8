"""Modules without weights: each is a function of `functional` with its parameters."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import numpy

from . import functional as F
from . import ops
from .module import Module, Parameter


def _module(name: str, function: Callable[..., Any], doc: str, **parameters: Any) -> type[Module]:
    """A class whose constructor has these parameters with their defaults, and hands them to the function."""
    P = inspect.Parameter
    fields = [P(field, P.POSITIONAL_OR_KEYWORD, default=default) for field, default in parameters.items()]
    signature = inspect.Signature([P("self", P.POSITIONAL_ONLY), *fields])
    accepted = [field for field in parameters if field in inspect.signature(function).parameters]

    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for field in parameters:
            setattr(self, field, bound.arguments[field])

    def forward(self: Module, input: Any) -> Any:
        return function(input, **{field: getattr(self, field) for field in accepted})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    forward.__doc__ = function.__doc__
    members = {"__init__": __init__, "forward": forward, "__doc__": doc, "__module__": __name__}
    return type(name, (Module,), members)


REQUIRED = inspect.Parameter.empty
ReLU = _module("ReLU", F.relu, "The larger one of input and 0.", inplace=False)
ReLU6 = _module("ReLU6", F.relu6, "Between 0 and 6.", inplace=False)
GELU = _module("GELU", F.gelu, "input * P(input).", approximate="none")
SiLU = _module("SiLU", F.silu, "input * sigmoid(input).", inplace=False)
Mish = _module("Mish", F.mish, "input * tanh(softplus(input)).", inplace=False)
Sigmoid = _module("Sigmoid", F.sigmoid, "1 / (1 + e ** -input).")
Tanh = _module("Tanh", F.tanh, "The hyperbolic tangent.")
Softmax = _module("Softmax", F.softmax, "exp(input) by its sum along `dim`.", dim=None)
LogSoftmax = _module("LogSoftmax", F.log_softmax, "log(softmax(input)).", dim=None)
Softmin = _module("Softmin", F.softmin, "softmax(-input).", dim=None)
LeakyReLU = _module("LeakyReLU", F.leaky_relu, "A slope below 0.", negative_slope=0.01, inplace=False)
ELU = _module("ELU", F.elu, "Exponential below 0.", alpha=1.0, inplace=False)
SELU = _module("SELU", F.selu, "The scaled elu.", inplace=False)
CELU = _module("CELU", F.celu, "Exponential below 0, with a continuous slope.", alpha=1.0, inplace=False)
Hardtanh = _module("Hardtanh", F.hardtanh, "Between two numbers.", min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _module("Hardsigmoid", F.hardsigmoid, "input / 6 + 1 / 2, between 0 and 1.", inplace=False)
Hardswish = _module("Hardswish", F.hardswish, "input * hardsigmoid(input).", inplace=False)
Softplus = _module("Softplus", F.softplus, "log(1 + exp(beta * input)) / beta.", beta=1, threshold=20)
Softsign = _module("Softsign", F.softsign, "input / (1 + abs(input)).")
LogSigmoid = _module("LogSigmoid", F.logsigmoid, "log(sigmoid(input)).")
Tanhshrink = _module("Tanhshrink", F.tanhshrink, "input - tanh(input).")
GLU = _module("GLU", F.glu, "The first half times the sigmoid of the second.", dim=-1)
Dropout = _module("Dropout", F.dropout, "The input: nothing is dropped in inference.", p=0.5, inplace=False)
Dropout1d = _module("Dropout1d", F.dropout, "The input.", p=0.5, inplace=False)
Dropout2d = _module("Dropout2d", F.dropout, "The input.", p=0.5, inplace=False)
AlphaDropout = _module("AlphaDropout", F.dropout, "The input.", p=0.5, inplace=False)
Flatten = _module("Flatten", ops.flatten, "Some dimensions as one.", start_dim=1, end_dim=-1)
PixelShuffle = _module("PixelShuffle", F.pixel_shuffle, "Channels become pixels.", upscale_factor=REQUIRED)
PixelUnshuffle = _module("PixelUnshuffle", F.pixel_unshuffle, "Pixels become channels.", downscale_factor=REQUIRED)
MaxPool1d = _module(
    "MaxPool1d", F.max_pool1d, "The largest elements of windows.",
    kernel_size=REQUIRED, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False,
)  # fmt: skip
MaxPool2d = _module(
    "MaxPool2d", F.max_pool2d, "The largest elements of windows.",
    kernel_size=REQUIRED, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False,
)  # fmt: skip
AvgPool1d = _module(
    "AvgPool1d", F.avg_pool1d, "The means of windows.",
    kernel_size=REQUIRED, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
)  # fmt: skip
AvgPool2d = _module(
    "AvgPool2d", F.avg_pool2d, "The means of windows.",
    kernel_size=REQUIRED, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None,
)  # fmt: skip
AdaptiveAvgPool1d = _module("AdaptiveAvgPool1d", F.adaptive_avg_pool1d, "As many means.", output_size=REQUIRED)
AdaptiveAvgPool2d = _module("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, "As many means.", output_size=REQUIRED)
AdaptiveMaxPool1d = _module("AdaptiveMaxPool1d", F.adaptive_max_pool1d, "As many maxima.", output_size=REQUIRED)
AdaptiveMaxPool2d = _module("AdaptiveMaxPool2d", F.adaptive_max_pool2d, "As many maxima.", output_size=REQUIRED)
Upsample = _module(
    "Upsample", F.interpolate, "Resized to a size, or by a factor.",
    size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
)  # fmt: skip


class Unflatten(Module):
    """One dimension as several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Any:
        """[..., a * b, ...] as [..., a, b, ...]."""
        return ops.unflatten(input, self.dim, self.unflattened_size)


class PReLU(Module):
    """A learnt slope below 0."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight: Any = Parameter(numpy.full(num_parameters, init, dtype or numpy.float32))

    def forward(self, input: Any) -> Any:
        """Of [batch, channels, ...]."""
        return F.prelu(input, self.weight)


class ZeroPad2d(Module):
    """Zeros around the last two dimensions: left, right, top, bottom."""

    mode, value = "constant", 0.0

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * 4 if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Any) -> Any:
        """Of [..., height, width]."""
        return F.pad(input, self.padding, self.mode, self.value)


class ConstantPad2d(ZeroPad2d):
    """A number around the last two dimensions."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value


class ReflectionPad2d(ZeroPad2d):
    """The last two dimensions mirrored at their ends."""

    mode = "reflect"


class ReplicationPad2d(ZeroPad2d):
    """The elements at the ends of the last two dimensions repeated."""

    mode = "replicate"


__all__ = [name for name, value in list(globals().items()) if isinstance(value, type) and issubclass(value, Module)]
__all__.remove("Module")
