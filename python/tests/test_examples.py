"""The programs in examples/python."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/python"


@pytest.mark.parametrize("program", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_example(program, tmp_path):
    """It ends well, and prints something."""
    command = [sys.executable, "-W", "error", program]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stderr
    assert made.stdout and not made.stderr


def test_the_program_of_the_readme():
    command = [sys.executable, "-W", "error", "examples/first/label.py"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (made.stdout, made.stderr) == ("[2]\n", "")
