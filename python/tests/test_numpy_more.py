"""Grids, polynomials, blocks, sets and element types of frazil.numpy, against NumPy with arguments drawn at random."""

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from numpy_agreement import DTYPES, SHAPES, check_random_arguments, promotion_of_numpy_2
from test_numpy_functions import INTEGERS, NUMBERS, REALS, finite, flag, of, of_finite, of_two, one_of


def made(name, *drawn):
    """A function of numbers that are drawn."""

    def call(draw):
        numbers = [value(draw, None) for value in drawn]
        return (), lambda xp: getattr(xp, name)(*numbers)

    return call


def small(low, high):
    return lambda draw, x: draw.integer(low, high)


def in_brackets(name):
    def drawn(draw):
        x, y = draw.array(draw.choice([(3,), (2, 3), ()])), draw.array(draw.choice([(3,), (2, 3), ()]))
        extra = draw.choice([3, 2.5, slice(0, 5), slice(0, 1, 4j)])
        parts = draw.choice([1, 2, 3])
        return (x, y), lambda xp, x, y: getattr(xp, name)[(x, y, extra)[:parts] if parts > 1 else x]

    return drawn


def slices(name):
    def drawn(draw):
        key = tuple(slice(draw.integer(0, 2), draw.integer(2, 5), draw.choice([None, 2, 3j])) for _ in range(2))
        key = draw.choice([key, key[0]])
        return (), lambda xp: getattr(xp, name)[key]

    return drawn


def crossing(draw):
    rows = draw.choice([np.array([0, 2]), np.array([True, False, True]), np.array([[1]])])
    return (rows, np.array([draw.integer(0, 3)])), lambda xp, a, b: xp.ix_(a, b)


def indices(name):
    def drawn(draw):
        shape = draw.choice([(3, 4), (2, 3, 2), (5,)])
        order = draw.choice(["C", "F"])
        if name == "unravel_index":
            at = np.array([draw.integer(0 if i else -1, int(np.prod(shape)) - 1) for i in range(3)])
            return (at,), lambda xp, at: xp.unravel_index(at, shape, order)
        mode = draw.choice(["raise", "clip", "wrap"])
        at = tuple(np.array([draw.integer(-2, n + 1) for _ in range(3)]) for n in shape)
        return at, lambda xp, *at: xp.ravel_multi_index(at, shape, mode, order)

    return drawn


def picked(draw):
    choices = [draw.array(draw.choice([(3,), (2, 3), ()]), ["int64", "float64"]) for _ in range(3)]
    at = np.array([draw.integer(-1 if i == 0 else 0, 2) for i in range(3)])
    mode = draw.choice(["raise", "wrap", "clip"])
    return (at, *choices), lambda xp, at, *all: xp.choose(at, list(all), mode=mode)


def partitioned(draw):
    x = finite(draw.array((4,), NUMBERS))
    kth = draw.integer(-5, 4)
    return (x,), lambda xp, x: [xp.partition(x, kth)[kth], x[xp.argpartition(x, kth)][kth]]


def blocks(draw):
    a, b = draw.array(draw.choice([(2, 2), (2,), ()])), draw.array(draw.choice([(2, 1), (2,), ()]))
    nest = draw.choice([lambda a, b: [a, b], lambda a, b: [[a, b], [a, b]], lambda a, b: a, lambda a, b: [[a], b]])
    return (a, b), lambda xp, a, b: xp.block(nest(a, b))


def trimmed(draw):
    x = np.array([draw.choice([0, 0, 3]) for _ in range(6)])
    how = draw.choice(["fb", "f", "b"])
    return (x,), lambda xp, x: xp.trim_zeros(x, how)


def pieces(draw):
    x = np.array([draw.random.uniform(-3, 3) for _ in range(6)])
    more = draw.choice([[], [7.0], [lambda v: v * 3]])
    return (x,), lambda xp, x: xp.piecewise(x, [x < -1, x > 1], [lambda v: v * v, 5.0, *more])


def along(draw):
    x = finite(draw.array(draw.choice([(3, 2), (2, 3, 4)]), ["float64"]))
    place = draw.axis(x)
    name = draw.choice(["sum", "cumsum", "outer"])
    call = lambda xp: lambda v: xp.outer(v, v) if name == "outer" else getattr(xp, name)(v)  # noqa: E731
    return (x,), lambda xp, x: xp.apply_along_axis(call(xp), place, x)


def coefficients(draw, dtypes=("int64", "float64")):
    return finite(draw.array(draw.choice([(1,), (2,), (4,)]), list(dtypes)))


def polynomials(name):
    def drawn(draw):
        p, q = coefficients(draw), coefficients(draw)
        return (p, q), lambda xp, p, q: getattr(xp, name)(p, q)

    return drawn


def polynomial(name, **drawn_keywords):
    def drawn(draw):
        p = coefficients(draw, ["float64"])
        keywords = {key: value(draw, p) for key, value in drawn_keywords.items()}
        return (p,), lambda xp, p: getattr(xp, name)(p, **keywords)

    return drawn


def quotient(draw):
    q, r = (np.array([draw.random.uniform(1, 3) for _ in range(draw.integer(1, 3))]) for _ in range(2))
    u = np.polymul(q, r) if draw.choice([False, True]) else np.array([1.0, 2.5, -3.0, 4.5])
    return (u, q), lambda xp, u, q: xp.polydiv(u, q)


def fitted(draw):
    x = np.array([draw.random.uniform(-3, 3) for _ in range(7)])
    y = np.array([[draw.random.uniform(-3, 3) for _ in range(2)] for _ in range(7)])
    y = draw.choice([y, y[:, 0]])
    w = draw.choice([None, np.array([draw.random.uniform(1, 2) for _ in range(7)])])
    cov = draw.choice([False, True, "unscaled"])
    return (x, y), lambda xp, x, y: xp.polyfit(x, y, 2, w=w, cov=cov)


def assigned(name):
    """x.at[key] against NumPy's assignment and ufunc.at()."""

    def drawn(draw):
        x = finite(draw.array(draw.choice([(4,), (3, 4)]), ["int64", "float64"]))
        key = draw.choice([draw.integer(-3, 2), slice(1, None, 2), np.array([0, 2]), np.array([1, 1, 2]), Ellipsis])
        value = draw.integer(1, 5)

        def call(xp, x):
            if xp is fnp:
                return getattr(x.at[key], name)(value)
            x = x.copy()
            if name == "set":
                x[key] = value
            else:
                {"min": np.minimum, "max": np.maximum}.get(name, getattr(np, name)).at(x, key, value)
            return x

        return (x,), call

    return drawn


def with_nan(draw):
    x = draw.array(draw.choice([(5,), (2, 3), (0,)]))
    equal = draw.choice([False, True])
    return (x,), lambda xp, x: xp.unique(x, True, True, True, equal_nan=equal)


def parts_of_sets(draw):
    x = np.array([[draw.integer(0, 1) for _ in range(2)] for _ in range(4)], draw.choice(["int64", "float32"]))
    place = draw.choice([0, 1, -1])
    return (x,), lambda xp, x: xp.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=place)


MATRICES = [(3, 3), (2, 3), (3,), (2, 2, 2)]
CALLS = {
    **{name: made(name, small(0, 6)) for name in ["bartlett", "blackman", "hamming", "hanning", "identity"]},
    "kaiser": made("kaiser", small(1, 6), one_of(0.0, 5.0)),
    "tri": made("tri", small(1, 4), one_of(None, 3), small(-2, 2)),
    "geomspace": made("geomspace", one_of(1.0, 2.0), one_of(10.0, 512.0), small(1, 6)),
    "logspace": made("logspace", one_of(-1.0, 2.0), one_of(1.0, 3.0), small(1, 6)),
    "indices": made("indices", one_of((2, 3), (3,), ())),
    "diag_indices": made("diag_indices", small(1, 4), small(1, 3)),
    **{name: made(name, small(1, 4), small(-2, 2)) for name in ["tril_indices", "triu_indices"]},
    **{name: of(name, shapes=MATRICES) for name in ["tril_indices_from", "triu_indices_from", "diag_indices_from"]},
    "fromfunction": lambda draw: ((), lambda xp: xp.fromfunction(lambda i, j: 3 * i - j, (2, 3), dtype=int)),
    **{f"{name}[...]": in_brackets(name) for name in ["r_", "c_"]},
    **{f"{name}[...]": slices(name) for name in ["mgrid", "ogrid"]},
    "ix_": crossing,
    **{name: indices(name) for name in ["unravel_index", "ravel_multi_index"]},
    "choose": picked,
    "block": blocks,
    "trim_zeros": trimmed,
    "piecewise": pieces,
    "apply_along_axis": along,
    "apply_over_axes": lambda draw: (
        (draw.array((2, 3), ["float64"]),),
        lambda xp, x: xp.apply_over_axes(xp.sum, x, [0, 1]),
    ),
    "vectorize": lambda draw: (
        (finite(draw.array((2, 3), ["float64"])), draw.array((3,), ["int64"])),
        lambda xp, x, y: xp.vectorize(lambda a, b: a + 1 if b > 0 else 0.0)(x, y),
    ),
    "partition": partitioned,
    **{name: polynomials(name) for name in ["polyadd", "polysub", "polymul"]},
    "polyval": lambda draw: ((coefficients(draw), coefficients(draw)), lambda xp, p, x: xp.polyval(p, x)),
    "polyder": polynomial("polyder", m=one_of(0, 1, 2, -1)),
    "polyint": polynomial("polyint", m=one_of(0, 1, 2), k=one_of(None, 3.0, [1.0, 2.0])),
    "poly": of_finite(polynomial("poly")),
    "polydiv": quotient,
    "polyfit": fitted,
    "roots": lambda draw: ((np.array([1.0, draw.integer(), draw.integer(), 3.0]),), lambda xp, p: xp.roots(p)),
    **{f"at[...].{name}": assigned(name) for name in ["set", "add", "multiply", "min", "max", "subtract"]},
    "unique with NaN": with_nan,
    "unique along an axis": parts_of_sets,
    "intersect1d with indices": of_two("intersect1d", INTEGERS, return_indices=one_of(True)),
    "asarray_chkfinite": of("asarray_chkfinite", REALS),
    "real_if_close": lambda draw: (
        (np.array([1 + 1e-15j, 2.0 + draw.choice([0, 1e-3]) * 1j]),),
        lambda xp, x: xp.real_if_close(x),
    ),
    "nansum of none": of("nansum", shapes=[(0,), (3, 0)]),
    "copy": of("copy"),
}


@pytest.mark.parametrize("name", CALLS)
def test_random_arguments(name):
    check_random_arguments(name, CALLS[name])


ASSIGNING = {
    "put": ([0], 9),
    "place": (np.array([True, False]), [5]),
    "putmask": (np.array([True, False]), [5]),
    "copyto": ([7, 8],),
}


@pytest.mark.parametrize("name", ASSIGNING)
def test_functions_that_assign(name):
    ours, theirs = np.array([1, 2]), np.array([1, 2])
    getattr(fnp, name)(ours, *ASSIGNING[name])
    getattr(np, name)(theirs, *ASSIGNING[name])
    assert ours.tolist() == theirs.tolist() != [1, 2]
    with pytest.raises(TypeError, match="lazy arrays are immutable: write y = "):
        getattr(fnp, name)(fnp.array([1, 2]), *ASSIGNING[name])


def test_methods_that_assign():
    x = fnp.array([2, 1])
    for call in (x.sort, lambda: x.fill(3), lambda: x.put([0], 1), lambda: x.__setitem__(0, 1)):
        with pytest.raises(TypeError, match="lazy arrays are immutable: write y = "):
            call()


def test_assignment_in_a_recorded_function():
    recorded = frazil.function(lambda x, v: x.at[1].set(v).at[0].add(x.sum()))
    for count in (2, 4, 3, 5):
        x = np.arange(float(count))
        wanted = x.copy()
        wanted[1] = -7
        wanted[0] += x.sum()
        assert recorded(x, np.float64(-7)).tolist() == wanted.tolist()


def test_element_types():
    names = [*DTYPES, "float16", "uint16", "complex64", "complex128"]
    for first in names:
        for second in names:
            x, y = np.zeros(2, first), np.zeros(2, second)
            assert fnp.result_type(fnp.array(x), second) == np.result_type(x.dtype, second)
            assert fnp.promote_types(first, second) == np.promote_types(first, second)
            for rule in ("safe", "same_kind", "no"):
                assert fnp.can_cast(fnp.array(x), second, rule) == np.can_cast(first, second, rule)
            if first != "bool":
                with promotion_of_numpy_2():
                    assert fnp.result_type(fnp.array(x), 1) == np.add(x, 1).dtype
                    assert fnp.result_type(fnp.array(x), 1.5) == np.add(x, 1.5).dtype
                    assert fnp.result_type(fnp.array(x), 1j) == np.add(x, 1j).dtype
    assert fnp.isdtype(fnp.float32, "real floating") and not fnp.isdtype("int8", "unsigned integer")
    assert fnp.isdtype("int8", ("bool", "integral")) and fnp.isdtype("int8", fnp.int8)
    assert fnp.finfo(fnp.zeros(1)).eps == np.finfo(float).eps and fnp.iinfo("int8").max == 127
    with pytest.raises(ValueError, match="'real'"):
        fnp.isdtype("int8", "real")


def test_shapes_of_names():
    assert SHAPES and flag and fnp.shape([[1, 2]]) == (1, 2) and fnp.ndim(3) == 0 and fnp.size([[1, 2]], 1) == 2
    assert (fnp.zeros((2, 3)) + 1).tobytes() == np.ones((2, 3)).tobytes()
    assert [part.tolist() for part in fnp.unstack(fnp.array([[1, 2], [3, 4]]), axis=1)] == [[1, 3], [2, 4]]
    assert fnp.bitwise_count(fnp.array([0, 1, 255, -3])).tolist() == [0, 1, 8, 2]
    assert fnp.cumulative_sum(fnp.array([1, 2]), include_initial=True).tolist() == [0, 1, 3]
    assert fnp.array([1, 2], ndmin=3).shape == (1, 1, 2) and fnp.arange(start=1, stop=3).tolist() == [1, 2]
