#!/usr/bin/env python3
"""Checks that only code that defines, upgrades, rewrites or binds operators refers to them by name."""

import fnmatch
import pathlib
import re
import sys

# A definition in src/ops: `FRAZIL_OP(Add, elementwise<2>({"Add", ...`; the groups are its identifier and its name.
DEFINITION = re.compile(r'\bFRAZIL_OP\(\s*(\w+)\s*,[^"]*?"([A-Z]\w*)"')
DEFINED_IN = "src/ops/*"
MAY_NAME = [
    DEFINED_IN,
    "src/onnx/upgrade/*",
    "src/pass/rules/*",
    "src/pass/*/rules_*",
    "src/pass/batch/*",
    "src/plan/lower/bind*",
]
# `ops::Add`, and declarations that allow a file to omit `ops::`.
USE = re.compile(r"\bops\s*::\s*(\w+)")
OPENING = re.compile(r"\busing\s+namespace\s+(?:frazil\s*::\s*)?ops\b|\bnamespace\s+(?:frazil\s*::\s*)?ops\b")

# Comments first, so that quotes inside them are ignored.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|^[ \t]*\#[ \t]*include[^\n]*|"((?:\\.|[^"\\\n])*)\"""", re.S | re.M
)


def strings(text):
    """Yields each string literal with its line."""
    for token in TOKEN.finditer(text):
        if token[1] is not None:
            yield token[1], line_of(text, token)


def identifiers(text):
    """Yields each identifier of namespace ops with its line. None stands for a line that opens the namespace."""
    code = TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]), text)
    for use in USE.finditer(code):
        yield use[1], line_of(code, use)
    for opening in OPENING.finditer(code):
        yield None, line_of(code, opening)


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    files = {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted((root / "src").rglob("*"))
        if path.suffix in (".h", ".cc", ".inc")
    }
    definitions = [text for path, text in files.items() if fnmatch.fnmatch(path, DEFINED_IN)]
    defined = [pair for text in definitions for pair in DEFINITION.findall(text)]
    variables, names = {pair[0] for pair in defined}, {pair[1] for pair in defined}
    if definitions and not names:
        print(f"{DEFINED_IN}: no definition found; DEFINITION in {__file__} no longer matches them")
        return 1
    faults = 0
    for path, text in files.items():
        if any(fnmatch.fnmatch(path, pattern) for pattern in MAY_NAME):
            continue
        for string, line in strings(text):
            if string in names:
                print(f'{path}:{line}: names the operator "{string}"')
                faults += 1
        for name, line in identifiers(text):
            if name is None or name in variables:
                print(f"{path}:{line}: " + ("opens namespace ops" if name is None else f"names ops::{name}"))
                faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
