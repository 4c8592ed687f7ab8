"""Functions on Terms with the names, parameters and results of torch.nn.functional, and control flow."""

from __future__ import annotations

from typing import Any, Sequence, Union

import numpy

from ..graph import Term, Value
from . import ops
from .accepting import in_place, open_functions
from .attend import scaled_dot_product_attention
from .bags import embedding_bag
from .control import cond, while_loop
from .grids import affine_grid, grid_sample
from .lazily import graph_of
from .losses import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    cosine_similarity,
    cross_entropy,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    nll_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    triplet_margin_loss,
)
from .ops import sigmoid, tanh
from .pads import pad
from .pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    interpolate,
    lp_pool1d,
    lp_pool2d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
)
from .recording import TERMS

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu",
    "celu_", "channel_shuffle", "cond", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "dropout", "dropout1d",
    "dropout2d", "dropout3d", "elu", "elu_", "embedding", "embedding_bag", "feature_alpha_dropout", "fold",
    "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "leaky_relu_", "linear", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d",
    "lp_pool2d", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d",
    "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance", "pixel_shuffle",
    "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "relu_", "rms_norm", "rrelu",
    "scaled_dot_product_attention", "selu", "selu_", "sigmoid", "silu", "smooth_l1_loss", "softmax", "softmin",
    "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss", "unfold",
    "upsample", "while_loop",
]  # fmt: skip

Window = Union[int, Sequence[int]]


def windows(value: Any, count: int) -> list[int]:
    """Returns one number per dimension."""
    return list(value) if isinstance(value, (tuple, list)) else [value] * count


# Activations


def relu(input: Term, inplace: bool = False) -> Term:
    """Returns the maximum of input and 0."""
    return input.graph.Relu(input)


def relu6(input: Term, inplace: bool = False) -> Term:
    """Clips to [0, 6]."""
    return input.graph.Clip(input, 0, 6)


def hardtanh(input: Term, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Term:
    """Clips to [min_val, max_val]."""
    return input.graph.Clip(input, min_val, max_val)


def gelu(input: Term, approximate: str = "none") -> Term:
    """Returns input * P(input), where P is the distribution function of the normal distribution."""
    return input.graph.Gelu(input, approximate=approximate)


def silu(input: Term, inplace: bool = False) -> Term:
    """Returns input * sigmoid(input)."""
    return input.graph.Swish(input)


def mish(input: Term, inplace: bool = False) -> Term:
    """Returns input * tanh(softplus(input))."""
    return input.graph.Mish(input)


def leaky_relu(input: Term, negative_slope: float = 0.01, inplace: bool = False) -> Term:
    """Returns input, multiplied by negative_slope below 0."""
    return input.graph.LeakyRelu(input, alpha=negative_slope)


def elu(input: Term, alpha: float = 1.0, inplace: bool = False) -> Term:
    """Returns input, or alpha * (exp(input) - 1) below 0."""
    return input.graph.Elu(input, alpha=alpha)


def selu(input: Term, inplace: bool = False) -> Term:
    """Returns elu with the scale of self-normalising networks."""
    return input.graph.Selu(input)


def celu(input: Term, alpha: float = 1.0, inplace: bool = False) -> Term:
    """Returns input, or alpha * (exp(input / alpha) - 1) below 0."""
    return input.graph.Celu(input, alpha=alpha)


def prelu(input: Term, weight: Value) -> Term:
    """Returns input, multiplied by a weight of its channel below 0."""
    slope = weight if isinstance(weight, TERMS) else input.graph.constant(weight)
    if input.ndim > 2 and slope.ndim == 1:
        slope = ops.reshape(slope, -1, *[1] * (input.ndim - 2))
    return input.graph.PRelu(input, slope)


def hardsigmoid(input: Term, inplace: bool = False) -> Term:
    """Returns input / 6 + 1 / 2, clipped to [0, 1]."""
    return input.graph.HardSigmoid(input, alpha=1 / 6, beta=0.5)


def hardswish(input: Term, inplace: bool = False) -> Term:
    """Returns input * hardsigmoid(input)."""
    return input.graph.HardSwish(input)


def softplus(input: Term, beta: float = 1, threshold: float = 20) -> Term:
    """Returns log(1 + exp(beta * input)) / beta."""
    return input.graph.Softplus(input) if beta == 1 else ops.div(input.graph.Softplus(ops.mul(input, beta)), beta)


def softsign(input: Term) -> Term:
    """Returns input / (1 + abs(input))."""
    return input.graph.Softsign(input)


def logsigmoid(input: Term) -> Term:
    """Returns log(sigmoid(input))."""
    return ops.neg(softplus(ops.neg(input)))


def tanhshrink(input: Term) -> Term:
    """Returns input - tanh(input)."""
    return ops.sub(input, tanh(input))


def glu(input: Term, dim: int = -1) -> Term:
    """Returns the first half along `dim` times the sigmoid of the second half."""
    a, b = ops.chunk(input, 2, dim)
    return ops.mul(a, sigmoid(b))


def softmax(input: Term, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Term:
    """Returns exp(input) divided by its sum along `dim`."""
    x = input if dtype is None else ops.cast(input, dtype)
    return x.graph.Softmax(x, axis=_softmax_axis(x, dim))


def log_softmax(input: Term, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Term:
    """Returns log(softmax(input))."""
    x = input if dtype is None else ops.cast(input, dtype)
    return x.graph.LogSoftmax(x, axis=_softmax_axis(x, dim))


def softmin(input: Term, dim: int | None = None) -> Term:
    """Returns softmax(-input)."""
    return softmax(ops.neg(input), dim)


def _softmax_axis(x: Term, dim: int | None) -> int:
    return ops.axis_of(x, dim) if dim is not None else 0 if x.ndim in (0, 1, 3) else 1


def dropout(input: Term, p: float = 0.5, training: bool = False, inplace: bool = False) -> Term:
    """Returns the input. With `training`, elements become 0 at random."""
    if not training or p == 0:
        return input
    kept = ops.cast(ops.ge(ops.rand_like(input), p), input.dtype)
    return ops.mul(input, ops.div(kept, 1 - p)) if p < 1 else ops.mul(input, 0)


def threshold(input: Term, threshold: float, value: float, inplace: bool = False) -> Term:
    """Returns input above the threshold, else `value`."""
    return ops.where(ops.gt(input, threshold), input, value)  # type: ignore[no-any-return]


def rrelu(
    input: Term, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Term:
    """Returns input, multiplied by the mean of two slopes below 0."""
    if training:
        raise ops.unsupported("training=True of rrelu()")
    return leaky_relu(input, (lower + upper) / 2)


def hardshrink(input: Term, lambd: float = 0.5) -> Term:
    """Returns input, or 0 between -lambd and lambd."""
    return input.graph.Shrink(input, lambd=lambd, bias=0.0)


def softshrink(input: Term, lambd: float = 0.5) -> Term:
    """Returns input moved towards 0 by lambd."""
    return input.graph.Shrink(input, lambd=lambd, bias=lambd)


for _name in (
    "relu", "relu6", "hardtanh", "silu", "mish", "leaky_relu", "elu", "selu", "celu", "hardsigmoid", "hardswish",
    "dropout", "threshold", "rrelu",
):  # fmt: skip
    globals()[_name] = in_place(globals()[_name])

alpha_dropout = dropout1d = dropout2d = dropout3d = feature_alpha_dropout = dropout


# Products and convolutions


def linear(input: Term, weight: Value, bias: Value | None = None) -> Term:
    """Returns input @ weight.T + bias."""
    graph = graph_of(input, weight)
    matrix = weight if isinstance(weight, TERMS) else graph.constant(weight)
    if matrix.ndim == 2 and input.ndim == 2:
        return graph.Gemm(input, matrix, bias, transB=1)
    made = graph.MatMul(input, graph.Transpose(matrix, perm=[1, 0]) if matrix.ndim == 2 else matrix)
    return made if bias is None else graph.Add(made, bias)


def _convolved(
    x: Term, weight: Term, bias: Value | None, stride: Window, padding: Any, dilation: Window, groups: int
) -> Term:
    graph, count = graph_of(x, weight), weight.ndim - 2
    if x.ndim == count + 1:
        return ops.squeeze(_convolved(ops.unsqueeze(x, 0), weight, bias, stride, padding, dilation, groups), 0)
    where: dict[str, Any] = {"strides": windows(stride, count), "dilations": windows(dilation, count), "group": groups}
    if padding == "same":
        where["auto_pad"] = "SAME_UPPER"
    elif padding != "valid":
        where["pads"] = windows(padding, count) * 2
    return graph.Conv(x, weight, bias, **where)


def conv1d(
    input: Term, weight: Term, bias: Value | None = None, stride: Window = 1, padding: Any = 0, dilation: Window = 1,
    groups: int = 1,
) -> Term:  # fmt: skip
    """Convolves [batch, channels, length]. Padding may also be "same" or "valid"."""
    return _convolved(input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Term, weight: Term, bias: Value | None = None, stride: Window = 1, padding: Any = 0, dilation: Window = 1,
    groups: int = 1,
) -> Term:  # fmt: skip
    """Convolves [batch, channels, height, width]. Padding may also be "same" or "valid"."""
    return _convolved(input, weight, bias, stride, padding, dilation, groups)


conv3d = conv2d


def conv_transpose2d(
    input: Term, weight: Term, bias: Value | None = None, stride: Window = 1, padding: Window = 0,
    output_padding: Window = 0, groups: int = 1, dilation: Window = 1,
) -> Term:  # fmt: skip
    """Returns the transposed convolution. Weights are [channels, channels of the result / groups, ...]."""
    graph, count = graph_of(input, weight), weight.ndim - 2
    return graph.ConvTranspose(
        input,
        weight,
        bias,
        strides=windows(stride, count),
        dilations=windows(dilation, count),
        pads=windows(padding, count) * 2,
        output_padding=windows(output_padding, count),
        group=groups,
    )


conv_transpose1d = conv_transpose3d = conv_transpose2d


def embedding(
    input: Term, weight: Value, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Term:  # fmt: skip
    """Returns the rows of `weight` at the indices."""
    if max_norm is not None:
        raise ops.unsupported("max_norm of an embedding")
    return graph_of(input, weight).Gather(weight, input, axis=0)


# Normalisation


def layer_norm(
    input: Term,
    normalized_shape: Sequence[int],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
) -> Term:
    """Normalises the last dimensions to mean 0 and variance 1, then applies weight and bias."""
    scale = ops.filled(input, normalized_shape, 1) if weight is None else weight
    made = input.graph.LayerNormalization(input, scale, bias, axis=-len(normalized_shape), epsilon=eps)
    return made[0] if isinstance(made, tuple) else made


def rms_norm(
    input: Term, normalized_shape: Sequence[int], weight: Value | None = None, eps: float | None = None
) -> Term:
    """Normalises the last dimensions to mean square 1, then applies weight."""
    scale = ops.filled(input, normalized_shape, 1) if weight is None else weight
    least = float(numpy.finfo(numpy.float32).eps) if eps is None else eps
    return input.graph.RMSNormalization(input, scale, axis=-len(normalized_shape), epsilon=least)


def _affine(x: Term, channels: Any, weight: Value | None, bias: Value | None) -> tuple[Any, Any]:
    if weight is not None and bias is not None:
        return weight, bias
    return (
        ops.filled(x, [channels], 1) if weight is None else weight,
        ops.filled(x, [channels], 0) if bias is None else bias,
    )


def batch_norm(
    input: Term, running_mean: Value | None, running_var: Value | None, weight: Value | None = None,
    bias: Value | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Term:  # fmt: skip
    """Normalises each channel by its running mean and variance, or without these, by those of the batch."""
    if running_mean is None or running_var is None:
        dims = [axis for axis in range(input.ndim) if axis != 1]
        running_mean, running_var = ops.mean(input, dims), ops.var(input, dims, correction=0)
    channels = ops.extent(running_mean, 0) if isinstance(running_mean, TERMS) else len(running_mean)  # type: ignore
    scale, shift = _affine(input, channels, weight, bias)
    made = input.graph.BatchNormalization(input, scale, shift, running_mean, running_var, epsilon=eps)
    return made[0] if isinstance(made, tuple) else made


def group_norm(
    input: Term, num_groups: int, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5
) -> Term:
    """Normalises each group of channels to mean 0 and variance 1."""
    scale, shift = _affine(input, ops.extent(input, 1), weight, bias)
    return input.graph.GroupNormalization(input, scale, shift, num_groups=num_groups, epsilon=eps)


def instance_norm(
    input: Term, running_mean: Any = None, running_var: Any = None, weight: Value | None = None,
    bias: Value | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Term:  # fmt: skip
    """Normalises each channel of each example to mean 0 and variance 1."""
    if running_mean is not None and not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    scale, shift = _affine(input, ops.extent(input, 1), weight, bias)
    return input.graph.InstanceNormalization(input, scale, shift, epsilon=eps)


def normalize(input: Term, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Term:
    """Divides by the p-norm along `dim`."""
    return ops.div(input, ops.maximum(ops.norm(input, p, dim, True), eps))


# Others


def one_hot(tensor: Term, num_classes: int = -1) -> Term:
    """Appends a dimension with 1 at the index and 0 elsewhere."""
    if num_classes < 0:
        num_classes = int(ops.max(tensor)) + 1
    return tensor.graph.OneHot(tensor, numpy.array(num_classes, numpy.int64), numpy.array([0, 1], numpy.int64))


def pixel_shuffle(input: Term, upscale_factor: int) -> Term:
    """Rearranges channels into blocks of pixels."""
    return input.graph.DepthToSpace(input, blocksize=upscale_factor, mode="CRD")


def pixel_unshuffle(input: Term, downscale_factor: int) -> Term:
    """Rearranges blocks of pixels into channels."""
    r, (n, c, h, w) = downscale_factor, ops.size(input)
    made = ops.reshape(input, n, c, h // r, r, w // r, r)
    return ops.reshape(ops.permute(made, 0, 1, 3, 5, 2, 4), n, c * r * r, h // r, w // r)


def unfold(input: Term, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Term:
    """Returns the windows of images as columns, [batch, channels * window, windows]."""
    kernel, steps, far, edge = (windows(value, 2) for value in (kernel_size, stride, dilation, padding))
    x = pad(input, [edge[1], edge[1], edge[0], edge[0]])
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, far)]
    rows = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            part = x
            for axis, at, span, step in ((2, i * far[0], spans[0], steps[0]), (3, j * far[1], spans[1], steps[1])):
                last = ops.extent(x, axis) - span + at + 1
                part = Term.__getitem__(part, (*[slice(None)] * axis, slice(at, last, step)))
            rows.append(ops.flatten(part, 2))
    n, c = ops.size(input)[:2]
    return ops.reshape(ops.stack(rows, 2), n, c * kernel[0] * kernel[1], -1)


def fold(
    input: Term, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Term:
    """Sums windows given as columns into images."""
    graph, (kernel, steps, far, edge) = input.graph, (windows(v, 2) for v in (kernel_size, stride, dilation, padding))
    sizes = (numpy.array(windows(value, 2), numpy.int64) for value in (output_size, kernel_size))
    return graph.Col2Im(input, *sizes, dilations=far, pads=edge * 2, strides=steps)


def channel_shuffle(input: Term, groups: int) -> Term:
    """Interleaves the channels of the groups."""
    made = ops.unflatten(input, 1, (groups, ops.extent(input, 1) // groups))
    return ops.flatten(ops.transpose(made, 1, 2), 1, 2)


def bilinear(input1: Term, input2: Term, weight: Any, bias: Value | None = None) -> Term:
    """Returns the bilinear forms of two inputs, with one matrix per result, plus bias."""
    rows, columns = (ops.unsqueeze(ops.unsqueeze(x, -2), -2) for x in (input1, input2))
    made = ops.sum(ops.mul(ops.matmul(rows, ops.term_of(input1, weight)), columns), (-1, -2))
    return made if bias is None else ops.add(made, bias)


def local_response_norm(input: Term, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Term:
    """Divides each element by a norm of neighbouring channels."""
    return input.graph.LRN(input, size=size, alpha=alpha, beta=beta, bias=k)


def gumbel_softmax(logits: Term, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Term:
    """Samples from the logits: returns softmax, or one-hot with `hard`, of the logits plus noise."""
    noise = ops.neg(ops.log(ops.neg(ops.log(ops.add(ops.mul(ops.rand_like(logits), 1 - 2e-7), 1e-7)))))
    soft = softmax(ops.div(ops.add(logits, noise), tau), dim)
    return ops.cast(ops.eq(soft, ops.amax(soft, dim, True)), soft.dtype) if hard else soft



def _assigned(function: Any) -> Any:
    def call(input: Any, *args: Any) -> Any:
        return input.assign(function(input, *args))

    call.__name__ = call.__qualname__ = f"{function.__name__}_"
    call.__doc__ = f"""Calls {function.__name__}() and assigns the result to the input.

Parameters
----------
input : Tensor
    The values, which are changed.
*args : any
    Further arguments of {function.__name__}().

Returns
-------
Tensor
    The input.
"""
    return call


relu_, elu_, selu_, celu_, leaky_relu_ = map(_assigned, (relu, elu, selu, celu, leaky_relu))
upsample = interpolate


open_functions(globals())
