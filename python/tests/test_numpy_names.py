"""The table of NumPy's names."""

import os
import pathlib
import subprocess
import sys

import frazil
import frazil.numpy as fnp

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_the_table_is_current():
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(frazil.__file__).parents[1])}
    command = [sys.executable, SOURCE / "scripts/numpy_names.py", "--check"]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


def test_docstrings():
    for module in (fnp, fnp.linalg, fnp.fft, fnp.random):
        for name in dir(module):
            value = getattr(module, name)
            if callable(value) and not name.startswith("_") and getattr(value, "__module__", "").startswith("frazil"):
                assert value.__doc__, name
