#!/usr/bin/env python3
"""Generates the type stubs from the tables of operators and element types: make_stubs.py PACKAGE [--check]

PACKAGE is the folder of the built package. With --check it writes nothing and fails if a file would change.
"""

import inspect
import pathlib
import sys
import textwrap

HEADER = '''"""Made by python/make_stubs.py."""

from typing import Any, Callable, Sequence

from numpy.typing import ArrayLike, DTypeLike

from .terms import Term, Value
'''
LAZY_HEADER = '''"""Made by python/make_stubs.py."""

from typing import Any, Sequence

from numpy.typing import ArrayLike, DTypeLike

from .._frazil import LazyOperator, OperatorInfo
from .array import LazyArray

Value = Any
'''


def stub_of(info, generator):
    signature = generator.signature_of(info)
    parts = []
    for parameter in signature.parameters.values():
        text = (
            parameter.name
            if parameter.annotation is inspect.Parameter.empty
            else f"{parameter.name}: {parameter.annotation}"
        )
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            text = "*" + text
        if parameter.default is not inspect.Parameter.empty:
            text += f" = {parameter.default!r}" if isinstance(parameter.default, (int, str, type(None))) else " = ..."
        parts.append((parameter.kind, text))
    positional_only = [text for kind, text in parts if kind is inspect.Parameter.POSITIONAL_ONLY]
    rest = [(kind, text) for kind, text in parts if kind is not inspect.Parameter.POSITIONAL_ONLY]
    pieces = [*positional_only, "/"]
    starred = False
    for kind, text in rest:
        if kind is inspect.Parameter.KEYWORD_ONLY and not starred and not any(p.startswith("*") for p in pieces):
            pieces.append("*")
            starred = True
        pieces.append(text)
    doc = textwrap.indent(generator.doc_of(info).replace("\\", "\\\\").replace('"""', "'''"), "    ").strip()
    return f'def {info.name}({", ".join(pieces)}) -> {signature.return_annotation}:\n    """{doc}"""\n'


def classes_stub(infos, generator, name):
    """Returns a class with the operators as methods, preceded by the classes of other domains."""
    domains = {}
    for info in infos:
        domains.setdefault(info.domain, []).append(textwrap.indent(stub_of(info, generator), "    "))
    text = ""
    for domain, methods in domains.items():
        if domain:
            text += f"\nclass {generator.domain_name(domain)}:\n    def __init__(self, target: {name}) -> None: ...\n"
            text += "".join(methods)
    text += f"\nclass {name}:\n"
    for domain in domains:
        if domain:
            domain_name = generator.domain_name(domain)
            text += f"    @property\n    def {domain_name}(self) -> {domain_name}: ...\n"
    return text + "".join(domains[""])


def operators_stub(frazil, generator):
    text = HEADER + "\nKINDS: tuple[str, ...]\n" + classes_stub(frazil.operators(), generator, "Operators")
    text += "\nclass Parameters:\n    inputs: list[str]\n    bodies: list[str]\n    attributes: list[str]\n"
    text += "    def __init__(self, info: Any) -> None: ...\n"
    for function in ("define(info: Any) -> None", "domain_name(domain: str) -> str", "least_outputs(info: Any) -> int"):
        text += f"\ndef {function}: ...\n"
    return text


def lazy_stub(frazil, generator):
    """Returns the operators of lazy arrays: those without bodies, and without names of nodes."""
    infos = [info for info in frazil.operators() if not info.bodies]
    text = classes_stub(infos, generator, "LazyOperators").replace("Term", "LazyArray")
    for name in (', *, name: str = ""', ', name: str = ""'):
        text = text.replace(name, "")
    text += "    def constant(self, value: Any, dtype: Any = None) -> LazyArray: ...\n"
    text += "\nINFOS: dict[str, OperatorInfo]\nops: LazyOperators\n"
    text += "\ndef make(info: OperatorInfo, attributes: list[Any], outputs: int) -> LazyOperator: ...\n"
    return LAZY_HEADER + text + "\ndef operator(name: str, outputs: int = 1, **attributes: Any) -> LazyOperator: ...\n"


def package_stub(frazil, folder):
    source = (folder / "__init__.py").read_text()
    imports = [line for line in source.splitlines() if line.startswith("from .")]
    exported = [re_export(line) for line in imports]
    names = "".join(f"{dtype.name}: DType\n" for dtype in frazil.dtypes)
    return "\n".join(['"""Made by python/make_stubs.py."""', "", *exported, "", names + "bool_: DType\n"])


def re_export(line):
    """Returns `from .a import b` as `from .a import b as b`, which type checkers regard as a public name."""
    head, names = line.split(" import ")
    return f"{head} import " + ", ".join(f"{name} as {name}" for name in names.split(", "))


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(folder.parent))
    import frazil
    from frazil.graph import operators

    made = {
        "graph/operators.pyi": operators_stub(frazil, operators),
        "lazy/operators.pyi": lazy_stub(frazil, operators),
        "__init__.pyi": package_stub(frazil, folder),
    }
    if sys.argv[2:] == ["--check"]:
        stale = [
            name for name, text in made.items() if not (folder / name).is_file() or (folder / name).read_text() != text
        ]
        print("".join(f"{folder / name} is not current: build again\n" for name in stale), end="")
        return 1 if stale else 0
    for name, text in made.items():
        (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
