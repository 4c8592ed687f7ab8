"""The command `frazil` of the wheel: runs the program in the package, without importing the package."""

import importlib.util
import os
import pathlib
import sys


def main():
    package = importlib.util.find_spec("frazil").submodule_search_locations[0]
    program = str(pathlib.Path(package) / "bin/frazil")
    os.execv(program, [program, *sys.argv[1:]])
