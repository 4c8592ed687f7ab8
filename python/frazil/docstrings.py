"""Docstrings in NumPy's style. Sections of parameters that many functions share come from glossaries.

A docstring of the source has a summary and the facts of one function. complete() adds what a glossary and the signature
know: the parameters in their order, their types and defaults, the type of the result, and exceptions that follow from a
parameter. Sections of the source have precedence.
"""

from __future__ import annotations

import inspect
import re
import types
from typing import Any, Iterable, Mapping

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "See Also", "Notes", "Examples")
HEAD = re.compile(rf"^({'|'.join(SECTIONS)})\n-+$", re.M)
NO_TEXT = ("None", "NoReturn")


class Glossary:
    """What functions of one family have in common.

    Parameters
    ----------
    parameters : dict
        "TYPE: text" by the name of a parameter, or of a function and a parameter: "roll.shifts".
    results : dict
        A text about the result by the names of functions, separated by spaces.
    errors : dict
        ("EXCEPTION", "text") by the name of a parameter, for all functions that have it.
    result_type : str
        The type of results whose annotation is Any.
    """

    def __init__(
        self,
        parameters: Mapping[str, str],
        results: Mapping[str, str] | None = None,
        errors: Mapping[str, tuple[str, str]] | None = None,
        result_type: str = "",
    ) -> None:
        self.parameters = dict(parameters)
        self.results = {name: text for names, text in (results or {}).items() for name in names.split()}
        self.errors = dict(errors or {})
        self.result_type = result_type

    def parameter(self, function: str, name: str) -> tuple[str, str] | None:
        """Returns the type and the text of a parameter.

        Parameters
        ----------
        function : str
            The name of the function or class.
        name : str
            The name of the parameter.

        Returns
        -------
        tuple of str, or None
            None if the glossary lacks it.
        """
        found = self.parameters.get(f"{function}.{name}", self.parameters.get(name))
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
    lines, line = [], "   "
    for word in text.split():
        if len(line) + 1 + len(word) > width and line.strip():
            lines.append(line)
            line = "   "
        line += f" {word}"
    return "\n".join([*lines, line])


def parameters_of(function: Any) -> list[inspect.Parameter]:
    """Returns the parameters that a docstring describes.

    Parameters
    ----------
    function : callable
        A function, method or class.

    Returns
    -------
    list of inspect.Parameter
        All except `self`, `cls`, and names with a leading underscore.
    """
    try:
        found = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return []
    return [p for i, p in enumerate(found) if not p.name.startswith("_") and (i or p.name not in ("self", "cls"))]


def _default(p: inspect.Parameter) -> str:
    if p.default is p.empty:
        return ""
    if p.default is None:
        return ", optional"
    text = getattr(p.default, "__name__", None) or repr(p.default)
    return f", default {text}"


def _described(function: Any, name: str, glossary: Glossary, own: Mapping[str, str]) -> str:
    rows = []
    for p in parameters_of(function):
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")  # type: ignore[call-overload]
        if p.name in own:
            rows.append(own[p.name])
            continue
        known = glossary.parameter(name, p.name)
        if known is not None:
            rows.append(entry(stars + p.name, known[0] + _default(p), known[1]))
    return "\n".join(row for row in rows if row)


def _returned(function: Any, name: str, glossary: Glossary) -> str:
    annotation = str(getattr(function, "__annotations__", {}).get("return", "Any"))
    if annotation in NO_TEXT:
        return ""
    kind = glossary.result_type if annotation == "Any" else annotation
    return entry("", kind.replace("numpy.ndarray", "ndarray"), glossary.results.get(name, ""))


def _raised(function: Any, glossary: Glossary, own: Mapping[str, str]) -> str:
    rows = [text for text in own.values() if text]
    for p in parameters_of(function):
        if p.name in glossary.errors:
            kind, text = glossary.errors[p.name]
            if kind not in own:
                rows.append(entry("", kind, text))
    return "\n".join(rows)


def completed(function: Any, glossary: Glossary, name: str = "") -> str:
    """Returns the docstring of a function or class with all sections.

    Parameters
    ----------
    function : callable
        What has a docstring.
    glossary : Glossary
        What its family has in common.
    name : str, default ''
        Its name in the glossary; by default its own.

    Returns
    -------
    str
        The docstring without indentation; empty if there is none.
    """
    text, sections = sections_of(inspect.getdoc(function) or "")
    if not text:
        return ""
    name = name or getattr(function, "__name__", "")
    made = dict(sections)
    made["Parameters"] = _described(function, name, glossary, entries_of(sections.get("Parameters", "")))
    if not inspect.isclass(function):
        made.setdefault("Returns", _returned(function, name, glossary))
        made["Raises"] = _raised(function, glossary, entries_of(sections.get("Raises", "")))
    return joined(text, made)


def complete(names: Iterable[Any], glossary: Glossary) -> None:
    """Completes docstrings in place, each once.

    Parameters
    ----------
    names : iterable
        Functions, and classes with their methods. Other values are ignored.
    glossary : Glossary
        What they have in common.
    """
    for value in names:
        if inspect.isclass(value):
            _complete_class(value, glossary)
        elif isinstance(value, types.FunctionType):
            _complete_one(value, glossary)


def _complete_one(function: Any, glossary: Glossary) -> None:
    if not function.__doc__ or function.__dict__.get("documented"):
        return
    function.__doc__ = completed(function, glossary)
    function.__dict__["documented"] = True


def _complete_class(kind: type, glossary: Glossary) -> None:
    if kind.__dict__.get("_documented") or not kind.__doc__:
        return
    if "__doc__" in vars(kind):
        kind.__doc__ = completed(kind, glossary)
        kind._documented = True  # type: ignore[attr-defined]
    for name, member in list(vars(kind).items()):
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and isinstance(function, types.FunctionType):
            _complete_one(function, glossary)
