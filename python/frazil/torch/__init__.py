"""PyTorch's names for inference. A program uses Frazil after changing its imports.

    import frazil.torch as torch
    import frazil.torch.nn as nn
    import frazil.torch.nn.functional as F
"""

from __future__ import annotations

from typing import Any

from .._frazil import DType as dtype, dtype as _dtype_of
from ..docstrings import complete as _complete
from ..nn import functional as _functional
from ..nn.arrays import Size
from ..nn.functional import cond, scaled_dot_product_attention, while_loop
from ..nn.glossary import DIMENSIONS as _DIMENSIONS, MODULES as _MODULES
from ..nn.ops import *  # noqa: F403
from ..nn.tensor import Tensor
from ..interop.weights import load_state_dict
from . import autograd, backends, cuda, distributions, jit, linalg, nn, optim, utils
from . import modes as _modes
from .modes import (
    autocast,
    device,
    enable_grad,
    finfo,
    get_default_dtype,
    get_num_threads,
    iinfo,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_default_dtype,
    set_grad_enabled,
    set_num_threads,
    typed,
)

float32 = float = _dtype_of("float32")
float64 = double = _dtype_of("float64")
float16 = half = _dtype_of("float16")
bfloat16 = _dtype_of("bfloat16")
int64 = long = _dtype_of("int64")
int32 = int = _dtype_of("int32")
int16 = short = _dtype_of("int16")
int8, uint8, bool = _dtype_of("int8"), _dtype_of("uint8"), _dtype_of("bool")
strided, contiguous_format, channels_last = "torch.strided", "torch.contiguous_format", "torch.channels_last"
preserve_format = "torch.preserve_format"
FloatTensor, DoubleTensor, HalfTensor = typed("float32"), typed("float64"), typed("float16")
LongTensor, IntTensor, BoolTensor, ByteTensor = typed("int64"), typed("int32"), typed("bool"), typed("uint8")
inf, nan, pi, e = 1e400, 1e400 - 1e400, 3.141592653589793, 2.718281828459045
__version__ = "1.13.0+frazil"
MISSING = {
    "compile": "models are compiled by frazil.nn.compile()",
    "distributed": "a process computes by itself",
    "save": "weights are saved by frazil.save_safetensors()",
}

for _name in (
    "softmax log_softmax dropout relu_ selu celu prelu rrelu conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "layer_norm batch_norm group_norm instance_norm embedding embedding_bag pixel_shuffle pixel_unshuffle "
    "cosine_similarity pairwise_distance hardshrink bilinear max_pool1d max_pool2d avg_pool1d adaptive_avg_pool1d "
    "channel_shuffle threshold"
).split():
    globals()[_name] = getattr(_functional, _name)


def load(f: Any, map_location: Any = None, **_: Any) -> Any:
    """Returns the tensors of a file as arrays, see frazil.load_state_dict()."""
    return load_state_dict(f)


_complete([load, *vars(linalg).values()], _DIMENSIONS)
for _module in (autograd, backends, cuda, distributions, jit, utils.data, utils.checkpoint, _modes):
    _complete([value for value in vars(_module).values() if value.__class__.__module__ != "typing"], _MODULES)


def __getattr__(name: str) -> Any:
    hint = MISSING.get(name, "it is not supported")
    raise AttributeError(f"frazil.torch has no '{name}': {hint}")
