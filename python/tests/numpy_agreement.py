"""What tests of frazil.numpy against NumPy share: random arguments, and the comparison of outcomes."""

import contextlib
import random
import warnings
import zlib

import frazil.numpy as fnp
import numpy as np

CASES = 200  # of each function
NEAR = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-12, "complex64": 1e-5, "complex128": 1e-12}  # tolerances
DTYPES = ["bool", "int8", "int32", "int64", "uint8", "float32", "float64"]
SHAPES = [(), (1,), (2,), (3,), (5,), (0,), (2, 3), (1, 4), (3, 1), (3, 0), (2, 1, 3)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 2.5, -2.5, 3.5, 8.0, 1000.0, np.inf, -np.inf, np.nan, 1e-3, 0.3]


@contextlib.contextmanager
def promotion_of_numpy_2():
    """Values do not decide about element types."""
    if not hasattr(np, "_set_promotion_state") or np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        yield
        return
    before = np._get_promotion_state()
    np._set_promotion_state("weak")
    try:
        yield
    finally:
        np._set_promotion_state(before)


class Draw:
    """Random arguments."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.choice = self.random.choice

    def number(self, dtype):
        if dtype == "bool":
            return self.choice([False, True])
        if "complex" in dtype:
            return complex(self.random.uniform(-5, 5), self.choice([0.0, -1.5, self.random.uniform(-5, 5)]))
        if "int" in dtype:
            low = 0 if dtype[0] == "u" else -6
            return self.choice([low, self.random.randint(low, 6), self.random.randint(low, 100)])
        return self.choice([*FLOATS, self.random.uniform(-5, 5)])

    def array(self, shape=None, dtypes=DTYPES):
        shape = self.choice(SHAPES) if shape is None else shape
        dtype = self.choice(dtypes)
        values = [self.number(dtype) for _ in range(int(np.prod(shape)))]
        return np.array(values, dtype).reshape(shape)

    def beside(self, x, dtypes=DTYPES):
        """An array that may broadcast with another one."""
        shape = [self.choice([n, n, n, 1]) for n in x.shape][self.random.randint(0, x.ndim) :]
        return self.array(self.choice([tuple(shape), tuple(shape), x.shape, self.choice(SHAPES)]), dtypes)

    def integer(self, low=-4, high=4):
        return self.random.randint(low, high)

    def axis(self, x, none=False):
        axes = [*range(-x.ndim - 1, x.ndim + 1)]
        return self.choice([None, *axes] if none else axes)

    def axes(self, x):
        return self.choice([self.axis(x, True), tuple(self.axis(x) for _ in range(self.integer(0, 2)))])

    def bound(self):
        return self.choice([None, self.integer(-7, 7), self.integer(-3, 3)])

    def key(self, x, arrays=True):
        """What stands in brackets."""
        parts = [self.part(n, arrays) for n in x.shape[: self.integer(0, x.ndim + 1)]]
        if self.choice([False, False, True]):
            parts.insert(self.integer(0, len(parts)), None)
        if self.choice([False, False, True]):
            parts.insert(self.integer(0, len(parts)), Ellipsis)
        return tuple(parts)

    def part(self, n, arrays):
        kinds = [self.integer(-n - 1, n), slice(self.bound(), self.bound(), self.choice([None, 1, 2, -1, -2, -3]))]
        if arrays:
            length = self.integer(0, 3)
            kinds.append(np.array([self.integer(-n - (length == 3), n) for _ in range(length)], np.int64))
            kinds.append(np.array([self.choice([False, True]) for _ in range(self.choice([n, n, n, n + 1]))], bool))
        return self.choice(kinds)


# Functions that frazil.numpy refuses for some types that NumPy takes: the error and a part of its message.
REFUSED = {
    "reciprocal": (TypeError, "reciprocals"),
}


def outcome(function, module, arguments):
    """The value as a list of arrays, or the error."""
    try:
        with np.errstate(all="ignore"), promotion_of_numpy_2(), warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # what later versions refuse
            value = function(module, *arguments)
            return [np.asarray(each) for each in value] if isinstance(value, (list, tuple)) else [np.asarray(value)]
    except Exception as error:
        return error


def kinds(error):
    all_kinds = (ValueError, TypeError, IndexError, OverflowError, np.linalg.LinAlgError)
    return [kind for kind in all_kinds if isinstance(error, kind)]


def difference(name, ours, theirs):
    """What is wrong; none: the outcomes agree."""
    if isinstance(theirs, (DeprecationWarning, ZeroDivisionError)):
        return None
    if isinstance(theirs, Exception):
        if not isinstance(ours, Exception):
            return f"no error, NumPy raises {theirs!r}"
        if set(kinds(ours)) & set(kinds(theirs)):
            return None
        return "an error of another kind"
    if isinstance(ours, (IndexError, ValueError)) and not theirs[0].size:
        return None  # NumPy does not look at indices and exponents where it computes nothing
    if isinstance(ours, Exception):
        kind, text = REFUSED.get(name, (None, ""))
        return None if kind is not None and isinstance(ours, kind) and text in str(ours) else "an error"
    if len(ours) != len(theirs):
        return f"{len(ours)} arrays, not {len(theirs)}"
    for mine, wanted in zip(ours, theirs):
        if mine.dtype != wanted.dtype or mine.shape != wanted.shape:
            return f"{mine.dtype}{mine.shape} instead of {wanted.dtype}{wanted.shape}"
        near = NEAR.get(str(wanted.dtype), 0)
        if not np.allclose(mine, wanted, near, near, equal_nan=True):
            return "other values"
    return None


def check_random_arguments(name, call):
    """`call` draws arguments that are arrays, and a function of the module and these."""
    for case in range(CASES):
        draw = Draw(zlib.crc32(name.encode()) * 1000 + case)
        arrays, function = call(draw)
        theirs = outcome(function, np, arrays)
        ours = outcome(function, fnp, [fnp.array(each) for each in arrays])
        wrong = difference(name, ours, theirs)
        cells = getattr(function, "__closure__", None) or ()
        assert wrong is None, (
            f"case {case}: {wrong}\n  of {[each for each in arrays]!r}\n"
            f"  with {[cell.cell_contents for cell in cells]!r}\n  frazil {ours!r}\n  numpy {theirs!r}"
        )
