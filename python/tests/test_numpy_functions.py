"""Functions of frazil.numpy that are made of several operators, against NumPy with arguments drawn at random."""

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from numpy_agreement import DTYPES, SHAPES, check_random_arguments

REALS = ["float32", "float64"]
NUMBERS = [dtype for dtype in DTYPES if dtype != "bool"]
INTEGERS = [dtype for dtype in NUMBERS if "int" in dtype]
VECTORS = [(1,), (2,), (3,), (5,), (7,)]


def of(name, dtypes=DTYPES, shapes=SHAPES, **drawn_keywords):
    """A function of one array; each keyword is drawn by its function of the draw and the array."""

    def drawn(draw):
        x = draw.array(draw.choice(shapes), dtypes)
        keywords = {key: value(draw, x) for key, value in drawn_keywords.items()}
        return (x,), lambda xp, x: getattr(xp, name)(x, **keywords)

    return drawn


def of_two(name, dtypes=DTYPES, shapes=None, **drawn_keywords):
    def drawn(draw):
        x = draw.array(None if shapes is None else draw.choice(shapes), dtypes)
        y = draw.beside(x, dtypes) if shapes is None else draw.array(draw.choice(shapes), dtypes)
        keywords = {key: value(draw, x) for key, value in drawn_keywords.items()}
        return (x, y), lambda xp, x, y: getattr(xp, name)(x, y, **keywords)

    return drawn


def finite(x):
    return np.where(np.isfinite(x), x, 2).astype(x.dtype)


def of_finite(call):
    """The same with numbers in place of NaN and infinities."""

    def drawn(draw):
        arrays, function = call(draw)
        return tuple(map(finite, arrays)), function

    return drawn


def small(low, high):
    return lambda draw, x: draw.integer(low, high)


def axis(draw, x):
    return draw.axis(x)


def axis_or_none(draw, x):
    return draw.axis(x, none=True)


def axes(draw, x):
    return draw.axes(x)


def axes_to_reduce(draw, x):
    return draw.axes(x) or None


def flag(draw, x):
    return draw.choice([False, True])


def one_of(*choices):
    return lambda draw, x: draw.choice(choices)


def padded(draw):
    x = draw.array(draw.choice([(1,), (2,), (4,), (2, 3), (3, 1, 2), (), (0,)]))
    mode = draw.choice(["constant", "constant", "edge", "reflect", "symmetric", "wrap"])
    pair = lambda: (draw.integer(0, 3), draw.integer(0, 3))  # noqa: E731
    width = draw.choice([draw.integer(0, 3), pair(), tuple(pair() for _ in range(x.ndim)), (1, -1)])
    more = {"constant_values": draw.choice([0, (1, 0)])} if mode == "constant" else {}
    return (x,), lambda xp, x: xp.pad(x, width, mode, **more)


def rolled(draw):
    x = draw.array()
    places = draw.choice([None, draw.axis(x), (draw.axis(x), draw.axis(x))])
    by = draw.integer(-5, 5) if not isinstance(places, tuple) else (draw.integer(), draw.integer())
    return (x,), lambda xp, x: xp.roll(x, by, places)


def repeated(draw):
    x = draw.array()
    place = draw.axis(x, none=True)
    n = x.size if place is None or not -x.ndim <= place < x.ndim else x.shape[place]
    counts = draw.choice([draw.integer(-1, 3), [draw.integer(0, 2) for _ in range(n)]])
    return (x,), lambda xp, x: xp.repeat(x, counts, place)


def inserted(draw):
    x = draw.array(draw.choice([(3,), (2, 3), (1, 4)]))
    place = draw.axis(x, none=True)
    at = draw.integer(-3, 3)
    value = draw.integer(0, 6)
    return (x,), lambda xp, x: xp.insert(x, at, value, place)


def deleted(draw):
    x = draw.array(draw.choice([(3,), (2, 3), (1, 4)]))
    place = draw.axis(x, none=True)
    at = draw.choice([draw.integer(-3, 3), [0, -1], slice(0, 2)])
    return (x,), lambda xp, x: xp.delete(x, at, place)


def grids(draw):
    lines = [draw.array(draw.choice([(1,), (2,), (3,)])) for _ in range(draw.integer(1, 3))]
    indexing, sparse = draw.choice(["xy", "ij"]), draw.choice([False, True])
    return tuple(lines), lambda xp, *all: xp.meshgrid(*all, indexing=indexing, sparse=sparse)


def joined(name):
    def drawn(draw):
        x = draw.array()
        others = [draw.choice([draw.array(x.shape), draw.beside(x)]) for _ in range(draw.integer(0, 2))]
        return (x, *others), lambda xp, *all: getattr(xp, name)(list(all))

    return drawn


def each_of(name):
    def drawn(draw):
        arrays = tuple(draw.array() for _ in range(draw.integer(1, 3)))
        return arrays, lambda xp, *all: getattr(xp, name)(*all)

    return drawn


def parts(name):
    def drawn(draw):
        where = draw.choice([draw.integer(1, 3), [draw.integer(-3, 3)]])
        return (draw.array(),), lambda xp, x: getattr(xp, name)(x, where)

    return drawn


def shares(name, most):
    def drawn(draw):
        share = lambda: draw.choice([0.0, most / 2, float(most), most / 4, draw.random.uniform(0, most)])  # noqa: E731
        q = draw.choice([share(), [share(), share()], share()])
        x = draw.array(dtypes=NUMBERS if isinstance(q, list) else [*INTEGERS, "float64"])
        places, keepdims = axes_to_reduce(draw, x), draw.choice([False, True])
        return (finite(x) if draw.choice([True, True, False]) else x,), lambda xp, x: getattr(xp, name)(
            x, q, axis=places, keepdims=keepdims
        )

    return drawn


def searched(draw):
    dtype = draw.choice(["int64", "int32", "float64"])
    row = np.sort(draw.array(draw.choice([(0,), (1,), (2,), (5,)]), [dtype]))
    side = draw.choice(["left", "right"])
    return (row, draw.array(dtypes=[dtype])), lambda xp, a, v: xp.searchsorted(a, v, side)


def in_bins(draw):
    bins = sorted(draw.integer(-5, 5) for _ in range(draw.integer(1, 5)))
    bins = np.array(bins[:: draw.choice([1, -1])], draw.choice(["int64", "float64"]))
    right = draw.choice([False, True])
    return (draw.array(dtypes=["int64", "float64"]),), lambda xp, x: xp.digitize(x, bins, right)


def counted(draw):
    x = np.array([draw.integer(draw.choice([0, 0, 0, -1]), 6) for _ in range(draw.integer(0, 6))], "int64")
    weights = draw.choice([None, np.array([draw.integer() / 4 for _ in x])])
    least = draw.integer(0, 9)
    return (x,), lambda xp, x: xp.bincount(x, weights, least)


def in_intervals(draw):
    x = finite(draw.array(dtypes=["int64", "float64"], shape=draw.choice([(5,), (2, 3), (0,), (1,)])))
    bins = draw.choice([10, 3, [-2, 0, 0.5, 7]])
    between = draw.choice([None, (-3.0, 5.0)])
    density = draw.choice([False, False, True])
    return (x,), lambda xp, x: xp.histogram(x, bins, between, density=density)


def between_points(draw):
    xs = np.unique([draw.integer(-6, 6) / 2 for _ in range(draw.integer(1, 5))])
    ys = finite(draw.array(xs.shape, ["float64"]))
    ends = draw.choice([{}, {"left": -9.0}, {"right": 9.0}])
    return (draw.array(dtypes=REALS), xs, ys), lambda xp, x, a, b: xp.interp(x, a, b, **ends)


def folded(name, modes):
    def drawn(draw):
        dtype = draw.choice(["int32", "int64", "float64"])
        x, y = (finite(draw.array(draw.choice(VECTORS), [dtype])) for _ in range(2))
        mode = draw.choice(modes)
        return (x, y), lambda xp, x, y: getattr(xp, name)(x, y, mode)

    return drawn


def contracted(draw):
    dtype = [draw.choice(["int64", "float64"])]
    x, y = (finite(draw.array(draw.choice([(2,), (2, 3), (3, 2), (2, 3, 2)]), dtype)) for _ in range(2))
    pairs = draw.choice([draw.integer(0, 2), ([-1], [0]), ([0, 1], [1, 0]), (0, 0)])
    return (x, y), lambda xp, x, y: xp.tensordot(x, y, pairs)


def selected(draw):
    conditions = [draw.array((3,), ["bool"]) for _ in range(draw.integer(1, 3))]
    choices = [draw.array(draw.choice([(3,), (1,), (2, 3)]), ["int64", "float64"]) for _ in conditions]
    n = len(conditions)
    return (*conditions, *choices), lambda xp, *all: xp.select(list(all[:n]), list(all[n:]), 7)


def weighted(draw):
    x = finite(draw.array(draw.choice([(3,), (2, 3), (1, 3)]), NUMBERS))
    place = draw.choice([None, 0, -1])
    shape = draw.choice([x.shape, (3,)])
    weights = np.array([draw.integer(1, 5) for _ in range(int(np.prod(shape)))], "float64").reshape(shape)
    if draw.choice([False, False, True]):
        return (x,), lambda xp, x: xp.average(x, place)
    return (x, weights), lambda xp, x, w: xp.average(x, place, w)


def numbers_alone(name):
    def drawn(draw):
        return (draw.array(dtypes=NUMBERS),), lambda xp, x: getattr(xp, name)(x)

    return drawn


def differences(draw):
    x = draw.array()
    n, place = draw.integer(0, 3), draw.axis(x)
    ends = draw.choice([{}, {}, {"prepend": x.dtype.type(1)}, {"append": x.dtype.type(1)}])
    return (x,), lambda xp, x: xp.diff(x, n, place, **ends)


def chosen_sum(name, neutral):
    def drawn(draw):
        x = draw.array(draw.choice(SHAPES[1:]), NUMBERS)
        mask = np.array(draw.array(x.shape, ["bool"]))
        places, keepdims = draw.axes(x), draw.choice([False, True])
        more = {"where": mask} if draw.choice([False, True]) else {}
        if neutral is not None:
            more["initial"] = neutral
        return (x,), lambda xp, x: getattr(xp, name)(x, axis=places, keepdims=keepdims, **more)

    return drawn


def set_of_two(name):
    def drawn(draw):
        x, y = (draw.array(dtypes=INTEGERS) for _ in range(2))
        return (x, y), lambda xp, x, y: getattr(xp, name)(x, y)

    return drawn


def sorted_by_keys(draw):
    keys = [np.array([draw.integer(0, 2) for _ in range(5)]) for _ in range(draw.integer(1, 3))]
    return tuple(keys), lambda xp, *all: xp.lexsort(all)


MATRICES = [(2, 3), (3, 3), (3, 1), (1, 4), (3, 0), (2,), (2, 1, 3)]
CALLS = {
    **{name: of(name) for name in ["log1p", "expm1", "exp2", "cbrt", "deg2rad", "rad2deg", "radians", "degrees"]},
    **{name: of(name, REALS) for name in ["trunc", "fix", "isposinf", "isneginf"]},
    "sinc": of("sinc", ["float64"]),
    **{name: of(name, NUMBERS) for name in ["fabs", "signbit", "nan_to_num"]},
    **{name: of(name, NUMBERS) for name in ["conjugate", "isreal", "iscomplex", "imag"]},
    **{name: of_two(name) for name in ["arctan2", "hypot", "logaddexp", "logaddexp2", "copysign", "heaviside"]},
    **{name: of_two(name) for name in ["fmax", "fmin", "left_shift", "right_shift"]},
    "float_power": of_two("float_power", NUMBERS),
    "pad": padded,
    "roll": rolled,
    "repeat": repeated,
    "insert": inserted,
    "delete": deleted,
    "append": of_two("append", axis=axis_or_none),
    "resize": of("resize", new_shape=one_of((2, 3), 4, (0,), (2, 2, 2))),
    "rot90": of("rot90", shapes=MATRICES, k=small(-3, 5), axes=one_of((0, 1), (1, 0), (-1, 0), (0, 0))),
    **{name: of(name) for name in ["fliplr", "flipud", "ediff1d", "flatnonzero", "argwhere"]},
    "diagonal": of("diagonal", shapes=MATRICES, offset=small(-3, 3), axis1=small(-2, 2), axis2=small(-2, 2)),
    "trace": of("trace", shapes=MATRICES, offset=small(-3, 3)),
    "diag": of("diag", k=small(-3, 3)),
    "diagflat": of("diagflat", k=small(-3, 3)),
    "rollaxis": of("rollaxis", axis=axis, start=small(-3, 3)),
    "meshgrid": grids,
    **{name: each_of(name) for name in ["atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"]},
    **{name: joined(name) for name in ["dstack", "column_stack"]},
    **{name: parts(name) for name in ["hsplit", "vsplit", "dsplit"]},
    "select": selected,
    **{name: chosen_sum(name, None) for name in ["sum", "prod", "mean", "any", "all"]},
    **{f"{name} with an initial value": chosen_sum(name, 3) for name in ["sum", "prod", "max", "min"]},
    **{name: of(name, axis=axes, keepdims=flag) for name in ["nansum", "nanprod"]},
    **{name: of(name, NUMBERS, axis=axes, keepdims=flag) for name in ["nanmax", "nanmin", "nanmean"]},
    **{name: of(name, NUMBERS, axis=axes, keepdims=flag) for name in ["nanvar", "nanstd"]},
    **{name: of(name, NUMBERS, axis=axes_to_reduce, keepdims=flag) for name in ["ptp", "median", "nanmedian"]},
    **{name: of_finite(of(name, NUMBERS, axis=axis_or_none)) for name in ["nanargmax", "nanargmin"]},
    **{name: of(name, axis=axis_or_none) for name in ["cumprod", "nancumsum", "nancumprod"]},
    "quantile": shares("quantile", 1),
    "percentile": shares("percentile", 100),
    "average": weighted,
    "diff": differences,
    "searchsorted": searched,
    "digitize": in_bins,
    "bincount": counted,
    "histogram": in_intervals,
    "interp": between_points,
    "convolve": folded("convolve", ["full", "same", "valid"]),
    "correlate": folded("correlate", ["full", "same", "valid"]),
    "tensordot": contracted,
    "kron": of_finite(of_two("kron", ["int64", "float64"])),
    "cross": of_finite(of_two("cross", ["int64", "float64"], [(3,), (2, 3)])),
    "vander": of_finite(of("vander", ["int64", "float64"], N=one_of(None, 0, 2, 4), increasing=flag)),
    "trapz": of_finite(of("trapz", REALS, axis=axis)),
    "cov": of_finite(of("cov", ["int64", "float64"], [(2, 3), (3, 4), (5,)], rowvar=flag)),
    "isin": of_two("isin", ["int64", "float64"], invert=flag),
    "in1d": of_two("in1d", ["int64"]),
    "compress": lambda draw: (
        (draw.array((3,), ["bool"]), draw.array(draw.choice([(3,), (3, 2)]))),
        lambda xp, c, x: xp.compress(c, x, 0),
    ),
    "extract": lambda draw: ((draw.array((2, 3), ["bool"]), draw.array((2, 3))), lambda xp, c, x: xp.extract(c, x)),
    "unique": lambda draw: (
        (finite(draw.array()),),
        lambda xp, x: xp.unique(x, return_index=True, return_inverse=True, return_counts=True),
    ),
    **{name: set_of_two(name) for name in ["union1d", "intersect1d", "setdiff1d", "setxor1d"]},
    "lexsort": sorted_by_keys,
    **{name: of_two(name, ["int64", "float64"]) for name in ["array_equal", "array_equiv"]},
    "allclose": of_two("allclose", REALS, equal_nan=flag),
}


@pytest.mark.parametrize("name", CALLS)
def test_random_arguments(name):
    check_random_arguments(name, CALLS[name])


EXACT = {
    "log1p of small numbers": lambda xp: xp.log1p(xp.array([1e-20, -1e-18, 1e-9, 3e-5])),
    "expm1 of small numbers": lambda xp: xp.expm1(xp.array([1e-20, -1e-18, 1e-9, 3e-5])),
}


@pytest.mark.parametrize("what", EXACT)
def test_close(what):
    np.testing.assert_allclose(EXACT[what](fnp), EXACT[what](np), rtol=1e-15)


def test_methods():
    x = fnp.array(np.arange(6.0).reshape(2, 3))
    assert x.copy() is x and x.real is x and x.nbytes == 48 and x.itemsize == 8
    assert x.flat.tolist() == [0, 1, 2, 3, 4, 5] and x.imag.tolist() == [[0, 0, 0]] * 2
    assert x.diagonal().tolist() == [0, 4] and x.trace().item() == 4 and x.ptp().item() == 5
    assert (fnp.array([1, -8]) << 2).tolist() == [4, -32] and (1 << fnp.array([3])).tolist() == [8]
    assert (fnp.array([9, -9]) >> 1).tolist() == [4, -5]
    assert fnp.clip(x, min=1, max=4).tolist() == [[1, 1, 2], [3, 4, 4]]
    with pytest.raises(ValueError, match="twice"):
        fnp.clip(x, 1, min=2)


def test_in_a_recorded_function():
    """Functions by elements and sums, with another extent in each call."""
    function = frazil.function(lambda x: fnp.hypot(fnp.log1p(x), fnp.nansum(x)))
    for n in (2, 3, 5, 4, 7, 6):
        x = np.arange(1.0, n + 1)
        np.testing.assert_allclose(function(x), np.hypot(np.log1p(x), np.nansum(x)))
