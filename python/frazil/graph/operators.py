"""The methods of builders, one for each operator of Frazil's table. They are created at import."""

from __future__ import annotations

import inspect
import keyword
from typing import Any, Callable

from .._frazil import OperatorInfo, operators
from ..docstrings import entry, joined

KINDS = ("int", "float", "string", "ints", "floats", "strings", "tensor")  # numbered as OperatorInfo::Kind
ANNOTATIONS = {
    "int": "int | DTypeLike",
    "float": "float",
    "string": "str",
    "ints": "Sequence[int]",
    "floats": "Sequence[float]",
    "strings": "Sequence[str]",
    "tensor": "ArrayLike",
}
PYTHON_TYPES = {
    "int": "int or DType",
    "float": "float",
    "string": "str",
    "ints": "sequence of int",
    "floats": "sequence of float",
    "strings": "sequence of str",
    "tensor": "array",
}
RESERVED = {"self", "name", "outputs"}


def domain_name(domain: str) -> str:
    """Returns the attribute of a builder for the operators of this domain."""
    return domain.replace(".", "_")


class Parameters:
    """The Python names of an operator's parameters. They differ from ONNX's names that are reserved."""

    def __init__(self, info: OperatorInfo) -> None:
        taken = set(RESERVED)
        self.inputs = [self._name(port.name, taken) for port in info.inputs]
        self.bodies = [self._name(body, taken) for body in info.bodies]
        self.attributes = [self._name(field.name, taken) for field in info.attributes]

    @staticmethod
    def _name(name: str, taken: set[str]) -> str:
        while name in taken or keyword.iskeyword(name):
            name += "_"
        taken.add(name)
        return name


def signature_of(info: OperatorInfo) -> inspect.Signature:
    """Returns the signature: inputs by position or keyword; bodies, attributes, `outputs` and `name` by keyword."""
    names = Parameters(info)
    P = inspect.Parameter
    variadic = bool(info.inputs) and info.inputs[-1].use == "variadic"
    parameters = [P("self", P.POSITIONAL_ONLY)]
    optional = False
    for name, port in zip(names.inputs, info.inputs):
        if port.use == "variadic":
            parameters.append(P(name, P.VAR_POSITIONAL, annotation="Value"))
            continue
        optional = optional or port.use == "optional"
        default = None if optional else P.empty
        kind = P.POSITIONAL_ONLY if variadic else P.POSITIONAL_OR_KEYWORD
        annotation = "Value | None" if optional else "Value"
        parameters.append(P(name, kind, default=default, annotation=annotation))
    for name in names.bodies:
        parameters.append(P(name, P.KEYWORD_ONLY, annotation="Callable[..., Value | Sequence[Value]]"))
    for name, field in zip(names.attributes, info.attributes):
        annotation = ANNOTATIONS[field.kind]
        default = P.empty if field.required else field.default
        if not field.required and default is None:
            annotation += " | None"
        parameters.append(P(name, P.KEYWORD_ONLY, default=default, annotation=annotation))
    several = has_several(info)
    if several:
        parameters.append(P("outputs", P.KEYWORD_ONLY, default=None, annotation="int | None"))
    parameters.append(P("name", P.KEYWORD_ONLY, default="", annotation="str"))
    returned = "Term" if not several else "tuple[Term, ...]" if least_outputs(info) > 1 else "Term | tuple[Term, ...]"
    return inspect.Signature(parameters, return_annotation=returned)


def has_several(info: OperatorInfo) -> bool:
    """Returns whether the number of results may differ.

    Parameters
    ----------
    info : OperatorInfo
        The definition.

    Returns
    -------
    bool
        Whether the operator's method has the parameter `outputs`.
    """
    return len(info.outputs) > 1 or any(port.use == "variadic" for port in info.outputs) or bool(info.bodies)


def least_outputs(info: OperatorInfo) -> int:
    """Returns the default number of outputs: the required ones and one variadic one, or all if none is required."""
    return sum(port.use != "optional" for port in info.outputs) or len(info.outputs)


def _types(port: Any) -> str:
    types = ", ".join(str(dtype) for dtype in port.types) if 0 < len(port.types) < 26 else "any element type"
    return f"Element type {port.variable}: {types}." if port.variable else f"Element type: {types}."


def _inputs_of(info: OperatorInfo, names: Parameters) -> list[str]:
    rows = []
    for name, port in zip(names.inputs, info.inputs):
        star, more = ("*", "") if port.use == "variadic" else ("", ", optional" if port.use == "optional" else "")
        rows.append(entry(f"{star}{name}", f"Term, array or number{more}", _types(port)))
    return rows


def _attributes_of(info: OperatorInfo, names: Parameters) -> list[str]:
    rows = []
    for name, field in zip(names.attributes, info.attributes):
        kind = PYTHON_TYPES[field.kind]
        default = "" if field.required else ", optional" if field.default is None else f", default {field.default!r}"
        text = f"{field.doc[:1].upper()}{field.doc[1:]}" if field.doc else ""
        rows.append(entry(name, kind + default, text and text.rstrip(".") + "."))
    return rows


def doc_of(info: OperatorInfo, value: str = "Term") -> str:
    """Returns the docstring of an operator in NumPy's style.

    Parameters
    ----------
    info : OperatorInfo
        The definition.
    value : str, default 'Term'
        The type of its operands: "Term" or "LazyArray".

    Returns
    -------
    str
        The meaning, the inputs, bodies and attributes as parameters, the outputs, and the opset.
    """
    names = Parameters(info)
    rows = _inputs_of(info, names)
    rows += [entry(name, "callable", "A function of Terms that returns Terms.") for name in names.bodies]
    rows += _attributes_of(info, names)
    if has_several(info):
        rows.append(entry("outputs", "int, optional", f"The number of results, by default {least_outputs(info)}."))
    if value == "Term":
        rows.append(entry("name", "str, default ''", "The name of the node."))
    stars = ("*" if port.use == "variadic" else "" for port in info.outputs)
    results = [
        entry(f"{star}{port.name}", "Term" + (", optional" if port.use == "optional" else ""), _types(port))
        for star, port in zip(stars, info.outputs)
    ]
    summary = info.doc if info.doc.endswith(".") or not info.doc else f"{info.doc}."
    sections = {
        "Parameters": "\n".join(rows),
        "Returns": "\n".join(results),
        "Notes": f"{info.domain or 'ai.onnx'} {info.since}",
    }
    return joined(summary, sections).replace("Term", value)


def _method(info: OperatorInfo, target: Callable[[Any], Any]) -> Callable[..., Any]:
    signature = signature_of(info)
    names = Parameters(info)
    fields = list(zip(names.attributes, info.attributes))
    kinds = {field.name: KINDS.index(field.kind) for field in info.attributes}
    variadic = names.inputs[-1] if info.inputs and info.inputs[-1].use == "variadic" else None

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(self, *args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{info.name}(): {error}") from None
        inputs = [given.get(name) for name in names.inputs if name != variadic]
        inputs += given.get(variadic, ()) if variadic else ()
        attributes = [
            (field.name, kinds[field.name], given[name]) for name, field in fields if given.get(name) is not None
        ]
        bodies = [given[name] for name in names.bodies]
        return target(self)._call(info, inputs, bodies, attributes, given.get("outputs"), given.get("name", ""))

    method.__name__ = info.name
    method.__doc__ = doc_of(info)
    method.__signature__ = signature
    method.__module__ = __name__
    return method


class Domain:
    """The operators of a domain other than ai.onnx, such as graph.com_microsoft."""

    __slots__ = ("_target",)

    def __init__(self, target: Operators) -> None:
        self._target = target


class Operators:
    """The operators as methods. Those of other domains are in an attribute per domain: graph.ai_onnx_ml.Scaler(...).

    Arguments are Terms, or arrays and numbers, which become constants. A number takes the element type of the other
    Terms of the operator. They return a Term, or a tuple of several results. `outputs` sets the number of variable
    results.
    """


_domains: dict[str, type] = {}


def define(info: OperatorInfo) -> None:
    """Adds an operator as a method."""
    if not info.domain:
        method = _method(info, lambda self: self)
        method.__qualname__ = f"Operators.{info.name}"
        setattr(Operators, info.name, method)
        return
    name = domain_name(info.domain)
    if name not in _domains:
        _domains[name] = type(name, (Domain,), {"__slots__": (), "__doc__": f"The operators of {info.domain}."})
        setattr(Operators, name, property(_domains[name], doc=_domains[name].__doc__))
    method = _method(info, lambda self: self._target)
    method.__qualname__ = f"{name}.{info.name}"
    setattr(_domains[name], info.name, method)


for _info in operators():
    define(_info)
