"""frazil.onnxruntime under the name of onnxruntime: install(), the switch of the environment, and the program."""

import os
import pathlib
import subprocess
import sys

import frazil
import pytest
from onnxruntime_models import DOUBLE, bytes_of

FOLDER = pathlib.Path(frazil.__file__).parents[1]

RUN = """
import numpy, onnxruntime
session = onnxruntime.InferenceSession("m.onnx")
print(session.run(None, {"x": numpy.ones((1, 2), numpy.float32)})[0].tolist())
"""


@pytest.fixture
def python(tmp_path):
    """Runs Python in a folder with a model, and returns the process that has ended."""
    (tmp_path / "m.onnx").write_bytes(bytes_of(DOUBLE))
    (tmp_path / "run.py").write_text(RUN)

    def run(*arguments, path=(), **variables):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [FOLDER, *path])), **variables}
        environment = {name: value for name, value in environment.items() if value is not None}
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def output_of(made):
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


def genuine_in(folder):
    """Makes a package onnxruntime whose engine cannot be imported, with pure Python modules."""
    package = folder / "onnxruntime"
    (package / "capi").mkdir(parents=True)
    (package / "quantization").mkdir()
    (package / "transformers").mkdir()
    (package / "__init__.py").write_text("raise SystemExit('the genuine engine was imported')")
    (package / "capi/__init__.py").write_text("raise SystemExit('the genuine engine was imported')")
    (package / "quantization/__init__.py").write_text(
        "from onnxruntime import InferenceSession, SessionOptions\n"
        "from onnxruntime.capi.onnxruntime_pybind11_state import Fail\n"
        "def whose(): return InferenceSession.__module__\n"
    )
    (package / "transformers/__init__.py").write_text("genuine = True")
    (package / "transformers/optimizer.py").write_text("import onnxruntime\nversion = onnxruntime.__version__")
    information = folder / "onnxruntime-1.2.3.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: onnxruntime\nVersion: 1.2.3\n")
    return folder


def test_nothing_happens_without_install(python):
    made = python("-c", "import frazil, frazil.onnxruntime; import onnxruntime")
    assert "No module named 'onnxruntime'" in made.stderr


def test_install(python):
    program = """
import importlib.metadata, importlib.util, sys
import frazil.onnxruntime
frazil.onnxruntime.install()
assert frazil.onnxruntime.is_installed()
assert importlib.util.find_spec("onnxruntime").name == "onnxruntime"
assert importlib.metadata.version("onnxruntime") == "1.30.0"
assert importlib.metadata.distribution("onnxruntime").metadata["Name"] == "onnxruntime"
assert "onnxruntime" in importlib.metadata.packages_distributions()
assert importlib.metadata.entry_points(group="console_scripts") is not None
import onnxruntime
assert onnxruntime.capi.onnxruntime_pybind11_state.Fail.code == 1  # without another import
assert onnxruntime.InferenceSession is frazil.onnxruntime.InferenceSession and len(onnxruntime.__path__) == 1
assert onnxruntime.__version__ == "1.30.0" and onnxruntime.__file__
from onnxruntime.capi import _pybind_state
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, Fail, NoSuchFile, InvalidProtobuf
from onnxruntime.capi.onnxruntime_inference_collection import InferenceSession, IOBinding, OrtDevice
from onnxruntime.transformers.io_binding_helper import TypeHelper
assert onnxruntime.capi._pybind_state.InvalidArgument is InvalidArgument
del sys.modules["onnxruntime"]
import onnxruntime as again
assert again.InferenceSession is onnxruntime.InferenceSession
try:
    onnxruntime.InferenceSession("missing.onnx")
except NoSuchFile as error:
    print(str(error)[:38])
"""
    assert output_of(python("-c", program)) == "[ONNXRuntimeError] : 3 : NO_SUCHFILE :"


MISSING = [
    ("onnxruntime.quantization", "install the package onnxruntime beside Frazil"),
    ("onnxruntime.transformers.optimizer", "install the package onnxruntime beside Frazil"),
    ("onnxruntime.training", "Frazil runs inference only"),
    ("onnxruntime.other", "No module named 'onnxruntime.other'"),
]


@pytest.mark.parametrize("name, text", MISSING)
def test_missing_modules(python, name, text):
    program = f"import frazil.onnxruntime as f; f.install()\ntry: import {name}\nexcept ImportError as e: print(e)"
    assert text in output_of(python("-c", program))


def test_uninstall(python):
    program = """
import importlib.metadata, importlib.util, sys
import frazil.onnxruntime as f
before = list(sys.meta_path)
f.install(), f.install(), f.uninstall(), f.uninstall()
assert not f.is_installed() and sys.meta_path == before
assert importlib.util.find_spec("onnxruntime") is None
assert not [name for name in sys.modules if name.startswith("onnxruntime")]
try: importlib.metadata.version("onnxruntime")
except importlib.metadata.PackageNotFoundError: print("gone")
f.install()
import onnxruntime
"""
    assert output_of(python("-c", program)) == "gone"


def test_beside_the_genuine_package(python, tmp_path):
    program = """
import importlib.metadata
import frazil.onnxruntime as f
f.install()
import onnxruntime.quantization, onnxruntime.transformers, onnxruntime.transformers.optimizer, onnxruntime.capi
print(onnxruntime.quantization.whose(), onnxruntime.transformers.genuine, onnxruntime.transformers.optimizer.version)
print(importlib.metadata.version("onnxruntime"))
f.uninstall()
print(importlib.metadata.version("onnxruntime"))
try: import onnxruntime
except SystemExit as e: print(e)
"""
    made = python("-c", program, path=[genuine_in(tmp_path / "genuine")])
    expected = "frazil.onnxruntime.session True 1.30.0\n1.30.0\n1.2.3\nthe genuine engine was imported"
    assert output_of(made) == expected


def test_modules_that_were_imported_return(python):
    program = """
import sys, types
import frazil.onnxruntime as f
genuine = sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
f.install()
import onnxruntime
assert onnxruntime is not genuine
f.uninstall()
import onnxruntime
assert onnxruntime is genuine
"""
    output_of(python("-c", program))


@pytest.mark.parametrize("value, text", [("1", "[[2.0, 2.0]]"), ("0", "No module named"), ("", "No module named")])
def test_the_switch(python, value, text):
    made = python("-c", "import frazil, runpy; runpy.run_path('run.py')", FRAZIL_ONNXRUNTIME=value)
    assert text in made.stdout + made.stderr


def test_a_wrong_switch(python):
    made = python("-c", "import frazil", FRAZIL_ONNXRUNTIME="yes")
    assert made.returncode == 1 and "FRAZIL_ONNXRUNTIME: expected 0 or 1, got 'yes'" in made.stderr


def test_the_program_runs_scripts(python, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/beside.py").write_text("value = 7")
    (tmp_path / "sub/script.py").write_text(
        "import sys, beside\nprint(__name__, sys.argv, beside.value)\n" + RUN + "raise SystemExit(3)"
    )
    made = python("-m", "frazil.onnxruntime", "sub/script.py", "-a", "b")
    assert made.returncode == 3
    assert made.stdout.splitlines() == ["__main__ ['sub/script.py', '-a', 'b'] 7", "[[2.0, 2.0]]"]


def test_the_program_runs_modules(python):
    assert output_of(python("-m", "frazil.onnxruntime", "-m", "run", "x")) == "[[2.0, 2.0]]"


WRONG = [
    ([], "expected a script, or -m and a module"),
    (["-m"], "-m: expected a module"),
    (["-x"], "unknown option '-x'"),
    (["none.py"], "script 'none.py' does not exist"),
]


@pytest.mark.parametrize("arguments, text", WRONG)
def test_wrong_arguments_of_the_program(python, arguments, text):
    made = python("-m", "frazil.onnxruntime", *arguments)
    assert made.returncode == 2 and f"frazil.onnxruntime: {text}\nusage: " in made.stderr


def test_the_help_of_the_program(python):
    assert output_of(python("-m", "frazil.onnxruntime", "--help")).startswith("usage: python -m frazil.onnxruntime")
