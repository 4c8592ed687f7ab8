"""Python functions as operators."""

from __future__ import annotations

import inspect
import re
import traceback
from typing import Any, Callable, NamedTuple, Sequence

from .. import _frazil
from .._frazil import DType, dtype
from ..errors import BadInput
from . import operators
from .terms import SHORT_NAMES, Extent, Term, split_extents

IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
FUNCTIONS = {"floordiv", "mod", "min", "max"}


class TensorType(NamedTuple):
    """The known type of a tensor before a run.

    Parameters
    ----------
    dtype : DType
        The element type; for results anything that frazil.dtype() accepts.
    shape : tuple of int or str, optional
        Numbers, and texts for extents known at run time: ("N", 3). None means an unknown rank. Results may have
        expressions of the inputs' extents, such as f"2*({n})", and "?": known once the function has run.
    """

    dtype: DType
    shape: tuple[Extent, ...] | None = None

    @classmethod
    def of(cls, given: Any) -> TensorType:
        """Converts a type to a TensorType.

        Parameters
        ----------
        given : TensorType, str or pair
            A text such as "f32[N,3]" or "f32[...]", or an element type and a shape.

        Returns
        -------
        TensorType
            The type.

        Raises
        ------
        BadInput
            If the text is not a type of a tensor.
        TypeError
            If it is neither a text nor a pair.
        """
        if isinstance(given, str):
            name, bracket, rest = given.partition("[")
            if not bracket or not rest.endswith("]"):
                raise BadInput(f"{given!r} is not a type of a tensor, such as 'f32[N,3]'")
            dims = rest[:-1].strip()
            extents: tuple[Extent, ...] = tuple(int(d) if d.isdigit() else d for d in split_extents(dims))
            return cls(SHORT_NAMES[name] if name in SHORT_NAMES else dtype(name), None if dims == "..." else extents)
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(f"expected a TensorType or a text, got {given!r}")
        return cls(dtype(given[0]), None if given[1] is None else tuple(given[1]))

    def __str__(self) -> str:
        dims = "..." if self.shape is None else ",".join(str(extent) for extent in self.shape)
        return f"{self.dtype.short_name}[{dims}]"


class HostOperator:
    """A Python function as an operator, the result of host_operator().

    A call with a Term adds a node to the Term's graph. A call with arrays calls the function.

    Parameters
    ----------
    full_name : str
        The domain and the name.
    function : callable
        The function.
    inputs, outputs, types, pure, views : any
        See host_operator().
    """

    def __init__(
        self,
        full_name: str,
        function: Callable[..., Any],
        inputs: Any,
        outputs: Any,
        types: Any,
        pure: bool,
        views: bool,
    ) -> None:
        self.domain, _, self.name = full_name.rpartition(".")
        if not self.domain:
            raise BadInput(f"operator '{full_name}' needs a domain: 'com.acme.{full_name}'")
        self.full_name = full_name
        self.function = function
        self.__doc__ = inspect.getdoc(function) or ""
        self._ports, self._attributes = _ports_of(full_name, function, inputs)
        self._pure, self._views = pure, views
        declared = [] if isinstance(outputs, int) else [outputs] if isinstance(outputs, str) else list(outputs)
        self.outputs = len(declared) if declared else outputs
        if types is None and declared:
            types = _declared(inputs if isinstance(inputs, (list, tuple)) else [], declared)
        if types is None and self._ports == (0, 0, False):
            raise BadInput(f"operator '{full_name}' has no input whose type its outputs could have: give types")
        self._types = types

    def types(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the function that infers the types of the results, as a decorator.

        Parameters
        ----------
        function : callable
            See `types` of host_operator().

        Returns
        -------
        callable
            The function.
        """
        self._types = function
        return function

    def _infer(self, given: Sequence[Any], attributes: dict[str, Any]) -> list[TensorType]:
        operands = [None if one is None else TensorType(*one) for one in given]
        if self._types is None:
            if not operands or operands[0] is None:
                raise BadInput("without its first input, whose type its outputs have, it needs a type function")
            return [operands[0]] * self.outputs
        made = self._types(*operands, **attributes)
        several = isinstance(made, (list, tuple)) and not isinstance(made, TensorType)
        return [TensorType.of(one) for one in (made if several else [made])]

    def _interface(self) -> tuple[Any, ...]:
        return (self._ports, self.outputs, self._attributes, self._pure, self._views)

    def _register(self, replace: bool) -> None:
        before = _known.get(self.full_name) if replace else None
        if before is not None:
            if before._interface() != self._interface():
                raise BadInput(f"operator '{self.full_name}' can only be replaced by one with the same interface")
            _frazil.replace_functions(self.full_name, self.function, self._infer)
        else:
            ports, attributes = (*self._ports, self.outputs), [(name, None, v) for name, v in self._attributes]
            _frazil.register_operator(
                self.domain,
                self.name,
                self.__doc__ or "",
                ports,
                attributes,
                self._pure,
                self._views,
                self.function,
                self._infer,
            )
            operators.define(next(i for i in _frazil.operators() if i.full_name == self.full_name))
        _known[self.full_name] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        term = next((arg for arg in args if isinstance(arg, Term)), None)
        if term is None:
            return self.function(*args, **kwargs)
        domain = getattr(term.graph, operators.domain_name(self.domain))
        return getattr(domain, self.name)(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<frazil.HostOperator {self.full_name!r}>"


_known: dict[str, HostOperator] = {}


def host_operator(
    name: str,
    *,
    inputs: int | Sequence[Any] | None = None,
    outputs: int | str | Sequence[str] = 1,
    types: Callable[..., Any] | None = None,
    pure: bool = True,
    views: bool = True,
    replace: bool = False,
) -> Callable[[Callable[..., Any]], HostOperator]:
    """Returns a decorator that registers a Python function as an operator, for the life of the process.

    Parameters of the function are the inputs. Those with the default None are optional, and *args takes any number.
    Keyword-only parameters are attributes. Their default determines their kind: an int, a float, a text, a list of one
    of these, an array.

    The function gets read-only NumPy arrays. It returns an array or a number, or a tuple of several outputs. It is
    called with the interpreter's lock, on the thread that runs the model, or for constants, opens it. Calls may be
    concurrent. An exception ends the run with a frazil.Error that names the node and has the exception as its cause.
    KeyboardInterrupt and SystemExit are raised themselves.

    Parameters
    ----------
    name : str
        The domain and the name: "com.acme.Clip".
    inputs : int or sequence of str, optional
        Their number, for functions without a signature; or types such as "f32[N,3]" to check inputs against, by
        position, None for any.
    outputs : int, str or sequence of str, default 1
        Their number; or types such as "f32[N,2*M]", with the names of `inputs`.
    types : callable, optional
        Gets a TensorType for each input (None for an absent one) and the attributes by keyword, and returns a
        TensorType or a text, several outputs as a list. It is called often, with more or fewer extents known, and
        must return equal types for equal arguments. By default outputs have the type of the first input.
    pure : bool, default True
        Results depend on inputs and attributes alone: equal nodes may be computed once, or when a model is opened.
    views : bool, default True
        Inputs are views of the run's memory, without a copy. Keeping one beyond the call is an error, and an exception
        loses the local variables of its frames. False: inputs are copies.
    replace : bool, default False
        The name may be in use by an operator with the same interface, whose function this one replaces.

    Returns
    -------
    callable
        A decorator, whose result is a HostOperator.

    Raises
    ------
    BadInput
        If the name is in use or has no domain, or the function's parameters do not fit.

    Examples
    --------
    @frazil.host_operator("com.acme.Clip")
    def clip(x, *, high=6.0):
        return np.minimum(x, np.float32(high))


    y = clip(x_term, high=3.0)    # or graph.com_acme.Clip(...), graph.op("com.acme.Clip", ...)
    """

    def register(function: Callable[..., Any]) -> HostOperator:
        op = HostOperator(name, function, inputs, outputs, types, pure, views)
        op._register(replace)
        return op

    return register


def _ports_of(name: str, function: Callable[..., Any], inputs: Any) -> tuple[tuple[int, int, bool], list[Any]]:
    """Returns ((required, optional, variadic), attributes with their defaults) for a function's parameters."""
    if isinstance(inputs, int):
        return (inputs, 0, False), []
    required = optional = 0
    variadic, attributes = False, []
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_KEYWORD:
            raise BadInput(f"operator '{name}': attributes need names, got **{p.name}")
        if p.kind is p.VAR_POSITIONAL:
            variadic = True
        elif p.kind is p.KEYWORD_ONLY:
            if p.default is p.empty or p.default is None:
                raise BadInput(f"operator '{name}': attribute '{p.name}' needs a default, which tells its kind")
            attributes.append((p.name, p.default))
        elif p.default is p.empty:
            required += 1
        elif p.default is None:
            optional += 1
        else:
            raise BadInput(f"operator '{name}': input '{p.name}' can have no default but None")
    return (required, optional, variadic), attributes


def _declared(inputs: Sequence[Any], outputs: Sequence[Any]) -> Callable[..., list[TensorType]]:
    """Returns the type function for declared types. A name of an extent means the same value in all of them."""
    wanted = [None if one is None else TensorType.of(one) for one in inputs]
    promised = [TensorType.of(one) for one in outputs]

    def types(*given: TensorType | None, **attributes: Any) -> list[TensorType]:
        extents: dict[str, Extent] = {}
        for i, (want, got) in enumerate(zip(wanted, given)):
            if want is not None and got is not None and not _matches(want, got, extents):
                raise BadInput(f"input {i}: expected {want}, got {got}")
        return [
            TensorType(p.dtype, None if p.shape is None else tuple(_inserted(extent, extents) for extent in p.shape))
            for p in promised
        ]

    return types


def _matches(want: TensorType, got: TensorType, extents: dict[str, Extent]) -> bool:
    if want.dtype != got.dtype:
        return False
    if want.shape is None or got.shape is None:
        return True
    if len(want.shape) != len(got.shape):
        return False
    for name, extent in zip(want.shape, got.shape):
        known = extents.setdefault(name, extent) if isinstance(name, str) else name
        if isinstance(known, int) and isinstance(extent, int) and known != extent:
            return False
        if isinstance(name, str) and isinstance(extent, int):
            extents[name] = extent
    return True


def _inserted(extent: Extent, extents: dict[str, Extent]) -> Extent:
    """Substitutes the inputs' extents for their names. Returns "?" if one is unknown."""
    if isinstance(extent, int) or extent == "?":
        return extent
    if extent in extents:
        return extents[extent]
    names = set(IDENTIFIER.findall(extent)) - FUNCTIONS
    if not names <= extents.keys():
        return "?"
    return IDENTIFIER.sub(lambda m: m[0] if m[0] in FUNCTIONS else f"({extents[m[0]]})", extent)


def clear_frames(exception: BaseException, trace: Any) -> None:
    """Clears the local variables in the frames of an exception and of its causes."""
    traceback.clear_frames(trace)
    seen: set[int] = set()
    todo: list[BaseException | None] = [exception]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            traceback.clear_frames(one.__traceback__)
            todo += [one.__cause__, one.__context__]
