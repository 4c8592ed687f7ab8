"""The elementwise functions with one operator each. NumPy computes those of complex numbers, see complexes.py."""

from __future__ import annotations

from typing import Any, Callable

from .. import _frazil
from ..errors import Error
from ..lazy.array import LazyArray
from .arrays import common, in_common
from .host import is_complex
from .hosted import on_host

Unary = Callable[[Any], LazyArray]
Binary = Callable[[Any, Any], LazyArray]


def _of_one(name: str) -> Unary:
    """Returns the operator's function, or NumPy's for complex numbers."""
    own: Unary = _frazil.elementwise[name]

    def call(x: Any, /) -> LazyArray:
        try:
            return own(x)
        except (Error, TypeError) as error:
            return _of_complex(error, name, x)

    call.__name__, call.__doc__ = name, own.__doc__
    return call


def _of_two(name: str) -> Binary:
    """Returns the operator's function, or NumPy's for complex numbers."""
    own: Binary = _frazil.elementwise[name]

    def call(x1: Any, x2: Any, /) -> LazyArray:
        try:
            return own(x1, x2)
        except (Error, TypeError) as error:
            return _of_complex(error, name, x1, x2)

    call.__name__, call.__doc__ = name, own.__doc__
    return call


def _of_complex(error: Exception, name: str, *operands: Any) -> LazyArray:
    """Returns NumPy's result for complex operands. Raises the error for other operands."""
    if name == "matmul" or not any(map(is_complex, operands)):
        raise error
    return on_host(name, *operands)


add = _of_two("add")
subtract = _of_two("subtract")
multiply = _of_two("multiply")
divide = _of_two("divide")
power = _of_two("power")
matmul = _of_two("matmul")
maximum = _of_two("maximum")
minimum = _of_two("minimum")
equal = _of_two("equal")
not_equal = _of_two("not_equal")
less = _of_two("less")
less_equal = _of_two("less_equal")
greater = _of_two("greater")
greater_equal = _of_two("greater_equal")
logical_and = _of_two("logical_and")
logical_or = _of_two("logical_or")
logical_xor = _of_two("logical_xor")
bitwise_and = _of_two("bitwise_and")
bitwise_or = _of_two("bitwise_or")
bitwise_xor = _of_two("bitwise_xor")
negative = _of_one("negative")
positive = _of_one("positive")
absolute = _of_one("absolute")
sign = _of_one("sign")
invert = _of_one("invert")
logical_not = _of_one("logical_not")
floor = _of_one("floor")
ceil = _of_one("ceil")
rint = _of_one("rint")
isnan = _of_one("isnan")
isinf = _of_one("isinf")
exp = _of_one("exp")
log = _of_one("log")
sqrt = _of_one("sqrt")
sin = _of_one("sin")
cos = _of_one("cos")
tan = _of_one("tan")
arcsin = _of_one("arcsin")
arccos = _of_one("arccos")
arctan = _of_one("arctan")
sinh = _of_one("sinh")
cosh = _of_one("cosh")
tanh = _of_one("tanh")
arcsinh = _of_one("arcsinh")
arccosh = _of_one("arccosh")
arctanh = _of_one("arctanh")
true_divide, abs, bitwise_not = divide, absolute, invert
