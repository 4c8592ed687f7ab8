"""The functions of `ops` that others are made of: casts, arithmetic, comparisons, reductions."""

from __future__ import annotations

import builtins
import math
from typing import Any, Callable, NamedTuple, Sequence, Union

import numpy

from .._frazil import DType, dtype as dtype_of
from ..errors import Unsupported
from ..graph import Builder, Term, Value
from ..lazy.array import LazyArray
from .arrays import Size
from .accepting import open_functions
from .lazily import graph_of
from .recording import TERMS

__all__ = [
    "Pair", "abs", "acos", "add", "addmm", "all", "amax", "amin", "any", "argmax", "argmin", "argsort", "asin",
    "atan", "bmm", "ceil", "clamp", "clip", "clone", "cos", "cosh", "cumsum", "det", "div", "divide", "dot",
    "einsum", "eq", "erf", "exp", "floor", "floor_divide", "ge", "gt", "isinf", "isnan", "le", "log", "logical_and",
    "logical_not", "logical_or", "logical_xor", "logsumexp", "lt", "masked_fill", "matmul", "max", "maximum", "mean",
    "min", "minimum", "mm", "mul", "multiply", "mv", "ne", "neg", "norm", "numel", "pow", "prod", "reciprocal",
    "relu", "remainder", "round", "rsqrt", "rsub", "sigmoid", "sign", "sin", "sinh", "sort", "sqrt", "square", "std",
    "sub", "subtract", "sum", "tan", "tanh", "topk", "true_divide", "var", "where",
]  # fmt: skip

Dims = Union[int, Sequence[int], None]
RANKS = ("bool", "uint8", "int8", "int16", "int32", "int64", "bfloat16", "float16", "float32", "float64")


class Pair(NamedTuple):
    """Values with their indices along a dimension."""

    values: Term
    indices: Term


def kind_of(dtype: DType | None) -> int:
    """Returns 0 for bool, 1 for integers, 2 for other types."""
    name = dtype.name if dtype is not None else ""
    return 0 if name == "bool" else 1 if "int" in name else 2


def rank_of(x: Term) -> int:
    """Returns the number of dimensions."""
    return x.ndim


def axis_of(x: Term, dim: int, extra: int = 0) -> int:
    """Returns `dim` counted from the front. Raises IndexError if it is out of range."""
    rank = rank_of(x) + extra
    if not -rank <= dim < builtins.max(rank, 1):
        raise IndexError(f"dimension {dim} of a term of type {x.type}")
    return dim % rank if rank else 0


def axes_of(x: Term, dim: Dims) -> numpy.ndarray | None:
    """Returns dimensions as a tensor; None means all."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return None
    return numpy.array([axis_of(x, d) for d in (dim if isinstance(dim, (tuple, list)) else (dim,))], numpy.int64)


def vector(graph: Builder, parts: Sequence[Any]) -> Any:
    """Combines numbers and scalar Terms into one int64 tensor."""
    if not builtins.any(isinstance(part, TERMS) for part in parts):
        return numpy.array(parts, numpy.int64)
    one = numpy.array([-1], numpy.int64)
    pieces = [graph.Reshape(_int64(graph, part), one) for part in parts]
    return graph.Concat(*pieces, axis=0) if len(pieces) > 1 else pieces[0]


def _int64(graph: Builder, value: Any) -> Term:
    if not isinstance(value, TERMS):
        return graph.constant(value, "int64")
    return value if value.dtype == "int64" else graph.Cast(value, to="int64")


def sizes_of(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Converts the arguments of f(2, 3) to those of f((2, 3))."""
    return tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes


def promoted(a: Any, b: Any) -> tuple[Term, Term]:
    """Casts two operands to a common element type. At least one is a Term, or a graph is being recorded."""
    graph = graph_of(a, b)
    if isinstance(a, Term) and a.graph is not graph:
        a = graph.adopt(a)  # type: ignore[attr-defined]
    if isinstance(a, TERMS) and isinstance(b, TERMS):
        if a.dtype == b.dtype or a.dtype is None or b.dtype is None:
            return a, b
        to = builtins.max(
            a.dtype, b.dtype, key=lambda d: (kind_of(d), RANKS.index(d.name) if d.name in RANKS else len(RANKS))
        )
        return _cast(a, to), _cast(b, to)
    if not isinstance(a, TERMS):
        if not isinstance(b, TERMS):
            return promoted(graph.constant(a), b)
        y, x = promoted(b, a)
        return x, y
    if hasattr(b, "dtype") and numpy.ndim(b):
        return promoted(a, graph.constant(b))
    kind = 0 if isinstance(b, (bool, numpy.bool_)) else 1 if isinstance(b, (int, numpy.integer)) else 2
    if kind > kind_of(a.dtype):
        a = _cast(a, dtype_of("int64" if kind == 1 else "float32"))
    return a, graph.constant(b.item() if hasattr(b, "item") else b, a.dtype)


def _cast(x: Term, to: Any) -> Term:
    return x if x.dtype == dtype_of(to) else x.graph.Cast(x, to=to)


def floating(x: Term) -> Term:
    """Casts integers and bools to float32."""
    return _cast(x, "float32") if kind_of(x.dtype) < 2 else x


def _binary(op: str, doc: str) -> Callable[[Value, Value], Term]:
    def function(input: Value, other: Value) -> Term:
        a, b = promoted(input, other)
        return getattr(a.graph, op)(a, b)

    function.__doc__ = doc
    return function


def unary(op: str, doc: str, cast: bool = True) -> Callable[[Term], Term]:
    """Returns a function of one operator. Unless `cast` is false, integers and bools become float32."""
    def function(input: Term) -> Term:
        x = floating(input) if cast else input
        return getattr(x.graph, op)(x)

    function.__doc__ = doc
    return function


mul = _binary("Mul", "Returns input * other, elementwise.")
eq = _binary("Equal", "Returns whether elements are equal.")
lt = _binary("Less", "Returns input < other, elementwise.")
le = _binary("LessOrEqual", "Returns input <= other, elementwise.")
gt = _binary("Greater", "Returns input > other, elementwise.")
ge = _binary("GreaterOrEqual", "Returns input >= other, elementwise.")
minimum = _binary("Min", "Returns the smaller elements.")
maximum = _binary("Max", "Returns the larger elements.")
pow = _binary("Pow", "Returns input ** other, elementwise.")
logical_and = _binary("And", "Returns whether both operands, which are bools, are true.")
logical_or = _binary("Or", "Returns whether any of two operands, which are bools, is true.")
logical_xor = _binary("Xor", "Returns whether exactly one of two operands, which are bools, is true.")
abs = unary("Abs", "Returns absolute values.", False)
neg = unary("Neg", "Returns -input.", False)
sign = unary("Sign", "Returns the signs: -1, 0 or 1.", False)
floor = unary("Floor", "Rounds down.", False)
ceil = unary("Ceil", "Rounds up.", False)
round = unary("Round", "Rounds to the nearest integer, half to even.", False)
logical_not = unary("Not", "Inverts bools.", False)
isnan = unary("IsNaN", "Returns whether elements are NaN.", False)
isinf = unary("IsInf", "Returns whether elements are infinite.", False)
exp = unary("Exp", "Returns e ** input.")
log = unary("Log", "Returns the natural logarithm.")
sqrt = unary("Sqrt", "Returns the square root.")
reciprocal = unary("Reciprocal", "Returns 1 / input.")
sin, cos = unary("Sin", "Returns the sine."), unary("Cos", "Returns the cosine.")
tan = unary("Tan", "Returns the tangent.")
asin, acos, atan = (
    unary("Asin", "Returns the arc sine."),
    unary("Acos", "Returns the arc cosine."),
    unary("Atan", "Returns the arc tangent."),
)
sinh, cosh = unary("Sinh", "Returns the hyperbolic sine."), unary("Cosh", "Returns the hyperbolic cosine.")
tanh = unary("Tanh", "Returns the hyperbolic tangent.")
erf = unary("Erf", "Returns the error function.")
sigmoid = unary("Sigmoid", "Returns 1 / (1 + e ** -input).")
relu = unary("Relu", "Returns the maximum of input and 0.", False)
det = unary("Det", "Returns the determinants of matrices along the last two dimensions.")


def add(input: Value, other: Value, *, alpha: float = 1) -> Term:
    """Returns input + alpha * other, elementwise."""
    a, b = promoted(input, other if alpha == 1 else mul(other, alpha))
    return a.graph.Or(a, b) if a.dtype == "bool" else a.graph.Add(a, b)


def sub(input: Value, other: Value, *, alpha: float = 1) -> Term:
    """Returns input - alpha * other, elementwise."""
    a, b = promoted(input, other if alpha == 1 else mul(other, alpha))
    return a.graph.Sub(a, b)


def rsub(input: Value, other: Value, *, alpha: float = 1) -> Term:
    """Returns other - alpha * input."""
    return sub(other, input, alpha=alpha)


def div(input: Value, other: Value, *, rounding_mode: str | None = None) -> Term:
    """Returns input / other; integers give float32 unless rounding_mode is "floor" or "trunc"."""
    if rounding_mode == "floor":
        return floor_divide(input, other)
    a, b = promoted(input, other)
    if rounding_mode == "trunc":
        made = a.graph.Div(a, b)
        return made if kind_of(a.dtype) < 2 else where(made < 0, ceil(made), floor(made))
    return a.graph.Div(floating(a), floating(b))


def floor_divide(input: Value, other: Value) -> Term:
    """Returns input // other, rounded down."""
    a, b = promoted(input, other)
    if kind_of(a.dtype) == 2:
        return a.graph.Floor(a.graph.Div(a, b))
    return a.graph.Div(a.graph.Sub(a, a.graph.Mod(a, b)), b)


def remainder(input: Value, other: Value) -> Term:
    """Returns input % other, with the sign of other."""
    a, b = promoted(input, other)
    return sub(a, mul(floor_divide(a, b), b)) if kind_of(a.dtype) == 2 else a.graph.Mod(a, b)


def ne(input: Value, other: Value) -> Term:
    """Returns whether elements differ."""
    return logical_not(eq(input, other))


def square(input: Term) -> Term:
    """Returns input * input."""
    return mul(input, input)


def rsqrt(input: Term) -> Term:
    """Returns 1 / sqrt(input)."""
    return reciprocal(sqrt(input))


def clamp(input: Term, min: Value | None = None, max: Value | None = None) -> Term:
    """Clips to [min, max]; None means no limit."""
    x = input if min is None else maximum(input, min)
    return x if max is None else minimum(x, max)


clip = clamp
true_divide = divide = div
multiply, subtract = mul, sub


def where(condition: Term, input: Value | None = None, other: Value | None = None) -> Any:
    """Returns `input` where the condition is true, else `other`. Without these, returns a tuple of the indices where it
    is true.
    """
    if input is None or other is None:
        rows = condition.graph.NonZero(condition)
        return tuple(rows[i] for i in range(rank_of(condition)))
    a, b = promoted(input, other) if isinstance(input, TERMS) or isinstance(other, TERMS) else (input, other)
    return condition.graph.Where(condition, a, b)


def masked_fill(input: Term, mask: Term, value: Value) -> Term:
    """Returns `value` where the mask is true, else `input`."""
    filler = value if isinstance(value, TERMS) else input.graph.constant(value, input.dtype)
    return input.graph.Where(_cast(mask, "bool"), _cast(filler, input.dtype), input)


def matmul(input: Value, other: Value) -> Term:
    """Returns the matrix product, with broadcast batch dimensions."""
    graph = graph_of(input, other)
    return graph.MatMul(input, other)


mm = bmm = mv = dot = matmul



def addmm(input: Value, mat1: Value, mat2: Value, *, beta: float = 1, alpha: float = 1) -> Term:
    """Returns beta * input + alpha * mat1 @ mat2."""
    return add(mul(input, beta) if beta != 1 else input, matmul(mat1, mat2), alpha=alpha)




def einsum(equation: str, *operands: Any) -> Term:
    """Returns the sums of products in Einstein's notation."""
    return graph_of(*operands).Einsum(*sizes_of(operands), equation=equation)


def _reduction(op: str, doc: str, cast: Any = None) -> Callable[..., Term]:
    def function(input: Term, dim: Dims = None, keepdim: bool = False, *, dtype: Any = None) -> Term:
        x = _cast(input, dtype) if dtype is not None else cast(input) if cast else input
        return getattr(x.graph, op)(x, axes_of(x, dim), keepdims=int(keepdim))

    function.__doc__ = doc
    return function


def counting(x: Term) -> Term:
    """Casts bools and integers to int64, in which sums are computed."""
    return _cast(x, "int64") if kind_of(x.dtype) < 2 else x


sum = _reduction("ReduceSum", "Returns the sum along dimensions, or of all elements.", counting)
prod = _reduction("ReduceProd", "Returns the product along a dimension, or of all elements.", counting)
mean = _reduction("ReduceMean", "Returns the mean along dimensions, or of all elements.", floating)
amax = _reduction("ReduceMax", "Returns the largest elements along dimensions.")
amin = _reduction("ReduceMin", "Returns the smallest elements along dimensions.")
logsumexp = _reduction("ReduceLogSumExp", "Returns log(sum(exp(input))) along dimensions.", floating)


def all(input: Term, dim: Dims = None, keepdim: bool = False) -> Term:
    """Returns whether all elements are true."""
    return _cast(amin(_cast(_cast(input, "bool"), "int32"), dim, keepdim), "bool")


def any(input: Term, dim: Dims = None, keepdim: bool = False) -> Term:
    """Returns whether any element is true."""
    return _cast(amax(_cast(_cast(input, "bool"), "int32"), dim, keepdim), "bool")


def argmax(input: Term, dim: int | None = None, keepdim: bool = False) -> Term:
    """Returns indices of the largest elements; of the flattened input without `dim`."""
    return _arg("ArgMax", input, dim, keepdim)


def argmin(input: Term, dim: int | None = None, keepdim: bool = False) -> Term:
    """Returns indices of the smallest elements; of the flattened input without `dim`."""
    return _arg("ArgMin", input, dim, keepdim)


def _arg(op: str, x: Term, dim: int | None, keepdim: bool) -> Term:
    if dim is None:
        return getattr(x.graph, op)(x.graph.Reshape(x, numpy.array([-1], numpy.int64)), axis=0, keepdims=0)
    return getattr(x.graph, op)(x, axis=axis_of(x, dim), keepdims=int(keepdim))


def max(input: Term, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns the largest element, with its index if `dim` is given, or the elementwise maximum of two Terms."""
    if isinstance(dim, TERMS):
        return maximum(input, dim)
    return amax(input) if dim is None else Pair(amax(input, dim, keepdim), argmax(input, dim, keepdim))


def min(input: Term, dim: Any = None, keepdim: bool = False) -> Any:
    """Returns the smallest element, with its index if `dim` is given, or the elementwise minimum of two Terms."""
    if isinstance(dim, TERMS):
        return minimum(input, dim)
    return amin(input) if dim is None else Pair(amin(input, dim, keepdim), argmin(input, dim, keepdim))


def var(input: Term, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: int = 1) -> Term:
    """Returns the variance along dimensions. The divisor is the number of elements minus `correction`."""
    x = floating(input)
    centred = sub(x, mean(x, dim, True))
    total, correction = sum(mul(centred, centred), dim, keepdim), correction if unbiased else 0
    axes = range(rank_of(x)) if axes_of(x, dim) is None else axes_of(x, dim)
    count = x.graph.ReduceProd(x.graph.Gather(x.graph.Shape(x), numpy.array(axes, numpy.int64), axis=0), keepdims=0)
    return div(total, maximum(sub(count, correction), 0))


def std(input: Term, dim: Dims = None, unbiased: bool = True, keepdim: bool = False, *, correction: int = 1) -> Term:
    """Returns the square root of var()."""
    return sqrt(var(input, dim, unbiased, keepdim, correction=correction))


def norm(input: Term, p: Any = 2, dim: Dims = None, keepdim: bool = False) -> Term:
    """Returns the p-norm along dimensions, or of all elements."""
    x = floating(input)
    if p in (2, 2.0, "fro"):
        return x.graph.ReduceL2(x, axes_of(x, dim), keepdims=int(keepdim))
    if p == 1:
        return x.graph.ReduceL1(x, axes_of(x, dim), keepdims=int(keepdim))
    if math.isinf(p):
        return (amax if p > 0 else amin)(abs(x), dim, keepdim)
    return pow(sum(pow(abs(x), p), dim, keepdim), 1 / p)


def topk(input: Term, k: Value, dim: int = -1, largest: bool = True, sorted: bool = True) -> Pair:
    """Returns the k largest or smallest elements along `dim`, and their indices."""
    graph = input.graph
    count = vector(graph, [k])
    axis = axis_of(input, dim)
    return Pair(*graph.TopK(input, count, axis=axis, largest=int(largest), sorted=int(sorted)))  # type: ignore[misc]


def sort(input: Term, dim: int = -1, descending: bool = False, stable: bool = False) -> Pair:
    """Sorts along `dim`. Returns the elements and their original indices."""
    return topk(input, extent(input, axis_of(input, dim)), dim, descending)


def argsort(input: Term, dim: int = -1, descending: bool = False) -> Term:
    """Returns the indices of sort()."""
    return sort(input, dim, descending).indices


def cumsum(input: Term, dim: int, *, dtype: Any = None) -> Term:
    """Returns the cumulative sums along `dim`."""
    x = _cast(input, dtype) if dtype is not None else counting(input)
    return x.graph.CumSum(x, numpy.array(axis_of(x, dim), numpy.int64))


def extent(x: Term, axis: int) -> Any:
    """Returns an extent: a number, or a scalar Term if it is known only in a run."""
    raw = getattr(x, "_raw", None)
    if isinstance(raw, LazyArray) and raw._extents[axis] is not None:
        return raw._extents[axis]
    axis = axis % builtins.max(rank_of(x), 1)
    shape = Term.shape.__get__(x)
    if shape is not None and isinstance(shape[axis], int):
        return shape[axis]
    made = x.graph.Squeeze(x.graph.Shape(x, start=axis, end=axis + 1), numpy.zeros(1, numpy.int64))
    return made.as_extent() if hasattr(made, "as_extent") else made


def size(input: Term, dim: int | None = None) -> Any:
    """Returns all extents, or one. They are numbers, or scalar Terms if they are known only in a run."""
    if dim is not None:
        return extent(input, axis_of(input, dim))
    return Size(extent(input, axis) for axis in range(rank_of(input)))


def numel(input: Term) -> Any:
    """Returns the number of elements: a number, or a scalar Term if it is known only in a run."""
    parts = size(input)
    return math.prod(parts) if builtins.all(isinstance(part, int) for part in parts) else input.graph.Size(input)


def clone(input: Term, **_: Any) -> Term:
    """Returns a copy, which is independent of changes in place."""
    return type(input)(input.graph, input._raw) if isinstance(input, Term) else input


def cast(input: Term, dtype: Any) -> Term:
    """Casts the elements to another type."""
    return _cast(input, dtype)


def unsupported(what: str) -> Unsupported:
    """Returns the error for a feature of PyTorch that this package lacks."""
    return Unsupported(f"{what} is not supported by frazil.nn")

for _name, _function in list(globals().items()):
    if getattr(_function, "__name__", "") == "function":
        _function.__name__ = _function.__qualname__ = _name

open_functions(globals())
