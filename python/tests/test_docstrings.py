"""Docstrings: every public object has one, with the sections of NumPy's style. Some facts are tested."""

import ast
import inspect
import pathlib
import re
import subprocess
import sys
import textwrap
import types

import frazil
import frazil.numpy as fnp
import frazil.torch as torch
import numpy as np
import pytest
from frazil import nn
from frazil.docstrings import Glossary, completed, entries_of, parameters_of, sections_of
from frazil.nn.glossary import GLOSSARY as OF_TORCH
from frazil.numpy.glossary import GLOSSARY as OF_NUMPY

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import python_reference  # noqa: E402

OBJECTS = [(f"{path}.{name}", value) for _, path, name, value in python_reference.public_objects()]
PROPERTIES = (property, types.GetSetDescriptorType)
FUNCTIONS = [(n, v) for n, v in OBJECTS if not isinstance(v, PROPERTIES) and not inspect.isclass(v)]
MOST_WITHOUT = 0  # functions that may lack a section that they need


def described(value, section):
    return entries_of(sections_of(inspect.getdoc(value) or "")[1].get(section, ""))


def test_all_have_one():
    assert len(OBJECTS) > 1500
    assert [name for name, value in OBJECTS if not inspect.getdoc(value)] == []


def test_parameters():
    lacking = []
    for name, value in OBJECTS:
        wanted = [] if isinstance(value, PROPERTIES) else [p.name for p in parameters_of(value)]
        have = described(value, "Parameters")
        if {"args", "kwargs"} <= have.keys():  # those of a function of NumPy
            continue
        lacking += [f"{name}: {parameter}" for parameter in wanted if parameter not in have]
    assert len(lacking) <= MOST_WITHOUT, lacking


def test_no_parameters_that_do_not_exist():
    wrong = []
    for name, value in FUNCTIONS:
        have = {p.name for p in parameters_of(value)}
        given = described(value, "Parameters").keys() - {"args", "kwargs"}
        wrong += [f"{name}: {parameter}" for parameter in given if have and parameter not in have]
    assert wrong == []


def test_returns():
    lacking = []
    for name, value in FUNCTIONS:
        annotation = getattr(value, "__annotations__", {}).get("return")
        if annotation not in (None, "None", "NoReturn") and "Returns" not in sections_of(inspect.getdoc(value))[1]:
            lacking.append(name)
    assert len(lacking) <= MOST_WITHOUT, lacking


def raised_by(function):
    """The names of exceptions that the body of a function raises itself."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    except (OSError, TypeError, SyntaxError):
        return
    todo = list(tree.body[0].body) if isinstance(tree.body[0], (ast.FunctionDef, ast.AsyncFunctionDef)) else []
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = ast.unparse(made).split(".")[-1]
            yield "Unsupported" if name == "unsupported" else name
        todo += ast.iter_child_nodes(node)


def test_raises():
    lacking = []
    for name, value in FUNCTIONS:
        if isinstance(value, fnp.ufunc):  # they compute complex numbers where the inner function raises
            continue
        text = inspect.getdoc(value)
        lacking += [f"{name}: {error}" for error in raised_by(value) if error[0].isupper() and error not in text]
    assert len(lacking) <= MOST_WITHOUT, lacking


def test_examples_parse():
    for name, value in OBJECTS:
        example = sections_of(inspect.getdoc(value))[1].get("Examples")
        if example:
            ast.parse(example)


def test_glossaries_have_no_other_names():
    used = {id(OF_TORCH): set(), id(OF_NUMPY): set()}
    inner = [("frazil.numpy.At", value) for value in vars(fnp.assigns.At).values() if callable(value)]
    for path, value in [*OBJECTS, *inner]:
        glossary = OF_NUMPY if path.startswith("frazil.numpy") else OF_TORCH
        function = f"{getattr(value, '__name__', '')} {getattr(value, '_function', '')}"
        for p in [] if isinstance(value, PROPERTIES) else parameters_of(value):
            owners = [part for each in function.split() for part in (each, each.rstrip("_"))]
            keys = (*(f"{owner}.{p.name}" for owner in owners), p.name)
            used[id(glossary)] |= {next((key for key in keys if key in glossary.parameters), "")}
    for glossary in (OF_TORCH, OF_NUMPY):
        assert glossary.parameters.keys() - used[id(glossary)] == set()


def arguments_for(function, axis):
    """Arguments by the names of parameters; None if one is unknown."""
    x = np.array([[3, 1], [2, 4]], np.uint8 if "bits" in function.__name__ else np.float64)
    given = {}
    P = inspect.Parameter
    for p in parameters_of(function):
        if p.name == "axis":
            given[p.name] = axis
        elif p.default is P.empty and p.kind in (P.POSITIONAL_OR_KEYWORD, P.POSITIONAL_ONLY):
            if p.kind is P.POSITIONAL_ONLY or p.name not in "a x m arr array ar y p arrays v".split():
                return None
            given[p.name] = [x, x] if p.name == "arrays" else x
    return given


def test_axes_out_of_range():
    tested = 0
    for name, value in vars(fnp).items():
        if "AxisError" in described(value, "Raises") and "axis" in {p.name for p in parameters_of(value)}:
            given = arguments_for(value, 7)
            if given is not None:
                with pytest.raises(fnp.arrays.AxisError):
                    value(**given)
                tested += 1
    assert tested > 30


@pytest.mark.parametrize("name", ["sum", "softmax", "argmax", "cumsum", "sort", "unbind", "chunk", "flip", "select"])
def test_dimensions_out_of_range(name):
    function, more = getattr(torch, name), {"chunk": {"chunks": 2}, "select": {"index": 0}}.get(name, {})
    dimension = {"dims": 7} if name == "flip" else {"dim": 7}
    with pytest.raises(IndexError):
        function(torch.ones(2, 2), *dimension.values()) if name == "flip" else function(
            torch.ones(2, 2), **dimension, **more
        )


def test_parameters_are_those_of_inspect():
    for name, value in OBJECTS:
        if isinstance(value, PROPERTIES) or inspect.isclass(value):
            continue
        try:
            wanted = [(p.name, p.kind, p.default) for p in inspect.signature(value).parameters.values()]
        except (ValueError, TypeError):
            continue
        wanted = [row for i, row in enumerate(wanted) if row[0][0] != "_" and (i or row[0] not in ("self", "cls"))]
        assert repr([tuple(p) for p in parameters_of(value)]) == repr(wanted), name


def test_completed():
    def pick(x, axis: int = 0, *, fill=None, _hidden=1, **more):
        """Picks.

        Parameters
        ----------
        fill : number
            Of its own.

        Raises
        ------
        KeyError
            Sometimes.
        """

    glossary = Glossary(
        {"x": "array: The elements.", "pick.axis": "int: The axis of pick().", "axis": "int: A.", "more": "any: M."},
        {"take pick": "Fewer."},
        {"axis": ("IndexError", "If it is out of range.")},
        "array",
        {"pick": "KeyError: Never; TypeError: Rarely."},
    )
    assert completed(pick, glossary) == textwrap.dedent(
        """\
        Picks.

        Parameters
        ----------
        x : array
            The elements.
        axis : int, default 0
            The axis of pick().
        fill : number
            Of its own.
        **more : any
            M.

        Returns
        -------
        array
            Fewer.

        Raises
        ------
        KeyError
            Sometimes.
        TypeError
            Rarely.
        IndexError
            If it is out of range."""
    )


def test_those_of_other_packages_stay():
    program = "import numpy; a = numpy.array2string.__doc__; import frazil; assert numpy.array2string.__doc__ is a"
    subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        env={"PYTHONPATH": str(pathlib.Path(frazil.__file__).parents[1])},
    )


def test_operators_have_the_facts_of_their_definitions():
    doc = inspect.getdoc(frazil.Graph.TopK)
    text, sections = sections_of(doc)
    assert list(sections) == ["Parameters", "Returns", "Notes"] and text.endswith(".")
    have = entries_of(sections["Parameters"])
    assert list(have) == ["X", "K", "axis", "largest", "sorted", "outputs", "name"]
    assert have["axis"].startswith("axis : int or DType, default -1") and "int64" in have["K"]
    lazy = inspect.getdoc(frazil.lazy.ops.TopK)
    assert "LazyArray" in lazy and "Term" not in lazy and "name :" not in lazy
    assert "name" not in inspect.signature(frazil.lazy.ops.TopK).parameters


def test_methods_have_those_of_their_functions():
    assert inspect.signature(frazil.LazyArray.sum).parameters.keys() >= {"self", "axis", "dtype", "keepdims", "out"}
    assert described(frazil.LazyArray.sum, "Parameters").keys() >= {"axis", "keepdims"}
    assert described(nn.Tensor.add_, "Parameters").keys() == {"other", "alpha"}
    assert str(inspect.signature(fnp.add)).startswith("(x1, x2, /, *, out=None")


def reference(folder, seed):
    """Returns the pages of the reference, written by another process."""
    subprocess.run(
        [sys.executable, SCRIPTS / "python_reference.py", folder],
        check=True,
        env={"PYTHONPATH": str(pathlib.Path(frazil.__file__).parents[1]), "PYTHONHASHSEED": seed},
    )
    return {page.name: page.read_text() for page in folder.glob("*.md")}


def test_the_reference_is_the_same_in_every_process(tmp_path):
    pages = reference(tmp_path / "one", "7")
    assert pages == reference(tmp_path / "two", "8") and len(pages) == len(python_reference.PAGES)
    for name, text in pages.items():
        assert not re.search(r"0x[0-9a-f]{6,}|<function|<object|<class", text), name
