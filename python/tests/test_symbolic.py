"""Values of graphs and lazy arrays have one meaning: NumPy's."""

import operator

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest

FLOATS = np.array([[1.5, -2.0, 3.25], [0.5, -0.25, 7.0]], np.float32)
OTHERS = np.array([[2.0, 3.0, -2.0], [0.5, -4.0, 1.0]], np.float32)
INTS = np.array([[7, -7, 5], [3, 2, -9]], np.int64)
DIVISORS = np.array([[2, 3, -3], [-2, 5, 4]], np.int32)
BOOLS = INTS > 2

BINARY = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.eq,
    operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
OPERANDS = {
    "reals": (FLOATS, OTHERS), "integers": (INTS, DIVISORS.astype(np.int64)), "integers of two sizes": (INTS, DIVISORS),
    "integers and reals": (INTS, OTHERS), "reals and a number": (FLOATS, 2), "integers and a real": (INTS, 2.5),
    "a number and integers": (7, INTS), "an array of the program": (FLOATS, np.float64(1.5)),
}  # fmt: skip


def in_graph(function, *values):
    """The result of a function of Terms; numbers stay numbers."""
    graph = frazil.Graph()
    given, terms = {}, []
    for i, value in enumerate(values):
        if isinstance(value, np.ndarray):
            given[f"x{i}"] = value
            value = graph.input(f"x{i}", value.dtype, value.shape)
        terms.append(value)
    graph.output("y", function(*terms))
    return graph.build().run(given)["y"]


def lazily(function, *values):
    """The result of a function of lazy arrays."""
    return function(*(fnp.array(value) if isinstance(value, np.ndarray) else value for value in values)).numpy()


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("op", BINARY, ids=lambda op: op.__name__)
def test_operators(op, operands):
    values = OPERANDS[operands]
    of_terms, of_arrays = in_graph(op, *values), lazily(op, *values)
    assert of_terms.dtype == of_arrays.dtype
    np.testing.assert_allclose(of_terms, of_arrays, rtol=1e-6)


@pytest.mark.parametrize("op", [operator.add, operator.mul, operator.eq, operator.and_, operator.xor])
def test_operators_of_bools(op):
    assert in_graph(op, BOOLS, ~BOOLS).tolist() == op(BOOLS, ~BOOLS).tolist()


MOVES = {
    "reversed": lambda x: x.transpose(),
    "None": lambda x: x.transpose(None),
    "numbers": lambda x: x.transpose(2, 0, 1),
    "a tuple": lambda x: x.transpose((2, 0, 1)),
    "from the end": lambda x: x.transpose(-1, 0, -2),
    "T": lambda x: x.T,
    "mT": lambda x: x.mT if hasattr(x, "mT") else x.swapaxes(-1, -2),
    "swapaxes": lambda x: x.swapaxes(0, -1),
    "reshape": lambda x: x.reshape(2, -1),
    "reshape to a tuple": lambda x: x.reshape((4, 6)),
    "columns first": lambda x: x.reshape(6, 4, order="F"),
    "ravel": lambda x: x.ravel(),
    "flatten": lambda x: x.flatten("F"),
    "astype": lambda x: x.astype("int64"),
    "plus": lambda x: +x,
}


@pytest.mark.parametrize("move", MOVES)
def test_methods(move):
    x, function = np.arange(24, dtype=np.float32).reshape(2, 3, 4), MOVES[move]
    wanted = function(x)
    for made in (in_graph(function, x), lazily(function, x)):
        assert made.shape == wanted.shape and made.tolist() == wanted.tolist()


def test_no_elements():
    empty = np.zeros((0, 3), np.float32)
    for made in (in_graph(lambda x: x.reshape(3, 0), empty), lazily(lambda x: x.reshape(3, 0), empty)):
        assert made.shape == (3, 0)


def symbols():
    graph = frazil.Graph()
    return graph.input("x", "float32", (2, 3)), fnp.zeros((2, 3), np.float32)


@pytest.mark.parametrize(
    "wrong, error",
    [
        (lambda x: x.transpose(0), ValueError),
        (lambda x: x.transpose(0, 0), ValueError),
        (lambda x: x.transpose(0, 2), IndexError),
        (lambda x: x[0].mT, ValueError),
        (lambda x: x.reshape(6, order="Z"), ValueError),
    ],
)
def test_errors_are_the_same(wrong, error):
    for x in symbols():
        with pytest.raises(error):
            wrong(x)


@pytest.mark.parametrize("other", [None, slice(None), ..., "text", object()])
def test_other_values_are_not_equal(other):
    for x in symbols()[:1]:
        assert (x == other) is False and (x != other) is True


def test_one_base():
    assert all(isinstance(x, frazil.Symbolic) for x in symbols())
    assert in_graph(lambda x: x.eq(1.5), FLOATS).tolist() == (FLOATS == 1.5).tolist()
    assert in_graph(lambda x: x.ne(1.5), FLOATS).tolist() == (FLOATS != 1.5).tolist()
