"""Values of graphs under construction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence, Union

import numpy

from .. import _frazil
from .._frazil import DType, dtype
from ..errors import BadInput, Error
from ..slices import cuts
from ..symbolic import Symbolic

if TYPE_CHECKING:
    from .builder import Builder

Extent = Union[int, str]
SHORT_NAMES = {d.short_name: d for d in _frazil.dtypes}


def _kind(name: str) -> int:
    """Returns 0 for bool, 1 for integers, 2 for reals, 3 for complex numbers."""
    return 0 if name == "bool" else 1 if "int" in name else 3 if "complex" in name else 2


def _common_type(term: Term, other: Any) -> DType | None:
    """Returns the element type in which NumPy combines two operands; None if they have no common one."""
    mine = term.dtype
    if mine is None or isinstance(other, (str, list, tuple)):
        return mine
    if hasattr(other, "dtype"):
        theirs = other.dtype if isinstance(other, Term) else dtype(other.dtype)
        if theirs is None or theirs == mine:
            return mine
        try:
            return dtype(numpy.result_type(mine.numpy, theirs.numpy))
        except (TypeError, BadInput):
            return None
    number = 0 if isinstance(other, bool) else 1 if isinstance(other, int) else 3 if isinstance(other, complex) else 2
    if number <= _kind(mine.name):
        return mine
    return dtype(("int64", "float64", "complex128")[number - 1])


def _cast(value: Any, to: DType | None) -> Any:
    """Casts a Term or an array. Python numbers become constants of the other operand's type."""
    if to is None or not hasattr(value, "dtype") or value.dtype is None:
        return value
    if isinstance(value, Term):
        return value if value.dtype == to else value.graph.Cast(value, to=to)
    return value if dtype(value.dtype) == to else numpy.asarray(value).astype(to.numpy)


def _in_common(term: Term, other: Any) -> tuple[Any, Any]:
    """Casts two operands to their common element type."""
    to = _common_type(term, other)
    return _cast(term, to), _cast(other, to)


def _binary(op: str, integer: str | None = None, bools: str | None = None, reverse: bool = False) -> Any:
    """Returns a method that adds a node. Other operators are `integer` unless both are bools, and `bools` if so."""

    def method(self: Term, other: Any) -> Term:
        mine, theirs = _in_common(self, other)
        both = mine.dtype == "bool"
        make = getattr(self.graph, (bools or op) if both else (integer or op))
        return make(theirs, mine) if reverse else make(mine, theirs)  # type: ignore[no-any-return]

    return method


def _composed(function: Callable[[Any, Any, Any], Any], reverse: bool = False) -> Any:
    """Returns a method that calls a function of the graph and both operands."""

    def method(self: Term, other: Any) -> Any:
        mine, theirs = _in_common(self, other)
        if not isinstance(theirs, Term):
            theirs = self.graph.constant(theirs, None if hasattr(theirs, "dtype") else mine.dtype)
        return function(self.graph, theirs, mine) if reverse else function(self.graph, mine, theirs)

    return method


def _quotient(graph: Builder, a: Term, b: Term) -> Term:
    """Divides; integers and bools become float64."""
    if a.dtype is not None and _kind(a.dtype.name) < 2:
        a, b = graph.Cast(a, to="float64"), graph.Cast(b, to="float64")
    return graph.Div(a, b)


def _remainder(graph: Builder, a: Term, b: Term) -> Term:
    """Returns the remainder with the sign of the divisor."""
    if a.dtype is not None and _kind(a.dtype.name) < 2:
        return graph.Mod(a, b)
    rest = graph.Mod(a, b, fmod=1)
    other_sign = graph.Xor(graph.Less(rest, 0), graph.Less(b, 0))
    return graph.Where(graph.And(other_sign, graph.Not(graph.Equal(rest, 0))), graph.Add(rest, b), rest)


def _floor_quotient(graph: Builder, a: Term, b: Term) -> Term:
    """Divides and rounds down."""
    whole = graph.Div(graph.Sub(a, _remainder(graph, a, b)), b)
    return whole if a.dtype is not None and _kind(a.dtype.name) < 2 else graph.Round(whole)


def _both(graph: Builder, a: Term, b: Term) -> tuple[Term, Term]:
    """Returns the quotient, rounded down, and the remainder."""
    return _floor_quotient(graph, a, b), _remainder(graph, a, b)


def _compares(term: Term, other: Any) -> bool:
    """Returns whether == compares elements. Other values, such as None and slices, are not equal to a Term."""
    if isinstance(other, str):
        return term.dtype == "string"
    return isinstance(other, (Term, bool, int, float, complex, list, tuple)) or hasattr(other, "dtype")


class Term(Symbolic):
    """A value of a graph under construction. It belongs to the Graph or Patch that created it.

    Operators add nodes with NumPy's meaning: + - * / // @ ** %, == and other comparisons, & | ^ ~, unary - and abs().
    x[1:, 0, ..., None] takes slices, indices and new axes; an index may be a Term. Keys of dicts and sets are
    compared by identity.

    Parameters
    ----------
    graph : Graph or Patch
        The graph.
    raw : handle
        The value in the graph.

    Examples
    --------
    y = (x[:, 0] * 2 == 1).astype("float32")
    """

    __slots__ = ("graph", "_raw", "__weakref__")

    def __init__(self, graph: Builder, raw: _frazil.Term) -> None:
        self.graph = graph
        self._raw = raw

    @property
    def type(self) -> str:
        """The inferred type as text: 'f32[N,3]'."""
        return self.graph._body.type(self._raw)

    @property
    def dtype(self) -> DType | None:
        """The element type; None for a sequence, a map or an optional."""
        return SHORT_NAMES.get(self.type.partition("[")[0])

    @property
    def shape(self) -> tuple[Extent, ...] | None:
        """The extents as numbers or texts; None if the rank is unknown."""
        text = self.type.partition("[")[2][:-1]
        if self.dtype is None or text == "...":
            return None
        return tuple(int(dim) if dim.isdigit() else dim for dim in split_extents(text))

    @property
    def ndim(self) -> int:
        """The rank. Raises BadInput if it is unknown."""
        shape = Term.shape.__get__(self)
        if shape is None:
            raise BadInput(f"the rank of a term of type {self.type} is unknown")
        return len(shape)

    def __repr__(self) -> str:
        try:
            return f"<frazil.Term {self.type}>"
        except Error:
            return "<frazil.Term of a finished body>"

    def __bool__(self) -> bool:
        raise TypeError("a Term has no value while its graph is built: use Graph.if_() or Where()")

    def __iter__(self) -> Any:
        raise TypeError("a Term cannot be iterated over: use Split() or Graph.loop()")

    __add__, __radd__ = _binary("Add", bools="Or"), _binary("Add", bools="Or", reverse=True)
    __sub__, __rsub__ = _binary("Sub"), _binary("Sub", reverse=True)
    __mul__, __rmul__ = _binary("Mul", bools="And"), _binary("Mul", bools="And", reverse=True)
    __truediv__, __rtruediv__ = _composed(_quotient), _composed(_quotient, True)
    __floordiv__, __rfloordiv__ = _composed(_floor_quotient), _composed(_floor_quotient, True)
    __mod__, __rmod__ = _composed(_remainder), _composed(_remainder, True)
    __divmod__, __rdivmod__ = _composed(_both), _composed(_both, True)
    __matmul__, __rmatmul__ = _binary("MatMul"), _binary("MatMul", reverse=True)
    __pow__, __rpow__ = _binary("Pow"), _binary("Pow", reverse=True)
    __and__, __rand__ = _binary("And", "BitwiseAnd"), _binary("And", "BitwiseAnd", reverse=True)
    __or__, __ror__ = _binary("Or", "BitwiseOr"), _binary("Or", "BitwiseOr", reverse=True)
    __xor__, __rxor__ = _binary("Xor", "BitwiseXor"), _binary("Xor", "BitwiseXor", reverse=True)
    __lt__, __le__ = _binary("Less"), _binary("LessOrEqual")
    __gt__, __ge__ = _binary("Greater"), _binary("GreaterOrEqual")
    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: Any) -> Any:
        return self.graph.Equal(*_in_common(self, other)) if _compares(self, other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        return self.graph.Not(self == other) if _compares(self, other) else NotImplemented

    def __pos__(self) -> Term:
        return self

    def __neg__(self) -> Term:
        return self.graph.Neg(self)

    def __abs__(self) -> Term:
        return self.graph.Abs(self)

    def __invert__(self) -> Term:
        return self.graph.Not(self) if self.dtype == "bool" else self.graph.BitwiseNot(self)

    def astype(self, dtype: Any, *, copy: bool = True) -> Term:
        """Casts the elements to another type.

        Parameters
        ----------
        dtype : DType or str
            The element type.
        copy : bool, default True
            Has no effect.

        Returns
        -------
        Term
            The result of a Cast.
        """
        return self.graph.Cast(self, to=dtype)

    def reshape(self, *shape: Any, order: str = "C") -> Term:
        """Returns the elements in another shape.

        Parameters
        ----------
        *shape : int, Term or sequence
            Numbers with at most one -1, scalar Terms, or one sequence of them; or one Term with all extents.
        order : str, default 'C'
            'C', or 'F' if the first axis varies fastest.

        Returns
        -------
        Term
            The same elements.

        Raises
        ------
        ValueError
            If the order is another one.
        """
        extents = shape[0] if len(shape) == 1 else shape
        if order == "F":
            return Term.reshape(self.T, extents[::-1] if isinstance(extents, (tuple, list)) else extents).T
        if order != "C":
            raise ValueError(f"an order is 'C' or 'F', not {order!r}")
        if not isinstance(extents, Term):
            extents = _vector(self.graph, extents if isinstance(extents, (tuple, list)) else (extents,))
        return self.graph.Reshape(self, extents, allowzero=1)

    def __getitem__(self, key: Any) -> Term:
        return _index(self, key if isinstance(key, tuple) else (key,))


def split_extents(text: str) -> list[str]:
    """Splits at the commas outside of parentheses: "N,max(1, M)"."""
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _index(term: Term, key: tuple[Any, ...]) -> Term:
    used = sum(part is not None and part is not Ellipsis for part in key)
    if used > term.ndim:
        raise IndexError(f"{used} indices for a term of type {term.type}")
    if sum(part is Ellipsis for part in key) > 1:
        raise IndexError("an index has at most one '...'")
    if Ellipsis not in [part for part in key if not isinstance(part, Term)]:
        key = (*key, Ellipsis)
    at = next(i for i, part in enumerate(key) if part is Ellipsis)
    key = (*key[:at], *[slice(None)] * (term.ndim - used), *key[at + 1 :])
    axes, news, axis, result_axis = [], [], 0, 0
    for part in key:
        if part is None:
            news.append(result_axis)
        else:
            axes.append((axis, part))
            axis += 1
        result_axis += part is None or isinstance(part, slice)
    term = _take_slices(term, [(axis, part) for axis, part in axes if isinstance(part, slice)])
    for axis, part in reversed(axes):
        if isinstance(part, slice):
            continue
        index: Any = part if isinstance(part, Term) else numpy.asarray(part)
        if not isinstance(index, Term) and index.dtype.kind not in "iu":
            raise TypeError(f"a term cannot be indexed by {part!r}")
        if news and (Term.shape.__get__(index) != () if isinstance(index, Term) else index.ndim):
            raise IndexError("an index of several elements together with a new axis: do one after the other")
        term = term.graph.Gather(term, index, axis=axis)
    return term.graph.Unsqueeze(term, numpy.array(news, numpy.int64)) if news else term


def _take_slices(term: Term, slices: list[tuple[int, slice]]) -> Term:
    graph, shape = term.graph, Term.shape.__get__(term)
    layers: list[list[tuple[Any, ...]]] = [[], []]
    for axis, part in slices:
        if part == slice(None):
            continue
        step = 1 if part.step is None else part.step
        if not isinstance(step, int) or step == 0:
            raise ValueError("the step of a slice must be a number other than 0")
        extent = shape[axis] if shape is not None and isinstance(shape[axis], int) else None
        for layer, (start, stop, by) in zip(layers, cuts(part.start, part.stop, step, extent)):
            layer.append((start, stop, axis, by))
    for rows in layers:
        if rows:
            term = graph.Slice(term, *(_vector(graph, column) for column in zip(*rows)))
    return term


def _vector(graph: Builder, parts: Sequence[Any]) -> Any:
    if not any(isinstance(part, Term) for part in parts):
        return numpy.array(parts, numpy.int64)
    one = numpy.array([-1], numpy.int64)
    terms = [part if isinstance(part, Term) else graph.constant(part, "int64") for part in parts]
    return graph.Concat(*(graph.Reshape(graph.Cast(term, to="int64"), one) for term in terms), axis=0)


Value = Union[Term, numpy.ndarray, float, int, bool, str, Sequence[Any]]
