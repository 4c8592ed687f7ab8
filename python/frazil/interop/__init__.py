"""Exchange with other libraries: PyTorch's modules and graphs, files of weights, and ONNX's backend interface.

frazil.interop.backend, which needs the package onnx, is imported on its own.
"""

from .fx import from_fx
from .torch_modules import from_torch
from .weights import load_state_dict, save_safetensors

__all__ = ["from_fx", "from_torch", "load_state_dict", "save_safetensors"]
