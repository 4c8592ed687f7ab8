"""NumPy's universal functions: elementwise functions with the parameters and methods of NumPy's."""

from __future__ import annotations

import builtins
import inspect
from typing import Any, Callable

import numpy

from .. import _frazil
from ..docstrings import entry, joined, sections_of
from ..errors import Error
from ..lazy.array import LazyArray
from . import reductions
from .arrays import asarray, astype, axis_of, zeros_like
from .hosted import on_host
from .elementwise import where as where_holds
from .host import is_complex
from .outputs import stored
from .shapes import broadcast_to, concatenate, extent_of, moveaxis, reshape, stack
from .statistics import cumprod, scanned

REDUCTIONS: dict[str, Callable[..., LazyArray]] = {
    "add": reductions.sum,
    "multiply": reductions.prod,
    "maximum": reductions.max,
    "minimum": reductions.min,
    "logical_and": reductions.all,
    "logical_or": reductions.any,
}
IN_ANY_ORDER = {
    *REDUCTIONS,
    *("logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "fmax", "fmin", "gcd", "lcm"),
    *("hypot", "logaddexp", "logaddexp2"),
}
BEGIN_WITH_IDENTITY = {"logical_xor", "hypot", "logaddexp", "logaddexp2", "gcd"}  # even reductions of one element
OF_OPERANDS = {  # functions with bool results for operands of any type
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("isnan", "isinf", "isfinite", "signbit"),
}
_NONE = object()  # stands for a missing argument
PLAIN_LOOPS = {"order": "K", "subok": True}  # parameters without effect
KEYWORDS = {"out": None, "where": True, "dtype": None, "casting": "same_kind"}


def _doc_of(text: str, operands: list[str]) -> str:
    """Returns the docstring of a function with the parameters that all have."""
    summary, sections = sections_of(inspect.cleandoc(text).partition("--\n\n")[2] or inspect.cleandoc(text))
    kind = "array_like"
    rows = [entry(", ".join(operands), kind, "The operands, which are broadcast." if operands[1:] else "The elements.")]
    rows += [
        entry("out", "ndarray, optional", "Receives the result, which is computed immediately."),
        entry("where", "array_like of bool, default True", "Elsewhere the result is 0, or keeps its value in `out`."),
        entry("dtype", "dtype, optional", "The operands are cast to it."),
        entry("casting", "str, default 'same_kind'", "Which casts are allowed, as in NumPy."),
    ]
    shape = "The common shape of the operands." if operands[1:] else "The shape of `x`."
    made = {"Returns": entry("", "LazyArray", shape), **sections, "Parameters": "\n".join(rows)}
    return joined(summary, made)


class ufunc:
    """An elementwise function: y = function(x1, x2, out=None, where=True, dtype=None, casting="same_kind").

    Elements for which `where` is false are 0, or keep their values in the NumPy array `out`. The operands are cast to
    `dtype`. Functions of two operands have reduce, accumulate, outer and reduceat.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.__name__ = name
        self.__wrapped__, self._numpy = function, getattr(numpy, name)
        self.nin, self.nout = self._numpy.nin, 1
        operands = ["x"] if self.nin == 1 else ["x1", "x2"]
        P = inspect.Parameter
        rows = [P(each, P.POSITIONAL_ONLY) for each in operands]
        rows += [P(each, P.KEYWORD_ONLY, default=value) for each, value in KEYWORDS.items()]
        self.__signature__ = inspect.Signature(rows, return_annotation="LazyArray")
        self.__doc__ = _doc_of(function.__doc__ or "", operands)

    @property
    def nargs(self) -> int:
        """The number of operands and results."""
        return self.nin + self.nout

    @property
    def identity(self) -> Any:
        """The neutral element; None if there is none."""
        return self._numpy.identity

    def __repr__(self) -> str:
        return f"<ufunc 'frazil.numpy.{self.__name__}'>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._with(*args, **kwargs)

    def _failed(self, error: Exception, *args: Any) -> Any:
        """Returns NumPy's result for complex operands. Raises the error for other operands."""
        if builtins.any(map(is_complex, args)):
            return on_host(self.__name__, *args)
        raise error

    def _with(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function with parameters."""
        for name in PLAIN_LOOPS:
            kwargs.pop(name, None)
        out, where, dtype = kwargs.pop("out", None), kwargs.pop("where", True), kwargs.pop("dtype", None)
        casting = kwargs.pop("casting", "same_kind")
        if kwargs:
            raise TypeError(f"{self.__name__}() has no parameter {', '.join(kwargs)}")
        if len(args) == self.nargs and out is None:
            *args, out = args  # type: ignore[assignment]
        if len(args) != self.nin:
            raise TypeError(f"{self.__name__}() takes {self.nin} arguments, got {len(args)}")
        made = self(*(args if dtype is None else self._cast(args, dtype, casting)))
        if dtype is not None:
            made = astype(made, dtype)
        if out is not None:
            return stored(self.__name__, out, made, where, casting)
        if where is True:
            return made
        holds = asarray(where)
        if holds.dtype != bool:
            raise TypeError(f"{self.__name__}(): where has element type {holds.dtype}, not bool")
        return where_holds(holds, made, zeros_like(made))

    def _cast(self, args: Any, dtype: Any, casting: Any) -> list[Any]:
        """Casts the operands to the element type of NumPy's loop for this result. Raises NumPy's errors."""
        wanted = numpy.dtype(_frazil.dtype(dtype).numpy)
        empty = [numpy.empty(0, each.dtype) if hasattr(each, "dtype") else each for each in args]
        self._numpy(*empty, dtype=wanted, casting=casting)
        if self.__name__ in OF_OPERANDS:
            return list(args)
        return [each if isinstance(each, (int, float)) else astype(each, wanted) for each in args]

    def _of_two(self, method: str) -> None:
        if self.nin != 2:
            raise ValueError(f"{self.__name__}.{method}(): only functions of two arrays have it")

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        """Applies the function to all pairs of elements."""
        self._of_two("outer")
        A, B = asarray(A), asarray(B)
        return self(reshape(A, (*A.shape, *[1] * B.ndim)) if B.ndim else A, B, **kwargs)

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        """Reduces the elements along axes, by default the first."""
        self._of_two("reduce")
        array = asarray(array)
        known = REDUCTIONS.get(self.__name__)
        if known is not None:
            more = {"dtype": dtype} if dtype is not None and self.__name__ in ("add", "multiply") else {}
            more |= {} if initial is None else {"initial": initial}
            made = known(array, axis, keepdims=keepdims, where=where, **more)
        else:
            if where is not None:
                array = where_holds(where, array, asarray(self._neutral(array), array.dtype))
            made = self._folded(array if dtype is None else astype(array, dtype), axis, keepdims)
            first = self.identity if initial is None and self.__name__ in BEGIN_WITH_IDENTITY else initial
            made = made if first is None else self(first, made)
        return made if out is None else stored(f"{self.__name__}.reduce", out, made)

    def _neutral(self, array: LazyArray) -> Any:
        if self.identity is None:
            raise ValueError(f"{self.__name__}.reduce(): where needs a function with an identity")
        return self.identity

    def _folded(self, x: LazyArray, axis: Any, keepdims: bool) -> Any:
        axes = reductions.axes_to_reduce(x, axis)
        if len(axes) > 1 and self.__name__ not in IN_ANY_ORDER:
            raise ValueError(f"{self.__name__} depends on the order of elements: it is reduced along one axis")
        shape = tuple(1 if i in axes else x.shape[i] for i in range(x.ndim))
        if not axes:
            return x
        rest = [extent for i, extent in enumerate(x.shape) if i not in axes]
        row = reshape(moveaxis(x, axes, tuple(range(len(axes)))), (-1, *rest))
        if not extent_of(row, 0):
            made = broadcast_to(asarray(self._neutral(x), x.dtype), tuple(rest))
        elif self.__name__ in IN_ANY_ORDER:
            made = self._halved(row)
        else:
            made = row[0]
            for i in range(1, extent_of(row, 0)):
                made = self(made, row[i])
        return reshape(made, shape) if keepdims else made

    def _halved(self, row: LazyArray) -> Any:
        """Reduces by combining pairs repeatedly."""
        while extent_of(row, 0) > 1:
            half = extent_of(row, 0) // 2
            pairs = self(row[:half], row[half : 2 * half])
            row = concatenate([pairs, row[2 * half :]]) if extent_of(row, 0) % 2 else pairs
        return row[0]

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Returns the cumulative results along an axis."""
        self._of_two("accumulate")
        array = asarray(array)
        array = array if dtype is None else astype(array, dtype)
        if not array.ndim:
            raise TypeError(f"{self.__name__}.accumulate() of an array without axes")
        axis = axis_of(axis, array.ndim)
        made: Any
        if self.__name__ in ("add", "multiply"):
            made = (reductions.cumsum if self.__name__ == "add" else cumprod)(array, axis, dtype)
        elif self.__name__ in IN_ANY_ORDER:
            made = scanned(array, axis, self)
        else:
            made = self._in_order(moveaxis(array, axis, 0))
            made = moveaxis(made, 0, axis)
        return made if out is None else stored(f"{self.__name__}.accumulate", out, made)

    def _in_order(self, rows: LazyArray) -> LazyArray:
        if not extent_of(rows, 0):
            return rows
        made = [rows[0]]
        for i in range(1, extent_of(rows, 0)):
            made.append(self(made[-1], rows[i]))
        return stack(made)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Reduces the parts of an axis that begin at the indices."""
        self._of_two("reduceat")
        array = asarray(array)
        axis = axis_of(axis, array.ndim)
        rows, begins = moveaxis(array, axis, 0), numpy.asarray(indices).tolist()
        count = extent_of(rows, 0)
        if any(not 0 <= each < count for each in begins):
            raise IndexError(f"an index is from 0 to {count - 1}")
        ends = [*begins[1:], count]
        parts = [rows[b : builtins.max(e, b + 1)] for b, e in zip(begins, ends)]
        made = moveaxis(stack([self.reduce(part, 0, dtype) for part in parts]), 0, axis)
        return made if out is None else stored(f"{self.__name__}.reduceat", out, made)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        """Raises TypeError, as lazy arrays are immutable."""
        advice = "write y = x.at[indices].add(b), or set, multiply, min, max"
        raise TypeError(f"{self.__name__}.at() changes its array: {advice}")


class OfOne(ufunc):
    """A ufunc of one operand."""

    def __call__(self, x: Any = _NONE, /, *more: Any, **parameters: Any) -> Any:
        if more or parameters or x is _NONE:
            return self._with(*(() if x is _NONE else (x,)), *more, **parameters)
        try:
            return self.__wrapped__(x)
        except (Error, TypeError) as error:
            return self._failed(error, x)


class OfTwo(ufunc):
    """A ufunc of two operands."""

    def __call__(self, x1: Any = _NONE, x2: Any = _NONE, /, *more: Any, **parameters: Any) -> Any:
        if more or parameters or x2 is _NONE:
            return self._with(*(each for each in (x1, x2) if each is not _NONE), *more, **parameters)
        try:
            return self.__wrapped__(x1, x2)
        except (Error, TypeError) as error:
            return self._failed(error, x1, x2)
