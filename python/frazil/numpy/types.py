"""Element types of NumPy, and functions of them that also accept lazy arrays."""

from __future__ import annotations

from typing import Any

import numpy

from ..lazy.array import LazyArray
from .arrays import asarray, numpy_dtype

KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _element(of: Any) -> Any:
    return of.dtype if isinstance(of, (LazyArray, numpy.ndarray, numpy.generic)) else numpy_dtype(of)


def is_number(of: Any) -> bool:
    """Returns whether a value is a Python number, which has no element type."""
    return isinstance(of, (bool, int, float, complex)) and not isinstance(of, numpy.generic)


def result_type(*arrays_and_dtypes: Any) -> numpy.dtype[Any]:
    """Returns the common element type of arrays and types; a Python number takes that of the others."""
    kinds = [_element(each) for each in arrays_and_dtypes if not is_number(each)]
    made = numpy.result_type(*kinds) if kinds else None
    for number in arrays_and_dtypes:
        if is_number(number):
            made = _beside(number, made)
    if made is None:
        raise ValueError("result_type() of nothing")
    return made


def _beside(number: Any, kind: Any) -> numpy.dtype[Any]:
    """Returns the element type of a Python number next to arrays of this type."""
    own = numpy.asarray(number).dtype
    if kind is None:
        return own
    order = "b" "iu" "f" "c"
    if order.index(own.kind) <= order.index(kind.kind) or (own.kind == "i" and kind.kind == "u"):
        return kind
    return numpy.result_type(kind, numpy.complex64) if own.kind == "c" and kind.kind == "f" else own


def finfo(type: Any) -> Any:
    """Returns the limits of a real element type, or of an array's type."""
    return numpy.finfo(_element(type))


def iinfo(type: Any) -> Any:
    """Returns the limits of an integer element type, or of an array's type."""
    return numpy.iinfo(_element(type))


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Returns whether an element type, or an array's type, may be cast to another one by a rule."""
    if is_number(from_):
        raise TypeError("can_cast() takes arrays and element types, not Python numbers")
    return bool(numpy.can_cast(_element(from_), numpy_dtype(to), casting))


def isdtype(dtype: Any, kind: Any) -> bool:
    """Returns whether an element type equals another one or is of a kind such as 'real floating', or any of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is not a kind of element types: these are {', '.join(KINDS)}")
        return numpy_dtype(dtype).kind in KINDS[kind]
    return bool(numpy_dtype(dtype) == numpy_dtype(kind))


def common_type(*arrays: Any) -> Any:
    """Returns the common real or complex type of arrays; float64 for integers."""
    return numpy.common_type(*(numpy.empty(0, asarray(each).dtype) for each in arrays))


def ndim(a: Any) -> int:
    """Returns the number of axes."""
    return asarray(a).ndim


def shape(a: Any) -> tuple[Any, ...]:
    """Returns the extents."""
    return asarray(a).shape


def size(a: Any, axis: int | None = None) -> Any:
    """Returns the number of elements, or the extent of an axis."""
    return asarray(a).size if axis is None else asarray(a).shape[axis]


