"""Graphs: building them, editing those of models, and Python functions as their operators."""

from .builder import Builder, Graph
from .host import HostOperator, TensorType, host_operator
from .patch import Patch
from .terms import Extent, Term, Value

__all__ = ["Builder", "Extent", "Graph", "HostOperator", "Patch", "Term", "TensorType", "Value", "host_operator"]
