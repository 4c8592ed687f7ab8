"""Values of weights as NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .._frazil import dtype as dtype_of, from_dlpack
from ..errors import BadInput
from ..graph import Term


class Size(tuple[Any, ...]):
    """The extents of a Tensor.

    Parameters
    ----------
    iterable : iterable
        Numbers, or scalar Tensors that are known only in a run.
    """

    def numel(self) -> Any:
        """Returns the number of elements.

        Returns
        -------
        int or Tensor
            A scalar Tensor if an extent is known only in a run.
        """
        return math.prod(self)


def to_array(value: Any) -> numpy.ndarray:
    """Converts an array, a Parameter, a tensor of PyTorch or numbers to an array, without a copy if possible."""
    if isinstance(value, numpy.ndarray):
        return value
    if isinstance(value, Term) or hasattr(value, "tensor"):
        return value.numpy()  # type: ignore[no-any-return, union-attr]
    if hasattr(value, "detach") and hasattr(value, "__dlpack__"):
        value = value.detach()
        if str(value.dtype) == "torch.bool":
            return value.cpu().numpy()
        return from_dlpack(value.cpu())
    return numpy.asarray(value)


def read_only(array: numpy.ndarray) -> numpy.ndarray:
    """Returns a read-only view of the values in row-major order."""
    view = numpy.asarray(array, order="C").view()
    view.flags.writeable = False
    return view


def numpy_type(dtype: Any) -> numpy.dtype[Any]:
    """Returns NumPy's type for an element type; None means float32."""
    return dtype_of(dtype or "float32").numpy


def is_integer(array: numpy.ndarray) -> bool:
    """Returns whether elements are integers or bools."""
    return array.dtype.kind in "iub"


def cast(array: numpy.ndarray, to: numpy.dtype[Any], what: str) -> numpy.ndarray:
    """Casts the values to another element type. Raises BadInput if there is no conversion."""
    if array.dtype == to:
        return array
    if array.dtype.names == ("bfloat16",):
        array = (array.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
    if array.dtype.names or to.names:
        raise BadInput(f"{what}: no conversion from {array.dtype} to {to}; install ml_dtypes or use assign=True")
    made = array.astype(to)
    made.flags.writeable = False
    return made
