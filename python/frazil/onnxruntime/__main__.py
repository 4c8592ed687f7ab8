"""Runs a program for ONNX Runtime on Frazil: python -m frazil.onnxruntime SCRIPT [ARGS] | -m MODULE [ARGS]."""

from __future__ import annotations

import os
import runpy
import sys
from typing import NoReturn

from .install import install

USAGE = """usage: python -m frazil.onnxruntime SCRIPT [ARGUMENTS]
       python -m frazil.onnxruntime -m MODULE [ARGUMENTS]

Runs a Python program in which `import onnxruntime` imports frazil.onnxruntime.
"""


def _fail(text: str) -> NoReturn:
    sys.stderr.write(f"frazil.onnxruntime: {text}\n{USAGE}")
    sys.exit(2)


def main(arguments: list[str]) -> None:
    """Runs the program that the arguments name.

    Parameters
    ----------
    arguments : list of str
        The arguments after the name of this module.
    """
    if not arguments:
        _fail("expected a script, or -m and a module")
    if arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return
    if arguments[0] == "-m":
        if len(arguments) < 2:
            _fail("-m: expected a module")
        install()
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    if arguments[0].startswith("-"):
        _fail(f"unknown option '{arguments[0]}'")
    if not os.path.exists(arguments[0]):
        _fail(f"script '{arguments[0]}' does not exist")
    install()
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
