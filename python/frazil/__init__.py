"""Frazil, a runtime for dynamic inference graphs.

    import frazil
    model = frazil.load("model.onnx")
    y = model(x)                      # by position or keyword
    outputs = model.run({"x": x})     # by name
"""

import os as _os

from ._frazil import Counters, DType, Options, Port, __version__, dtype, dtypes, from_dlpack, operators
from .debug import Comparison, Debugger, Stop, compare
from .errors import BadInput, BadModel, Cancelled, Error, FileError
from .errors import InternalError, LimitExceeded, OutOfMemory, Unsupported
from . import lazy, nn, numpy
from .futures import RunFuture
from .graph import Graph, HostOperator, Patch, Term, TensorType, host_operator
from .interop import fx, from_fx, from_torch, load_state_dict, save_safetensors
from .lazy import BatchReport, BatchResults, Function, LazyArray, batch, eval, function, parameter
from .nn.control import cond, while_loop
from .live import Diff, LiveModel, LivePatch, LiveSession, Registry, Version, diff, diff_dot, registry
from .model import Model, Session, from_bytes, from_text, load
from .observe import NodeEvent, Observer, Profile
from .governor import Governor, govern
from .policy import Change, FileFacts, FileOperator, Policy, install_policy
from .symbolic import Symbolic
from . import torch

globals().update({d.name: d for d in dtypes})  # frazil.float32, frazil.bfloat16, ...
bool_ = dtype("bool")

if _os.environ.get("FRAZIL_ONNXRUNTIME") == "1":  # the module in C++ has checked the value
    from .onnxruntime.install import install as _install

    _install()

__all__ = [
    "BadInput",
    "BadModel",
    "BatchReport",
    "BatchResults",
    "Cancelled",
    "Change",
    "Comparison",
    "Counters",
    "DType",
    "Debugger",
    "Diff",
    "Error",
    "FileError",
    "FileFacts",
    "FileOperator",
    "Function",
    "Governor",
    "Graph",
    "HostOperator",
    "InternalError",
    "LazyArray",
    "LimitExceeded",
    "LiveModel",
    "LivePatch",
    "LiveSession",
    "Model",
    "NodeEvent",
    "Observer",
    "Options",
    "OutOfMemory",
    "Patch",
    "Policy",
    "Port",
    "Profile",
    "Registry",
    "RunFuture",
    "Session",
    "Stop",
    "Symbolic",
    "TensorType",
    "Term",
    "Unsupported",
    "Version",
    "__version__",
    "batch",
    "compare",
    "cond",
    "diff",
    "diff_dot",
    "dtype",
    "dtypes",
    "eval",
    "from_bytes",
    "from_dlpack",
    "from_fx",
    "from_text",
    "from_torch",
    "function",
    "govern",
    "host_operator",
    "install_policy",
    "lazy",
    "load",
    "load_state_dict",
    "nn",
    "numpy",
    "operators",
    "parameter",
    "registry",
    "save_safetensors",
    "torch",
    "while_loop",
]
