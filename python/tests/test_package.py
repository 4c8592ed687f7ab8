"""Stubs and documentation."""

import ast
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys

import frazil
import pytest

PACKAGE = pathlib.Path(frazil.__file__).parent
SOURCE = pathlib.Path(__file__).resolve().parents[2]


def test_stubs_are_current():
    command = [sys.executable, SOURCE / "python/make_stubs.py", PACKAGE, "--check"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert (PACKAGE / "py.typed").is_file()


def names_in(body):
    """The names that a stub defines, with those of classes."""
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        if isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{name}" for name in names_in(node.body)}
    return names


def test_the_modules_stub_has_everything():
    stub = names_in(ast.parse((PACKAGE / "_frazil.pyi").read_text()).body)
    real = set()
    for name, value in vars(frazil._frazil).items():
        if name.startswith("__") or isinstance(value, frazil.DType):
            continue
        real.add(name)
        if isinstance(value, type):
            real |= {f"{name}.{member}" for member in vars(value) if not member.startswith("__")}
    assert real - stub == set()
    assert {name for name in stub - real if "__" not in name and not name.startswith("OperatorInfo.")} == set()


def test_stubs_parse():
    tree = ast.parse((PACKAGE / "graph/operators.pyi").read_text())
    names = names_in(tree.body)
    for info in frazil.operators():
        if info.domain.startswith("test."):  # of other tests
            continue
        assert f"{info.domain.replace('.', '_') or 'Operators'}.{info.name}" in names
    assert "float32" in names_in(ast.parse((PACKAGE / "__init__.pyi").read_text()).body)


TYPED = """
import concurrent.futures
from typing import Any

import frazil
import frazil.numpy as fnp
import numpy as np

model = frazil.load("model.onnx", threads=2)
element: frazil.DType = frazil.float32
graph = frazil.Graph("typed")
x = graph.input("x", frazil.float32, ("N", 3))
total: frazil.Term = graph.Relu(x + 1) * x
less: frazil.Term = x < 1
lazy = fnp.array([1.0])
made: frazil.LazyArray = fnp.tanh(lazy @ lazy.T + 1)[0] * 2
softmax: frazil.LazyArray = frazil.lazy.ops.Softmax(made, axis=-1)
rounds: int = frazil.batch([lazy], fnp.exp).report.rounds
runs: int = model.session().counters.runs
named: dict[str, Any] = model.run({"x": np.ones(3)}, out={"y": np.zeros(3)})
listed: list[Any] = model.run(["y"], {"x": np.ones(3)})
future: concurrent.futures.Future[Any] = model.run_async({"x": np.ones(3)})
frazil.eval(lazy, [made])
with model.edit() as patch:
    patch.wrap("y", patch.input("busy", "bool"), lambda: patch.tap("x"))
try:
    frazil.load("nothing.onnx")
except FileNotFoundError as missing:
    cause: OSError = missing
"""


def test_types(tmp_path):
    """The package and a program that uses it, by mypy where that is installed."""
    if not shutil.which("mypy"):
        pytest.skip("mypy is not installed")
    (tmp_path / "good.py").write_text(TYPED)
    (tmp_path / "bad.py").write_text(TYPED + "graph.Relu(x, bogus=1)\n")
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent), "MYPY_CACHE_DIR": str(tmp_path / "cache")}
    made = subprocess.run(
        ["mypy", "--python-version", "3.11", "--ignore-missing-imports", "-m", "good", "-m", "bad", "-p", "frazil"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in made.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 1 and errors[0].startswith("bad.py:"), made.stdout
    assert 'Unexpected keyword argument "bogus" for "Relu"' in errors[0], made.stdout


def test_signatures_of_the_module():
    for function, expected in [
        (frazil.Model.run, "(self, inputs={}, feeds=None, *, out=None)"),
        (frazil.Model.__call__, "(self, *args, **kwargs)"),
        (frazil.Session.observe, "(self, observer)"),
        (frazil.dtype, "(of)"),
        (frazil.operators, "()"),
    ]:
        assert str(inspect.signature(function)) == expected
        assert not function.__doc__.startswith(function.__name__)
    assert str(inspect.signature(frazil.from_text("graph g() { return }").run)) == (
        "(inputs={}, feeds=None, *, out=None)"
    )


def test_docstrings():
    for name in frazil.__all__:
        value = getattr(frazil, name)
        if callable(value):
            assert value.__doc__, name
        if isinstance(value, type) and value.__module__.startswith("frazil"):
            for member, of in vars(value).items():
                if not member.startswith("_") and callable(of):
                    assert of.__doc__, f"{name}.{member}"


PAGES = ["reference/python.md", "reference/nn.md", "tutorials/python.md", "how-to/onnxruntime-python.md"]


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_the_documentation(page, tmp_path, monkeypatch):
    """Each block of a page runs, after those before it; `# value` behind an expression is what it gives."""
    monkeypatch.chdir(tmp_path)
    text = (SOURCE / "docs" / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        for node in ast.parse(block).body:
            first = min((d.lineno for d in getattr(node, "decorator_list", [])), default=node.lineno)
            source = "\n".join(block.splitlines()[first - 1 : node.end_lineno])
            comment = re.search(r"#\s*(.*)$", block.splitlines()[node.end_lineno - 1])
            if isinstance(node, ast.Expr) and comment:
                assert str(eval(source, names)) == comment[1], source
            else:
                exec(source, names)
