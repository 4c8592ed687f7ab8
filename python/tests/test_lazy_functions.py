"""Functions that are recorded, control flow in them, and the modules of frazil.nn on lazy arrays."""

import gc
import sys
import weakref

import frazil
import frazil.nn.functional as F
import frazil.numpy as fnp
import numpy as np
import pytest
from frazil import nn


def floats(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape, np.float32)


def close(made, wanted):
    made = np.asarray(made)
    assert made.shape == wanted.shape and np.allclose(made, wanted, 1e-5, 1e-5)


# ---- recording ----


def test_a_function_is_recorded_once_for_a_class_of_arguments():
    calls = []

    @frazil.function
    def cell(h, x):
        calls.append(h.shape)
        return fnp.tanh(h @ x + h)

    for n in (2, 3, 7):
        h, x = floats(n, 4), floats(4, 4, seed=1)
        close(cell(fnp.array(h), fnp.array(x)), np.tanh(h @ x + h))
    assert len(calls) == 1  # extents from 2 on are one class
    cell(fnp.array(floats(1, 4)), fnp.array(floats(4, 4)))
    cell(fnp.array(floats(2, 4).astype(np.float64)), fnp.array(np.eye(4)))
    assert len(calls) == 3
    assert cell.__name__ == "cell" and repr(cell) == "<frazil.Function 'cell'>"


RETURNED = {
    "an array": lambda x: x + 1,
    "a tuple": lambda x: (x + 1, x * 2),
    "a tuple of one": lambda x: (x + 1,),
    "a list": lambda x: [x, x + 1],
    "a dict": lambda x: {"a": x + 1, "b": [x, (x * 2, None)]},
    "a number": lambda x: (x, 3, 2.5),
    "an argument": lambda x: x,
}


@pytest.mark.parametrize("kind", RETURNED)
def test_it_returns_what_the_function_returns(kind):
    function = frazil.function(RETURNED[kind])
    x = fnp.array(floats(3))
    for _ in range(2):
        made, wanted = frazil.trees.flatten(function(x)), frazil.trees.flatten(RETURNED[kind](x))
        assert made[1] == wanted[1]
        for a, b in zip(made[0], wanted[0], strict=True):
            close(a, np.asarray(b))


def test_arguments_in_structures_and_values_that_stay():
    recorded = []

    @frazil.function
    def total(parts, scale=1.0, *, axis=None, names=()):
        recorded.append(scale)
        return sum(part * scale for part in parts["x"]).sum(axis) + len(names)

    x = floats(2, 3)
    close(total({"x": [x, x]}), np.float32(2 * x.sum()))
    close(total({"x": [fnp.array(x), x]}, 2.0, axis=0), 4 * x.sum(0))
    close(total({"x": [x, x]}, scale=2.0, axis=0, names=("a",)), 4 * x.sum(0) + 1)
    close(total({"x": [x + 1, x]}, 2.0, axis=0), 4 * x.sum(0) + 4)
    assert recorded == [1.0, 2.0, 2.0]  # the last call was known


def test_methods_and_weights():
    class Cell:
        def __init__(self, w):
            self.w = frazil.parameter(w)

        @frazil.function
        def step(self, h):
            return fnp.tanh(h @ self.w)

    a, b, h = Cell(floats(3, 3)), Cell(floats(3, 3, seed=1)), floats(2, 3)
    close(a.step(h), np.tanh(h @ np.asarray(a.w)))
    close(b.step(h), np.tanh(h @ np.asarray(b.w)))


def test_functions_call_functions():
    @frazil.function
    def inner(x):
        return {"y": x + 1, "z": x * 2}

    @frazil.function
    def outer(x):
        made = inner(x)
        return made["y"] * made["z"]

    x = floats(3)
    close(outer(fnp.array(x)), (x + 1) * (x * 2))


def test_extents_of_a_recorded_function():
    @frazil.function
    def flat(x):
        assert x.ndim == 3 and isinstance(x.shape[0], frazil.LazyArray)
        made = x.reshape(x.shape[0], -1)
        return made, fnp.zeros((x.shape[0], 2), np.float32) + x.size, fnp.arange(x.shape[1]), x.var(0)

    for shape in [(2, 3, 4), (5, 2, 3)]:
        x = floats(*shape)
        flattened, zeros, numbers, var = flat(x)
        close(flattened, x.reshape(shape[0], -1))
        close(zeros, np.full((shape[0], 2), x.size))
        close(numbers, np.arange(shape[1]))
        close(var, x.var(0))


def test_rows_of_parameters_are_remembered():
    words = frazil.parameter(floats(5, 3))
    leaf = frazil.function(lambda word: fnp.tanh(word))
    first = [leaf(words[i % 5]) for i in range(10)]
    for i, made in enumerate(first):
        close(made, np.tanh(np.asarray(words)[i % 5]))
    before = frazil._frazil.calls_recalled()
    close(leaf(words[2]), np.tanh(np.asarray(words)[2]))
    assert frazil._frazil.calls_recalled() == before + 1


# ---- models ----


def test_a_model_of_a_function(tmp_path):
    @frazil.function
    def step(state, x, *rest, scale=2.0):
        h, c = state
        return {"h": fnp.tanh(h @ x) * scale, "c": [c + rest[0], c]}

    h, c, x, r = floats(2, 3), floats(2, 3, seed=1), floats(3, 3), floats(2, 3, seed=2)
    model = step.model((h, c), x, r)
    assert [port.name for port in model.inputs] == ["state_0", "state_1", "x", "rest_0"]
    assert [port.name for port in model.outputs] == ["output_h", "output_c_0", "output_c_1"]
    model.save(tmp_path / "step.onnx")
    loaded = frazil.load(tmp_path / "step.onnx")
    x, r = floats(3, 3, seed=5), floats(4, 3)
    h, c = floats(4, 3, seed=6), floats(4, 3, seed=7)
    made = loaded(h, c, x, r)
    wanted = step((h, c), x, r)
    for a, b in zip(made, [wanted["h"], *wanted["c"]], strict=True):
        close(a, np.asarray(b))
    assert frazil.function(lambda x: x + 1).model(h).outputs[0].name == "output"


# ---- control flow ----


@frazil.function
def halved(x):
    x = frazil.cond(x.sum() > 10, lambda: x / 2, lambda: x * 1)
    return frazil.while_loop(lambda v, n: v.max() > 1, lambda v, n: (v / 2, n + 1), x, 0)


def test_control_flow_in_a_graph(tmp_path):
    for start, expected, steps in [([8, 4], [1, 0.5], 2), ([1, 2], [0.5, 1], 1), ([0, 0], [0, 0], 0)]:
        made, count = halved(np.array(start, np.float32))
        assert made.tolist() == expected and count.item() == steps
    model = halved.model(np.zeros(2, np.float32))
    assert {"If", "Loop"} <= set(model.operators)
    model.save(tmp_path / "halved.onnx")
    made, count = frazil.load(tmp_path / "halved.onnx")(np.array([8, 4], np.float32))
    assert made.tolist() == [1, 0.5] and count == 2


def test_control_flow_elsewhere_is_ordinary():
    taken = []
    x = fnp.array([1.0, 2.0])
    made = frazil.cond(x.sum() > 10, lambda: taken.append(1), lambda: taken.append(2) or {"a": x})
    assert taken == [2] and made["a"] is x
    assert frazil.while_loop(lambda v: v.sum() < 10, lambda v: v * 2, x).tolist() == [4, 8]
    assert [v.tolist() for v in frazil.while_loop(lambda a, b: a < 3, lambda a, b: (a + 1, b * 2), (x[0], x))] == [
        3,
        [4, 8],
    ]
    assert frazil.while_loop(lambda n: n < 100, lambda n: n + 1, 0, max_iterations=7) == 7
    assert frazil.cond is F.cond and frazil.while_loop is F.while_loop


def test_a_limit_of_iterations():
    @frazil.function
    def counted(x, most):
        return frazil.while_loop(lambda v: v.sum() > -1, lambda v: v + 1, x, max_iterations=most)

    assert counted(np.zeros(2, np.float32), 5).tolist() == [5, 5]
    assert counted(np.zeros(2, np.float32), np.array(3)).tolist() == [3, 3]


def test_structures_in_control_flow():
    @frazil.function
    def sides(x):
        made = frazil.cond(x.max() > 0, lambda: {"a": (x, 1)}, lambda: {"a": (-x, 2)})
        values, n = frazil.while_loop(
            lambda s, n: n < 3, lambda s, n: ({"v": s["v"] + 1}, n + 1), ({"v": made["a"][0]}, 0)
        )
        return values["v"], made["a"][1]

    made, which = sides(np.array([-1, -2], np.float32))
    assert made.tolist() == [4, 5] and which.item() == 2


# ---- what is refused ----


def leaking(x):
    global leaked
    leaked = x + 1
    return x


REFUSED = [
    (lambda x: x if x.sum() > 0 else x * 2, frazil.BadInput, "frazil.cond"),
    (lambda x: x + float(x[0]), frazil.BadInput, "reads a value"),
    (lambda x: fnp.zeros(len(x)), TypeError, "length of an array of a traced function"),
    (lambda x: [1][x.shape[0]], frazil.BadInput, "reads a value"),
    (lambda x: "text", frazil.BadInput, "returns arrays, got a value of type str"),
    (lambda x: (), frazil.BadInput, "returns no arrays"),
    (lambda x: frazil.cond(x.sum() > 0, lambda: x, lambda: (x, x)), frazil.BadInput, "different structures"),
    (lambda x: frazil.while_loop(lambda v: v.sum() > 0, lambda v: (v, v), x), frazil.BadInput, "body_fn returns"),
    (lambda x: frazil.cond(x.sum() > 0, lambda: x, lambda: x.astype(int)), frazil.Error, "If"),
    (lambda x: x + fnp.zeros((3, 7)), frazil.BadModel, r"test_lazy_functions.py:\d+' \(Add\)"),
    (lambda x: fnp.split(x, 2), None, ""),
    (lambda x: 1 / 0, ZeroDivisionError, "division"),
]


@pytest.mark.parametrize("body, error, text", REFUSED, ids=range(len(REFUSED)))
def test_refused(body, error, text):
    function = frazil.function(body)
    if error is None:
        assert [made.shape for made in function(floats(4))] == [(2,), (2,)]
        return
    for _ in range(2):
        with pytest.raises(error, match=text):
            function(floats(4))
    assert not frazil._frazil.is_recording()
    assert (fnp.array([1]) + 1).tolist() == [2]


def test_arguments_that_are_refused():
    function = frazil.function(lambda x, y=None: x)
    with pytest.raises(frazil.BadInput, match="a value with a hash, got bytearray"):
        function(floats(2), bytearray())
    with pytest.raises(TypeError, match="y"):
        function(floats(2), z=1)
    with pytest.raises(frazil.LimitExceeded, match="pass numbers that change as arrays"):
        for i in range(1000):
            function(floats(2), i)
    with pytest.raises(TypeError, match="while_loop"):
        frazil.while_loop(bool, bool, 1, other=2)


def test_an_array_that_leaves_its_function():
    frazil.function(leaking)(floats(2))
    uses = [
        lambda: leaked.numpy(),
        lambda: leaked + 1,
        lambda: leaked.shape,
        lambda: frazil.lazy.ops.Tanh(leaked),
        lambda: frazil.function(lambda x: x + leaked)(floats(2)),
        lambda: frazil.function(lambda x: x)(leaked),
    ]
    for use in uses:
        with pytest.raises(frazil.BadInput, match="function"):
            use()
    assert "has been recorded" in repr(leaked)

    @frazil.function
    def side(x):
        frazil.cond(x.sum() > 0, lambda: leaking(x), lambda: x)
        return leaked

    with pytest.raises(frazil.BadInput, match="outside of it"):
        side(floats(2))

    @frazil.function
    def caught(x):
        try:
            frazil.cond(x.sum() > 0, lambda: 1 / 0, lambda: x)
        except ZeroDivisionError:
            return x + 1

    with pytest.raises(frazil.BadInput, match="after an exception"):
        caught(floats(2))


def test_another_structure_for_other_arguments_is_refused():
    function = frazil.function(lambda x: x if x.ndim == 1 else (x, x))
    function(floats(2))
    with pytest.raises(frazil.BadInput, match="another structure"):
        function(floats(2, 2))


def test_functions_are_collected():
    """Also where they refer to themselves, and to weights."""

    class Weights:
        pass

    def make():
        weights = Weights()

        @frazil.function
        def itself(x):
            return (x + 1, weights and itself)[0]

        itself(floats(2))
        return weakref.ref(weights)

    alive = make()
    gc.collect()
    assert alive() is None


def test_errors_have_a_traceback_into_the_function():
    def failing(x):
        raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        frazil.function(failing)(floats(2))
    assert raised.traceback[-1].name == "failing"


# ---- frazil.nn ----

FUNCTIONS = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu of tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": F.sigmoid,
    "softmax": lambda x: F.softmax(x, dim=-1),
    "log_softmax": lambda x: F.log_softmax(x, dim=1),
    "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "layer_norm with weights": lambda x: F.layer_norm(x, (6,), floats(6), floats(6, seed=1)),
    "rms_norm": lambda x: F.rms_norm(x, (6,)),
    "linear": lambda x: F.linear(x, floats(3, 6), floats(3)),
    "conv1d": lambda x: F.conv1d(x, floats(2, 4, 3), floats(2), padding=1),
    "max_pool1d": lambda x: F.max_pool1d(x, 2),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "group_norm": lambda x: F.group_norm(x, 2),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.3),
    "softplus": lambda x: F.softplus(x, beta=2),
    "glu": F.glu,
    "normalize": F.normalize,
    "pad": lambda x: F.pad(x, (1, 2)),
    "hardtanh": F.hardtanh,
    "torch's": lambda x: nn.ops.cat(
        [nn.ops.div(x, 2), nn.ops.unsqueeze(nn.ops.mean(x, 1), 1), nn.ops.clamp(x, min=0)], 1
    ),
    "argmax": lambda x: nn.ops.argmax(x, -1),
    "std": lambda x: nn.ops.std(x, 1),
    "expand": lambda x: nn.ops.expand(nn.ops.unsqueeze(x, 0), 3, -1, -1, -1),
}


class Applied(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_nn(name):
    """As in the forward of a module; as they run, and recorded."""
    x = floats(2, 4, 6)
    wanted = Applied(FUNCTIONS[name])(x)
    close(FUNCTIONS[name](fnp.array(x)), wanted)
    close(frazil.function(FUNCTIONS[name])(x), wanted)


class Gated(nn.Module):
    """With weights, numbers of PyTorch's shapes, and control flow."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 6)
        self.norm, self.cell = nn.LayerNorm(6), nn.LSTMCell(6, 6)
        self.register_buffer("shift", floats(6))

    def forward(self, x, state, scale=2):
        n = x.size(0)
        y = F.relu(self.first(x)).view(n, -1)
        y = self.norm(self.second(y)) * scale + self.shift
        y = F.cond(y.sum() > 0, lambda: y + 1, lambda: y - 1)
        total, _ = F.while_loop(lambda v, i: (v.abs().max() > 0.5) & (i < 5), lambda v, i: (v / 2, i + 1), (y, 0))
        return {"state": self.cell(total, state), "y": total.transpose(0, 1)}


def test_modules_on_lazy_arrays():
    net = Gated()
    for n in (3, 5):
        x, state = floats(n, 6), (floats(n, 6, seed=1), floats(n, 6, seed=2))
        wanted = net(x, state)
        made = net(fnp.array(x) * 1, tuple(fnp.array(part) for part in state))
        assert not made["y"]._there
        close(made["y"], wanted["y"])
        for a, b in zip(made["state"], wanted["state"], strict=True):
            close(a, b)
        again = frazil.function(lambda x, h, c: net(x, (h, c), scale=2)["y"] + 1)
        close(again(x, *state), wanted["y"] + 1)
    net.shift = floats(6, seed=9)
    close(net(fnp.array(x), state)["y"], net(x, state)["y"])  # as it is now
    close(net(fnp.array(x), state, scale=3)["y"], net(x, state, scale=3)["y"])


def test_modules_in_batches():
    net, rows = nn.Linear(4, 4), [floats(1, 4, seed=i) for i in range(20)]

    def work(row):
        x = fnp.array(row)
        while x.sum() > -3:
            x = F.relu(net(x)) - 1
        return x

    made = frazil.batch(rows, work)
    for row, x in zip(rows, made, strict=True):
        close(x, np.asarray(work(row)))
    assert made.report.runs < made.report.nodes / 4


def test_embeddings():
    table, rows = floats(5, 3), fnp.array([[1, 4], [0, 1]])
    close(F.embedding(rows, frazil.parameter(table)), table[np.asarray(rows)])
    assert sys.modules["frazil.numpy"] is fnp
