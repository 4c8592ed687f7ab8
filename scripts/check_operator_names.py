#!/usr/bin/env python3
"""Checks that operators are named only where they are defined, upgraded, rewritten and bound to kernels."""

import fnmatch
import pathlib
import re
import sys

# A definition in src/ops: `FRAZIL_OP(Add, elementwise<2>({"Add", ...`; the group is the operator's name.
DEFINITION = re.compile(r'\bFRAZIL_OP\(\s*\w+\s*,[^"]*?"([A-Z]\w*)"')
DEFINED_IN = "src/ops/*"
MAY_NAME = [DEFINED_IN, "src/onnx/upgrade*", "src/pass/rules*", "src/plan/bind*"]

# Comments first, so that quotes inside them are ignored.
TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\\n])'|^[ \t]*\#[ \t]*include[^\n]*|"((?:\\.|[^"\\\n])*)\"""", re.S | re.M
)


def strings(text):
    """Each string literal with its line."""
    for token in TOKEN.finditer(text):
        if token[1] is not None:
            yield token[1], text.count("\n", 0, token.start()) + 1


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    files = {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted((root / "src").rglob("*"))
        if path.suffix in (".h", ".cc", ".inc")
    }
    definitions = [text for path, text in files.items() if fnmatch.fnmatch(path, DEFINED_IN)]
    names = {name for text in definitions for name in DEFINITION.findall(text)}
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
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
