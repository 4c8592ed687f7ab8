"""Modules as in torch.nn, for inference. A PyTorch model runs on Frazil after changing its imports.

    from frazil import nn
    import frazil.nn.functional as F

`forward` runs once on Terms that behave like PyTorch's tensors (frazil.nn.Tensor), and records a graph. Calls with
arrays run the graph. If the code cannot be recorded, forward runs in each call. The functions of module `torch` are in
frazil.nn.ops; frazil.torch has all supported names of PyTorch.
"""

from ..docstrings import complete as _complete
from . import functional, init, ops
from . import packed as _packed, reparametrized as _reparametrized
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
from .control import cond as _cond, while_loop as _while_loop
from .glossary import DIMENSIONS as _DIMENSIONS, GLOSSARY as _GLOSSARY, MODULES as _MODULES
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

_complete([*vars(ops).values(), *vars(functional).values(), Tensor], _DIMENSIONS)
_complete([*vars(init).values(), *vars(_packed).values(), *vars(_reparametrized).values()], _GLOSSARY)
_complete([_cond, _while_loop], _GLOSSARY)
_complete([value for value in list(globals().values()) if isinstance(value, type)], _MODULES)
