"""Building graphs."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

import numpy

from .. import _frazil
from .._frazil import DType, OperatorInfo, dtype
from ..effects import PACKAGE
from ..errors import BadInput, Error
from ..model import Model
from .operators import Operators, least_outputs
from .terms import Extent, Term, Value

if TYPE_CHECKING:
    from ..policy import Policy


def located(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a method to add the caller's file and line to errors."""

    @functools.wraps(method)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except Error as error:
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(PACKAGE):
                frame = frame.f_back
            if frame is not None and error.location is None:
                error.location = (frame.f_code.co_filename, frame.f_lineno)
                error.args = (f"{error} (at {frame.f_code.co_filename}:{frame.f_lineno})",)
            raise

    return wrapper


class Builder(Operators):
    """The base of Graph and Patch, which adds nodes to the current body.

    Parameters
    ----------
    raw : handle
        The body.
    """

    term_type: type[Term] = Term  #: type of the Terms that it creates

    def __init__(self, raw: _frazil.Body) -> None:
        self._raw = raw
        self._bodies: list[_frazil.Body] = [raw]

    @property
    def _body(self) -> _frazil.Body:
        return self._bodies[-1]

    @located
    def constant(self, value: Any, dtype: Any = None, *, name: str = "", copy: bool = True) -> Term:
        """Adds a constant.

        Parameters
        ----------
        value : array, number, str or list
            The elements. A Term is returned as it is.
        dtype : DType or str, optional
            The element type. Numbers without it are float32, int64 or bool.
        name : str, default ''
            The name of the node.
        copy : bool, default True
            False borrows a NumPy array, which must not change while the model is in use.

        Returns
        -------
        Term
            The constant.

        Raises
        ------
        BadInput
            If the elements do not fit the element type.
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
        """Adds a node by the operator's name.

        Parameters
        ----------
        op : str
            The operator. Names of other domains have a prefix: "ai.onnx.ml.Scaler".
        inputs : iterable
            Terms, arrays, numbers, or None for an absent input.
        attributes : dict, optional
            Attributes by name.
        outputs : int, default 1
            The number of results.
        name : str, default ''
            The name of the node.

        Returns
        -------
        Term or tuple of Term
            The result, or several.

        Raises
        ------
        BadModel
            If the operands do not fit the operator.
        BadInput
            If there is no such operator, or an attribute does not fit.
        """
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

    @located
    def _add(self, op: str, inputs: list[Any], info: Any, attributes: list[Any], outputs: int, name: str) -> Any:
        return self._terms(self._body.op(op, self._raws(inputs, info), attributes, outputs, name))

    @located
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

    @located
    def if_(
        self, condition: Value, then: Callable[[], Any], otherwise: Callable[[], Any], *, name: str = ""
    ) -> Term | tuple[Term, ...]:
        """Adds an If with two bodies.

        Parameters
        ----------
        condition : Term or bool
            A bool.
        then : callable
            A function without parameters that returns a Term, or several.
        otherwise : callable
            A function that returns the same number of Terms.
        name : str, default ''
            The name of the node.

        Returns
        -------
        Term or tuple of Term
            The results of the body that runs.

        Raises
        ------
        BadModel
            If the bodies return different numbers of values, or values of types that do not fit.

        Examples
        --------
        y = graph.if_(x[0] > 0, lambda: x + 1, lambda: x - 1)
        """
        return self._terms(self._body.if_else(self._raw_of(condition), self._fill(then), self._fill(otherwise), name))

    @located
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
        """Adds a Loop.

        Parameters
        ----------
        trips : Term, int or None
            The largest number of iterations; None means no limit.
        condition : Term, bool or None
            Whether the first iteration runs; None means True.
        carried : Term or sequence of Term
            The first carried values.
        body : callable
            A function of the iteration's number, the condition and the carried values. It returns the condition, the
            carried values and `collected` further values. It may omit the condition to keep it.
        collected : int, default 0
            The number of values per iteration that are collected.
        name : str, default ''
            The name of the node.

        Returns
        -------
        Term or tuple of Term
            The last carried values, then each collected value, stacked along a new first axis.

        Raises
        ------
        BadModel
            If the body returns another number of values, or values of other types.

        Examples
        --------
        doubled = graph.loop(3, None, x, lambda i, condition, value: value * 2)
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
    """Builds a model node by node. Every operator is a method: g.Relu(x).

    Parameters
    ----------
    name : str, default 'graph'
        The name of the model.

    Examples
    --------
    g = frazil.Graph("affine")
    x = g.input("x", frazil.float32, ("N", 3))
    g.output("y", g.Relu(x @ weights + 1))
    model = g.build()
    """

    _raw: _frazil.GraphBuilder

    def __init__(self, name: str = "graph") -> None:
        super().__init__(_frazil.GraphBuilder(name))
        self.name = name

    @located
    def input(self, name: str, dtype: Any, shape: Sequence[Extent] = ()) -> Term:
        """Adds an input of the model.

        Parameters
        ----------
        name : str
            The name.
        dtype : DType or str
            The element type.
        shape : sequence of int or str, default ()
            The extents: numbers or names. Equal names mean equal extents.

        Returns
        -------
        Term
            The value of the input.

        Raises
        ------
        BadModel
            If the name is in use.
        """
        return self.term_type(self, self._raw.input(name, dtype, shape))

    @located
    def output(self, name: str, value: Value) -> None:
        """Makes a value an output of the model.

        Parameters
        ----------
        name : str
            The name.
        value : Term, array or number
            The value.

        Raises
        ------
        BadModel
            If the name is in use.
        """
        self._raw.output(name, self._raw_of(value))

    @located
    def build(self, *, policy: Policy | None = None, **options: Any) -> Model:
        """Returns a model of the graph so far.

        Parameters
        ----------
        policy : Policy, optional
            Checks the model, its edits and its runs.
        **options : any
            Options of runs, see frazil.Options, which are the defaults of the model's calls.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        BadModel
            If the graph is not valid.
        BadInput
            If the policy refuses it, or an option is not valid.
        """
        return Model(self._raw.build(policy), _frazil.Options(**options))

    def __repr__(self) -> str:
        return f"<frazil.Graph {self.name!r}>"

    def _repr_html_(self) -> str:
        return self.build()._repr_html_()
