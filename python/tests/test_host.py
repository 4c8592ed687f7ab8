"""Python functions as operators."""

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor

import frazil
import numpy as np
import pytest

COUNT = itertools.count()


def name():
    """A name that no test has used."""
    return f"test.host.Op{next(COUNT)}"


def model_of(op, *inputs, attributes=None, **options):
    """A model of one node 'here'."""
    g = frazil.Graph("hosted")
    terms = [g.input(f"x{i}", dtype, shape) for i, (dtype, shape) in enumerate(inputs or [("float32", ("N",))])]
    made = g.op(op.full_name, terms, attributes, outputs=op.outputs, name="here")
    for k, term in enumerate(made if isinstance(made, tuple) else [made]):
        g.output(f"y{k}", term)
    return g.build(**options)


TIERS = pytest.mark.parametrize("tier", ["auto", "ref"])


@TIERS
def test_a_function_in_a_graph(tier):
    @frazil.host_operator(name())
    def clip(x, *, high=6.0, low=0):
        """Between two numbers."""
        assert isinstance(high, float) and isinstance(low, int)
        return np.clip(x, np.float32(low), np.float32(high))

    g = frazil.Graph()
    x = g.input("x", "float32", ("N",))
    by_call = clip(x + 1, high=3.0)
    assert by_call.type == "f32[N]"
    g.output("a", by_call)
    g.output("b", getattr(g.test_host, clip.name)(x, low=2))
    g.output("c", g.op(clip.full_name, [x], {"high": 1}))
    model = g.build(tier=tier)
    a, b, c = model([-5, 1, 9])
    assert (a.tolist(), b.tolist(), c.tolist()) == ([0, 2, 3], [2, 2, 6], [0, 1, 1])
    assert clip.full_name in model.operators and clip.__doc__ == "Between two numbers."
    assert clip(np.array([9.0], np.float32)) == 6, "with arrays it is the function"
    (info,) = [info for info in frazil.operators() if info.full_name == clip.full_name]
    assert [(f.name, f.kind) for f in info.attributes] == [("high", "float"), ("low", "int")]


def test_in_texts_and_files(tmp_path):
    double = frazil.host_operator(name())(lambda x: x + x)
    model = frazil.from_text(f"graph g(%x: f32[N]) {{ %y = {double.domain}::{double.name}(%x) return y = %y }}")
    assert model([1, 2]).tolist() == [2, 4]
    model.save(tmp_path / "m.onnx")
    assert frazil.load(tmp_path / "m.onnx")([3]).tolist() == [6]


def test_attributes_of_all_kinds():
    seen = {}

    @frazil.host_operator(name())
    def op(x, *, i=1, f=0.5, s="a", ints=[1], floats=[1.5], strings=["p"], t=np.ones(2, np.int64)):
        seen.update(i=i, f=f, s=s, ints=ints, floats=floats, strings=strings, t=t.tolist())
        return x

    model_of(op)([1])
    assert seen == {"i": 1, "f": 0.5, "s": "a", "ints": [1], "floats": [1.5], "strings": ["p"], "t": [1, 1]}
    given = {
        "i": 7,
        "f": 2,
        "s": "b",
        "ints": [3, 4],
        "floats": [2.0],
        "strings": ["q", "r"],
        "t": np.zeros(1, np.int64),
    }
    model_of(op, attributes=given)([1])
    assert seen == {**given, "t": [0]}


def test_optional_and_variadic_inputs():
    @frazil.host_operator(name())
    def optional(x, y=None):
        return x if y is None else x * y

    @frazil.host_operator(name())
    def total(*xs):
        return sum(xs[1:], xs[0])

    f = ("float32", ("N",))
    assert model_of(optional, f)([3]) == 3 and model_of(optional, f, f)([3], [4]) == 12
    assert model_of(total, f, f, f)([1], [2], [3]) == 6
    with pytest.raises(frazil.BadInput, match="without its first input.*needs a type function"):
        frazil.Graph().op(total.full_name, [])


@TIERS
def test_several_outputs_and_types(tier):
    @frazil.host_operator(name(), outputs=2)
    def split(x, *, at=1):
        return x[:, :at], x[:, at:].astype(np.int64)

    @split.types
    def types(x, *, at):
        rows, columns = x.shape
        return [frazil.TensorType(x.dtype, (rows, at)), frazil.TensorType("int64", (rows, f"({columns}) - {at}"))]

    model = model_of(split, ("float32", ("N", 5)), attributes={"at": 2}, tier=tier)
    assert [port.type for port in model.outputs] == ["f32[N,2]", "i64[N,3]"]
    a, b = model(np.arange(10, dtype=np.float32).reshape(2, 5))
    assert a.tolist() == [[0, 1], [5, 6]] and b.tolist() == [[2, 3, 4], [7, 8, 9]]


def test_declared_types():
    @frazil.host_operator(name(), inputs=["f32[N,M]", "f32[M,K]"], outputs="f32[K,2*N]")
    def op(x, y):
        return np.concatenate([x @ y, x @ y]).T

    model = model_of(op, ("float32", ("A", "B")), ("float32", ("B", 7)))
    assert model.outputs[0].type == "f32[7,2*A]"
    assert model(np.ones((2, 3), np.float32), np.ones((3, 7), np.float32)).shape == (7, 4)
    for inputs, message in [
        ([("float64", ("A", "B")), ("float32", ("B", 7))], r"input 0: expected f32\[N,M\], got f64\[A,B\]"),
        ([("float32", ("A",)), ("float32", ("B", 7))], "input 0"),
        ([("float32", ("A", 3)), ("float32", (4, 7))], "input 1"),
    ]:
        with pytest.raises(frazil.Error, match="here.*" + message):
            model_of(op, *inputs)


def test_extents_that_only_the_function_knows():
    @frazil.host_operator(name(), inputs=["f32[N]"], outputs=["f32[?]", "i64[]"])
    def positive(x):
        return x[x > 0], int((x > 0).sum())

    kept, count = model_of(positive)([1, -2, 3])
    assert kept.tolist() == [1, 3] and count == 2 and count.dtype == np.int64, "a number has the promised type"
    unranked = frazil.host_operator(name(), outputs="f32[...]")(lambda x: x.reshape(2, -1))
    assert model_of(unranked)([1, 2, 3, 4]).tolist() == [[1, 2], [3, 4]]


def test_element_types():
    same = frazil.host_operator(name())(lambda x: x)
    half = np.array([1.5, 2], np.float16)
    assert model_of(same, ("float16", ("N",)))(half).tolist() == [1.5, 2]
    assert model_of(same, ("string", ("N",)))(["a", "b"]).tolist() == ["a", "b"]
    bits = np.array([0x3F80], np.uint16).view(frazil.bfloat16.numpy)
    assert model_of(same, ("bfloat16", ("N",)))(bits).tobytes() == bits.tobytes()
    assert model_of(same, ("bool", ()))(True).tolist() is True


def test_exceptions_are_chained():
    class Own(Exception):
        """Not one of Python's."""

    fault = Own("two\nlines")

    def op(x):
        raise fault

    model = model_of(frazil.host_operator(name())(op))
    for run in (
        lambda: model([1]),
        lambda: model.session().run({"x0": [1]}),
        lambda: frazil.LiveModel(model).open()([1]),
    ):
        with pytest.raises(frazil.BadInput, match="'here'.*Own: two lines") as caught:
            run()
        assert caught.value.__cause__ is fault and fault.__traceback__ is not None
        assert "in op" in "".join(traceback.format_exception(fault))
    with pytest.raises(frazil.BadInput) as caught:
        model([1], [2])
    assert caught.value.__cause__ is None, "another error has nothing to do with it"


@pytest.mark.parametrize(
    "fault, becomes",
    [
        (MemoryError(), frazil.OutOfMemory),
        (frazil.LimitExceeded("own"), frazil.LimitExceeded),
        (frazil.Unsupported("own"), frazil.Unsupported),
        (ValueError(), frazil.BadInput),
    ],
)
def test_classes_of_exceptions(fault, becomes):
    def op(x):
        raise fault

    with pytest.raises(becomes) as caught:
        model_of(frazil.host_operator(name())(op))([1])
    assert type(caught.value) is becomes and caught.value.__cause__ is fault


@pytest.mark.parametrize("fault", [KeyboardInterrupt, SystemExit])
def test_interrupts_come_out_themselves(fault):
    def op(x):
        raise fault

    model = model_of(frazil.host_operator(name())(op))
    with pytest.raises(fault):
        model([1])


def test_ctrl_c_in_a_function():
    @frazil.host_operator(name())
    def slow(x):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            pass
        return x

    model = model_of(slow)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model([1])
    timer.join()
    assert time.monotonic() - start < 10


def test_exceptions_of_type_functions():
    fault = RuntimeError("no type")

    @frazil.host_operator(name())
    def op(x):
        return x

    @op.types
    def types(x):
        raise fault

    with pytest.raises(frazil.BadInput, match="'here'.*RuntimeError: no type") as caught:
        model_of(op)
    assert caught.value.__cause__ is fault
    op.types(lambda x: 5)
    with pytest.raises(frazil.BadInput, match="expected a TensorType or a text, got 5"):
        model_of(op)


@TIERS
@pytest.mark.parametrize(
    "function, outputs, message",
    [
        (lambda x: x.astype(np.float64), 1, "f64.*promised f32"),
        (lambda x: x[:1], 1, "output 0"),
        (lambda x: None, 1, "no tensor as output 0"),
        (lambda x: "text", 1, "output 0: .* do not fit float32"),
        (lambda x: object(), 1, "output 0"),
        (lambda x: (x, x, x), 2, "3 results for 2 outputs"),
        (lambda x: x, 2, "must return a tuple of 2"),
    ],
)
def test_wrong_results(tier, function, outputs, message):
    model = model_of(frazil.host_operator(name(), outputs=outputs)(function), tier=tier)
    with pytest.raises(frazil.BadInput, match="'here'.*" + message):
        model([1, 2])


def test_wrong_definitions():
    for define, message in [
        (lambda: frazil.host_operator("Bare")(lambda x: x), "needs a domain"),
        (lambda: frazil.host_operator("a.b-c.D")(lambda x: x), "domain"),
        (lambda: frazil.host_operator(name())(lambda: 1), "give types"),
        (lambda: frazil.host_operator(name())(lambda x, **k: x), "attributes need names"),
        (lambda: frazil.host_operator(name())(lambda x, *, a: x), "'a' needs a default"),
        (lambda: frazil.host_operator(name())(lambda x, y=3: x), "'y' can have no default"),
        (lambda: frazil.host_operator(name(), outputs="f32")(lambda x: x), "'f32' is not a type"),
        (lambda: frazil.host_operator(name(), outputs=0)(lambda x: x), "at least one output"),
    ]:
        with pytest.raises(frazil.BadInput, match=message):
            define()


def test_replacing():
    full = name()
    first = frazil.host_operator(full)(lambda x: x + 1)
    model = model_of(first)
    assert model([1]) == 2
    with pytest.raises(frazil.BadInput, match="already"):
        frazil.host_operator(full)(lambda x: x)
    frazil.host_operator(full, replace=True)(lambda x: x + 10)
    assert model([1]) == 11, "models have the new one"
    with pytest.raises(frazil.BadInput, match="same interface"):
        frazil.host_operator(full, replace=True)(lambda x, y: x)


def test_functions_without_a_signature():
    add = frazil.host_operator(name(), inputs=2)(np.add)
    f = ("float32", ("N",))
    assert model_of(add, f, f)([1], [2]) == 3


# ---- memory ----


def address(array):
    return array.__array_interface__["data"][0]


def test_inputs_are_views_that_cannot_be_written():
    seen = []

    @frazil.host_operator(name(), pure=False)
    def op(x):
        assert not x.flags.writeable and not x.flags.owndata and x.flags.c_contiguous
        with pytest.raises(ValueError):
            x[0] = 1
        seen.append(address(x))
        return x * 2

    x = np.ones(1000, np.float32)
    assert model_of(op)(x).tolist() == [2] * 1000
    assert seen == [address(x)], "the caller's own array, without a copy"


@pytest.mark.parametrize("result", [lambda x: x, lambda x: x[1:], lambda x: x[::-1], lambda x: np.asarray(x)])
def test_results_may_be_views_of_inputs(result):
    op = frazil.host_operator(name(), inputs=["f32[N]"], outputs="f32[?]")(result)
    x = np.arange(5, dtype=np.float32)
    assert model_of(op)(x).tolist() == result(x).tolist()


def test_a_view_must_not_be_kept():
    kept = []

    @frazil.host_operator(name())
    def op(x):
        kept.append(x[1:])
        return x

    model = model_of(op)
    with pytest.raises(frazil.BadInput, match="'here'.*keeps a view of input 0"):
        model([1, 2])
    kept.clear()

    @frazil.host_operator(name(), views=False)
    def free(x):
        kept.append(x)
        return x

    model_of(free)([1, 2])
    assert kept[0].tolist() == [1, 2]


def test_exceptions_keep_no_views():
    @frazil.host_operator(name())
    def op(x):
        try:
            half = x[1:]
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner

    with pytest.raises(frazil.BadInput, match="ValueError: outer$") as caught:
        model_of(op)([1, 2])
    assert isinstance(caught.value.__cause__.__cause__, KeyError)
    kept = []

    @frazil.host_operator(name())
    def bad(x):
        kept.append(x)
        raise ValueError("outer")

    with pytest.raises(frazil.BadInput, match="ValueError: outer; its function keeps a view"):
        model_of(bad)([1, 2])


def test_cycles_are_no_views_kept():
    @frazil.host_operator(name())
    def op(x):
        def again(n):
            return x if n == 0 else again(n - 1)

        return again(3) + 1

    assert model_of(op)([1]) == 2


def test_nothing_is_leaked():
    class Array(np.ndarray):
        """With weak references."""

    made = []

    @frazil.host_operator(name(), pure=False)
    def op(x):
        result = (x + 1).view(Array)
        made.append(weakref.ref(result))
        if x[0] < 0:
            raise ValueError("negative")
        return result

    model = model_of(op)
    x = np.ones(8, np.float32).view(Array)
    before = sys.getrefcount(x)
    model(x)
    with pytest.raises(frazil.BadInput):
        model(-np.ones(8, np.float32))
    gc.collect()
    assert sys.getrefcount(x) == before and [ref() for ref in made] == [None, None]


def test_many_calls_do_not_grow():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def op(x):
        if x[0] > 1:
            raise ValueError("large")
        return x + 1

    # A compiler that is loaded meanwhile takes memory, too.
    model = model_of(frazil.host_operator(name(), pure=False)(op), tier="0")
    good, bad = np.zeros(50_000, np.float32), np.full(50_000, 2, np.float32)

    def runs(count):
        for _ in range(count):
            model(good)
            with pytest.raises(frazil.BadInput):
                model(bad)

    runs(20)
    before = resident()
    runs(200)
    assert resident() - before < 20 << 20


# ---- threads ----


def test_constants_are_computed_once():
    calls = []

    @frazil.host_operator(name())
    def op(x):
        calls.append(1)
        return x + 1

    g = frazil.Graph()
    g.output("y", g.input("x", "float32", (2,)) + op(g.constant(np.ones(2, np.float32))))
    model = g.build()
    for _ in range(5):
        assert model([1, 2]).tolist() == [3, 4]
    assert len(calls) == 1


def test_several_threads():
    @frazil.host_operator(name(), pure=False)
    def op(x):
        if x[0] % 7 == 3:
            raise ValueError(f"bad {x[0]:.0f}")
        return np.sqrt(x)

    g = frazil.Graph()
    x = g.input("x", "float32", (64,))
    g.output("y", op(op(x * x) + 0, name="second"))
    model = g.build(threads=2)

    def work(n):
        for i in range(30):
            value = float(49 * n + i)
            given = np.full(64, value, np.float32)
            try:
                assert np.allclose(model(given), np.sqrt(given))
            except frazil.BadInput as error:
                assert str(error.__cause__) in (f"bad {value * value:.0f}", f"bad {value:.0f}")
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(24)))


def test_planning_on_several_threads():
    """A function that is called while others wait for the same model."""

    @frazil.host_operator(name())
    def op(x):
        time.sleep(0.01)
        return x + 1

    for _ in range(5):
        g = frazil.Graph()
        g.output("y", g.input("x", "float32", (2,)) + op(g.constant(np.ones(2, np.float32))))
        model = g.build()
        with ThreadPoolExecutor(6) as pool:
            assert all(y.tolist() == [3, 4] for y in pool.map(lambda _: model([1, 2]), range(6)))


def test_a_function_may_run_another_model(square):
    @frazil.host_operator(name())
    def op(x):
        return square(x)

    assert model_of(op)([3]) == 9


def test_in_a_live_model():
    @frazil.host_operator(name())
    def add(x, *, by=1.0):
        return x + np.float32(by)

    live = frazil.LiveModel(frazil.from_text("graph g(%x: f32[N]) { %y = Neg(%x) return y = %y }"))
    session = live.open()
    done = threading.Event()
    seen = set()

    def work():
        own = live.open()
        while not done.is_set():
            seen.add(own([1]).item())

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(10):
        live.edit(lambda patch: patch.replace("y", add(patch.tap("y"), by=1.0)))
        time.sleep(0.005)
    done.set()
    thread.join()
    assert session([1]) == 9 and seen <= {float(k) for k in range(-1, 10)}


PROGRAM = """
import threading, time
import frazil
import numpy as np

@frazil.host_operator("com.acme.Slow", pure=False)
def slow(x):
    time.sleep(0.001)
    return x + 1

g = frazil.Graph()
x = g.input("x", "float32")
g.output("y", g.loop(None, True, x, lambda i, condition, v: (~~condition, slow(v))))
model = g.build()

def work():
    try:
        model(0)
    except frazil.Error:
        pass

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("ends")
"""


def test_the_end_of_the_interpreter():
    """Daemon threads that run when it ends."""
    for _ in range(3):
        made = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
        assert (made.returncode, made.stdout, made.stderr) == (0, "ends\n", "")
