"""Frazil, a runtime for dynamic inference graphs.

    import frazil
    model = frazil.load("model.onnx")
    y = model(x)                      # by position or keyword
    outputs = model.run({"x": x})     # by name
"""

from ._frazil import Counters, DType, Options, Port, __version__, dtype, dtypes, from_dlpack, operators
from .errors import BadInput, BadModel, Cancelled, Error, InternalError, LimitExceeded, OutOfMemory, Unsupported
from . import nn
from .fx import from_fx, from_torch
from .graph import Graph, Patch, Term
from .model import Model, Session, from_bytes, from_text, load
from .observe import NodeEvent, Observer, Profile
from .weights import load_state_dict, save_safetensors

globals().update({d.name: d for d in dtypes})  # frazil.float32, frazil.bfloat16, ...
bool_ = dtype("bool")

__all__ = [
    "BadInput",
    "BadModel",
    "Cancelled",
    "Counters",
    "DType",
    "Error",
    "Graph",
    "InternalError",
    "LimitExceeded",
    "Model",
    "NodeEvent",
    "Observer",
    "Options",
    "OutOfMemory",
    "Patch",
    "Port",
    "Profile",
    "Session",
    "Term",
    "Unsupported",
    "__version__",
    "dtype",
    "dtypes",
    "from_bytes",
    "from_dlpack",
    "from_fx",
    "from_text",
    "from_torch",
    "load",
    "load_state_dict",
    "nn",
    "operators",
    "save_safetensors",
]
