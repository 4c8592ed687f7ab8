"""frazil.nn: modules, calls, control flow; against PyTorch where that is installed."""

import copy
import pickle
import random
import threading
import warnings

import frazil
import frazil.nn.functional as F
import frazil.numpy
import numpy as np
import pytest
from frazil import nn
from frazil.nn import ops

try:
    import torch
except ImportError:
    torch = None
needs_torch = pytest.mark.skipif(torch is None, reason="python3-torch is not installed")
RANDOM = np.random.default_rng(1)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def close(made, wanted, tolerance=1e-4):
    if isinstance(wanted, (tuple, list)):
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted):
            close(one, other, tolerance)
        return
    wanted = wanted.detach().numpy()
    assert made.dtype == wanted.dtype and made.shape == wanted.shape
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance)


def image():
    return normal(2, 4, 9, 8)


MODULES = {
    "Linear": (lambda n: n.Linear(3, 4), [normal(5, 3)]),
    "Linear, 3 dimensions": (lambda n: n.Linear(3, 4, bias=False), [normal(2, 5, 3)]),
    "Conv1d same": (lambda n: n.Conv1d(4, 6, 4, padding="same"), [normal(2, 4, 9)]),
    "Conv2d": (lambda n: n.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), [image()]),
    "Conv2d without batch": (lambda n: n.Conv2d(4, 6, 3, dilation=2), [normal(4, 9, 8)]),
    "Conv2d circular": (lambda n: n.Conv2d(4, 6, 3, padding=1, padding_mode="circular"), [image()]),
    "Conv2d reflect": (lambda n: n.Conv2d(4, 6, (3, 5), padding=(1, 2), padding_mode="reflect"), [image()]),
    "ConvTranspose2d": (lambda n: n.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1), [image()]),
    "BatchNorm1d": (lambda n: n.BatchNorm1d(4), [normal(6, 4)]),
    "BatchNorm2d": (lambda n: n.BatchNorm2d(4), [image()]),
    "BatchNorm2d of the batch": (lambda n: n.BatchNorm2d(4, track_running_stats=False), [image()]),
    "InstanceNorm2d": (lambda n: n.InstanceNorm2d(4), [image()]),
    "LayerNorm": (lambda n: n.LayerNorm((9, 8)), [image()]),
    "LayerNorm without weights": (lambda n: n.LayerNorm(8, elementwise_affine=False), [image()]),
    "GroupNorm": (lambda n: n.GroupNorm(2, 4), [image()]),
    "Embedding": (lambda n: n.Embedding(10, 4), [np.array([[1, 2, 9]])]),
    "LSTM": (lambda n: n.LSTM(3, 4, 2, bidirectional=True), [normal(5, 2, 3)]),
    "LSTM batch first": (lambda n: n.LSTM(3, 4, batch_first=True, bias=False), [normal(2, 5, 3)]),
    "GRU": (lambda n: n.GRU(3, 4, 2, batch_first=True, bidirectional=True), [normal(2, 5, 3), normal(4, 2, 4)]),
    "GRU without batch": (lambda n: n.GRU(3, 4), [normal(5, 3)]),
    "RNN": (lambda n: n.RNN(3, 4, 2, nonlinearity="relu"), [normal(5, 2, 3)]),
    "LSTMCell": (lambda n: n.LSTMCell(3, 4), [normal(2, 3)]),
    "GRUCell": (lambda n: n.GRUCell(3, 4), [normal(2, 3), normal(2, 4)]),
    "MultiheadAttention": (lambda n: n.MultiheadAttention(8, 2), [normal(5, 2, 8)] * 3),
    "MultiheadAttention, other widths": (
        lambda n: n.MultiheadAttention(8, 2, batch_first=True, kdim=4, vdim=6),
        [normal(2, 5, 8), normal(2, 3, 4), normal(2, 3, 6), np.array([[False, False, True], [False, True, True]])],
    ),
    "TransformerEncoderLayer": (lambda n: n.TransformerEncoderLayer(8, 2, 16, batch_first=True), [normal(2, 5, 8)]),
    "pools": (lambda n: n.Sequential(n.MaxPool2d(2, ceil_mode=True), n.AvgPool2d(3, 2, 1)), [image()]),
    "adaptive": (lambda n: n.Sequential(n.AdaptiveAvgPool2d(1), n.Flatten()), [image()]),
    "Upsample": (lambda n: n.Upsample(scale_factor=2, mode="bilinear"), [image()]),
    "Upsample nearest": (lambda n: n.Upsample(size=(5, 20)), [image()]),
    "Upsample corners": (lambda n: n.Upsample(size=(5, 20), mode="bilinear", align_corners=True), [image()]),
    "PReLU": (lambda n: n.PReLU(4), [image()]),
    "PixelShuffle": (lambda n: n.PixelShuffle(2), [image()]),
    "activations": (
        lambda n: n.Sequential(
            n.GELU(), n.GELU("tanh"), n.SiLU(), n.ELU(), n.LeakyReLU(0.2), n.Hardswish(), n.Softplus(beta=2), n.Mish(),
            n.Tanh(), n.SELU(), n.CELU(2.0), n.Hardsigmoid(), n.Softsign(), n.LogSigmoid(), n.Hardtanh(-2, 2), n.ReLU6(),
            n.Dropout(), n.Identity(), n.Softmax(dim=-1), n.LogSoftmax(dim=1), n.GLU(-1), n.ReflectionPad2d(1), n.Sigmoid(),
        ),
        [image()],
    ),
}  # fmt: skip


@needs_torch
@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    make, inputs = MODULES[name]
    theirs, ours = make(torch.nn).eval(), make(nn).eval()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    with torch.no_grad():
        wanted = theirs(*map(torch.from_numpy, inputs))
    close(ours(*inputs), wanted)


def habits(x, F, torch):
    b, t = x.shape
    i = torch.arange(t)
    return {
        "mask": (i[None, :] <= i[:, None]).float(),
        "transpose": x.transpose(0, 1),
        "view": x.view(b * t),
        "halves": x.view(-1, t // 2, 2),
        "repeat": x.unsqueeze(-1).repeat(1, 1, 2),
        "std": x.std(-1),
        "var": x.var(),
        "mean": x.mean(dim=1, keepdim=True),
        "max": tuple(x.max(-1)),
        "topk": tuple(x.topk(2)),
        "sort": tuple(x.sort(1, descending=True)),
        "floor": x // 2,
        "integers": ((x * 10).long() // 3, (x * 10).long() % 3, (x * 10).int() / 4),
        "norm": x.norm(),
        "normalize": F.normalize(x),
        "cumsum": x.cumsum(0),
        "flip": x.flip(1),
        "roll": torch.roll(x, 1, 0),
        "where": torch.where(x > 0, x, 0.0),
        "clamp": x.clamp(min=0),
        "expand": x.expand(2, b, t),
        "any": x.any() if x.dtype == "bool" else (x > 0).any(),
        "all": (x > 0).all(-1),
        "equal": (x == x).sum() + (x != 0).sum(),
        "tril": x.tril(),
        "pad": F.pad(x, (1, 2), value=3.0),
        "fill": x.masked_fill(x > 0, 3),
        "masked": x[x > 0],
        "picked": x[torch.tensor([0, 1]), torch.tensor([1, 0])],
        "promoted": x * 2 + torch.arange(t),
        "stack": torch.stack([x, x], 1),
        "chunks": torch.cat(x.reshape(-1, 4).chunk(2, -1), 0),
        "one hot": F.one_hot(x.argmax(-1), 7),
        "attention": F.softmax(x @ x.t() / t**0.5 if isinstance(t, int) else x @ x.t() / t.sqrt(), dim=-1),
        "scalar": 1 - x.sum() / x.numel(),
        "gather": x.gather(1, x.argmax(-1, keepdim=True)),
        "leave": x.permute(1, 0).contiguous().flatten().unsqueeze(0).squeeze(0),
    }


@needs_torch
@pytest.mark.parametrize("shape", [(3, 4), (2, 6), (5, 4)])
def test_habits_of_tensors(shape):
    class Habits(nn.Module):
        def forward(self, x):
            return habits(x, F, ops)

    x = normal(*shape)
    made, wanted = Habits()(x), habits(torch.from_numpy(x), torch.nn.functional, torch)
    for name in wanted:
        close(made[name], wanted[name])


@needs_torch
def test_attention():
    q, k, v = normal(2, 4, 5, 8), normal(2, 4, 7, 8), normal(2, 4, 7, 8)
    mask = RANDOM.random((5, 7)) > 0.4
    mask[:, 0] = True

    class Attend(nn.Module):
        def forward(self, q, k, v, mask, causal):
            return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)

    def wanted(mask):
        scores = torch.from_numpy(q) @ torch.from_numpy(k).mT / 8**0.5
        return scores.masked_fill(~torch.from_numpy(mask), -np.inf).softmax(-1) @ torch.from_numpy(v)

    close(Attend()(q, k, v, mask, False), wanted(mask))
    close(Attend()(q, k, v, None, True), wanted(np.tril(np.ones((5, 7), bool))))
    close(Attend()(q[:, 0], k[:, 0], v[:, 0], mask, False), wanted(mask)[:, 0])
    close(Attend()(q[0, 0], k[0, 0], v[0, 0], mask, False), wanted(mask)[0, 0])


class Exit(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return F.cond(x.sum() > 0, lambda x: {"y": self.first(x)}, lambda x: {"y": self.second(self.first(x))}, (x,))


def test_cond():
    module = Exit()
    w = module.state_dict()
    x = np.ones((3, 4), np.float32)
    first = x @ w["first.weight"].T + w["first.bias"]
    np.testing.assert_allclose(module(x)["y"], first, rtol=1e-5)
    first = -x @ w["first.weight"].T + w["first.bias"]
    np.testing.assert_allclose(module(-x)["y"], first @ w["second.weight"].T + w["second.bias"], rtol=1e-4, atol=1e-6)
    assert "If" in module.graph(x=("float32", ("N", 4))).operators


def test_while_loop():
    class Count(nn.Module):
        def forward(self, tokens, limit):
            def step(tokens, n):
                return ops.cat([tokens, tokens[-1:] * 2]), n + 1

            return F.while_loop(lambda tokens, n: (n < limit) & (tokens[-1] < 50), step, (tokens, 0))

    tokens, count = Count()(np.array([3]), 3)
    assert tokens.tolist() == [3, 6, 12, 24] and count == 3
    tokens, count = Count()(np.array([3]), np.int64(99))
    assert tokens.tolist() == [3, 6, 12, 24, 48, 96] and count == 5
    with pytest.raises(frazil.BadInput, match="body_fn returns"):
        nn.compile(_Wrong(), (np.array([1]),))


class _Wrong(nn.Module):
    def forward(self, x):
        return F.while_loop(lambda x: x.sum() > 0, lambda x: (x, x), (x,))


def test_graph_and_compile():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    model = module.graph(input=("float32", ("N", 3)))
    assert [(p.name, p.shape) for p in model.inputs] == [("input", ("N", 3))] and model.outputs[0].name == "output"
    x = normal(2, 3)
    assert nn.compile(module, x).inputs[0].shape == ("input_0", "input_1")
    assert nn.compile(module, (x,), dynamic=False).inputs[0].shape == (2, 3)
    named = nn.compile(module, {"input": x}, dynamic={"input": {0: "batch"}}, threads=1)
    assert named.inputs[0].shape == ("batch", 3) and named.options.threads == 1
    assert named(x).tolist() == module(x).tolist() == model(x).tolist()
    assert "0.Gemm" in named.text() and "0.weight" in named.weights() or "0.Gemm" in named.text()
    with pytest.raises(frazil.BadInput, match="no input is called"):
        nn.compile(module, x, dynamic={"y": [0]})


def test_calls_record_once(monkeypatch):
    recorded = []
    record = nn.calls._recorded
    monkeypatch.setattr(nn.calls, "_recorded", lambda *args: recorded.append(args) or record(*args))

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.linear = 2, nn.Linear(2, 2)

        def forward(self, x, flag=True):
            return self.linear(x) * self.scale if flag else x

    module = Twice()
    x = normal(3, 2)
    one = module(x)
    module(x[:1])
    assert len(recorded) == 1
    module(x[None]), module(x, flag=False), module(x.astype(np.float32), True)
    assert len(recorded) == 4  # a rank, a keyword, a positional argument
    module.scale = 4
    np.testing.assert_allclose(module(x), 2 * one, rtol=1e-6)
    module.linear.weight.data = np.zeros((2, 2), np.float32)
    module.linear.bias.data = np.ones(2, np.float32)
    assert module(x).tolist() == [[4, 4]] * 3
    made = []
    threads = [threading.Thread(target=lambda: made.append(module(x).tolist())) for _ in range(4)]
    [thread.start() for thread in threads], [thread.join() for thread in threads]
    assert made == [[[4, 4]] * 3] * 4


def test_state():
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    state = module.state_dict()
    assert list(state) == [
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
    ]  # fmt: skip
    assert [name for name, _ in module.named_parameters()] == list(state)[:4]
    new = {name: np.full_like(value, 3) for name, value in state.items()}
    module.load_state_dict(new)
    new["0.bias"][:] = 9
    assert module.state_dict()["0.bias"].tolist() == [3, 3], "arrays that can be written are copied"
    with pytest.raises(ValueError):
        module.state_dict()["0.bias"][:] = 1
    found = module.load_state_dict({"0.bias": [1.0, 2.0], "more": np.ones(1)}, strict=False)
    assert found.unexpected_keys == ["more"] and "0.weight" in found.missing_keys
    with pytest.raises(frazil.BadInput, match="missing: 0.weight; .*unexpected: more"):
        module.load_state_dict({"more": np.ones(1)})
    with pytest.raises(frazil.BadInput, match=r"0.bias: expected shape \(2,\), got \(3,\)"):
        module.load_state_dict({"0.bias": np.ones(3)}, strict=False)
    assert module.state_dict()["0.bias"].tolist() == [1, 2]
    halves = {"0.weight": np.ones((2, 3), np.float16), "0.bias": np.ones(2, np.float16)}
    module.load_state_dict(halves, strict=False)
    assert module[0].weight.dtype == np.float32
    module.load_state_dict(halves, strict=False, assign=True)
    assert module[0](np.ones((1, 3), np.float16)).dtype == np.float16


def test_containers():
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    assert len(layers) == 3 and len(layers[1:]) == 2 and layers[-1] is list(layers)[2]
    both = nn.ModuleDict({"a": nn.ReLU(), "b": layers})
    assert "a" in both and [name for name, _ in both.named_modules()] == ["", "a", "b", "b.0", "b.1", "b.2"]
    assert both.get_submodule("b.1") is layers[1]
    with pytest.raises(AttributeError, match="b.7"):
        both.get_submodule("b.7")
    shared = nn.Sequential(layers[0], layers[0])
    assert len(list(shared.parameters())) == 2 and len(shared.state_dict()) == 4
    assert len({id(value) for value in shared.state_dict().values()}) == 2
    assert "(0): Linear(in_features=2, out_features=2)" in repr(shared)


def test_copies():
    module = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    x = normal(4, 3)
    wanted = module(x).tolist()
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other(x).tolist() == wanted
        other[0].weight.data = np.zeros((2, 3), np.float32)
        other[0].bias.data[:] = 1
        assert other(x).tolist() == [[1, 1]] * 4
    assert module(x).tolist() == wanted


def test_errors():
    class Loops(nn.Module):
        def forward(self, x):
            for _ in range(x.shape[0]):
                x = x + 1
            return x

    x = np.ones((2, 3), np.float32)
    assert Loops()(x)[0, 0] == 3
    with pytest.raises(TypeError, match="while_loop"):
        nn.compile(Loops(), x)
    assert nn.compile(Loops(), x, dynamic=False)(x)[0, 0] == 3

    class Keeps(nn.Module):
        def forward(self, x):
            self.kept = x
            return x

    with pytest.raises(TypeError, match="cannot keep a Term"):
        nn.compile(Keeps(), x)
    with pytest.raises(TypeError, match="cond"):
        nn.compile(_Branch(), x)
    with pytest.raises(frazil.Unsupported, match="does not train"):
        nn.ReLU().train()
    with pytest.raises(AttributeError, match="super"):
        _NoInit().weight = nn.Parameter([1.0])
    with pytest.raises(frazil.BadModel, match="Gemm") as raised:
        nn.Linear(4, 2).graph(input=("float32", ("N", 3)))
    assert __file__ in str(raised.value)


class _Branch(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class _NoInit(nn.Module):
    def __init__(self):
        pass


def test_terms_of_graphs_keep_numpys_habits():
    g = frazil.Graph()
    x = g.input("x", "float32", (2, 3))
    assert x.transpose(0, 1).shape == (2, 3) and (x == x).dtype == "bool"
    assert type(F.relu(x)) is frazil.Term and F.softmax(x, -1).shape == (2, 3)
    assert ops.transpose(x, 0, 1).shape == (3, 2) and ops.mean(x, 0).shape == (3,)


def test_side_effects_of_models_are_told():
    """A model does not repeat them."""

    class Noisy(nn.Module):
        def forward(self, x):
            return x * random.random() + np.random.rand()

    x = np.ones(2, np.float32)
    with pytest.warns(UserWarning, match="forward of Noisy draws random numbers"):
        nn.compile(Noisy(), x)
    with pytest.warns(UserWarning, match="function 'noisy' draws random numbers"):
        frazil.Function(lambda x: x * random.random(), "noisy").model(frazil.numpy.array(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.compile(nn.Linear(2, 2), x)
        assert Noisy()(x).shape == (2,)
