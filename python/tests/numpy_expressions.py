"""Random expressions over frazil.numpy: several functions of arrays of all element types, run as one program.

    FRAZIL_EXPRESSIONS=10000 pytest python/tests/test_numpy_expressions.py
"""

import collections
import contextlib
import re
import signal

import frazil.numpy as fnp
import numpy as np
from numpy_agreement import Draw, kinds, outcome

DTYPES = [*("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
DTYPES += ["float16", "float32", "float64", "complex64", "complex128"]
NEAR = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-9, "complex64": 1e-4, "complex128": 1e-9}
SECONDS = 20  # that an expression may take

ONE = """
absolute arccos arccosh arcsin arcsinh arctan arctanh argwhere atleast_1d atleast_2d atleast_3d cbrt ceil conj
copy cos cosh count_nonzero deg2rad diagflat ediff1d exp exp2 expm1 fabs fix flatnonzero flip fliplr flipud
floor imag invert isfinite isinf isnan isneginf isposinf isreal log log10 log1p log2 logical_not modf
nan_to_num negative nonzero positive rad2deg ravel real rint round sign sin sinc sinh sort_complex spacing
sqrt square squeeze tan tanh transpose trunc unique zeros_like ones_like frexp i0 trim_zeros angle atleast_1d
""".split()
TWO = """
add allclose append arctan2 array_equal bitwise_and bitwise_or bitwise_xor divide divmod dot equal float_power
floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot inner intersect1d isclose isin kron lcm
left_shift less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor matmul maximum minimum
multiply nextafter not_equal outer polyadd polymul polysub polyval power remainder right_shift setdiff1d
setxor1d subtract union1d vdot where convolve correlate cross
""".split()
ALONG = """
all amax amin any argmax argmin average cumprod cumsum max mean median min nancumprod nancumsum nanmax nanmean
nanmedian nanmin nanprod nanstd nansum nanvar prod ptp std sum var
""".split()
SETS = {"isin", "setdiff1d", "setxor1d", "intersect1d"}  # NumPy 1 fails for some arrays without axes
OF_REALS = {"ceil", "floor", "trunc", "fix"}  # NumPy 1 makes reals of integers, NumPy 2 does not
ON_AXIS = "argsort diff sort flip expand_dims squeeze trapz gradient unwrap repeat2 roll1 take0".split()
ONE_AXIS = {"argmax", "argmin", "cumprod", "cumsum", "nancumprod", "nancumsum"}
NO_KEEPDIMS = {"cumprod", "cumsum", "nancumprod", "nancumsum"}


def _fits(name, x):
    if name in OF_REALS:
        return x.dtype.kind == "f"
    return x.ndim == 1 if name == "trim_zeros" else name != "sinc" or x.dtype not in ("float16", "float32", "complex64")


class Step:
    """A function of values that were made before."""

    def __init__(self, name, operands, function):
        self.name, self.operands, self.function = name, operands, function

    def __call__(self, xp, values):
        return self.function(xp, *(values[i] for i in self.operands))


def _named(name, **keywords):
    return lambda xp, *all: getattr(xp, name)(*all, **keywords)


ON_AXIS_CALLS = {
    "repeat2": lambda axis: lambda xp, x: xp.repeat(x, 2, axis),
    "roll1": lambda axis: lambda xp, x: xp.roll(x, 1, axis),
    "take0": lambda axis: lambda xp, x: xp.take(x, [0, -1], axis),
}


def indexed(draw, x):
    key = draw.key(x)
    return lambda xp, x: x[key]


def scalar(draw, x):
    name = draw.choice(["add", "multiply", "subtract", "maximum", "power", "less", "floor_divide", "remainder"])
    number = draw.choice([1, 2, 0, 3, 2.5, True])
    return lambda xp, x: getattr(xp, name)(x, number)


def quantiles(draw, x):
    q, method = draw.choice([0.5, 0.25, 0.9]), draw.choice(["linear", "lower", "nearest", "hazen"])
    return lambda xp, x: xp.quantile(x if x.dtype.kind != "f" else x.astype("float64"), q, method=method)


def padded(draw, x):
    mode = draw.choice(["constant", "edge", "reflect", "wrap", "symmetric", "maximum", "mean", "linear_ramp"])
    width = draw.integer(0, 2)
    return lambda xp, x: xp.pad(x, width, mode)


def reshaped(draw, x):
    shape = draw.choice([(-1,), (1, -1), (-1, 1), x.shape[::-1], (2, -1)])
    return lambda xp, x: xp.reshape(x, shape)


def cast(draw, x):
    to = draw.choice(DTYPES)
    if x.dtype.kind == "c":
        return lambda xp, x: x.astype("complex128")
    inside = x.dtype.kind != "f" or (np.isfinite(x).all() and (np.abs(x) < 100).all())
    to = to if inside and (to[0] != "u" or (x >= 0).all()) else "float64"
    return lambda xp, x: x.astype(to)


SHAPED = [indexed, indexed, scalar, scalar, quantiles, padded, reshaped, cast, cast]


class Expression:
    """Arrays, and steps that each make a value of arrays and values before."""

    def __init__(self, seed):
        draw = self.draw = Draw(seed)
        self.arrays = [draw.array(dtypes=DTYPES)]
        self.arrays += [draw.choice([draw.beside(self.arrays[0], DTYPES), draw.array(dtypes=DTYPES)]) for _ in range(2)]
        self.steps = []
        self.values = list(self.arrays)  # of NumPy, as long as there is no error
        self.wanted = None
        for _ in range(draw.integer(1, 6)):
            self._add()
            if isinstance(self.wanted, Exception):
                break
            self.values.append(self.wanted)

    def _add(self):
        """Adds a step; one in ten of those that fail, else another one."""
        self._try()
        while isinstance(self.wanted, Exception) and self.draw.integer(0, 9):
            self.steps.pop()
            self._try()

    def _try(self):
        draw = self.draw
        first = draw.choice([len(self.values) - 1, len(self.values) - 1, draw.integer(0, len(self.values) - 1)])
        second = draw.integer(0, len(self.values) - 1)
        step = self._step(draw.choice(["one", "one", "two", "two", "along", "on", "shaped"]), first, second)
        made = outcome(lambda xp, *values: step(xp, values), np, self.values)
        self.steps.append(step)
        self.wanted = made if isinstance(made, Exception) else made[0]

    def _step(self, kind, first, second):
        draw, x = self.draw, self.values[first]
        if kind == "one":
            name = draw.choice([name for name in ONE if _fits(name, x)])
            return Step(name, [first], _named(name))
        if kind == "two":
            name = draw.choice(TWO)
            if name == "where":
                return Step(name, [first, second, first], lambda xp, c, x, y: xp.where(xp.not_equal(c, 0), x, y))
            if name in SETS and not (self.values[first].ndim and self.values[second].ndim):
                name = "add"
            return Step(name, [first, second], _named(name))
        if kind == "along":
            name = draw.choice(ALONG)
            axis = draw.axis(x, True) if name in ONE_AXIS else draw.axes(x)
            keywords = {"axis": axis} if name in NO_KEEPDIMS else {"axis": axis, "keepdims": draw.choice([False, True])}
            return Step(name, [first], _named(name, **keywords))
        if kind == "on":
            name = draw.choice(ON_AXIS)
            axis = draw.axis(x)
            make = ON_AXIS_CALLS.get(name)
            more = {"kind": "stable"} if name == "argsort" else {}
            return Step(name, [first], make(axis) if make else _named(name, axis=axis, **more))
        make = draw.choice(SHAPED)
        return Step(make.__name__, [first], make(draw, x))

    def run(self, xp, *arrays):
        """The last value."""
        values = list(arrays)
        for step in self.steps:
            made = step(xp, values)
            made = made[0] if isinstance(made, (tuple, list)) else made
            values.append(xp.asarray(made) if isinstance(made, bool) else made)
        return values[-1]

    def __str__(self):
        lines = [f"  {i}: {array.dtype}{list(array.shape)} {array.tolist()}" for i, array in enumerate(self.arrays)]
        lines += [f"  {len(self.arrays) + i}: {step.name}{step.operands}" for i, step in enumerate(self.steps)]
        return "\n".join(lines)


def compared(ours, theirs):
    """What is wrong with a value; none: they agree."""
    if isinstance(theirs, (DeprecationWarning, ZeroDivisionError)):
        return None
    if isinstance(theirs, Exception):
        if not isinstance(ours, Exception):
            return f"no error: {type(theirs).__name__}"
        return None if set(kinds(ours)) & set(kinds(theirs)) else f"an error of another kind: {ours!r} for {theirs!r}"
    if isinstance(ours, Exception):
        return ours
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    near = NEAR.get(str(theirs.dtype), 0)
    with np.errstate(all="ignore"):
        same = np.allclose(ours, theirs, near, near, equal_nan=True) if near else np.array_equal(ours, theirs)
    return None if same else "other values"


def _first(made):
    return made if isinstance(made, Exception) else made[0]


def by_steps(expression):
    """The step that differs where each has NumPy's values as its operands, and how; none: all agree."""
    for step, theirs in zip(expression.steps, [*expression.values[len(expression.arrays) :], expression.wanted]):
        ours = outcome(lambda xp, *values: step(xp, values), fnp, [fnp.array(each) for each in expression.values])
        wrong = compared(_first(ours), theirs)
        if wrong is not None:
            return step.name, wrong
    return None


@contextlib.contextmanager
def limited():
    """Raises TimeoutError after some seconds."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def judge(seed):
    """(verdict, what) of an expression: "same", "rounding", "refused", "differs" or "hangs"."""
    expression = Expression(seed)
    try:
        with limited():
            ours = _first(outcome(expression.run, fnp, [fnp.array(each) for each in expression.arrays]))
            if isinstance(ours, TimeoutError):
                raise TimeoutError
            wrong = compared(ours, expression.wanted)
            if wrong is None:
                return "same", ""
            found = by_steps(expression)
    except TimeoutError:
        return "hangs", str(expression)
    if found is None:
        exact = isinstance(wrong, str) and wrong != "other values"
        return ("differs", f"together: {wrong}") if exact or isinstance(wrong, Exception) else ("rounding", "")
    name, wrong = found
    if isinstance(wrong, Exception):
        text = re.sub(r"'[^']*\.py:\d+'", "...", re.sub(r"(?<![a-z])\d+", "n", str(wrong)))
        return "refused", f"{name}: {type(wrong).__name__}: {text}"
    return "differs", f"{name}: {wrong}"


def count(seeds):
    """How many expressions have each verdict, and how often there is each reason, with a seed."""
    verdicts, reasons, examples = collections.Counter(), collections.Counter(), {}
    for seed in seeds:
        verdict, what = judge(seed)
        verdicts[verdict] += 1
        if verdict not in ("same", "rounding"):
            reasons[verdict, what] += 1
            examples.setdefault((verdict, what), seed)
    return verdicts, [(*reason, number, examples[reason]) for reason, number in reasons.most_common()]
