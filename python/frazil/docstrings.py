"""Docstrings in NumPy's style. Sections of parameters that many functions share come from glossaries.

A docstring of the source has a summary and the facts of one function. complete() adds what a glossary and the signature
know: the parameters in their order, their types and defaults, the type of the result, and exceptions that follow from a
parameter. Sections of the source have precedence.
"""

from __future__ import annotations

import inspect
import re
import types
from typing import Any, Iterable, Mapping, NamedTuple

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples")
HEAD = re.compile(rf"^({'|'.join(SECTIONS)})\n-+$", re.M)
NO_TEXT = ("None", "NoReturn")
STARS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
_classes: set[type] = set()  # whose docstrings are complete


class Glossary:
    """What functions of one family have in common.

    Parameters
    ----------
    parameters : dict
        "TYPE: text" by the name of a parameter, or of a function and a parameter: "roll.shifts".
    results : dict
        A text about the result by the names of functions, separated by spaces.
    errors : dict
        ("EXCEPTION", "text") by the name of a parameter, for all functions that have it. None by the name of a function
        and a parameter is an exception to that.
    raises : dict
        "EXCEPTION: text", or several joined by "; ", by the name of a function.
    types : dict
        Names of types by annotations of results, or by the name of a function: "max()".
    result_type : str
        The type of results whose annotation is Any.
    """

    def __init__(
        self,
        parameters: Mapping[str, str],
        results: Mapping[str, str] | None = None,
        errors: Mapping[str, tuple[str, str] | None] | None = None,
        result_type: str = "",
        raises: Mapping[str, str] | None = None,
        types: Mapping[str, str] | None = None,
    ) -> None:
        self.parameters = dict(parameters)
        self.results = {name: text for names, text in (results or {}).items() for name in names.split()}
        self.errors = dict(errors or {})
        self.raises = dict(raises or {})
        self.types: dict[str, str] = {"Any": result_type, **(types or {})}

    def parameter(self, function: str, name: str) -> tuple[str, str] | None:
        """Returns the type and the text of a parameter.

        Parameters
        ----------
        function : str
            The name of the function or class. Several are separated by spaces and tried in order.
        name : str
            The name of the parameter.

        Returns
        -------
        tuple of str, or None
            None if the glossary lacks it.
        """
        owners = [part for each in function.split() for part in (each, each.rstrip("_"))]
        keys = (*(f"{owner}.{name}" for owner in owners), name)
        found = next((self.parameters[key] for key in keys if key in self.parameters), None)
        if found is None:
            return None
        kind, _, text = found.partition(": ")
        return kind, text


def sections_of(doc: str) -> tuple[str, dict[str, str]]:
    """Splits a docstring.

    Parameters
    ----------
    doc : str
        A docstring without indentation.

    Returns
    -------
    tuple
        The text before the first section, and the text of each section.
    """
    if "\n---" not in doc:
        return doc.strip(), {}
    parts = HEAD.split(doc)
    return parts[0].strip(), {name: text.strip("\n") for name, text in zip(parts[1::2], parts[2::2])}


def joined(text: str, sections: Mapping[str, str]) -> str:
    """Returns a docstring, with the sections in NumPy's order.

    Parameters
    ----------
    text : str
        The summary and what follows it.
    sections : dict
        The text of each section by name. Empty ones are left out.

    Returns
    -------
    str
        The docstring without indentation.
    """
    parts = [f"{name}\n{'-' * len(name)}\n{sections[name]}" for name in SECTIONS if sections.get(name)]
    return "\n\n".join([text, *parts])


def entries_of(section: str) -> dict[str, str]:
    """Splits a section at its unindented lines.

    Parameters
    ----------
    section : str
        The text of a section.

    Returns
    -------
    dict
        The entries, with their first lines, by name.
    """
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names = [name.strip(" *") for name in line.partition(" :")[0].split(",")]
            found[names[0]] = line
            for name in names[1:]:
                found[name] = ""  # described by the first one
        elif names:
            found[names[0]] += f"\n{line}"
    return {name: text.rstrip() for name, text in found.items()}


def entry(name: str, kind: str, text: str) -> str:
    """Returns an entry of a section.

    Parameters
    ----------
    name, kind : str
        What the first line has; either may be empty.
    text : str
        The description, which may be empty.

    Returns
    -------
    str
        One line, and a wrapped and indented description.
    """
    head = f"{name} : {kind}" if name and kind else name or kind
    return head if not text else f"{head}\n{wrapped(text)}"


def wrapped(text: str, width: int = 100) -> str:
    """Wraps a text at spaces and indents it.

    Parameters
    ----------
    text : str
        One paragraph.
    width : int, default 100
        The most characters of a line.

    Returns
    -------
    str
        Lines that begin with four spaces.
    """
    if len(text) + 4 <= width:
        return f"    {text}"
    lines, line = [], "   "
    for word in text.split():
        if len(line) + 1 + len(word) > width and line.strip():
            lines.append(line)
            line = "   "
        line += f" {word}"
    return "\n".join([*lines, line])


class Parameter(NamedTuple):
    """A parameter of a function, with the attributes of inspect.Parameter that docstrings need.

    Parameters
    ----------
    name : str
        The name.
    kind : int
        As in inspect.Parameter.
    default : any
        inspect.Parameter.empty if there is none.
    """

    name: str
    kind: Any
    default: Any


def parameters_of(function: Any) -> list[Parameter]:
    """Returns the parameters that a docstring describes.

    Parameters
    ----------
    function : callable
        A function, method or class.

    Returns
    -------
    list of Parameter
        All except `self`, `cls`, and names with a leading underscore.
    """
    inner = function
    while hasattr(inner, "__wrapped__") and "__signature__" not in vars(inner):
        inner = inner.__wrapped__
    if isinstance(inner, types.FunctionType) and "__signature__" not in vars(inner):
        found = _of_code(inner)
    else:
        try:
            found = [Parameter(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]
        except (ValueError, TypeError):
            return []
    return [p for i, p in enumerate(found) if not p.name.startswith("_") and (i or p.name not in ("self", "cls"))]


def _of_code(function: types.FunctionType) -> list[Parameter]:
    """Returns the parameters of a function. It does what inspect.signature() does, in a tenth of the time."""
    P, code = inspect.Parameter, function.__code__
    count, names = code.co_argcount, code.co_varnames
    defaults = function.__defaults__ or ()
    first = count - len(defaults)
    found = []
    for i, name in enumerate(names[:count]):
        kind = P.POSITIONAL_ONLY if i < code.co_posonlyargcount else P.POSITIONAL_OR_KEYWORD
        found.append(Parameter(name, kind, defaults[i - first] if i >= first else P.empty))
    end = count + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        found.append(Parameter(names[end], P.VAR_POSITIONAL, P.empty))
        end += 1
    for name in names[count : count + code.co_kwonlyargcount]:
        found.append(Parameter(name, P.KEYWORD_ONLY, (function.__kwdefaults__ or {}).get(name, P.empty)))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(Parameter(names[end], P.VAR_KEYWORD, P.empty))
    return found


def _default(p: Parameter) -> str:
    if p.default is inspect.Parameter.empty:
        return ""
    if p.default is None:
        return ", optional"
    text = getattr(p.default, "__name__", None) or repr(p.default)
    return f", default {text}"


def _described(parameters: list[Parameter], name: str, glossary: Glossary, own: Mapping[str, str]) -> str:
    rows = []
    for p in parameters:
        if p.name in own:
            rows.append(own[p.name])
            continue
        known = glossary.parameter(name, p.name)
        if known is not None:
            rows.append(entry(STARS.get(p.kind, "") + p.name, known[0] + _default(p), known[1]))
    return "\n".join(row for row in rows if row)


def _returned(function: Any, name: str, glossary: Glossary) -> str:
    annotation, first = str(getattr(function, "__annotations__", {}).get("return", "Any")), name.split()[0]
    if annotation in NO_TEXT:
        return ""
    kind = glossary.types.get(f"{first}()", glossary.types.get(annotation, annotation))
    return entry("", kind.replace("numpy.ndarray", "ndarray"), glossary.results.get(first, ""))


def _raised(parameters: list[Parameter], name: str, glossary: Glossary, own: Mapping[str, str]) -> str:
    rows = {kind: text for kind, text in own.items() if text}
    for each in glossary.raises.get(name.split()[0], "").split("; "):
        kind, _, text = each.partition(": ")
        if kind and kind not in rows:
            rows[kind] = entry("", kind, f"{text.rstrip('.')}.")
    for p in parameters:
        found = glossary.errors.get(f"{name.split()[0]}.{p.name}", glossary.errors.get(p.name))
        if found is not None and found[0] not in rows:
            rows[found[0]] = entry("", *found)
    return "\n".join(rows.values())


def completed(function: Any, glossary: Glossary, name: str = "") -> str:
    """Returns the docstring of a function or class with all sections.

    Parameters
    ----------
    function : callable
        What has a docstring.
    glossary : Glossary
        What its family has in common.
    name : str, default ''
        Its names in the glossary, separated by spaces; by default its own.

    Returns
    -------
    str
        The docstring without indentation; empty if there is none.
    """
    doc = function.__doc__ or ""
    text, sections = sections_of(inspect.cleandoc(doc) if "\n" in doc else doc)
    if not text:
        return ""
    name = name or getattr(function, "__name__", "")
    made, parameters = dict(sections), parameters_of(function)
    made["Parameters"] = _described(parameters, name, glossary, entries_of(sections.get("Parameters", "")))
    if not inspect.isclass(function):
        made.setdefault("Returns", _returned(function, name, glossary))
        made["Raises"] = _raised(parameters, name, glossary, entries_of(sections.get("Raises", "")))
    return joined(text, made)


def complete(names: Iterable[Any], glossary: Glossary) -> None:
    """Completes docstrings in place, each once.

    Parameters
    ----------
    names : iterable
        Functions, and classes with their methods. Other values, and those of other packages, are ignored.
    glossary : Glossary
        What they have in common.
    """
    for value in names:
        if not _is_ours(value):
            continue
        if inspect.isclass(value):
            _complete_class(value, glossary)
        elif isinstance(value, types.FunctionType):
            _complete_one(value, glossary)


def _complete_one(function: Any, glossary: Glossary) -> None:
    if not function.__doc__ or function.__dict__.get("documented"):
        return
    function.__doc__ = completed(function, glossary)
    function.__dict__["documented"] = True


def _is_ours(value: Any) -> bool:
    """Returns whether the package defines a value; modules also have those of other libraries."""
    return str(getattr(value, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]


def _complete_class(kind: type, glossary: Glossary) -> None:
    for base in kind.__mro__:
        if _is_ours(base) and base not in _classes:
            _classes.add(base)
            _complete_own(base, glossary)


def _complete_own(kind: type, glossary: Glossary) -> None:
    if vars(kind).get("__doc__") and not kind.__module__.endswith("._frazil"):
        kind.__doc__ = completed(kind, glossary, f"{kind.__name__} {getattr(kind, '_function', '')}")
    for name, member in list(vars(kind).items()):
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and isinstance(function, types.FunctionType):
            _complete_one(function, glossary)
