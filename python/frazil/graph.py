"""Building and editing graphs."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence, Union

import numpy

from . import _frazil
from ._frazil import DType, OperatorInfo, dtype
from .errors import BadInput, Error
from .model import Model
from ._operators import Operators, least_outputs
from .slices import cuts

if TYPE_CHECKING:
    from .policy import Policy

Extent = Union[int, str]
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
SHORT_NAMES = {d.short_name: d for d in _frazil.dtypes}


def _located(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a method to add the caller's file and line to errors."""

    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except Error as error:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(FOLDER):
                frame = frame.f_back
            if frame is not None and error.location is None:
                error.location = (frame.f_code.co_filename, frame.f_lineno)
                error.args = (f"{error} (at {frame.f_code.co_filename}:{frame.f_lineno})",)
            raise

    return wrapper


def _binary(op: str, integer: str | None = None, reverse: bool = False) -> Callable[[Term, Any], Term]:
    """Returns a method that adds a node; `integer` is its operator unless self is a bool."""

    def method(self: Term, other: Any) -> Term:
        make = getattr(self.graph, integer if integer is not None and self.dtype != "bool" else op)
        return make(other, self) if reverse else make(self, other)

    return method


class Term:
    """A value of a graph under construction. It belongs to the Graph or Patch that created it.

    + - * / @ ** %, comparisons, & | ^ ~, unary - and abs() add nodes. == compares identity; eq() and ne() add nodes.
    x[1:, 0, ..., None] takes slices, indices and new axes; an index may be a Term.
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
        return tuple(int(dim) if dim.isdigit() else dim for dim in _split(text))

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

    __add__, __radd__ = _binary("Add"), _binary("Add", reverse=True)
    __sub__, __rsub__ = _binary("Sub"), _binary("Sub", reverse=True)
    __mul__, __rmul__ = _binary("Mul"), _binary("Mul", reverse=True)
    __truediv__, __rtruediv__ = _binary("Div"), _binary("Div", reverse=True)
    __matmul__, __rmatmul__ = _binary("MatMul"), _binary("MatMul", reverse=True)
    __pow__, __rpow__ = _binary("Pow"), _binary("Pow", reverse=True)
    __mod__, __rmod__ = _binary("Mod"), _binary("Mod", reverse=True)
    __and__, __rand__ = _binary("And", "BitwiseAnd"), _binary("And", "BitwiseAnd", reverse=True)
    __or__, __ror__ = _binary("Or", "BitwiseOr"), _binary("Or", "BitwiseOr", reverse=True)
    __xor__, __rxor__ = _binary("Xor", "BitwiseXor"), _binary("Xor", "BitwiseXor", reverse=True)
    __lt__, __le__ = _binary("Less"), _binary("LessOrEqual")
    __gt__, __ge__ = _binary("Greater"), _binary("GreaterOrEqual")

    def __neg__(self) -> Term:
        return self.graph.Neg(self)

    def __abs__(self) -> Term:
        return self.graph.Abs(self)

    def __invert__(self) -> Term:
        return self.graph.Not(self) if self.dtype == "bool" else self.graph.BitwiseNot(self)

    def eq(self, other: Any) -> Term:
        """Returns self == other, elementwise."""
        return self.graph.Equal(self, other)

    def ne(self, other: Any) -> Term:
        """Returns self != other, elementwise."""
        return self.graph.Not(self.graph.Equal(self, other))

    def astype(self, to: Any) -> Term:
        """Returns the elements cast to another type."""
        return self.graph.Cast(self, to=to)

    def reshape(self, *shape: Any) -> Term:
        """Returns the elements in another shape, given as numbers with at most one -1, or as one Term."""
        extents = shape[0] if len(shape) == 1 and isinstance(shape[0], (Term, tuple, list)) else shape
        return self.graph.Reshape(self, extents if isinstance(extents, Term) else numpy.array(extents, numpy.int64))

    def transpose(self, *axes: int) -> Term:
        """Permutes the axes; reverses them without arguments."""
        return self.graph.Transpose(self, perm=list(axes) or list(range(self.ndim))[::-1])

    @property
    def T(self) -> Term:
        """The axes in reversed order."""
        return self.transpose()

    def __getitem__(self, key: Any) -> Term:
        return _index(self, key if isinstance(key, tuple) else (key,))


def _split(text: str) -> list[str]:
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


def _vector(graph: Builder, parts: tuple[Any, ...]) -> Any:
    if not any(isinstance(part, Term) for part in parts):
        return numpy.array(parts, numpy.int64)
    one = numpy.array([-1], numpy.int64)
    terms = [part if isinstance(part, Term) else graph.constant(part, "int64") for part in parts]
    return graph.Concat(*(graph.Reshape(graph.Cast(term, to="int64"), one) for term in terms), axis=0)


Value = Union[Term, numpy.ndarray, float, int, bool, str, Sequence[Any]]


class Builder(Operators):
    """The base of Graph and Patch, which adds nodes to the current body."""

    term_type: type[Term] = Term  #: type of the Terms that it creates

    def __init__(self, raw: _frazil.Body) -> None:
        self._raw = raw
        self._bodies: list[_frazil.Body] = [raw]

    @property
    def _body(self) -> _frazil.Body:
        return self._bodies[-1]

    @_located
    def constant(self, value: Any, dtype: Any = None, *, name: str = "", copy: bool = True) -> Term:
        """Adds a constant. Numbers without `dtype` are float32, int64 or bool.

        copy=False borrows a NumPy array, which must not change while the model is in use.
        """
        if isinstance(value, Term):
            return value
        if dtype is None and not hasattr(value, "dtype"):
            dtype = _default_dtype(value)
        return self.term_type(self, self._body.constant(value, dtype, copy, name))

    def op(
        self,
        op: str,
        inputs: Iterable[Value | None] = (),
        attributes: Mapping[str, Any] | None = None,
        *,
        outputs: int = 1,
        name: str = "",
    ) -> Term | tuple[Term, ...]:
        """Adds a node by the operator's name. Names of other domains have a prefix: "ai.onnx.ml.Scaler"."""
        rows = [(key, None, value) for key, value in (attributes or {}).items()]
        return self._add(op, list(inputs), None, rows, outputs, name)

    def _call(
        self,
        info: OperatorInfo,
        inputs: list[Any],
        bodies: list[Callable[..., Any]],
        attributes: list[tuple[str, int | None, Any]],
        outputs: int | None,
        name: str,
    ) -> Term | tuple[Term, ...]:
        while inputs and inputs[-1] is None:
            inputs.pop()
        if not bodies:
            return self._add(info.full_name, inputs, info, attributes, outputs or least_outputs(info), name)
        return self._region(info, inputs, bodies, attributes, outputs, name)

    @_located
    def _add(self, op: str, inputs: list[Any], info: Any, attributes: list[Any], outputs: int, name: str) -> Any:
        return self._terms(self._body.op(op, self._raws(inputs, info), attributes, outputs, name))

    @_located
    def _region(
        self, info: Any, inputs: list[Any], bodies: list[Any], attributes: list[Any], outputs: int | None, name: str
    ) -> Any:
        regions = [(_parameter_count(body), self._fill(body)) for body in bodies]
        return self._terms(
            self._body.region(info.full_name, self._raws(inputs, info), regions, attributes, outputs, name)
        )

    def _terms(self, raws: list[_frazil.Term]) -> Any:
        terms = tuple(self.term_type(self, raw) for raw in raws)
        return terms[0] if len(terms) == 1 else terms

    def _raws(self, values: Sequence[Any], info: OperatorInfo | None = None) -> list[_frazil.Term]:
        """Returns raw Terms. Other values become constants with the element type of the Terms of the same type
        variable.
        """
        variables: list[str] = []
        if info is not None and info.inputs and not all(value is None or isinstance(value, Term) for value in values):
            variables = [info.inputs[min(i, len(info.inputs) - 1)].variable for i in range(len(values))]
        known: dict[str, DType] = {}
        for variable, value in zip(variables, values):
            if variable and variable not in known and isinstance(value, Term) and value.dtype is not None:
                known[variable] = value.dtype
        return [self._raw_of(value, known.get(variables[i]) if variables else None) for i, value in enumerate(values)]

    def _raw_of(self, value: Any, wanted: DType | None = None) -> _frazil.Term:
        if value is None:
            return _frazil.Term()
        if isinstance(value, Term):
            if value.graph is not self:
                raise BadInput("a term belongs to another graph or patch")
            return value._raw
        return self.constant(value, None if hasattr(value, "dtype") else wanted)._raw

    def _fill(self, body: Callable[..., Any], shape: Callable[[list[Any], list[Term]], list[Any]] | None = None) -> Any:
        def fill(inner: _frazil.Body, raws: list[_frazil.Term]) -> list[_frazil.Term]:
            self._bodies.append(inner)
            try:
                params = [self.term_type(self, raw) for raw in raws]
                made = body(*params)
                results = list(made) if isinstance(made, (tuple, list)) else [made]
                return self._raws(shape(results, params) if shape else results)
            finally:
                self._bodies.pop()

        return fill

    @_located
    def if_(
        self, condition: Value, then: Callable[[], Any], otherwise: Callable[[], Any], *, name: str = ""
    ) -> Term | tuple[Term, ...]:
        """Adds an If with two bodies: functions without parameters that return a Term, or the same number of Terms.

        y = graph.if_(x.dtype ..., lambda: x + 1, lambda: x - 1)
        """
        return self._terms(self._body.if_else(self._raw_of(condition), self._fill(then), self._fill(otherwise), name))

    @_located
    def loop(
        self,
        trips: Value | None,
        condition: Value | None,
        carried: Value | Sequence[Value],
        body: Callable[..., Any],
        *,
        collected: int = 0,
        name: str = "",
    ) -> Term | tuple[Term, ...]:
        """Adds a loop. Returns the last carried values, then each collected value, stacked along a new first axis.

        trips      largest number of iterations; None: no limit
        condition  whether the first iteration runs; None: True
        body       a function of the iteration's number, the condition and the carried values. It returns the condition,
                   the carried values and `collected` further values. It may omit the condition to keep it
        """
        values = list(carried) if isinstance(carried, (tuple, list)) else [carried]
        wanted = len(values) + collected

        def shape(results: list[Any], params: list[Term]) -> list[Any]:
            return [params[1], *results] if len(results) == wanted else results

        trip_count = trips if isinstance(trips, Term) or trips is None else self.constant(trips, "int64")
        raws = self._raws(values)
        fill = self._fill(body, shape)
        first, run = self._raw_of(trip_count), self._raw_of(condition)
        return self._terms(self._body.loop(first, run, raws, fill, collected, name))


def _default_dtype(value: Any) -> DType | None:
    kind = numpy.asarray(value).dtype.kind if not isinstance(value, str) else "U"
    return {"b": dtype("bool"), "i": dtype("int64"), "f": dtype("float32"), "c": dtype("complex64")}.get(
        kind, dtype("string") if kind in "USO" else None
    )


def _parameter_count(body: Callable[..., Any]) -> int:
    parameters = inspect.signature(body).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        raise TypeError("a body needs a fixed number of parameters")
    return sum(p.default is p.empty for p in parameters)


class Graph(Builder):
    """Builds a model node by node.

    g = frazil.Graph("affine")
    x = g.input("x", frazil.float32, ("N", 3))
    g.output("y", g.Relu(x @ weights + 1))
    model = g.build()
    """

    _raw: _frazil.GraphBuilder

    def __init__(self, name: str = "graph") -> None:
        super().__init__(_frazil.GraphBuilder(name))
        self.name = name

    @_located
    def input(self, name: str, dtype: Any, shape: Sequence[Extent] = ()) -> Term:
        """Adds an input of the model. Extents are numbers or names; equal names mean equal extents."""
        return self.term_type(self, self._raw.input(name, dtype, shape))

    @_located
    def output(self, name: str, value: Value) -> None:
        """Makes a value an output of the model."""
        self._raw.output(name, self._raw_of(value))

    @_located
    def build(self, *, policy: Policy | None = None, **options: Any) -> Model:
        """Returns a model of the graph so far. The options (frazil.Options) are the defaults of its calls."""
        return Model(self._raw.build(policy), _frazil.Options(**options))

    def __repr__(self) -> str:
        return f"<frazil.Graph {self.name!r}>"

    def _repr_html_(self) -> str:
        return self.build()._repr_html_()


class Patch(Builder):
    """Edits a model. All changes take effect together at the end of the `with` block, unless it raises.

    with model.edit("clip") as p:
        x = p.tap("relu_out")
        p.replace("relu_out", p.Min(x, 6.0))
    clipped = p.model
    """

    _raw: _frazil.PatchBuilder

    def __init__(self, model: Model, name: str = "edit") -> None:
        super().__init__(_frazil.PatchBuilder(model._handle, name))
        self.name = name
        self._of = model
        self._made: Model | None = None

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None and self._made is None:
            self.commit()

    @_located
    def tap(self, value: str) -> Term:
        """Returns the value with this name, as before the patch. Raises BadInput if there is none."""
        return self.term_type(self, self._raw.tap(value))

    @_located
    def input(self, name: str, dtype: Any, shape: Sequence[Extent] = ()) -> Term:
        """Adds an input of the model, which may replace a value. Raises BadModel if the name is in use."""
        return self.term_type(self, self._raw.input(name, dtype, shape))

    @_located
    def replace(self, value: str, by: Value) -> None:
        """Replaces every use of a value, including its use as an output of the model."""
        self._raw.replace(value, self._raw_of(by))

    @_located
    def wrap(
        self,
        outputs: str | Sequence[str],
        condition: Value,
        otherwise: Callable[[], Any],
        *,
        inputs: Sequence[str] = (),
        name: str = "",
    ) -> Term | tuple[Term, ...]:
        """Wraps the nodes that compute `outputs`, values of one body, in an If. Returns its results.

        p.wrap("layer2", p.tap("busy"), lambda: p.tap("layer1"))

        Nodes that only `outputs` needs move into its first branch. If `condition` is false, a run uses the values of
        `otherwise()` and does not compute these nodes. Nodes stay if the condition, `otherwise` or other nodes need
        them, or if they compute `inputs`. The end of the patch raises BadModel if the node of an output would stay.
        """
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        return self._terms(self._raw.wrap(names, self._raw_of(condition), self._fill(otherwise), list(inputs), name))

    @_located
    def remove(self, node: str) -> None:
        """Removes a node. Its results must not be used at the end of the patch."""
        self._raw.remove(node)

    @_located
    def set_attribute(self, node: str, attribute: str, value: Any) -> None:
        """Changes an attribute of a node."""
        self._raw.set_attribute(node, attribute, value)

    @_located
    def add_output(self, name: str, value: Value) -> None:
        """Makes a value an output of the model."""
        self._raw.add_output(name, self._raw_of(value))

    @_located
    def remove_output(self, name: str) -> None:
        """Removes an output of the model."""
        self._raw.remove_output(name)

    @_located
    def commit(self) -> Model:
        """Creates the edited model, which is also available as `model`. The patch cannot be used afterwards."""
        self._made = self._commit()
        return self._made

    def _commit(self) -> Model:
        return Model(self._raw.commit(), self._of.options)

    @property
    def model(self) -> Model:
        """The edited model. Raises BadInput before the end of the `with` block, or if it raised."""
        if self._made is None:
            raise BadInput(f"patch '{self.name}' has not been committed")
        return self._made

    def __repr__(self) -> str:
        return f"<frazil.Patch {self.name!r} of {self._of!r}>"
