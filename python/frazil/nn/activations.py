"""Modules without weights. Each calls a function of `functional` with its parameters."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import numpy

from . import functional as F
from . import ops
from .arrays import numpy_type
from .module import Module, Parameter


def _doc_of_forward(function: Callable[..., Any]) -> str:
    """Returns the docstring of a forward() that calls a function with the module's attributes."""
    summary = inspect.getdoc(function).partition("\n\n")[0]  # type: ignore[union-attr]
    return f"Calls {function.__name__}(). {summary}"


def _module(name: str, function: Callable[..., Any], **parameters: Any) -> type[Module]:
    """Returns a class whose constructor has these parameters and defaults, and whose forward passes them to the
    function.
    """
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
    forward.__doc__ = _doc_of_forward(function)
    members: dict[str, Any] = {"__init__": __init__, "forward": forward, "__doc__": forward.__doc__}
    return type(name, (Module,), {**members, "__module__": __name__, "_function": function.__name__})


REQUIRED = inspect.Parameter.empty
ReLU = _module("ReLU", F.relu, inplace=False)
ReLU6 = _module("ReLU6", F.relu6, inplace=False)
GELU = _module("GELU", F.gelu, approximate="none")
SiLU = _module("SiLU", F.silu, inplace=False)
Mish = _module("Mish", F.mish, inplace=False)
Sigmoid = _module("Sigmoid", F.sigmoid)
Tanh = _module("Tanh", F.tanh)
Softmax = _module("Softmax", F.softmax, dim=None)
LogSoftmax = _module("LogSoftmax", F.log_softmax, dim=None)
Softmin = _module("Softmin", F.softmin, dim=None)
LeakyReLU = _module("LeakyReLU", F.leaky_relu, negative_slope=0.01, inplace=False)
ELU = _module("ELU", F.elu, alpha=1.0, inplace=False)
SELU = _module("SELU", F.selu, inplace=False)
CELU = _module("CELU", F.celu, alpha=1.0, inplace=False)
Hardtanh = _module("Hardtanh", F.hardtanh, min_val=-1.0, max_val=1.0, inplace=False)
Hardsigmoid = _module("Hardsigmoid", F.hardsigmoid, inplace=False)
Hardswish = _module("Hardswish", F.hardswish, inplace=False)
Softplus = _module("Softplus", F.softplus, beta=1, threshold=20)
Softsign = _module("Softsign", F.softsign)
LogSigmoid = _module("LogSigmoid", F.logsigmoid)
Tanhshrink = _module("Tanhshrink", F.tanhshrink)
Threshold = _module(
    "Threshold", F.threshold, threshold=REQUIRED, value=REQUIRED, inplace=False
)
RReLU = _module("RReLU", F.rrelu, lower=1 / 8, upper=1 / 3, inplace=False)
Hardshrink = _module("Hardshrink", F.hardshrink, lambd=0.5)
Softshrink = _module("Softshrink", F.softshrink, lambd=0.5)
ChannelShuffle = _module("ChannelShuffle", F.channel_shuffle, groups=REQUIRED)
LocalResponseNorm = _module(
    "LocalResponseNorm", F.local_response_norm, size=REQUIRED, alpha=1e-4, beta=0.75, k=1.0
)
Unfold = _module(
    "Unfold", F.unfold, kernel_size=REQUIRED, dilation=1, padding=0, stride=1
)
Fold = _module(
    "Fold", F.fold, output_size=REQUIRED, kernel_size=REQUIRED, dilation=1, padding=0, stride=1
)
GLU = _module("GLU", F.glu, dim=-1)
Dropout = _module("Dropout", F.dropout, p=0.5, inplace=False)
Dropout1d = _module("Dropout1d", F.dropout, p=0.5, inplace=False)
Dropout3d = _module("Dropout3d", F.dropout, p=0.5, inplace=False)
FeatureAlphaDropout = _module("FeatureAlphaDropout", F.dropout, p=0.5, inplace=False)
Dropout2d = _module("Dropout2d", F.dropout, p=0.5, inplace=False)
AlphaDropout = _module("AlphaDropout", F.dropout, p=0.5, inplace=False)
Flatten = _module("Flatten", ops.flatten, start_dim=1, end_dim=-1)
PixelShuffle = _module("PixelShuffle", F.pixel_shuffle, upscale_factor=REQUIRED)
PixelUnshuffle = _module("PixelUnshuffle", F.pixel_unshuffle, downscale_factor=REQUIRED)
MaxPool1d = _module(
    "MaxPool1d", F.max_pool1d,
    kernel_size=REQUIRED, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False,
)  # fmt: skip
MaxPool2d = _module(
    "MaxPool2d", F.max_pool2d,
    kernel_size=REQUIRED, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False,
)  # fmt: skip
AvgPool1d = _module(
    "AvgPool1d", F.avg_pool1d,
    kernel_size=REQUIRED, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
)  # fmt: skip
AvgPool2d = _module(
    "AvgPool2d", F.avg_pool2d,
    kernel_size=REQUIRED, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None,
)  # fmt: skip
MaxPool3d = _module(
    "MaxPool3d", F.max_pool3d,
    kernel_size=REQUIRED, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False,
)  # fmt: skip
AvgPool3d = _module(
    "AvgPool3d", F.avg_pool3d,
    kernel_size=REQUIRED, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None,
)  # fmt: skip
LPPool1d = _module(
    "LPPool1d", F.lp_pool1d, norm_type=REQUIRED, kernel_size=REQUIRED, stride=None, ceil_mode=False
)
LPPool2d = _module(
    "LPPool2d", F.lp_pool2d, norm_type=REQUIRED, kernel_size=REQUIRED, stride=None, ceil_mode=False
)
AdaptiveAvgPool3d = _module("AdaptiveAvgPool3d", F.adaptive_avg_pool3d, output_size=REQUIRED)
AdaptiveMaxPool3d = _module("AdaptiveMaxPool3d", F.adaptive_max_pool3d, output_size=REQUIRED)
AdaptiveAvgPool1d = _module("AdaptiveAvgPool1d", F.adaptive_avg_pool1d, output_size=REQUIRED)
AdaptiveAvgPool2d = _module("AdaptiveAvgPool2d", F.adaptive_avg_pool2d, output_size=REQUIRED)
AdaptiveMaxPool1d = _module("AdaptiveMaxPool1d", F.adaptive_max_pool1d, output_size=REQUIRED)
AdaptiveMaxPool2d = _module("AdaptiveMaxPool2d", F.adaptive_max_pool2d, output_size=REQUIRED)
Upsample = _module(
    "Upsample", F.interpolate,
    size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
)  # fmt: skip


LOSSES: dict[str, Any] = {
    "L1Loss": F.l1_loss, "MSELoss": F.mse_loss, "SmoothL1Loss": F.smooth_l1_loss, "HuberLoss": F.huber_loss,
    "NLLLoss": F.nll_loss,
    "CrossEntropyLoss": F.cross_entropy, "BCELoss": F.binary_cross_entropy, "KLDivLoss": F.kl_div,
    "BCEWithLogitsLoss": F.binary_cross_entropy_with_logits, "MarginRankingLoss": F.margin_ranking_loss,
    "CosineEmbeddingLoss": F.cosine_embedding_loss, "TripletMarginLoss": F.triplet_margin_loss,
    "GaussianNLLLoss": F.gaussian_nll_loss, "PoissonNLLLoss": F.poisson_nll_loss,
}  # fmt: skip
ARRAYS = ("weight", "pos_weight")


def _loss(name: str, function: Callable[..., Any]) -> type[Module]:
    """Returns a class whose constructor has the function's options, and whose call has its inputs."""
    given = list(inspect.signature(function).parameters.values())
    options = [p for p in given if p.default is not p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    signature = inspect.Signature([own, *options])
    names = [option.name for option in options]

    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for field in names:
            value = bound.arguments[field]
            self.register_buffer(field, value) if field in ARRAYS else setattr(self, field, value)

    def forward(self: Module, *inputs: Any) -> Any:
        return function(*inputs, **{field: getattr(self, field) for field in names})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    given_inputs = [p for p in given if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    forward.__signature__ = inspect.Signature([own, *given_inputs], return_annotation="Term")  # type: ignore[attr-defined]
    forward.__doc__ = _doc_of_forward(function)
    summary = inspect.getdoc(function).partition("\n\n")[0]  # type: ignore[union-attr]
    doc = f"The loss of functional.{function.__name__}(). {summary}"
    members: dict[str, Any] = {"__init__": __init__, "forward": forward, "__doc__": doc, "__module__": __name__}
    return type(name, (Module,), {**members, "_function": function.__name__})


globals().update({name: _loss(name, function) for name, function in LOSSES.items()})


class MaxUnpool2d(Module):
    """Puts elements at the positions where MaxPool2d found them; 0 elsewhere."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """Takes the results of MaxPool2d with return_indices=True."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`."""

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Any, x2: Any) -> Any:
        """Takes two inputs of equal shapes."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norms of differences along the last dimension."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        """Takes two inputs of equal shapes."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class Softmax2d(Module):
    """softmax() over the channels of images."""

    def forward(self, input: Any) -> Any:
        """Takes [batch, channels, height, width], or without batch."""
        return F.softmax(input, -3)


class Unflatten(Module):
    """Splits one dimension into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Any) -> Any:
        """Maps [..., a * b, ...] to [..., a, b, ...]."""
        return ops.unflatten(input, self.dim, self.unflattened_size)


class PReLU(Module):
    """A leaky ReLU with a learnt negative slope."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight: Any = Parameter(numpy.full(num_parameters, init, numpy_type(dtype)))

    def forward(self, input: Any) -> Any:
        """Takes [batch, channels, ...]."""
        return F.prelu(input, self.weight)


class _Pad(Module):
    """Pads the last dimensions, starting with the last one, before and after each."""

    mode, dims, _function = "constant", 2, "_Pad"

    def __init__(self, padding: Any, value: float | None = None) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.dims) if isinstance(padding, int) else tuple(padding)
        self.value = value

    def forward(self, input: Any) -> Any:
        """Takes [batch, channels, ...]."""
        return F.pad(input, self.padding, self.mode, self.value)


PADS = (
    ("Constant", "constant", "A number"), ("Zero", "constant", "Zeros"), ("Reflection", "reflect", "The mirrored ends"),
    ("Replication", "replicate", "The elements at the ends"),
    ("Circular", "circular", "The elements at the other ends"),
)  # fmt: skip
for _name, _mode, _doc in PADS:
    for _dims in (1, 2, 3):
        _members: dict[str, Any] = {"mode": _mode, "dims": _dims, "__module__": __name__}
        _members["__doc__"] = f"{_doc} around {_dims} dimensions."
        globals()[f"{_name}Pad{_dims}d"] = type(f"{_name}Pad{_dims}d", (_Pad,), _members)


class UpsamplingNearest2d(Module):
    """Resizes with the nearest pixels."""

    mode = "nearest"
    align_corners: Any = None

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__()
        self.size, self.scale_factor = size, scale_factor

    def forward(self, input: Any) -> Any:
        """Takes [batch, channels, height, width]."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)


class UpsamplingBilinear2d(UpsamplingNearest2d):
    """Resizes with bilinear interpolation and aligned corners."""

    mode, align_corners = "bilinear", True


__all__ = [name for name, value in list(globals().items()) if isinstance(value, type) and issubclass(value, Module)]
__all__ = [name for name in __all__ if name != "Module" and not name.startswith("_")]
