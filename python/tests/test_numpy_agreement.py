"""frazil.numpy against NumPy with arguments drawn at random: values, shapes, element types, and errors."""

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from numpy_agreement import DTYPES, SHAPES, check_random_arguments, promotion_of_numpy_2

# ---- what is called: draws arguments and gives a function of the module ----


def by_elements(name, dtypes=DTYPES):
    def drawn(draw):
        x = draw.array(dtypes=dtypes)
        return (x,), lambda xp, x: getattr(xp, name)(x)

    return drawn


def of_two(name, dtypes=DTYPES):
    def drawn(draw):
        x = draw.array(dtypes=dtypes)
        return (x, draw.beside(x, dtypes)), lambda xp, x, y: getattr(xp, name)(x, y)

    return drawn


def reduction(name, dtypes=DTYPES):
    def drawn(draw):
        x = draw.array(dtypes=dtypes)
        axis, keepdims = draw.axes(x), draw.choice([False, True])
        return (x,), lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=keepdims)

    return drawn


def along(name, shapes=SHAPES, **keywords):
    """`keywords` are for NumPy alone."""

    def drawn(draw):
        x = draw.array(draw.choice(shapes))
        axis = draw.axis(x, none=True)
        return (x,), lambda xp, x: getattr(xp, name)(x, axis=axis, **(keywords if xp is np else {}))

    return drawn


def call(make):
    """`make` gives arguments that are arrays, and a function of the module and these."""
    return make


def indexing(draw):
    x = draw.array()
    key = draw.key(x)
    return (x,), lambda xp, x: x[key]


def a_slice(draw):
    x = draw.array(draw.choice([(0,), (1,), (2,), (5,), (3, 4)]))
    key = tuple(draw.part(n, arrays=False) for n in x.shape)
    return (x,), lambda xp, x: x[key]


def taken(draw):
    x = draw.array()
    axis = draw.axis(x, none=True)
    n = x.size if axis is None or not -x.ndim <= axis < x.ndim else x.shape[axis]
    at = np.array([draw.integer(-n - 1, n) for _ in range(draw.integer(0, 4))], np.int64)
    return (x,), lambda xp, x: xp.take(x, at, axis=axis)


def taken_along(draw):
    x = draw.array(draw.choice([(3,), (2, 3), (1, 3), (3, 1)]))
    axis = draw.axis(x)
    shape = draw.choice([x.shape, tuple(draw.choice([1, 2, 3]) for _ in x.shape)])
    at = np.array([draw.integer(-2, 2) for _ in range(int(np.prod(shape)))], np.int64).reshape(shape)
    return (x,), lambda xp, x: xp.take_along_axis(x, at, axis)


def reshaped(draw):
    x = draw.array()
    shape = draw.choice([(-1,), (x.size,), (1, -1), (-1, 1), x.shape[::-1], (2, -1), (draw.integer(1, 4), 2), ()])
    return (x,), lambda xp, x: xp.reshape(x, shape)


def transposed(draw):
    x = draw.array()
    axes = draw.choice([None, tuple(draw.axis(x) for _ in range(x.ndim)), tuple(range(x.ndim))[::-1]])
    return (x,), lambda xp, x: xp.transpose(x, axes)


def moved(draw):
    x = draw.array()
    source, to = draw.axes(x), draw.axes(x)
    if source is None or to is None:
        source, to = 0, -1
    return (x,), lambda xp, x: xp.moveaxis(x, source, to)


def joined(name):
    def drawn(draw):
        x = draw.array()
        others = [draw.beside(x) for _ in range(draw.integer(0, 2))]
        axis = draw.axis(x)
        more = {"axis": axis} if name in ("concatenate", "stack") else {}
        return (x, *others), lambda xp, *all: getattr(xp, name)(list(all), **more)

    return drawn


def parts(name):
    def drawn(draw):
        x = draw.array()
        where = draw.choice([draw.integer(1, 4), [draw.integer(-3, 5) for _ in range(draw.integer(0, 3))]])
        axis = draw.axis(x)
        return (x,), lambda xp, x: getattr(xp, name)(x, where, axis)

    return drawn


def with_axes(name):
    def drawn(draw):
        x = draw.array()
        axes = draw.axes(x)
        if axes is None and name == "expand_dims":
            axes = 0
        return (x,), lambda xp, x: getattr(xp, name)(x, axes)

    return drawn


def broadcast(draw):
    x = draw.array()
    shape = draw.choice([x.shape, (2, *x.shape), tuple(draw.choice([n, 3]) for n in x.shape), (3,), ()])
    return (x,), lambda xp, x: xp.broadcast_to(x, shape)


def tiled(draw):
    x = draw.array()
    reps = draw.choice([draw.integer(0, 3), tuple(draw.integer(0, 2) for _ in range(draw.integer(0, 3)))])
    return (x,), lambda xp, x: xp.tile(x, reps)


def clipped(draw):
    x = draw.array(dtypes=["int8", "int32", "int64", "float32", "float64"])
    low, high = draw.array((), [str(x.dtype)]), draw.array((), [str(x.dtype)])
    return (x, low, high), lambda xp, x, low, high: xp.clip(x, low, high)


def chosen(draw):
    condition = draw.array()
    x = draw.beside(condition)
    return (condition, x, draw.beside(x)), lambda xp, c, x, y: xp.where(c, x, y)


def powers(draw):
    x = draw.array(dtypes=["int32", "int64", "float32", "float64"])
    return (x, draw.beside(x, ["int32", "int64", "float64"])), lambda xp, x, y: xp.power(x, y)


def rounded(draw):
    x, decimals = draw.array(dtypes=["float32", "float64", "int32", "uint8"]), draw.integer(0, 3)
    return (x,), lambda xp, x: xp.round(x, decimals)


def triangle(name):
    def drawn(draw):
        x, k = draw.array(draw.choice([(2, 3), (3, 1), (2, 2, 3), (3, 0)])), draw.integer(-3, 3)
        return (x,), lambda xp, x: getattr(xp, name)(x, k)

    return drawn


def matrices(name):
    def drawn(draw):
        dtypes = ["int32", "int64", "float32", "float64"]
        shapes = [(3,), (1,), (2, 3), (3, 2), (3, 3), (0, 3), (2, 3, 2), (1, 3, 3), ()]
        x, y = draw.array(draw.choice(shapes), dtypes), draw.array(draw.choice(shapes), dtypes)
        x, y = (np.where(np.isfinite(each), each, 1).astype(each.dtype) for each in (x, y))
        return (x, y), lambda xp, x, y: getattr(xp, name)(x, y)

    return drawn


def made(name):
    def drawn(draw):
        shape = draw.choice([*SHAPES, 3, (2, -1)])
        dtype = draw.choice(DTYPES)
        fill = [draw.number(dtype)] if name == "full" else []
        return (), lambda xp: getattr(xp, name)(shape, *fill, dtype=dtype)

    return drawn


def made_like(name):
    def drawn(draw):
        x, dtype = draw.array(), draw.choice([None, *DTYPES])
        fill = [draw.number(dtype or str(x.dtype))] if name == "full_like" else []
        return (x,), lambda xp, x: getattr(xp, name)(x, *fill, dtype=dtype)

    return drawn


def by_array(name):
    """The shape is an array of integers: shapes that differ in values alone come one after the other."""

    def drawn(draw):
        shape = np.array(draw.choice([(2, 3), (3, 2), (6, 1), (1, 6), (6,), (2, 1, 3), (-1, 2), (4, 2)]), np.int64)
        if name in ("zeros", "ones"):
            return (shape,), lambda xp, shape: getattr(xp, name)(shape)
        x = np.arange(6.0).reshape(draw.choice([(2, 3), (6,), (3, 2)]))
        return (x if name == "reshape" else x.flat[:1], shape), lambda xp, x, shape: getattr(xp, name)(x, shape)

    return drawn


def ranged(draw):
    bounds = [draw.choice([draw.integer(), draw.integer() / 2]) for _ in range(draw.integer(1, 3))]
    return (), lambda xp: xp.arange(*bounds)


def ranged_by_arrays(draw):
    dtype = draw.choice(["int64", "float64"])
    stop = np.array(draw.integer() if dtype == "int64" else draw.integer() / 2, dtype)
    return (stop,), lambda xp, stop: xp.arange(stop)


NUMBERS = [dtype for dtype in DTYPES if dtype != "bool"]
REALS = ["float32", "float64"]
CALLS = {
    **{name: by_elements(name, NUMBERS) for name in ["negative", "positive", "sign", "square"]},
    **{name: by_elements(name) for name in ["absolute", "logical_not", "isnan", "isinf", "isfinite", "rint"]},
    "invert": by_elements("invert", [dtype for dtype in DTYPES if "float" not in dtype]),
    **{name: by_elements(name) for name in ["exp", "sin", "cos", "tanh", "arctan", "sqrt", "log", "log2", "log10"]},
    **{name: by_elements(name, REALS) for name in ["floor", "ceil", "reciprocal", "tan", "arcsin", "arccos", "sinh"]},
    **{name: by_elements(name, REALS) for name in ["cosh", "arcsinh", "arccosh", "arctanh"]},
    **{name: of_two(name) for name in ["add", "multiply", "maximum", "minimum", "divide", "equal", "not_equal"]},
    **{name: of_two(name) for name in ["less", "less_equal", "greater", "greater_equal"]},
    **{name: of_two(name) for name in ["logical_and", "logical_or", "logical_xor"]},
    **{name: of_two(name, DTYPES[:5]) for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]},
    **{name: of_two(name, NUMBERS) for name in ["subtract", "floor_divide", "remainder", "fmod", "divmod"]},
    "isclose": of_two("isclose", REALS),
    "power": powers,
    "clip": clipped,
    "where": chosen,
    "round": rounded,
    **{name: reduction(name) for name in ["sum", "prod", "mean", "any", "all", "max", "min", "count_nonzero"]},
    **{name: reduction(name, NUMBERS) for name in ["var", "std"]},
    **{name: along(name) for name in ["argmax", "argmin", "cumsum", "sort"]},
    "argsort": along("argsort", SHAPES[1:], kind="stable"),
    "indexing": indexing,
    "slices": a_slice,
    "take": taken,
    "take_along_axis": taken_along,
    "reshape": reshaped,
    "transpose": transposed,
    "moveaxis": moved,
    "swapaxes": lambda draw: (lambda x, a, b: ((x,), lambda xp, x: xp.swapaxes(x, a, b)))(
        *(lambda x: (x, draw.axis(x), draw.axis(x)))(draw.array())
    ),
    **{name: with_axes(name) for name in ["expand_dims", "squeeze", "flip"]},
    **{name: joined(name) for name in ["concatenate", "stack", "vstack", "hstack"]},
    **{name: parts(name) for name in ["split", "array_split"]},
    "broadcast_to": broadcast,
    "tile": tiled,
    **{name: triangle(name) for name in ["tril", "triu"]},
    **{name: matrices(name) for name in ["matmul", "dot", "inner", "outer", "vdot"]},
    **{name: made(name) for name in ["zeros", "ones", "full"]},
    **{name: made_like(name) for name in ["zeros_like", "ones_like", "full_like"]},
    **{f"{name} by an array": by_array(name) for name in ["zeros", "ones", "reshape", "broadcast_to"]},
    "arange": ranged,
    "arange of arrays": ranged_by_arrays,
    "nonzero": lambda draw: ((draw.array(draw.choice(SHAPES[1:])),), lambda xp, x: xp.nonzero(x)),
    "ravel": lambda draw: ((draw.array(),), lambda xp, x: xp.ravel(x)),
}

@pytest.mark.parametrize("name", CALLS)
def test_random_arguments(name):
    check_random_arguments(name, CALLS[name])


EXACT = {
    "log2 of powers of two": lambda xp: xp.log2(xp.array([2.0**i for i in range(-1074, 1024, 7)])),
    "log10 of powers of ten": lambda xp: xp.log10(xp.array([10.0**i for i in range(23)])),
    "floor of log2": lambda xp: xp.floor(xp.log2(xp.array([8.0, 64.0]))),
    "quotients by 0 and by infinity": lambda xp: xp.array([1.0, -1.0, 5.0, -5.0, 0.0]) // xp.array(
        [0.0, 0.0, np.inf, np.inf, -2.0]
    ),
    "remainders by infinity": lambda xp: xp.array([5.0, -5.0]) % np.inf,
    "signs of zeros": lambda xp: 1 / xp.remainder(xp.array([-4.0, 4.0, -4.0]), xp.array([2.0, -2.0, -2.0])),
    "of unsigned integers": lambda xp: -xp.array(np.array([0, 1, 255], np.uint8)),
    "arrays apart by dots for no axes": lambda xp: xp.array([[[0, 1], [2, 3], [4, 5]]])[:, [1, 0, 2], ..., [0, 1, 1]],
    "of an array without axes": lambda xp: xp.sum(xp.array(3.0), axis=0),
}


@pytest.mark.parametrize("what", EXACT)
def test_exact(what):
    with np.errstate(all="ignore"), promotion_of_numpy_2():
        wanted = np.asarray(EXACT[what](np))
    made = np.asarray(EXACT[what](fnp))
    assert made.dtype == wanted.dtype and made.tolist() == wanted.tolist()


WRONG = {
    "index behind the last": (lambda xp: xp.array([1, 2])[[5]], IndexError),
    "mask of another length": (lambda xp: xp.array([1, 2, 3, 4])[np.array([True, False])], IndexError),
    "inner of other lengths": (lambda xp: xp.inner(xp.ones(3), xp.ones(1)), ValueError),
    "negative power of integers": (lambda xp: xp.array(2) ** xp.array(-1), ValueError),
    "shapes that do not fit": (lambda xp: xp.ones(2) + xp.ones(3), ValueError),
    "places for other axes": (lambda xp: xp.moveaxis(xp.ones((2, 3)), (0, 1), 0), ValueError),
    "half of a choice": (lambda xp: xp.where(xp.ones(2), 1), ValueError),
}


@pytest.mark.parametrize("what", WRONG)
def test_errors(what):
    function, error = WRONG[what]
    for module in (np, fnp):
        with pytest.raises(error):
            np.asarray(function(module))


def test_slices_of_unknown_extents():
    """In a recorded function and in a graph, as NumPy has them."""
    bounds = [None, -6, -3, -2, -1, 0, 1, 2, 5]
    for start in bounds:
        for stop in bounds:
            for step in (-1, -2):
                key = slice(start, stop, step)
                recorded = frazil.function(lambda x: x[key])
                graph = frazil.Graph()
                x = graph.input("x", "float32", ("N",))
                graph.output("y", x[key])
                model = graph.build()
                for count in (0, 1, 2, 4):
                    values = np.arange(count, dtype=np.float32) + 10
                    wanted = values[key].tolist()
                    assert recorded(fnp.array(values)).tolist() == wanted, (key, count)
                    assert model(values).tolist() == wanted, (key, count)


def test_slices_with_computed_bounds():
    values = np.arange(5.0)
    for start in range(-7, 7):
        for stop in (None, -7, -3, 0, 2):
            for step in (1, -1, -2):
                end = None if stop is None else fnp.array(np.int32(stop))
                made = fnp.array(values)[fnp.array(np.int32(start)) : end : step].tolist()
                assert made == values[start:stop:step].tolist(), (start, stop, step)


def test_equal_parts_in_a_recorded_function():
    recorded = frazil.function(lambda x: fnp.split(x, 2))
    assert [part.tolist() for part in recorded(fnp.array([1.0, 2.0, 3.0, 4.0]))] == [[1, 2], [3, 4]]
    with pytest.raises(ValueError):
        [part.tolist() for part in recorded(fnp.array([1.0, 2.0, 3.0]))]
