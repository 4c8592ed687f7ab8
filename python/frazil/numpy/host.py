"""Functions that NumPy computes: linear algebra, transforms and complex numbers."""

from __future__ import annotations

import functools
import json
from typing import Any, Callable, Sequence

import numpy

from .. import _frazil
from ..graph.host import TensorType, host_operator
from ..lazy.array import LazyArray
from ..lazy.operators import make

Types = Callable[..., Sequence[Any]]
KNOWN: dict[str, tuple[Callable[..., Any], Types]] = {}
MOST_RESULTS = 4


def known(name: str, function: Callable[..., Any], types: Types) -> None:
    """Registers a function of arrays and keywords for call(). `types` returns the TensorTypes of its results."""
    KNOWN[name] = function, types


def _run(arrays: Sequence[Any], name: str, keywords: str) -> tuple[Any, ...]:
    made = KNOWN[name][0](*arrays, **json.loads(keywords))
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def _infer(given: Sequence[Any], name: str, keywords: str) -> list[Any]:
    return list(KNOWN[name][1](*given, **json.loads(keywords)))


def _operator(results: int) -> Any:
    """Returns the operator for functions with this number of results."""

    def function(*arrays: Any, function: str = "", keywords: str = "{}") -> Any:
        """Runs a function of NumPy with several results."""
        made = _run(arrays, function, keywords)
        return made if results > 1 else made[0]

    def types(*given: Any, function: str = "", keywords: str = "{}") -> list[Any]:
        return _infer(given, function, keywords)

    return host_operator(f"frazil.numpy.Call{results}", outputs=results, types=types)(function)


OPERATORS = [_operator(results) for results in range(1, MOST_RESULTS + 1)]
INFOS = {info.full_name: info for info in _frazil.operators() if info.domain == "frazil.numpy"}


@functools.lru_cache(1 << 10)
def _node(name: str, keywords: str, results: int) -> Any:
    attributes = [("function", 2, name), ("keywords", 2, keywords)]
    return make(INFOS[f"frazil.numpy.Call{results}"], attributes, results)


def _lazy(value: Any) -> LazyArray:
    return value if isinstance(value, LazyArray) else _frazil.lazy_array(value, None, False, False)


def call(name: str, arrays: Sequence[Any], results: int = 1, **keywords: Any) -> Any:
    """Calls a registered function: immediately, which reads the arrays, or in a node while a function is recorded.

    Returns a lazy array, or a tuple of `results` arrays. Errors of NumPy are raised unchanged, or end the run.
    """
    given = [_lazy(each) for each in arrays]
    if _frazil.is_recording():
        return _node(name, json.dumps(keywords, sort_keys=True), results)(*given)
    with numpy.errstate(all="ignore"):
        made = _run([each.numpy() for each in given], name, json.dumps(keywords))
    lazy = tuple(_lazy(numpy.asarray(each)) for each in made)
    return lazy if results > 1 else lazy[0]


def tensor(dtype: Any, shape: Any) -> TensorType:
    """Returns the type of a result."""
    return TensorType(_frazil.dtype(dtype), shape)


def like(dtype: Any) -> Any:
    """Returns NumPy's dtype for a TensorType's element type."""
    return numpy.dtype(dtype.numpy)


def is_complex(x: Any) -> bool:
    """Returns whether an operand is a complex number or has complex elements."""
    if isinstance(x, LazyArray):
        return bool(x.dtype.kind == "c")
    return numpy.iscomplexobj(x)
