"""Modules as in torch.nn, for inference. A PyTorch model runs on Frazil after changing its imports.

    from frazil import nn
    import frazil.nn.functional as F

`forward` runs once on Terms that behave like PyTorch's tensors (frazil.nn.Tensor), and records a graph. Calls with
arrays run the graph. If the code cannot be recorded, forward runs in each call. The functions of module `torch` are in
frazil.nn.ops; frazil.torch has all supported names of PyTorch.
"""

from . import functional, init, ops
from .activations import *  # noqa: F403
from .attention import MultiheadAttention
from .bags import EmbeddingBag
from .calls import compile
from .containers import DataParallel, Identity, ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .layers import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Bilinear,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Embedding,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    SyncBatchNorm,
    LayerNorm,
    Linear,
    RMSNorm,
)
from .module import Module, Parameter
from .ops import manual_seed
from .recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from .running import reason
from .tensor import Tensor
from .transformer import (
    Transformer,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
