"""Modules as in torch.nn, for inference: a model of PyTorch becomes one of Frazil by changing its imports.

    from frazil import nn
    import frazil.nn.functional as F

`forward` runs once, on Terms with PyTorch's habits (frazil.nn.Tensor), and records a graph; calls with arrays run it.
The functions of module `torch` are in frazil.nn.ops.
"""

from . import functional, init, ops
from .activations import *  # noqa: F403
from .attention import MultiheadAttention, TransformerEncoderLayer
from .calls import compile
from .containers import Identity, ModuleDict, ModuleList, ParameterList, Sequential
from .init import manual_seed
from .layers import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    Embedding,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    LayerNorm,
    Linear,
    RMSNorm,
)
from .module import Module, Parameter
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell
from .tensor import Tensor
