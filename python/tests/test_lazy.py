"""Lazy arrays: NumPy's functions on them, against NumPy."""

import copy
import pickle
import sys

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest

FLOATS = ["float32", "float64"]
INTEGERS = ["int8", "int32", "int64", "uint8"]
ALL = [*FLOATS, *INTEGERS, "bool"]
SHAPES = [(), (1,), (5,), (0,), (2, 3), (1, 4), (3, 0), (2, 1, 3)]


def random(shape, dtype, seed=0):
    """Small numbers, of which some are equal."""
    rng = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if dtype.startswith("u") else -5
    return np.asarray(rng.integers(low, 6, shape) if "int" in dtype else rng.standard_normal(shape)).astype(dtype)


def same(made, wanted, what=""):
    """Of one element type, one shape, and close."""
    made, wanted = np.asarray(made), np.asarray(wanted)
    assert made.dtype == wanted.dtype and made.shape == wanted.shape, f"{what}: {made!r} instead of {wanted!r}"
    tolerance = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}.get(str(wanted.dtype), 0)
    assert np.allclose(made, wanted, tolerance, tolerance, equal_nan=True), f"{what}: {made!r} instead of {wanted!r}"


# ---- by elements ----

UNARY = {
    "negative": [*FLOATS, "int8", "int32", "int64"],
    "positive": [*FLOATS, *INTEGERS],
    "absolute": ALL,
    "sign": [*FLOATS, *INTEGERS],
    "invert": [*INTEGERS, "bool"],
    "logical_not": ALL,
    "floor": FLOATS,
    "ceil": FLOATS,
    "rint": FLOATS,
    "square": FLOATS + INTEGERS,
    "reciprocal": FLOATS,
    **dict.fromkeys(["isnan", "isinf", "isfinite"], ALL),
    **dict.fromkeys(["exp", "sin", "cos", "tanh", "sinh", "cosh", "arctan", "arcsinh"], ALL),
    **dict.fromkeys(["log", "sqrt", "log2", "log10", "tan", "arcsin", "arccos", "arccosh", "arctanh"], FLOATS),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one(name):
    for dtype in UNARY[name]:
        for shape in SHAPES:
            x = random(shape, dtype)
            with np.errstate(all="ignore"):
                same(getattr(fnp, name)(fnp.array(x)), getattr(np, name)(x), (name, x))


ARITHMETIC = ["add", "multiply", "maximum", "minimum"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]
PAIRS = [(a, b) for a in ALL for b in ALL]
BROADCAST = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (1,)), ((3, 0), (1, 0)), ((4,), (1,))]


def pairs_of(name):
    if name in BITS:
        return [(a, b) for a, b in PAIRS if a not in FLOATS and b not in FLOATS]
    return PAIRS


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS, *LOGIC, *BITS, "subtract", "divide"])
def test_functions_of_two(name):
    """Every pair of element types: NumPy's promotion."""
    for a, b in pairs_of(name):
        if name == "subtract" and a == b == "bool":
            continue
        for i, (left, right) in enumerate(BROADCAST):
            x, y = random(left, a, i), random(right, b, i + 1)
            with np.errstate(all="ignore"):
                same(getattr(fnp, name)(fnp.array(x), fnp.array(y)), getattr(np, name)(x, y), (name, x, y))


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_divisions(name):
    for a, b in [(a, b) for a, b in PAIRS if "bool" not in (a, b)]:
        x, y = random((4, 5), a), random((4, 5), b, 1)
        y[y == 0] = 3
        same(getattr(fnp, name)(fnp.array(x), y), getattr(np, name)(x, y), (name, x, y))


def test_powers():
    for a, b in [("float32", "float32"), ("float32", "int32"), ("int32", "float64"), ("int64", "uint8")]:
        x, y = np.abs(random((3, 4), a)), np.abs(random((3, 4), b, 1))
        same(fnp.power(fnp.array(x), y), np.power(x, y), (x, y))
    same(fnp.array([3, -2]) ** 2, np.array([9, 4]))
    with pytest.raises(ValueError, match="negative integer powers"):
        fnp.array([3, -2]) ** -1


# What a Python number becomes beside an array, as NumPy 2 has it.
WEAK = [
    ("float32", 2.5, "float32"),
    ("float16", 2.5, "float16"),
    ("float32", 2, "float32"),
    ("float32", True, "float32"),
    ("int32", 2, "int32"),
    ("uint8", 2, "uint8"),
    ("int32", 2.5, "float64"),
    ("int8", True, "int8"),
    ("bool", 2, "int64"),
    ("bool", 2.5, "float64"),
    ("bool", True, "bool"),
    ("float32", np.float64(2.5), "float64"),
    ("int8", np.int32(2), "int32"),
]


@pytest.mark.parametrize("dtype, number, expected", WEAK)
def test_numbers_take_the_type_beside_them(dtype, number, expected):
    x = fnp.array(np.ones(3, dtype))
    for made in (
        x + number,
        number + x,
        fnp.maximum(x, number),
        fnp.where(x, x, number),
        fnp.concatenate([x, x]) * number,
    ):
        assert made.dtype == expected
    assert (x + number).tolist() == [1 + number] * 3 if dtype != "bool" or number is not True else [True] * 3


def test_numbers_out_of_range():
    with pytest.raises(OverflowError, match="300 is out of the range of uint8"):
        fnp.array(np.ones(3, np.uint8)) + 300
    with pytest.raises(OverflowError):
        fnp.array([1]) + 2**70
    same(fnp.array([2**60]) + (2**60 + 1), np.array([2**61 + 1]))


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "divmod": lambda a, b: divmod(a, b)[0] + divmod(a, b)[1],
}


@pytest.mark.parametrize("operator", OPERATORS)
def test_operators(operator):
    """On both sides, with arrays of both kinds."""
    x, y = np.abs(random((3, 3), "float32")) + 1, np.abs(random((3, 3), "float32", 1)) + 1
    function = OPERATORS[operator]
    for a, b in [(fnp.array(x), fnp.array(y)), (fnp.array(x), y), (x, fnp.array(y))]:
        made = function(a, b)
        assert isinstance(made, frazil.LazyArray)
        same(made, function(x, y), operator)
    if operator != "@":
        for number in (2, 2.5):
            same(function(fnp.array(x), number), function(x, np.float32(number)), operator)
            same(function(number, fnp.array(x)), function(np.float32(number), x), operator)


def test_bits_and_signs():
    x, y = fnp.array([6, -3]), fnp.array([3, 5])
    assert [(x & y).tolist(), (x | 1).tolist(), (1 ^ x).tolist(), (~x).tolist()] == [[2, 5], [7, -3], [7, -4], [-7, 2]]
    assert [(-x).tolist(), (+x).tolist(), abs(x).tolist(), (~(x > 0)).tolist()] == [
        [-6, 3],
        [6, -3],
        [6, 3],
        [False, True],
    ]


REFUSED = [
    (lambda: fnp.array([True]) - fnp.array([True]), TypeError, "subtract.* of bool"),
    (lambda: -fnp.array([True]), TypeError, "negative.* of bool"),
    (lambda: fnp.array([1.5]) & 1, TypeError, "bitwise_and.* of float"),
    (lambda: fnp.array([1.5]) + "text", TypeError, "unsupported operand"),
    (lambda: fnp.array([1.5]) + None, TypeError, "unsupported operand"),
    (lambda: fnp.add(fnp.array([1.5])), TypeError, "add.. takes 2 arguments"),
    (lambda: fnp.exp(fnp.array([1.5]), axis=0), TypeError, "no parameter axis"),
    (lambda: hash(fnp.array([1.5])), TypeError, "unhashable"),
    (lambda: bool(fnp.array([1, 2])), ValueError, "one truth value"),
    (lambda: float(fnp.array([])), ValueError, "one element"),
    (lambda: [1, 2][fnp.array([1])], TypeError, "index"),
    (lambda: fnp.array([1]).__setitem__(0, 1), TypeError, "lazy arrays are immutable"),
    (lambda: fnp.reciprocal(fnp.array([2])), TypeError, "reciprocals"),
    (lambda: len(fnp.array(1)), TypeError, "no length"),
    (lambda: fnp.max(fnp.zeros((0,))), ValueError, "no elements"),
    (lambda: fnp.sum(fnp.zeros((2,)), axis=1), IndexError, "axis 1"),
    (lambda: fnp.sum(fnp.zeros((2, 2)), axis=(0, -2)), ValueError, "twice"),
    (lambda: fnp.squeeze(fnp.zeros((2, 2)), 0), ValueError, "2 elements"),
    (lambda: fnp.broadcast_to(fnp.zeros((2, 2)), (2, 3)), ValueError, "cannot be broadcast"),
    (lambda: fnp.split(fnp.zeros(5), 2), ValueError, "equal parts"),
    (lambda: fnp.transpose(fnp.zeros((2, 2)), (0,)), ValueError, "1 axes"),
    (lambda: fnp.zeros((2, 2))[2], IndexError, "index 2 of an axis of 2"),
    (lambda: fnp.zeros((2, 2))[0, 0, 0], IndexError, "3 indices"),
    (lambda: fnp.zeros((2, 2))[..., 0, ...], IndexError, "at most one"),
    (lambda: fnp.zeros((2, 2))[1.5], IndexError, "integers"),
    (lambda: fnp.array("text") + 1, Exception, ""),
    (lambda: fnp.array(object()), frazil.BadInput, ""),
    (lambda: frazil._frazil.LazyArray(), TypeError, "cannot create"),
    (lambda: frazil.LazyArray(), TypeError, "cannot create"),
    (lambda: pickle.dumps(fnp.array([1])), TypeError, r"pickle its value, array.numpy\(\)"),
    (lambda: frazil.lazy.ops.If(fnp.array(True), then_branch=int, else_branch=int), frazil.Unsupported, "cond"),
    (lambda: frazil.lazy.ops.Softmax(fnp.array([1.5]), axes=1), TypeError, "axes"),
]


@pytest.mark.parametrize("call, error, text", REFUSED, ids=range(len(REFUSED)))
def test_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


# ---- along axes ----

AXES = [None, 0, 1, -1, (0, 1), (-1, 0)]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "any", "all", "var", "std", "count_nonzero"])
@pytest.mark.parametrize("dtype", ALL)
def test_reductions(name, dtype):
    if name in ("var", "std") and dtype == "bool":
        return
    for shape in [(2, 3), (1, 4), (2, 3, 2), (3, 1)]:
        x = random(shape, dtype)
        for axis in AXES:
            for keepdims in (False, True):
                made = getattr(fnp, name)(fnp.array(x), axis, keepdims=keepdims)
                same(made, getattr(np, name)(x, axis=axis, keepdims=keepdims), (name, x, axis, keepdims))
    same(
        getattr(fnp.array(x), name)(0) if name != "count_nonzero" else 0,
        getattr(x, name)(0) if name != "count_nonzero" else 0,
    )


def test_reductions_of_nothing():
    for shape, axis in [((0,), None), ((0, 3), 0), ((3, 0), 1)]:
        x = np.zeros(shape, np.float32)
        for name in ("sum", "prod", "any", "all"):
            same(getattr(fnp, name)(fnp.array(x), axis), getattr(np, name)(x, axis=axis), (name, shape))
    same(fnp.max(fnp.zeros((0, 3)), 1), np.zeros(0))


@pytest.mark.parametrize("name", ["argmax", "argmin", "cumsum", "sort", "argsort"])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "int64", "uint8", "bool"])
def test_along_an_axis(name, dtype):
    arguments = {"kind": "stable"} if name == "argsort" else {}
    for shape in [(5,), (2, 3), (1, 4), (2, 3, 4)]:
        x = random(shape, dtype)
        for axis in [None, 0, -1]:
            same(getattr(fnp, name)(fnp.array(x), axis), getattr(np, name)(x, axis=axis, **arguments), (name, x, axis))


def test_not_a_number():
    """It is the largest and the smallest one."""
    x, y = np.array([1, np.nan, 3], np.float32), np.array([np.nan, 2, 1], np.float32)
    for name in ("max", "min", "sum", "argmax", "argmin"):
        same(getattr(fnp, name)(fnp.array(x)), getattr(np, name)(x), name)
    for name in ("maximum", "minimum"):
        same(getattr(fnp, name)(fnp.array(x), y), getattr(np, name)(x, y), name)


# ---- shapes ----

MOVED = {
    "reshape": lambda xp, x: xp.reshape(x, (4, -1)),
    "reshape to nothing": lambda xp, x: xp.reshape(x[:0], (0, 5)),
    "ravel": lambda xp, x: xp.ravel(x),
    "transpose": lambda xp, x: xp.transpose(x),
    "transpose to": lambda xp, x: xp.transpose(x, (1, -1, 0)),
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, -1),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "moveaxis of two": lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)),
    "expand_dims": lambda xp, x: xp.expand_dims(x, -1),
    "expand_dims by two": lambda xp, x: xp.expand_dims(x, (0, 2)),
    "squeeze": lambda xp, x: xp.squeeze(x[:1, :, :1]),
    "squeeze one": lambda xp, x: xp.squeeze(x[:1, :, :1], -1),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x[:, :1], (5, 2, 3, 4)),
    "concatenate": lambda xp, x: xp.concatenate([x, x[:, :1]], 1),
    "concatenate all": lambda xp, x: xp.concatenate([x, x[:, :1]], None),
    "stack": lambda xp, x: xp.stack([x, x + 1], -1),
    "vstack": lambda xp, x: xp.vstack([x[0, 0], x[0, 1]]),
    "hstack": lambda xp, x: xp.hstack([x[0], x[0]]),
    "take": lambda xp, x: xp.take(x, [1, -1, 0], 1),
    "take of all": lambda xp, x: xp.take(x, np.array([[7, 1], [0, -1]])),
    "take_along_axis": lambda xp, x: xp.take_along_axis(x, np.argsort(np.asarray(x), 1), 1),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 3)),
    "tile to more axes": lambda xp, x: xp.tile(x[0, 0], (2, 2)),
    "flip": lambda xp, x: xp.flip(x, 1),
    "flip all": lambda xp, x: xp.flip(x),
    "tril": lambda xp, x: xp.tril(x, 1),
    "triu": lambda xp, x: xp.triu(x),
    "clip": lambda xp, x: xp.clip(x, -0.5, 0.5),
    "round": lambda xp, x: xp.round(x, 1),
    "where": lambda xp, x: xp.where(x > 0, x, 0),
    "dot": lambda xp, x: xp.dot(x[0], x[0].T),
    "dot of vectors": lambda xp, x: xp.dot(x[0, 0], x[0, 0]),
    "dot of tensors": lambda xp, x: xp.dot(x, xp.transpose(x, (0, 2, 1))),
    "dot with a vector": lambda xp, x: xp.dot(x, x[0, 0]),
    "inner": lambda xp, x: xp.inner(x, x[1]),
    "outer": lambda xp, x: xp.outer(x[0], x[1]),
    "vdot": lambda xp, x: xp.vdot(x, x),
    "matmul": lambda xp, x: xp.matmul(x, xp.swapaxes(x, 1, 2)),
    "matmul of a vector": lambda xp, x: xp.matmul(x, x[0, 0]),
    "einsum": lambda xp, x: xp.einsum("abc,abd->acd", x, x),
    "isclose": lambda xp, x: xp.isclose(x, x + 1e-7),
    "zeros_like": lambda xp, x: xp.zeros_like(x),
    "ones_like": lambda xp, x: xp.ones_like(x, dtype=np.int32),
    "full_like": lambda xp, x: xp.full_like(x, 2.5),
    "astype": lambda xp, x: x.astype(np.int32),
    "methods": lambda xp, x: x.reshape(2, 12).T.flatten().reshape((4, 6)).transpose(1, 0).squeeze().clip(0, 1),
}


@pytest.mark.parametrize("name", MOVED)
def test_shapes(name):
    x = random((2, 3, 4), "float32")
    same(MOVED[name](fnp, fnp.array(x)), MOVED[name](np, x), name)


@pytest.mark.parametrize("parts", [3, [1], [1, 2], [-1], []])
def test_split(parts):
    x = random((3, 4), "float32")
    for made, wanted in zip(fnp.split(fnp.array(x), parts), np.split(x, parts), strict=True):
        same(made, wanted)
    for made, wanted in zip(fnp.array_split(fnp.array(x.T), parts), np.array_split(x.T, parts), strict=True):
        same(made, wanted)


MADE = {
    "zeros": lambda xp: xp.zeros((2, 3)),
    "ones": lambda xp: xp.ones(4, np.int32),
    "full": lambda xp: xp.full((2, 2), 2.5, np.float32),
    "full of ints": lambda xp: xp.full((2, 2), 2),
    "arange": lambda xp: xp.arange(5),
    "arange of floats": lambda xp: xp.arange(1, 2, 0.25, dtype=np.float32),
    "linspace": lambda xp: xp.linspace(0, 1, 5),
    "eye": lambda xp: xp.eye(3),
    "array of floats": lambda xp: xp.array([1.5, 2]),
    "array of ints": lambda xp: xp.array([[1, 2], [3, 4]]),
    "array of bools": lambda xp: xp.array([True, False]),
    "array as": lambda xp: xp.array([1, 2], np.float16),
    "a number": lambda xp: xp.asarray(1.5),
    "an array of arrays": lambda xp: xp.array([xp.ones(2), xp.zeros(2)]),
    "nothing": lambda xp: xp.array([]),
}


@pytest.mark.parametrize("name", MADE)
def test_new_arrays(name):
    same(MADE[name](fnp), MADE[name](np), name)


KEYS = [
    np.s_[1], np.s_[-1], np.s_[1:], np.s_[:, 1], np.s_[..., -1], np.s_[None], np.s_[:, None, 1], np.s_[::-1],
    np.s_[1:0:-1, ..., ::2], np.s_[-2:], np.s_[5:], np.s_[0, 1, 2], np.s_[[1, 0]], np.s_[:, [2, 0, 0]],
    np.s_[np.array([[1, 0], [0, 1]])], np.s_[[0, 1], [1, 2]], np.s_[:, [0, 1], [1, 2]], np.s_[[0, 1], :, [1, 2]],
    np.s_[0, :, [1, 2]], np.s_[:, 1, [1, 2]], np.s_[[0, 1], None, [1, 2]], np.s_[None, :, [0, 1], [1, 2]],
    np.s_[[[0], [1]], [0, 2]], np.s_[..., None], np.s_[()], np.s_[np.int64(1)], np.s_[[True, False]], np.s_[:, [True, False, True]],
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_indices(key):
    x = random((2, 3, 4), "float32")
    same(fnp.array(x)[key], x[key], key)


def test_indices_that_are_lazy():
    x, i, mask = random((4, 3), "float32"), np.array([2, 0]), np.array([True, False, True, True])
    lazy = fnp.array(x)
    same(lazy[fnp.array(i)], x[i])
    same(lazy[fnp.array(i), 1], x[i, 1])
    same(lazy[fnp.array(2)], x[2])
    same(lazy[fnp.array(mask)], x[mask])
    same(lazy[lazy > 0], x[x > 0])
    same(lazy[fnp.argmax(lazy[:, 0])], x[np.argmax(x[:, 0])])
    for made, wanted in zip(fnp.nonzero(lazy > 0), np.nonzero(x > 0), strict=True):
        same(made, wanted)


# ---- arrays ----


def test_properties():
    x = fnp.array(random((2, 3), "float32"))
    assert (x.shape, x.dtype, x.ndim, x.size, x.type, len(x)) == ((2, 3), np.float32, 2, 6, "f32[2,3]", 2)
    assert [row.shape for row in x] == [(3,), (3,)]
    assert x[0, 0].item() == x.tolist()[0][0] == float(x[0, 0])
    assert (int(fnp.array(3.7)), [0, 1, 2][fnp.array(1)], 2.0 in fnp.array([1, 2]), 3 in fnp.array([1, 2])) == (
        3,
        1,
        True,
        False,
    )
    assert copy.copy(x) is x and copy.deepcopy(x) is x
    assert f"{fnp.array(1.5):.2f} {fnp.array([1, 2])}" == "1.50 [1 2]"
    assert repr(x + 1) == "<frazil.LazyArray f32[2,3], not computed>" and repr(fnp.array([1, 2])) == "LazyArray([1, 2])"


def test_values_are_numpy_arrays_over_the_same_memory():
    x = fnp.array(np.ones(4, np.float32)) + 1
    value = x.numpy()
    assert not value.flags.writeable and np.shares_memory(value, x.numpy())
    assert np.asarray(x) is not None and np.array(x).flags.writeable
    assert np.asarray(x, np.float64).dtype == np.float64
    same(np.add(x, 1), value + 1)
    assert isinstance(np.add(np.ones(4), x), frazil.LazyArray) and isinstance(np.stack([x, x]), frazil.LazyArray)
    assert np.add.reduce(x) == 8 and np.allclose(x, [2, 2, 2, 2]) and np.array_equal(x, x)


def test_an_array_is_copied_unless_asked_otherwise():
    x = np.ones(3, np.float32)
    copied, summed, borrowed = fnp.array(x), fnp.zeros(3, np.float32) + x, fnp.asarray(x)
    x[:] = 5
    assert (copied.tolist(), summed.tolist(), borrowed.tolist()) == ([1, 1, 1], [1, 1, 1], [5, 5, 5])


def test_models_take_lazy_arrays(affine):
    assert affine(fnp.array(np.ones(2, np.float32)) + 1)[0].tolist() == [2, 2]


def test_chains_longer_than_a_program():
    x = fnp.array(np.zeros(2, np.float32))
    for _ in range(5000):
        x = x + 1
    assert x.tolist() == [5000, 5000]


def test_a_chain_of_pointwise_operators_is_one_group():
    x = fnp.array(random((8, 16), "float32"))
    y = fnp.tanh(fnp.sqrt(abs(fnp.maximum(fnp.exp(x * 2 + 1) - 3, 0)) / 4) * x) + abs(x)
    assert "nodes in 1 step" in y.explain()
    assert y.numpy() is not None and y.explain() == "nothing to run\n"


def test_ordinary_control_flow():
    def collatz(n):
        x, steps = fnp.array(n), 0
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        return steps

    assert [collatz(6), collatz(27)] == [8, 111]


def test_errors_name_the_line():
    x = fnp.array([1.0, 2.0, 3.0])
    line = sys._getframe().f_lineno + 2
    with pytest.raises(frazil.BadModel, match=rf"'test_lazy.py:{line}' \(Add\): .*\[3\] and \[2\]"):
        x + fnp.array([1.0, 2.0])
    with pytest.raises(frazil.BadModel, match=rf"'test_lazy.py:{line + 2}' \(Concat\)"):
        np.concatenate([x, fnp.zeros((2, 2))])  # of the caller, not of the package
    made = x[fnp.array([3]) + 4]
    with pytest.raises(frazil.Error, match=rf"'test_lazy.py:{line + 3}' \(Gather\)"):
        (made + 1).numpy()  # where it was recorded, not where it runs


# ---- operators ----


def test_operators_of_the_table():
    x = random((2, 3), "float32")
    ops, lazy = frazil.lazy.ops, fnp.array(x)
    for _ in range(2):  # what is remembered, too
        same(ops.LeakyRelu(lazy, alpha=0.5), np.where(x > 0, x, x * np.float32(0.5)))
        same(ops.Clip(lazy, 0, max=1), np.clip(x, 0, 1))
        same(ops.Clip(lazy, None, 0.5), np.minimum(x, np.float32(0.5)))
        same(ops.Concat(lazy, x, axis=1), np.concatenate([x, x], 1))
        same(ops.Gather(lazy, 1, axis=1), x[:, 1])
        same(ops.Transpose(lazy, perm=[1, 0]), x.T)
        values, indices = ops.TopK(lazy, [1], axis=1)
        same(values, x.max(1, keepdims=True))
        assert [part.shape for part in ops.Split(lazy, axis=1, num_outputs=3, outputs=3)] == [(2, 1)] * 3
        assert ops.com_microsoft.FastGelu(lazy).shape == (2, 3)
    assert set(dir(ops)) >= {info.name for info in frazil.operators() if not info.domain}
    assert "axis" in str(__import__("inspect").signature(ops.Softmax)) and "axis" in ops.Softmax.__doc__


def test_every_operator_is_one_of_lazy_arrays():
    for info in frazil.operators():
        if not info.domain and not info.bodies:
            assert callable(getattr(frazil.lazy.ops, info.name))


# ---- programs ----

STEPS = [
    lambda xp, a, b, n: a + b,
    lambda xp, a, b, n: a - b * n,
    lambda xp, a, b, n: xp.maximum(a, b),
    lambda xp, a, b, n: xp.tanh(a) + n,
    lambda xp, a, b, n: xp.where(a > b, a, xp.abs(b)),
    lambda xp, a, b, n: a @ b.T @ b / 9,
    lambda xp, a, b, n: a - a.mean(axis=n % 2, keepdims=True),
    lambda xp, a, b, n: xp.concatenate([a[n:], b[:n]]),
    lambda xp, a, b, n: xp.stack([a, b])[n % 2],
    lambda xp, a, b, n: a.reshape(-1)[::-1].reshape(a.shape),
    lambda xp, a, b, n: a[[n, 0, 1]] * b[:, :1],
    lambda xp, a, b, n: xp.cumsum(a, 1) / 3,
]


@pytest.mark.parametrize("seed", range(40))
def test_programs(seed):
    """Arrays that are used several times, let go of and read in between; other programs of the same structure before."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(1, 5))
    pool = [(fnp.array(x), x) for x in (rng.standard_normal((3, columns)).astype(np.float32) for _ in range(3))]
    for _ in range(int(rng.integers(1, 60))):
        step, n = STEPS[rng.integers(len(STEPS))], int(rng.integers(0, 3))
        (a, x), (b, y) = (pool[i] for i in rng.integers(0, len(pool), 2))
        pool.append((step(fnp, a, b, n), np.float32(1) * step(np, x, y, n)))
        if len(pool) > 6:
            pool.pop(int(rng.integers(len(pool))))
        if rng.random() < 0.1:
            made, wanted = pool[rng.integers(len(pool))]
            assert np.allclose(made.numpy(), wanted, 1e-3, 1e-3)
    for made, wanted in pool:
        assert made.dtype == np.float32 and np.allclose(made.numpy(), wanted, 1e-3, 1e-3)


def test_dlpack():
    """Others get a copy, which they may write to."""
    for dtype in (*FLOATS, "int32", "uint8"):
        x = fnp.array(np.array([[1, 2], [3, 4]], dtype)).T
        other = np.from_dlpack(x)
        same(other, np.array([[1, 3], [2, 4]], dtype))
        back = fnp.array(frazil.from_dlpack(x))
        same(back, np.array([[1, 3], [2, 4]], dtype))
    with pytest.raises(BufferError, match="copies"):
        x.__dlpack__(copy=False)


def test_dlpack_of_torch():
    torch = pytest.importorskip("torch", reason="python3-torch is not installed")
    x = fnp.array([1.0, 2.0])
    tensor = torch.from_dlpack(x)
    tensor[0] = 7
    assert tensor.tolist() == [7, 2] and x.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_operators_of_complex_arrays(dtype):
    rng = np.random.default_rng(5)
    a = (rng.standard_normal((2, 3)) + 1j * rng.standard_normal((2, 3))).astype(dtype)
    b = rng.standard_normal(3).astype(np.float32)
    x, y = fnp.array(a), fnp.array(b)
    for made, wanted in (
        (x + y, a + b),
        (y - x, b - a),
        (x * 2, a * 2),
        (1j * y, np.complex64(1j) * b),
        (x / (1 + 2j), a / dtype(1 + 2j)),
        (x**2, a**2),
        (-x, -a),
        (abs(x), abs(a)),
        (x == a, a == a),
        (x != y, a != b),
        (b + x, b + a),
    ):
        assert made.dtype == wanted.dtype
        np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-5)
