"""Parameters of frazil.numpy's functions and methods of its ufuncs, against NumPy with arguments drawn at random."""

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from numpy_agreement import DTYPES, SHAPES, check_random_arguments
from test_numpy_functions import INTEGERS, NUMBERS, REALS, finite, flag, of, of_finite, of_two, one_of

# ---- ufuncs ----

UFUNCS = ["add", "subtract", "multiply", "maximum", "minimum", "logical_and", "logical_xor", "fmax", "hypot", "divide"]


def into(name, two, dtypes=("float64", "int64", "int32")):
    """A result in an array that is given, for some elements."""

    def drawn(draw):
        x = draw.array(dtypes=dtypes)
        rest = (draw.array(x.shape, dtypes),) if two else ()
        mask = draw.choice([True, draw.array(x.shape, ["bool"]), draw.array(x.shape[-1:], ["bool"])])
        dtype = draw.choice(["float64", "float32", "int64", "bool"])

        def call(xp, x, *rest):
            out = np.full(x.shape, 7, dtype)
            assert getattr(xp, name)(x, *rest, out=out, where=mask) is out
            return out

        return (x, *rest), call

    return drawn


def in_type(name, two):
    def drawn(draw):
        x = finite(draw.array(dtypes=NUMBERS))
        rest = (finite(draw.array(x.shape, NUMBERS)),) if two else ()
        dtype = draw.choice(["float64", "float32", "int64", "int32", "bool"])
        casting = draw.choice(["same_kind", "same_kind", "safe", "unsafe"])
        return (x, *rest), lambda xp, x, *rest: getattr(xp, name)(x, *rest, dtype=dtype, casting=casting)

    return drawn


def method(name, of, dtypes=REALS, two=False, **drawn_keywords):
    def drawn(draw):
        x = finite(draw.array(draw.choice([(3,), (2, 3), (3, 1, 2), (1,), ()]), dtypes))
        rest = (finite(draw.array(draw.choice([(2,), (), (1, 2)]), [str(x.dtype)])),) if two else ()
        keywords = {key: value(draw, x) for key, value in drawn_keywords.items()}
        return (x, *rest), lambda xp, x, *rest: getattr(getattr(xp, name), of)(x, *rest, **keywords)

    return drawn


def axis(draw, x):
    return draw.axis(x)


def axes(draw, x):
    return draw.axes(x)


def reduced_at(name):
    def drawn(draw):
        x = draw.array(draw.choice([(4,), (5, 2)]), ["int64", "float64"])
        at = [draw.integer(0, len(x)) for _ in range(draw.integer(1, 4))]
        return (finite(x),), lambda xp, x: getattr(xp, name).reduceat(x, at)

    return drawn


# ---- parameters of other functions ----


def into_reduced(name):
    def drawn(draw):
        x = draw.array(draw.choice([(2, 3), (3, 2)]), ["float64"])
        dtype = draw.choice(["float64", "float32"])

        def call(xp, x):
            out = np.zeros(x.shape[1], dtype)
            assert getattr(xp, name)(x, axis=0, out=out) is out
            return out

        return (x,), call

    return drawn


def chosen(name, dtypes=NUMBERS, **drawn_keywords):
    """Of the elements of a mask."""

    def drawn(draw):
        x = draw.array(draw.choice(SHAPES[1:]), dtypes)
        mask = draw.choice([draw.array(x.shape, ["bool"]), draw.array(x.shape[-1:], ["bool"])])
        keywords = {key: value(draw, x) for key, value in drawn_keywords.items()}
        return (x,), lambda xp, x: getattr(xp, name)(x, where=mask, **keywords)

    return drawn


QUANTILES = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen"]
QUANTILES += ["weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest"]


def shares(name, most, fill):
    """Quantiles by all methods."""

    def drawn(draw):
        x = draw.array(draw.choice([(1,), (2,), (5,), (2, 3), (3, 4), (7,)]), ["float64"])
        share = draw.choice([0.0, 0.25, 0.5, 0.75, 1.0, draw.random.uniform(0, 1)]) * most
        q, method = draw.choice([share, [share, most / 4]]), draw.choice(QUANTILES)
        x = np.where(np.isinf(x), 1.5, x) if fill else finite(x)
        places = draw.choice([None, -1, 0])
        return (x,), lambda xp, x: getattr(xp, name)(x, q, axis=places, method=method)

    return drawn


def covariances(draw):
    x = finite(draw.array(draw.choice([(2, 4), (3, 4), (4,), (1, 4)]), ["int64", "float64", "float32"]))
    y = draw.choice([None, finite(draw.array(draw.choice([(4,), (2, 4)]), ["float64"]))])
    often = draw.choice([None, [draw.integer(0, 3) for _ in range(4)]])
    much = draw.choice([None, [draw.integer(1, 5) / 4 for _ in range(4)]])
    bias, ddof = draw.choice([False, True]), draw.choice([None, 0, 1])
    given = (x,) if y is None else (x, y)
    return given, lambda xp, x, y=None: xp.cov(x, y, True, bias, ddof, often, much)


def correlations(draw):
    x = np.array([[draw.random.uniform(-3, 3) for _ in range(5)] for _ in range(2)])
    y = np.array([draw.random.uniform(-3, 3) for _ in range(5)])
    return (x, y), lambda xp, x, y: xp.corrcoef(x, y)


def slopes(draw):
    x = finite(draw.array(draw.choice([(4,), (3, 4), (5, 3)]), ["float64", "int64"]))
    order = draw.choice([1, 2])
    place = draw.choice([None, 0, -1])
    axes = range(x.ndim) if place is None else [place]
    width = draw.choice([[], [0.5], [np.cumsum([draw.integer(1, 4) for _ in range(x.shape[i])]) for i in axes]])
    return (x,), lambda xp, x: xp.gradient(x, *width, axis=place, edge_order=order)


def periodic(draw):
    xs = np.array(sorted({draw.random.uniform(0, 9) for _ in range(draw.integer(2, 5))}))
    ys = np.array([draw.random.uniform(-3, 3) for _ in xs])
    x = np.array([draw.random.uniform(-20, 20) for _ in range(4)])
    return (x, xs, ys), lambda xp, x, a, b: xp.interp(x, a, b, period=7.5)


def angles(draw):
    x = np.array([[draw.random.uniform(-9, 9) for _ in range(4)] for _ in range(3)])
    place, period = draw.choice([0, 1, -1]), draw.choice([2 * np.pi, 4.0])
    jump = draw.choice([None, 3.5])
    return (x,), lambda xp, x: xp.unwrap(x, jump, place, period=period)


def cells(draw):
    x, y = (np.array([draw.random.uniform(-3, 3) for _ in range(6)]) for _ in range(2))
    bins = draw.choice([3, [2, 4], [[-3, 0, 1.5, 3], 2]])
    between = draw.choice([None, [[-2, 2], [-1, 3]]])
    weights = draw.choice([None, np.array([draw.integer(1, 4) / 2 for _ in range(6)])])
    density = draw.choice([False, True])
    if draw.choice([False, True]):
        return (x, y), lambda xp, x, y: xp.histogram2d(x, y, bins, between, density, weights)
    listed = lambda counts, edges: [counts, *edges]  # noqa: E731
    return (x, y), lambda xp, x, y: listed(*xp.histogramdd((x, y), bins, between, density, weights))


def edges_by_name(draw):
    x = np.array([draw.random.uniform(-3, 3) for _ in range(9)])
    name = draw.choice(["auto", "sturges", "fd", "sqrt"])
    return (x,), lambda xp, x: xp.histogram(x, name)


def weighed_bins(draw):
    x = finite(draw.array((5,), ["float64"]))
    weights = np.array([draw.integer(1, 9) for _ in range(5)], draw.choice(["int64", "float64"]))
    return (x, weights), lambda xp, x, w: xp.histogram(x, 4, (-3.0, 3.0), weights=w)


def column_order(draw):
    x = draw.array(draw.choice([(2, 3), (3, 2), (6,), (1, 6)]))
    shape, order = draw.choice([(3, 2), (-1,), (2, -1), (6, 1)]), draw.choice(["C", "F"])
    return (x,), lambda xp, x: [xp.reshape(x, shape, order=order), xp.ravel(x, order=order)]


def cast_when_joined(draw):
    arrays = [draw.array((2, 2), NUMBERS) for _ in range(2)]
    name = draw.choice(["concatenate", "stack", "vstack", "hstack"])
    dtype, casting = draw.choice(["float64", "float32", "int64"]), draw.choice(["same_kind", "unsafe"])
    arrays = [np.where(np.isfinite(each), each, 0).astype(each.dtype) for each in arrays]
    return tuple(arrays), lambda xp, *all: getattr(xp, name)(list(all), dtype=dtype, casting=casting)


def taken_by_mode(draw):
    x = draw.array(draw.choice([(3,), (2, 3)]))
    at = np.array([draw.integer(-9, 9) for _ in range(3)])
    mode, place = draw.choice(["wrap", "clip", "raise"]), draw.choice([0, -1, None])
    return (x, at), lambda xp, x, at: xp.take(x, at, place, mode=mode)


def padded_by(modes):
    """Padding, with what each mode takes."""

    def drawn(draw):
        x = finite(draw.array(draw.choice([(1,), (3,), (4,), (2, 3), (3, 1, 2)]), ["int64", "float64", "int32"]))
        mode = draw.choice(modes)
        pair = lambda low=0: (draw.integer(low, 4), draw.integer(low, 4))  # noqa: E731
        width = draw.choice([draw.integer(0, 4), pair(), tuple(pair() for _ in range(x.ndim))])
        more = draw.choice([{}, EXTRA[mode](draw, pair)] if mode in EXTRA else [{}])
        return (x,), lambda xp, x: xp.pad(x, width, mode, **more)

    return drawn


EXTRA = {
    **{
        mode: lambda draw, pair: {"stat_length": draw.choice([None, draw.integer(1, 4), pair(1)])}
        for mode in ["maximum", "mean", "median", "minimum"]
    },
    **{mode: lambda draw, pair: {"reflect_type": draw.choice(["even", "odd"])} for mode in ["reflect", "symmetric"]},
    "linear_ramp": lambda draw, pair: {"end_values": draw.choice([-3, (5, 2)])},
    "edge": lambda draw, pair: {"stat_length": 2},
}


def digits(name, two=False, dtypes=INTEGERS):
    return of_two(name, dtypes) if two else of(name, dtypes)


def scaled(draw):
    x = draw.array(dtypes=REALS)
    return (x, np.full(x.shape, draw.integer(-40, 40), "int32")), lambda xp, x, n: xp.ldexp(x, n)


def bits(name):
    def drawn(draw):
        x = draw.array(draw.choice([(8,), (2, 9), (3, 3)]), ["uint8"])
        place, order = draw.choice([None, 0, -1]), draw.choice(["big", "little"])
        return (x,), lambda xp, x: getattr(xp, name)(x, axis=place, bitorder=order)

    return drawn


CALLS = {
    "pad by statistics": padded_by(["maximum", "mean", "median", "minimum"]),
    "pad by a ramp": padded_by(["linear_ramp"]),
    "pad by reflections": padded_by(["reflect", "symmetric"]),
    "pad by what is not there": padded_by(["edge", "none"]),
    **{f"{name} into an array": into(name, True) for name in UFUNCS},
    **{f"{name} into an array": into(name, False) for name in ["negative", "sqrt", "sign"]},
    **{f"{name} in a type": in_type(name, True) for name in ["add", "multiply", "divide", "less", "hypot"]},
    **{f"{name} in a type": in_type(name, False) for name in ["exp", "negative"]},
    **{
        f"{name}.reduce": method(name, "reduce", axis=axes, keepdims=flag)
        for name in ["add", "multiply", "maximum", "logical_and", "logical_xor", "fmax", "hypot", "logaddexp"]
    },
    **{f"{name}.reduce in order": method(name, "reduce", axis=axis) for name in ["subtract", "divide", "heaviside"]},
    "bitwise_or.reduce": method("bitwise_or", "reduce", ["int64"], axis=axes),
    **{
        f"{name}.accumulate": method(name, "accumulate", axis=axis)
        for name in ["add", "multiply", "maximum", "minimum", "subtract", "fmin", "logaddexp"]
    },
    **{f"{name}.outer": method(name, "outer", two=True) for name in ["add", "subtract", "less", "arctan2"]},
    **{f"{name}.reduceat": reduced_at(name) for name in ["add", "maximum", "subtract"]},
    **{f"{name} into an array": into_reduced(name) for name in ["sum", "mean", "max", "std", "nansum", "median"]},
    **{f"{name} of some": chosen(name, REALS) for name in ["var", "std", "nanmean", "nanvar"]},
    **{f"{name} of some": chosen(name, axis=axis, keepdims=flag) for name in ["nansum", "nanprod"]},
    **{f"{name} of some": chosen(name, initial=one_of(0, 3)) for name in ["nanmax", "nanmin"]},
    "quantile by methods": shares("quantile", 1, False),
    "percentile by methods": shares("percentile", 100, False),
    "nanquantile": shares("nanquantile", 1, True),
    "nanpercentile": shares("nanpercentile", 100, True),
    "cov": covariances,
    "corrcoef": correlations,
    "gradient": slopes,
    "interp with a period": periodic,
    "unwrap": angles,
    "histogram2d": cells,
    "histogram by a rule": edges_by_name,
    "histogram with weights": weighed_bins,
    "order": column_order,
    "types of joined arrays": cast_when_joined,
    "modes of take": taken_by_mode,
    "sort": of("sort", axis=lambda draw, x: draw.axis(x, True), kind=one_of("stable", "quicksort", "heapsort", "x")),
    "argsort": of("argsort", SHAPES and ["int64"], [(3,), (2, 3)], kind=one_of("stable", "mergesort")),
    **{name: digits(name, True) for name in ["gcd", "lcm"]},
    "nextafter": of_two("nextafter", REALS),
    "spacing": of("spacing", REALS),
    "frexp": of_finite(of("frexp", REALS)),
    "modf": of("modf", REALS),
    "ldexp": scaled,
    "i0": of_finite(of("i0", ["float64"])),
    **{name: bits(name) for name in ["packbits", "unpackbits"]},
    "ediff1d with ends": of("ediff1d", NUMBERS, to_end=one_of(None, 3, [1, 2]), to_begin=one_of(None, 9)),
    "average of all": of_finite(of("average", NUMBERS, axis=axes, keepdims=flag)),
    "full_like of a shape": of("full_like", DTYPES, fill_value=one_of(1), shape=one_of((2,), (), (2, 3))),
}


@pytest.mark.parametrize("name", CALLS)
def test_random_arguments(name):
    check_random_arguments(name, CALLS[name])


def test_out_is_no_lazy_array():
    x = fnp.array([1.0, 2.0])
    for call in (lambda: fnp.add(x, 1, out=x), lambda: fnp.sum(x, out=x), lambda: np.add(x, 1, out=x)):
        with pytest.raises(TypeError, match="lazy arrays are immutable: write y ="):
            call()
    with pytest.raises(TypeError, match=r"x.at\[indices\]"):
        np.add.at(x, [0], 1)


def test_where_without_out():
    x = fnp.array([1.0, 2.0, 4.0])
    assert fnp.add(x, 1, where=[True, False, True]).tolist() == [2, 0, 5]
    assert np.sqrt(x, where=np.array([True, False, True])).tolist() == [1, 0, 2]


def test_the_functions_of_numpy():
    """NumPy's own ufuncs with parameters and methods stay lazy."""
    x = fnp.array([1.0, 2.0, 4.0])
    for made in (np.add.reduce(x), np.multiply.outer(x, x), np.subtract.accumulate(x), np.add(x, x, dtype="float32")):
        assert isinstance(made, frazil.LazyArray)


def test_functions_of_parts_of_numpy():
    """numpy.linalg and numpy.fft stay lazy; what frazil.numpy does not have reads the values."""
    x = fnp.array([[2.0, 1.0], [0.5, 3.0]])
    for made in (np.linalg.inv(x), np.linalg.norm(x), np.fft.fft(x), np.fft.fftshift(x), np.cumsum(x, axis=0)):
        assert isinstance(made, frazil.LazyArray)
    np.testing.assert_allclose(np.fft.fft(x).numpy(), np.fft.fft(x.numpy()))
    assert isinstance(np.shares_memory(x, x), bool) and fnp.array_repr(x) == np.array_repr(x.numpy())
    assert fnp.einsum_path("ij,jk", x, x)[0] == np.einsum_path("ij,jk", x.numpy(), x.numpy())[0]


def test_known_numbers_may_be_lazy():
    two, five = fnp.array(2.0), fnp.array(5.0)
    for name in ("linspace", "geomspace", "logspace"):
        np.testing.assert_allclose(getattr(fnp, name)(two, five, 4), getattr(np, name)(2.0, 5.0, 4))
        np.testing.assert_allclose(getattr(np, name)(two, five, 4), getattr(np, name)(2.0, 5.0, 4))
    assert np.delete(fnp.array([7, 8, 9]), fnp.array([0, 2])).tolist() == [8]


def test_in_a_batch():
    """Functions that NumPy computes read their operands: instances wait for each other."""
    matrices = [np.array([[2.0, i], [1.0, 5.0]]) for i in range(4)]
    made = frazil.batch(matrices, lambda m: fnp.linalg.solve(fnp.array(m) * 2, np.ones(2)).sum())
    wanted = [np.linalg.solve(m * 2, np.ones(2)).sum() for m in matrices]
    np.testing.assert_allclose([each.item() for each in made], wanted)


def test_descending():
    x = fnp.array([3, 1, 3, 2])
    assert fnp.sort(x, descending=True).tolist() == [3, 3, 2, 1]
    assert fnp.argsort(x, descending=True).tolist() == [0, 2, 3, 1]
