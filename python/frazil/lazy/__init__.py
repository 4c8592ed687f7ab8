"""Define by run: operations on lazy arrays are recorded, and run when a value is read.

    import frazil
    import frazil.numpy as fnp

    w = frazil.parameter(weights)
    y = fnp.tanh(x @ w)               # records
    if y.sum() > 0: ...               # runs

frazil.lazy.ops has every operator by its ONNX name.
"""

from .array import LazyArray, eval
from .batches import BatchReport, BatchResults, batch
from .functions import Function, function, parameter
from .operators import LazyOperators, ops
