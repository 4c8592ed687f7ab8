"""The functions by elements that are one operator each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy

from .. import _frazil
from ..errors import Unsupported
from ..lazy.array import LazyArray
from .arrays import asarray, astype

if TYPE_CHECKING:
    Unary = Callable[[Any], LazyArray]
    Binary = Callable[[Any, Any], LazyArray]

_made = _frazil.elementwise
add: Binary = _made["add"]
subtract: Binary = _made["subtract"]
multiply: Binary = _made["multiply"]
divide: Binary = _made["divide"]
power: Binary = _made["power"]
matmul: Binary = _made["matmul"]
maximum: Binary = _made["maximum"]
minimum: Binary = _made["minimum"]
equal: Binary = _made["equal"]
not_equal: Binary = _made["not_equal"]
less: Binary = _made["less"]
less_equal: Binary = _made["less_equal"]
greater: Binary = _made["greater"]
greater_equal: Binary = _made["greater_equal"]
logical_and: Binary = _made["logical_and"]
logical_or: Binary = _made["logical_or"]
logical_xor: Binary = _made["logical_xor"]
bitwise_and: Binary = _made["bitwise_and"]
bitwise_or: Binary = _made["bitwise_or"]
bitwise_xor: Binary = _made["bitwise_xor"]
negative: Unary = _made["negative"]
positive: Unary = _made["positive"]
absolute: Unary = _made["absolute"]
sign: Unary = _made["sign"]
invert: Unary = _made["invert"]
logical_not: Unary = _made["logical_not"]
floor: Unary = _made["floor"]
ceil: Unary = _made["ceil"]
rint: Unary = _made["rint"]
isnan: Unary = _made["isnan"]
isinf: Unary = _made["isinf"]
exp: Unary = _made["exp"]
log: Unary = _made["log"]
sqrt: Unary = _made["sqrt"]
sin: Unary = _made["sin"]
cos: Unary = _made["cos"]
tan: Unary = _made["tan"]
arcsin: Unary = _made["arcsin"]
arccos: Unary = _made["arccos"]
arctan: Unary = _made["arctan"]
sinh: Unary = _made["sinh"]
cosh: Unary = _made["cosh"]
tanh: Unary = _made["tanh"]
arcsinh: Unary = _made["arcsinh"]
arccosh: Unary = _made["arccosh"]
arctanh: Unary = _made["arctanh"]
true_divide, abs, bitwise_not = divide, absolute, invert


def common(x1: Any, x2: Any) -> tuple[LazyArray, LazyArray]:
    """Two operands as arrays of the element type that they have in common."""
    try:
        first, second = _frazil.in_common(x1, x2)
    except Unsupported:  # no operator casts to complex numbers
        first, second = (asarray(each) for each in (x1, x2))
        wide = numpy.result_type(first.dtype, second.dtype)
        return astype(first, wide), astype(second, wide)
    return first, second
