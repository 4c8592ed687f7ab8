"""frazil.numpy.linalg, fft and functions of complex numbers, against NumPy with arguments drawn at random."""

import subprocess
import sys

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from numpy_agreement import check_random_arguments
from test_numpy_functions import flag, one_of

TYPES = ["float64", "float64", "int64", "float32"]
WIDE = ["float64", "int64", "complex128"]
ANY = [(3, 3), (2, 3), (3, 1), (2, 2, 3), (3, 2, 2), (3,)]
SQUARE = [(3, 3), (2, 2), (1, 1), (2, 3, 3), (2, 3), (0, 0), (4,)]


def values(draw, shape, dtypes):
    """Numbers of which no two are alike; sometimes integers, as matrices of which some are singular."""
    dtype = draw.choice(dtypes)
    count = int(np.prod(shape))
    made = np.array([draw.random.uniform(-3, 3) for _ in range(count)]).reshape(shape)
    if "complex" in dtype:
        return (made + 1j * np.array([draw.random.uniform(-3, 3) for _ in range(count)]).reshape(shape)).astype(dtype)
    return np.rint(made).astype(dtype) if draw.choice([False, False, True]) else made.astype(dtype)


def function(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def of(name, shapes=SQUARE, dtypes=WIDE, prepare=lambda x: x, **drawn_keywords):
    """A function of one array."""

    def drawn(draw):
        x = prepare(values(draw, draw.choice(shapes), dtypes))
        keywords = {key: value(draw, x) for key, value in drawn_keywords.items()}
        return (x,), lambda xp, x: function(xp, name)(x, **keywords)

    return drawn


def of_two(name, pairs, dtypes=WIDE, **drawn_keywords):
    def drawn(draw):
        first, second = draw.choice(pairs)
        dtype = [draw.choice(dtypes)]
        x, y = values(draw, first, dtype), values(draw, second, dtype)
        keywords = {key: value(draw, x) for key, value in drawn_keywords.items()}
        return (x, y), lambda xp, x, y: function(xp, name)(x, y, **keywords)

    return drawn


def symmetric(x):
    return x + np.conj(np.swapaxes(x, -1, -2)) if x.ndim > 1 and x.shape[-1] == x.shape[-2] else x


def positive(x):
    return np.matmul(x, np.conj(np.swapaxes(x, -1, -2))) if x.ndim > 1 else x


def norms(draw):
    x = values(draw, draw.choice([(4,), (2, 3), (3, 3), (2, 3, 2)]), ["float64", "int64", "complex128"])
    axis = draw.choice([None, 0, -1, (0, 1), (-1, 0), (0, 0)])
    order = draw.choice([None, 1, 2, -1, -2, np.inf, -np.inf, "fro", "nuc", 0, 3, "f0o"])
    keepdims = draw.choice([False, True])
    return (x,), lambda xp, x: xp.linalg.norm(x, order, axis, keepdims)


CHAINS = [[(2, 3), (3, 4), (4, 2)], [(3,), (3, 2), (2, 4), (4,)], [(2, 5), (5, 3)], [(3,), (3, 2)], [(2, 2, 2), (2, 2)]]
EQUATIONS = [
    *[((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 2), (2, 1)), ((2, 3, 3), (2, 3, 2)), ((3, 3), (2, 3, 1))],
    *[((2, 3), (2,)), ((3, 3), (2,)), ((3,), (3,))],
]
SYSTEMS = [((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2,)), ((3, 3), (3, 1)), ((3, 2), (2,)), ((2, 2, 2), (2,))]


def chain(draw):
    arrays = tuple(values(draw, shape, ["float64"]) for shape in draw.choice(CHAINS))
    return arrays, lambda xp, *all: xp.linalg.multi_dot(list(all))


def ranks(draw):
    x = values(draw, (4, 2), ["float64"]) @ values(draw, (2, 3), ["float64"])
    tol = draw.choice([None, None, 0.5, 2.0])
    return (x,), lambda xp, x: xp.linalg.matrix_rank(x, tol)


def upper(draw):
    shape = draw.choice([(2, 4, 2, 4), (6, 2, 3), (2, 3, 6)])
    return (values(draw, shape, ["float64"]),), lambda xp, x: xp.linalg.tensorinv(x, 2 if len(shape) == 4 else 1)


def tensor_equation(draw):
    x, y = values(draw, (2, 3, 6), ["float64"]), values(draw, (2, 3), ["float64"])
    return (x, y), lambda xp, x, y: xp.linalg.tensorsolve(x, y)


def transform(name, dtypes=WIDE):
    def drawn(draw):
        x = values(draw, draw.choice([(5,), (4,), (2, 3), (3, 4, 2), (1,)]), dtypes)
        n, axis = draw.choice([None, 3, 6, 1]), draw.axis(x)
        norm = draw.choice([None, "ortho", "forward", "backward", "x"]) if axis == -1 else None
        return (x,), lambda xp, x: getattr(xp.fft, name)(x, n, axis, norm)

    return drawn


def transforms(name, dtypes=WIDE):
    def drawn(draw):
        x = values(draw, draw.choice([(4, 5), (2, 3), (3, 4, 2)]), dtypes)
        axes = draw.choice([None, (0, 1), (-1, 0)]) if name[-1] == "n" else draw.choice([(-2, -1), (1, 0)])
        s = draw.choice([None, (3, 4), (2, 6)])
        norm = draw.choice([None, "ortho", "forward"])
        return (x,), lambda xp, x: getattr(xp.fft, name)(x, s, axes, norm)

    return drawn


def shifted(name):
    def drawn(draw):
        x = values(draw, draw.choice([(5,), (4, 3)]), ["float64"])
        axes = draw.choice([None, 0, -1, (0,)])
        return (x,), lambda xp, x: getattr(xp.fft, name)(x, axes)

    return drawn


def frequencies(name):
    def drawn(draw):
        n, d = draw.integer(1, 9), draw.choice([1.0, 0.25])
        return (), lambda xp: getattr(xp.fft, name)(n, d)

    return drawn


SUMS = [
    *[("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ba", [(2, 3)]), ("ii", [(3, 3)])],
    *[("ii->i", [(3, 3)]), ("i,i", [(4,), (4,)]), ("...ij,...jk->...ik", [(2, 2, 3), (3, 4)]), ("i,j", [(2,), (3,)])],
    *[("ij,ij->", [(2, 3), (2, 3)]), ("ij->", [(2, 3)]), (" ij , kj -> ik ", [(2, 3), (4, 3)])],
    *[("a,ab,b->", [(2,), (2, 3), (3,)]), ("...a->...", [(2, 3, 2)]), ("ij,jk", [(2, 3), (2, 4)])],
    *[("ij->ji", [(2, 3, 2)]), ("ij->ik", [(2, 3)]), ("ij", [(2, 3), (3, 2)]), ("...", [(2, 3)])],
    *[("ijk,ilm,njm,nlk,abc->", [(2, 2, 3), (2, 2, 2), (2, 2, 2), (2, 2, 3), (1, 2, 1)])],
]


def summed(draw):
    text, shapes = draw.choice(SUMS)
    arrays = tuple(values(draw, shape, ["float64", "int64", "complex128"]) for shape in shapes)
    return arrays, lambda xp, *all: xp.einsum(text, *all, optimize=True)


LISTS = [
    ([[0, 1], [1, 2]], [0, 2], [(2, 3), (3, 4)]),
    ([[0, 1], [1, 2]], None, [(2, 3), (3, 4)]),
    ([[5, 5]], None, [(3, 3)]),
    ([[Ellipsis, 0]], [Ellipsis], [(2, 3)]),
    ([[3, 1]], None, [(2, 3)]),
]


def summed_by_lists(draw):
    terms, result, shapes = draw.choice(LISTS)
    arrays = tuple(values(draw, shape, ["float64"]) for shape in shapes)
    return arrays, lambda xp, *all: xp.einsum(
        *[part for pair in zip(all, terms) for part in pair], *([] if result is None else [result])
    )


CROSSED = [((3,), (3,)), ((2, 3), (3,)), ((2,), (2,)), ((4, 2), (4, 3)), ((2, 3), (2, 3)), ((4,), (3,))]
PRODUCTS = [((2, 3), (3, 4)), ((3,), (3, 2)), ((2, 3), (3,)), ((2, 2, 3), (3, 2)), ((3,), (3,)), ((2, 3), (2, 3))]
ELEMENTS = ["add", "subtract", "multiply", "divide", "power", "equal", "not_equal"]
SUMMED = ["sum", "prod", "mean", "var", "std", "cumsum", "max", "argmin", "sort", "argsort", "unique", "cumprod"]
COMPLEX = ["exp", "sqrt", "sin", "tanh", "log", "negative", "square", "conjugate", "absolute", "isnan", "reciprocal"]
CALLS = {
    "linalg.norm": norms,
    "linalg.det": of("linalg.det"),
    "linalg.inv": of("linalg.inv", [s for s in SQUARE if s != (0, 0)]),
    "linalg.slogdet": of("linalg.slogdet"),
    "linalg.cholesky": of("linalg.cholesky", prepare=positive),
    "linalg.qr": of("linalg.qr", ANY, mode=one_of("reduced", "complete", "r", "q")),
    "linalg.svd": of("linalg.svd", ANY, full_matrices=flag, compute_uv=flag),
    "linalg.eigh": of("linalg.eigh", prepare=symmetric, UPLO=one_of("L", "U", "x")),
    "linalg.eigvalsh": of("linalg.eigvalsh", prepare=symmetric),
    "linalg.eig": of("linalg.eig"),
    "linalg.eigvals": of("linalg.eigvals"),
    "linalg.pinv": of("linalg.pinv", ANY),
    "linalg.cond": of("linalg.cond", [(3, 3), (2, 2), (2, 3)], ["float64"], p=one_of(None, 2, -2, 1, np.inf, "fro")),
    "linalg.matrix_power": of("linalg.matrix_power", SQUARE, n=one_of(0, 1, 2, 3, 5, -1, -2)),
    "linalg.matrix_rank": ranks,
    "linalg.solve": of_two("linalg.solve", EQUATIONS),
    "linalg.lstsq": of_two("linalg.lstsq", SYSTEMS, ["float64", "int64"], rcond=one_of(None, 0.1)),
    "linalg.multi_dot": chain,
    "linalg.tensorinv": upper,
    "linalg.tensorsolve": tensor_equation,
    **{f"fft.{name}": transform(name) for name in ["fft", "ifft", "irfft", "hfft"]},
    **{f"fft.{name}": transform(name, ["float64", "int64"]) for name in ["rfft", "ihfft"]},
    **{f"fft.{name}": transforms(name) for name in ["fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn"]},
    **{f"fft.{name}": transforms(name, ["float64"]) for name in ["rfft2", "rfftn"]},
    **{f"fft.{name}": shifted(name) for name in ["fftshift", "ifftshift"]},
    **{f"fft.{name}": frequencies(name) for name in ["fftfreq", "rfftfreq"]},
    "einsum": summed,
    "einsum by lists": summed_by_lists,
    "cross": of_two("cross", CROSSED, ["float64", "int64"]),
    "matmul of complex numbers": of_two("matmul", PRODUCTS, ["complex128"]),
    **{f"{name} of complex numbers": of_two(name, [((2, 3), (3,)), ((3,), ())], WIDE) for name in ELEMENTS},
    **{f"{name} of complex numbers": of(name, [(3,), (2, 2)], ["complex128", "complex64"]) for name in COMPLEX},
    **{f"{name} of small complex numbers": of_two(name, [((3,), (3,))], ["complex64"]) for name in ELEMENTS[:4]},
    **{f"{name} of complex numbers": of(name, [(3,), (2, 2)], ["complex64", "complex128"]) for name in SUMMED},
    **{name: of(name, [(3,), (2, 2)], WIDE) for name in ["real", "imag", "iscomplex", "isreal", "angle"]},
    "angle in degrees": of("angle", [(3,)], WIDE, deg=flag),
}


@pytest.mark.parametrize("name", CALLS)
def test_random_arguments(name):
    check_random_arguments(name, CALLS[name])


RECORDED = {
    "inv": lambda x: fnp.linalg.inv(x @ x.T + fnp.eye(3)),
    "svd": lambda x: tuple(fnp.linalg.svd(x)),
    "qr": lambda x: tuple(fnp.linalg.qr(x)),
    "solve": lambda x: fnp.linalg.solve(x @ x.T + fnp.eye(3), x),
    "slogdet": lambda x: tuple(fnp.linalg.slogdet(x @ x.T)),
    "eigh": lambda x: tuple(fnp.linalg.eigh(x @ x.T)),
    "pinv": lambda x: fnp.linalg.pinv(x),
    "lstsq": lambda x: fnp.linalg.lstsq(x, x[:, 0])[0],
    "rfft": lambda x: fnp.real(fnp.fft.rfft(x)),
    "irfft": lambda x: fnp.fft.irfft(x),
    "hfft": lambda x: fnp.fft.hfft(x, axis=0),
    "ihfft": lambda x: fnp.abs(fnp.fft.ihfft(x)),
    "fft2": lambda x: fnp.abs(fnp.fft.fft2(x, (5, 6))),
    "irfftn": lambda x: fnp.fft.irfftn(fnp.fft.rfftn(x), (3, 4)),
    "products of complex matrices": lambda x: fnp.abs(fnp.matmul(fnp.fft.fft(x), fnp.fft.fft(x.T, axis=0))),
    "sums of complex numbers": lambda x: fnp.abs(fnp.sum(fnp.fft.fft(x), axis=0)),
    "complex": lambda x: fnp.abs(fnp.multiply(fnp.fft.fft(x), fnp.exp(fnp.fft.ifft(x)))),
}


@pytest.mark.parametrize("name", RECORDED)
def test_in_a_recorded_function(name):
    """The same results as immediately, with other extents in each call."""
    body = RECORDED[name]
    recorded = frazil.function(body)
    for columns in (3, 4, 5, 2):
        x = fnp.array(np.random.default_rng(columns).normal(size=(3, columns)))
        made, wanted = recorded(x), body(x)
        for ours, theirs in zip(*(each if isinstance(each, tuple) else (each,) for each in (made, wanted))):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-9, 1e-9)


def test_singular_matrices():
    singular = fnp.array([[1.0, 2.0], [2.0, 4.0]])
    for call in (fnp.linalg.inv, lambda a: fnp.linalg.solve(a, a), fnp.linalg.cholesky):
        with pytest.raises(fnp.linalg.LinAlgError):
            call(singular - fnp.eye(2) * 0)
    recorded = frazil.function(lambda a: fnp.linalg.solve(a, a))
    with pytest.raises(frazil.BadInput, match="LinAlgError: Singular matrix") as raised:
        recorded(singular).numpy()
    assert isinstance(raised.value.__cause__, fnp.linalg.LinAlgError)


def test_complex_numbers_beside_arrays():
    """A Python number takes the precision of the array."""
    for dtype, wanted in (("complex64", "complex64"), ("float32", "complex64"), ("float64", "complex128")):
        x = np.array([1, 2.5], dtype)
        for number in (2j, 1 - 3j):
            made = fnp.multiply(fnp.array(x), number)
            assert made.dtype == wanted and made.tolist() == (x * number).astype(wanted).tolist()
    z = fnp.array(np.array([1 + 2j], "complex64"))
    assert fnp.add(z, fnp.array(2j)).dtype == fnp.multiply(fnp.array(2.0), z).dtype == "complex128"
    assert fnp.add(z, 1).dtype == fnp.subtract(2.5, z).dtype == "complex64"
    assert z.real.dtype == "float32" and z.imag.tolist() == [2] and complex(z[0]) == 1 + 2j
    assert z.astype("complex128").dtype == "complex128" and fnp.array([1.5]).astype(complex).tolist() == [1.5 + 0j]


def test_element_types_of_transforms():
    x = fnp.array(np.ones(4, np.float32))
    assert fnp.fft.fft(x).dtype == "complex64" and fnp.fft.irfft(fnp.fft.rfft(x)).dtype == "float32"
    with pytest.raises(TypeError, match="float16"):
        fnp.linalg.inv(fnp.eye(2, dtype="float16"))


def test_models(tmp_path):
    """A model with functions of NumPy is saved, and loaded by another process, which has not used them."""
    f = frazil.function(lambda x: fnp.linalg.svdvals(x) + fnp.abs(fnp.multiply(fnp.fft.fft(x[:, :2]), 1 - 2j))[:, 0])
    x = np.array([[1.0, 2.0, -1.0], [0.5, 3.0, 2.0]])
    file = str(tmp_path / "model.onnx")
    f.model(x).save(file)
    program = f"import frazil; print(frazil.load({file!r})({x.tolist()}).tolist())"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    np.testing.assert_allclose(eval(made), f(x).numpy())

