"""Stubs and documentation."""

import ast
import pathlib
import re
import subprocess
import sys

import frazil

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
    tree = ast.parse((PACKAGE / "_operators.pyi").read_text())
    names = names_in(tree.body)
    for info in frazil.operators():
        assert f"{info.domain.replace('.', '_') or 'Operators'}.{info.name}" in names
    assert "float32" in names_in(ast.parse((PACKAGE / "__init__.pyi").read_text()).body)


def test_docstrings():
    for name in frazil.__all__:
        value = getattr(frazil, name)
        if callable(value):
            assert value.__doc__, name
        if isinstance(value, type) and value.__module__.startswith("frazil"):
            for member, of in vars(value).items():
                if not member.startswith("_") and callable(of):
                    assert of.__doc__, f"{name}.{member}"


def test_examples_of_the_documentation(tmp_path, monkeypatch):
    """Each block of docs/python.md runs, after those before it; `# value` behind an expression is what it gives."""
    monkeypatch.chdir(tmp_path)
    text = (SOURCE / "docs/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 5
    names = {}
    for block in blocks:
        for node in ast.parse(block).body:
            source = ast.get_source_segment(block, node)
            comment = re.search(r"#\s*(.*)$", block.splitlines()[node.end_lineno - 1])
            if isinstance(node, ast.Expr) and comment:
                assert str(eval(source, names)) == comment[1], source
            else:
                exec(source, names)


