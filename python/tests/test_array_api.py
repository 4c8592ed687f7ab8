"""The Python array API standard 2022.12: names, parameters and results, against NumPy."""

import inspect
import random

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest

xp = fnp.zeros(1).__array_namespace__()
REAL = ("float32", "float64")
INTEGER = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMERIC = (*REAL, *INTEGER)
ALL = ("bool", *NUMERIC)

# Element types that functions by elements take, with NumPy's name where it differs.
ONE = {
    **dict.fromkeys(("abs", "ceil", "floor", "negative", "positive", "sign", "square"), NUMERIC),
    **dict.fromkeys(("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1"), REAL),
    **dict.fromkeys(("log", "log1p", "log2", "log10", "sin", "sinh", "sqrt", "tan", "tanh", "round", "trunc"), REAL),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), NUMERIC),
    "bitwise_invert": ("bool", *INTEGER),
    "logical_not": ("bool",),
    "conj": ("complex64", "complex128"),
    "imag": ("complex64", "complex128"),
    "real": ("complex64", "complex128"),
}
TWO = {
    **dict.fromkeys(("add", "multiply", "subtract", "less", "less_equal", "greater", "greater_equal"), NUMERIC),
    **dict.fromkeys(("equal", "not_equal"), ALL),
    **dict.fromkeys(("atan2", "divide", "logaddexp"), REAL),
    **dict.fromkeys(("floor_divide", "remainder"), NUMERIC),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), ("bool", *INTEGER)),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), INTEGER),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ("bool",)),
    "pow": REAL,
}
NUMPYS = {
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **{"atan2": "arctan2", "pow": "power", "bitwise_invert": "invert"},
    **{f"bitwise_{way}_shift": f"{way}_shift" for way in ("left", "right")},
}
OPERATORS = {
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%"},
    "pow": "**",
    **{"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="},
    **{"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"},
    **{"bitwise_left_shift": "<<", "bitwise_right_shift": ">>"},
}
# The other functions: positional parameters, then those that are given by keyword, and a call.
SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype, device)  asarray(obj, /, *, dtype, device, copy)
empty(shape, *, dtype, device)  empty_like(x, /, *, dtype, device)
eye(n_rows, n_cols, /, *, k, dtype, device)  from_dlpack(x, /)  full(shape, fill_value, *, dtype, device)
full_like(x, fill_value, /, *, dtype, device)  linspace(start, stop, num, /, *, dtype, device, endpoint)
meshgrid(*arrays, indexing)  ones(shape, *, dtype, device)  ones_like(x, /, *, dtype, device)
tril(x, /, *, k)  triu(x, /, *, k)  zeros(shape, *, dtype, device)  zeros_like(x, /, *, dtype, device)
astype(x, dtype, /, *, copy)  broadcast_arrays(*arrays)  broadcast_to(x, shape, /)  can_cast(from_, to, /)
finfo(type, /)  iinfo(type, /)  isdtype(dtype, kind)  result_type(*arrays_and_dtypes)  matmul(x1, x2, /)
matrix_transpose(x, /)  tensordot(x1, x2, /, *, axes)  vecdot(x1, x2, /, *, axis)  concat(arrays, /, *, axis)
expand_dims(x, /, *, axis)  flip(x, /, *, axis)  permute_dims(x, axes, /)  reshape(x, shape, /, *, copy)
roll(x, shift, /, *, axis)  squeeze(x, axis, /)  stack(arrays, /, *, axis)  argmax(x, /, *, axis, keepdims)
argmin(x, /, *, axis, keepdims)  nonzero(x, /)  where(condition, x1, x2, /)  unique_all(x, /)
unique_counts(x, /)  unique_inverse(x, /)  unique_values(x, /)  argsort(x, /, *, axis, descending, stable)
sort(x, /, *, axis, descending, stable)  max(x, /, *, axis, keepdims)  mean(x, /, *, axis, keepdims)
min(x, /, *, axis, keepdims)  prod(x, /, *, axis, dtype, keepdims)  std(x, /, *, axis, correction, keepdims)
sum(x, /, *, axis, dtype, keepdims)  var(x, /, *, axis, correction, keepdims)  all(x, /, *, axis, keepdims)
any(x, /, *, axis, keepdims)  take(x, indices, /, *, axis)  linalg.cholesky(x, /, *, upper)
linalg.cross(x1, x2, /, *, axis)  linalg.det(x, /)  linalg.diagonal(x, /, *, offset)  linalg.eigh(x, /)
linalg.eigvalsh(x, /)  linalg.inv(x, /)  linalg.matmul(x1, x2, /)  linalg.matrix_norm(x, /, *, keepdims, ord)
linalg.matrix_power(x, n, /)  linalg.matrix_rank(x, /, *, rtol)  linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)  linalg.pinv(x, /, *, rtol)  linalg.qr(x, /, *, mode)  linalg.slogdet(x, /)
linalg.solve(x1, x2, /)  linalg.svd(x, /, *, full_matrices)  linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes)  linalg.trace(x, /, *, offset, dtype)  linalg.vecdot(x1, x2, /, *, axis)
linalg.vector_norm(x, /, *, axis, keepdims, ord)  fft.fft(x, /, *, n, axis, norm)
fft.ifft(x, /, *, n, axis, norm)  fft.fftn(x, /, *, s, axes, norm)  fft.ifftn(x, /, *, s, axes, norm)
fft.rfft(x, /, *, n, axis, norm)  fft.irfft(x, /, *, n, axis, norm)  fft.rfftn(x, /, *, s, axes, norm)
fft.irfftn(x, /, *, s, axes, norm)  fft.hfft(x, /, *, n, axis, norm)  fft.ihfft(x, /, *, n, axis, norm)
fft.fftfreq(n, /, *, d, device)  fft.rfftfreq(n, /, *, d, device)  fft.fftshift(x, /, *, axes)
fft.ifftshift(x, /, *, axes)
"""


def find(name):
    where = xp
    for part in name.split("."):
        where = getattr(where, part)
    return where


def signatures():
    for line in SIGNATURES.split(")"):
        name, _, parameters = line.strip().partition("(")
        if name:
            yield name, [part.strip().split("=")[0] for part in parameters.split(",")]


@pytest.mark.parametrize("name,parameters", signatures(), ids=lambda value: value if isinstance(value, str) else "")
def test_parameters(name, parameters):
    """A call with as many positional arguments and these keywords is possible."""
    function = find(name)
    if not callable(getattr(function, "__wrapped__", function)):
        pytest.fail(f"{name} is no function")
    signature = inspect.signature(function)
    taken = {"out", "device"}  # of functions that a decorator gives these
    free = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    starred = [p for p in parameters if p.startswith("*") and p != "*"]
    if starred:
        assert any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
        return
    keywords = parameters[parameters.index("*") + 1 :] if "*" in parameters else []
    positional = [p for p in parameters if p not in ("/", "*") and p not in keywords]
    if not free:
        signature.bind(*positional, **{key: None for key in keywords if key not in taken})


def numbers(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return rng.integers(0 if dtype[0] == "u" else -9, 10, shape).astype(dtype)
    made = rng.uniform(-3, 3, shape)
    return (made + 1j * rng.uniform(-3, 3, shape) if "complex" in dtype else made).astype(dtype)


def same(made, wanted, dtype=None):
    assert isinstance(made, frazil.LazyArray) and made.shape == wanted.shape
    assert dtype is None or made.dtype == dtype, (made.dtype, dtype)
    near = 3e-3 if wanted.dtype == "float16" else 1e-5 if wanted.dtype in ("float32", "complex64") else 1e-11
    np.testing.assert_allclose(made.numpy(), wanted, near, near)


CASES = 20


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one(name):
    for dtype in ONE[name]:
        for seed in range(CASES):
            x = numbers(dtype, ((3,), (2, 3), (), (0,))[seed % 4], seed)
            with np.errstate(all="ignore"):
                wanted = np.asarray(getattr(np, NUMPYS.get(name, name))(x))
            real = dtype.replace("complex64", "float32").replace("complex128", "float64")
            given = "bool" if name.startswith("is") else real if name in ("real", "imag") else dtype
            same(getattr(xp, name)(xp.asarray(x)), wanted, given)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two(name):
    for dtype in TWO[name]:
        for seed in range(CASES):
            shapes = (((3,), (3,)), ((2, 3), (3,)), ((), (2, 1)), ((2, 1), (1, 3)))[seed % 4]
            x, y = numbers(dtype, shapes[0], seed), numbers(dtype, shapes[1], seed + 100)
            if "shift" in name:
                y = (np.abs(y.astype("int64")) % 7).astype(dtype)
            if name in ("floor_divide", "remainder") and "int" in dtype:
                y = np.where(y == 0, 3, y).astype(dtype)
            if name == "pow":
                x = np.abs(x)
            with np.errstate(all="ignore"):
                wanted = np.asarray(getattr(np, NUMPYS.get(name, name))(x, y))
            same(getattr(xp, name)(xp.asarray(x), xp.asarray(y)), wanted, wanted.dtype)
            if name in OPERATORS:
                same(eval(f"x {OPERATORS[name]} y", {"x": xp.asarray(x), "y": xp.asarray(y)}), wanted, wanted.dtype)


def test_the_namespace():
    assert xp is fnp and fnp.__array_api_version__ == "2022.12"
    assert fnp.zeros(1).__array_namespace__(api_version="2022.12") is fnp
    with pytest.raises(ValueError, match="2022.12"):
        fnp.zeros(1).__array_namespace__(api_version="1999.01")
    for name in (*ALL, "complex64", "complex128", "e", "inf", "nan", "newaxis", "pi"):
        assert hasattr(xp, name)
    assert xp.zeros(1, dtype=xp.bool).dtype == xp.bool


def test_the_array():
    x = xp.asarray([[1.5, 2.0], [3.0, -4.0]], dtype=xp.float32)
    assert (x.ndim, x.shape, x.size, x.device, x.dtype) == (2, (2, 2), 4, "cpu", xp.float32)
    assert x.T.tolist() == x.mT.tolist() == [[1.5, 3], [2, -4]] and x.to_device("cpu") is x
    assert xp.asarray(np.arange(8).reshape(2, 2, 2)).mT.tolist() == [[[0, 2], [1, 3]], [[4, 6], [5, 7]]]
    assert (bool(x[0, 0]), int(x[1, 0]), float(x[0, 1]), complex(x[0, 0])) == (True, 3, 2.0, 1.5 + 0j)
    assert [10, 20][xp.asarray(1)] == 20 and x.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(x).tolist() == x.tolist() == xp.from_dlpack(np.asarray(x)).tolist()
    assert (abs(x)[1, 1], (-x)[0, 0], (+x)[0, 1]) == (4, -1.5, 2)
    y = x
    y += 1
    assert y.tolist() == [[2.5, 3], [4, -3]] and x[0, 0] == 1.5
    for call in (lambda: x.to_device("gpu"), lambda: xp.zeros(2, device="gpu")):
        with pytest.raises(ValueError, match="'cpu'"):
            call()


def test_results():
    """What the standard wants beyond NumPy's results."""
    x = xp.asarray([[3.0, np.nan], [np.nan, 3.0]])
    made = xp.unique_all(x)
    assert made._fields == ("values", "indices", "inverse_indices", "counts")
    assert made.values.shape == (3,) and made.inverse_indices.shape == (2, 2) and made.counts.tolist() == [2, 1, 1]
    assert xp.unique_counts(x)._fields == ("values", "counts")
    assert xp.unique_inverse(x)._fields == ("values", "inverse_indices")
    assert xp.linalg.eigh(xp.eye(2))._fields == ("eigenvalues", "eigenvectors")
    assert xp.linalg.qr(xp.eye(2))._fields == ("Q", "R") and xp.linalg.svd(xp.eye(2))._fields == ("U", "S", "Vh")
    assert xp.linalg.slogdet(xp.eye(2))._fields == ("sign", "logabsdet")
    assert xp.linalg.trace(xp.ones((3, 2, 2))).tolist() == [2, 2, 2]
    assert xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]), offset=1).tolist() == [2]
    assert xp.argsort(xp.asarray([2, 1, 2]), descending=True).tolist() == [0, 2, 1]
    assert xp.std(xp.asarray([1.0, 2.0, 4.0]), correction=1).item() == pytest.approx(np.std([1, 2, 4], ddof=1))
    seed = random.Random(3)
    for _ in range(50):
        x = np.array([[seed.uniform(-3, 3) for _ in range(3)] for _ in range(2)])
        same(xp.vecdot(xp.asarray(x), xp.asarray(x[::-1].copy())), (x * x[::-1]).sum(-1))
        same(xp.permute_dims(xp.asarray(x), (1, 0)), x.T)
        same(xp.linalg.vector_norm(xp.asarray(x), axis=1, ord=3), np.linalg.norm(x, 3, 1))
        same(xp.linalg.matrix_norm(xp.asarray(x), ord=1), np.asarray(np.linalg.norm(x, 1)))
        same(xp.concat([xp.asarray(x), xp.asarray(x)], axis=None), np.concatenate([x, x], None))
