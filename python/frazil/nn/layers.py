"""Modules with weights: products, convolutions, normalisation, embeddings."""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy

from ..errors import BadInput
from ..graph import Term
from . import functional as F
from . import init, ops
from .arrays import numpy_type
from .init import fan_in_of, uniform
from .module import Module, Parameter


def _ones(shape: Any, dtype: Any) -> Any:
    return Parameter(numpy.ones(shape, numpy_type(dtype)))


def _zeros(shape: Any, dtype: Any) -> Any:
    return Parameter(numpy.zeros(shape, numpy_type(dtype)))


def _redraw(module: Module, fan_in: int) -> None:
    bound = 1 / math.sqrt(fan_in) if fan_in else 0
    for parameter in module.parameters(recurse=False):
        init.uniform_(parameter, -bound, bound)


class Linear(Module):
    """Computes x @ weight.T + bias over the last dimension."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0
        self.weight = uniform((out_features, in_features), bound, dtype)
        self.register_parameter("bias", uniform((out_features,), bound, dtype) if bias else None)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        _redraw(self, self.in_features)

    def forward(self, input: Term) -> Term:
        """Maps [..., in_features] to [..., out_features]."""
        return F.linear(input, self.weight, self.bias)


class _Conv(Module):
    """The base of convolutions. `dims` is the number of spatial dimensions."""

    dims = 0
    transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise BadInput(
                f"{type(self).__name__}: {groups} groups do not divide {in_channels} and {out_channels} channels"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = tuple(F.windows(kernel_size, self.dims))
        self.stride = tuple(F.windows(stride, self.dims))
        self.dilation = tuple(F.windows(dilation, self.dims))
        self.padding: Any = padding if isinstance(padding, str) else tuple(F.windows(padding, self.dims))
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        shape = (first, second // groups, *self.kernel_size)
        bound = 1 / math.sqrt(fan_in_of(shape))
        self.weight = uniform(shape, bound, dtype)
        self.register_parameter("bias", uniform((out_channels,), bound, dtype) if bias else None)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        _redraw(self, fan_in_of(self._parameters["weight"].shape))

    def forward(self, input: Term) -> Term:
        """Maps [batch, in_channels, ...] to [batch, out_channels, ...]."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            sides: list[Any] = [
                ((k - 1) * d // 2, (k - 1) * d - (k - 1) * d // 2) for k, d in zip(self.kernel_size, self.dilation)
            ]
            sides = [(p, p) for p in padding] if not isinstance(padding, str) else sides if padding == "same" else []
            input = F.pad(input, [n for pair in reversed(sides) for n in pair], self.padding_mode)
            padding = 0
        return F.conv2d(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Convolution of [batch, channels, length]."""

    dims = 1


class Conv2d(_Conv):
    """Convolution of [batch, channels, height, width]."""

    dims = 2


class Conv3d(_Conv):
    """Convolution of [batch, channels, depth, height, width]."""

    dims = 3


class _ConvTranspose(_Conv):
    """The base of transposed convolutions."""

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise BadInput(f"{type(self).__name__}: padding_mode is 'zeros' only")
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, "zeros", device, dtype
        )
        self.output_padding = tuple(F.windows(output_padding, self.dims))

    def forward(self, input: Term, output_size: Any = None) -> Term:
        """Maps [batch, in_channels, ...] to [batch, out_channels, ...]. `output_size` may set the last extents."""
        padding = self.output_padding if output_size is None else self._padding_for(input, list(output_size))
        more = (self.stride, self.padding, padding, self.groups, self.dilation)
        return F.conv_transpose2d(input, self.weight, self.bias, *more)

    def _padding_for(self, input: Term, wanted: list[Any]) -> tuple[int, ...]:
        """Returns the output padding for the wanted last extents."""
        made = []
        for i, extent in enumerate(wanted[-self.dims :]):
            steps = (ops.extent(input, input.ndim - self.dims + i) - 1) * self.stride[i]
            least = steps - 2 * self.padding[i] + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            made.append(int(extent - least))
        return tuple(made)


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution of [batch, channels, length]."""

    dims = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution of [batch, channels, height, width]."""

    dims = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution of [batch, channels, depth, height, width]."""

    dims = 3


class Bilinear(Module):
    """Computes x1 @ weight[i] @ x2 + bias[i] for each result."""

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        bound = 1 / math.sqrt(in1_features)
        self.weight = uniform((out_features, in1_features, in2_features), bound, dtype)
        self.register_parameter("bias", uniform((out_features,), bound, dtype) if bias else None)

    def forward(self, input1: Term, input2: Term) -> Term:
        """Maps [..., in1_features] and [..., in2_features] to [..., out_features]."""
        return F.bilinear(input1, input2, self.weight, self.bias)


class _BatchNorm(Module):
    """The base of batch normalisations."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.register_parameter("weight", _ones(num_features, dtype) if affine else None)
        self.register_parameter("bias", _zeros(num_features, dtype) if affine else None)
        kept = track_running_stats
        self.register_buffer("running_mean", _zeros(num_features, dtype).array if kept else None)
        self.register_buffer("running_var", _ones(num_features, dtype).array if kept else None)
        self.register_buffer("num_batches_tracked", numpy.zeros((), numpy.int64) if kept else None)

    def forward(self, input: Term) -> Term:
        """Normalises each channel of [batch, channels, ...] by its running mean and variance."""
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [batch, channels] or [batch, channels, length]."""


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [batch, channels, height, width]."""


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of [batch, channels, depth, height, width]."""


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation of [batch, channels, ...]."""


class InstanceNorm2d(_BatchNorm):
    """Normalisation of each channel of each example."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input: Term) -> Term:
        """Takes [batch, channels, ...]."""
        own = not self.track_running_stats
        return F.instance_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, use_input_stats=own, eps=self.eps
        )


class InstanceNorm1d(InstanceNorm2d):
    """Normalisation of each channel of each example."""


class InstanceNorm3d(InstanceNorm2d):
    """Normalisation of each channel of each example."""


class LayerNorm(Module):
    """Normalises the last dimensions to mean 0 and variance 1, then applies weight and bias."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = tuple(F.windows(normalized_shape, 1))
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", _ones(self.normalized_shape, dtype) if elementwise_affine else None)
        self.register_parameter("bias", _zeros(self.normalized_shape, dtype) if elementwise_affine and bias else None)

    def forward(self, input: Term) -> Term:
        """Maps [..., *normalized_shape] to the same shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Normalises the last dimensions to mean square 1, then applies weight."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape = tuple(F.windows(normalized_shape, 1))
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", _ones(self.normalized_shape, dtype) if elementwise_affine else None)

    def forward(self, input: Term) -> Term:
        """Maps [..., *normalized_shape] to the same shape."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(Module):
    """Normalises each group of channels to mean 0 and variance 1."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise BadInput(f"GroupNorm: {num_groups} groups do not divide {num_channels} channels")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.register_parameter("weight", _ones(num_channels, dtype) if affine else None)
        self.register_parameter("bias", _zeros(num_channels, dtype) if affine else None)

    def forward(self, input: Term) -> Term:
        """Takes [batch, channels, ...]."""
        if self.affine:
            return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
        ones, zeros = numpy.ones(self.num_channels, numpy.float32), numpy.zeros(self.num_channels, numpy.float32)
        return F.group_norm(input, self.num_groups, ones, zeros, self.eps)


class Embedding(Module):
    """A table whose rows are selected by index."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if max_norm is not None:
            raise ops.unsupported("max_norm of an embedding")
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        self.weight = uniform((num_embeddings, embedding_dim), math.sqrt(3), dtype)

    def reset_parameters(self) -> None:
        """Draws new weights."""
        init.normal_(self._parameters["weight"])

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Embedding:
        """Returns an embedding with this table."""
        rows, width = numpy.shape(embeddings)
        made = cls(rows, width, padding_idx)
        made.weight = Parameter(embeddings)
        return made

    def forward(self, input: Term) -> Term:
        """Maps indices [...] to [..., embedding_dim]."""
        return F.embedding(input, self.weight)
