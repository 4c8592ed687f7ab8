"""Values of weights as NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy

from .._frazil import from_dlpack
from ..errors import BadInput


def to_array(value: Any) -> numpy.ndarray:
    """An array, a Parameter, a tensor of PyTorch or numbers as an array, without a copy where that is possible."""
    if isinstance(value, numpy.ndarray):
        return value
    if hasattr(value, "detach") and hasattr(value, "__dlpack__"):
        value = value.detach()
        if str(value.dtype) == "torch.bool":
            return value.cpu().numpy()
        return from_dlpack(value.cpu())
    return numpy.asarray(getattr(value, "data", value) if hasattr(value, "requires_grad_") else value)


def read_only(array: numpy.ndarray) -> numpy.ndarray:
    """The same values in row-major order, not to be written."""
    view = numpy.asarray(array, order="C").view()
    view.flags.writeable = False
    return view


def cast(array: numpy.ndarray, to: numpy.dtype[Any], what: str) -> numpy.ndarray:
    """The values in another element type. BadInput where there is no conversion."""
    if array.dtype == to:
        return array
    if array.dtype.names == ("bfloat16",):
        array = (array.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
    if array.dtype.names or to.names:
        raise BadInput(f"{what}: no conversion from {array.dtype} to {to}; install ml_dtypes or use assign=True")
    made = array.astype(to)
    made.flags.writeable = False
    return made
