"""ONNX's backend interface: `import frazil.backend as backend; backend.prepare(model).run(inputs)`.

The definitions are in frazil.interop.backend. Requires the package onnx.
"""

from .interop.backend import (
    FrazilBackend,
    FrazilRep,
    is_compatible,
    prepare,
    run_model,
    run_node,
    supports_device,
)

__all__ = ["FrazilBackend", "FrazilRep", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]
