"""Models from PyTorch's graphs and modules."""

import frazil
import numpy as np
import pytest
from frazil import fx

torch = pytest.importorskip("torch", reason="python3-torch is not installed")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.head = nn.Linear(8, 4)
        self.scale = nn.Parameter(torch.full((4,), 2.0))
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, x):
        x = F.relu(self.body(x), inplace=True)
        x = F.interpolate(F.max_pool2d(x, 2), scale_factor=2.0, mode="nearest")
        batch, channels = x.shape[0], x.size(1)
        x = x.view(batch, channels, -1).mean(-1)
        y = self.head(F.dropout(x, 0.5, self.training)) * self.scale + self.shift
        return torch.cat([y, F.softmax(y, dim=-1)], dim=1), {"sum": y.sum(dim=1, keepdim=True), "x": None}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 8), nn.LayerNorm(8)
        self.register_buffer("mask", torch.tril(torch.ones(9, 9)))

    def forward(self, x):
        batch, length, width = x.size()
        q, k, v = self.qkv(self.norm(x)).split(width, dim=2)
        q, k, v = (part.view(batch, length, 2, width // 2).transpose(1, 2) for part in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / (width // 2) ** 0.5)
        scores = scores.masked_fill(self.mask[:length, :length] == 0, float("-inf"))
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous().view(batch, length, width)
        return x + self.out(y)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(11, 8), nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
        self.attend = nn.MultiheadAttention(12, 3, batch_first=True)
        self.encode = nn.TransformerEncoderLayer(12, 2, 16, activation="gelu", batch_first=True, norm_first=True)

    def forward(self, tokens):
        y, (h, c) = self.rnn(self.embed(tokens))
        y, weights = self.attend(y, y, y)
        return self.encode(y).max(dim=1)[0], h, torch.stack([c, c]).to(torch.float64), (weights > 0.1).long()


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.act = (
            nn.Conv2d(4, 4, 3, padding=1, bias=False),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
        )
        self.down, self.group = nn.Conv2d(4, 8, 3, 2, 1), nn.GroupNorm(2, 8)
        self.up, self.out = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(8, 3, 1)
        self.gate = nn.Sequential(nn.AdaptiveAvgPool2d((1, 1)), nn.Conv2d(8, 8, 1), nn.Hardsigmoid())

    def forward(self, x):
        y = self.norm(self.conv(x))
        y += x
        y = self.act(y)
        z = F.silu(self.group(self.down(y)))
        u = self.up(z * self.gate(z))
        u = F.pad(u, [0, y.shape[3] - u.shape[3], 0, y.shape[2] - u.shape[2]])
        y = self.out(torch.cat((u, y), dim=1))
        y = F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return (
            *self.pictures(y),
            *self.sums(y),
            torch.arange(x.shape[2]),
            torch.ones(x.shape[0], 2),
            torch.full((2,), 3.0),
        )

    def pictures(self, y):
        return (
            torch.sigmoid(y), F.log_softmax(y.flatten(2), dim=1), F.avg_pool2d(y, 2), torch.clamp(y, -1, 1), y.double(),
            F.layer_norm(y.permute(0, 2, 3, 1), (3,)), F.normalize(y, dim=1), F.leaky_relu(y, 0.1), F.hardtanh(y), F.gelu(y),
            torch.where(y > 0, y, torch.zeros_like(y)), y.expand(y.size(0), -1, -1, -1), torch.matmul(y, y.transpose(2, 3)),
            torch.rsub(y, 1), torch.bmm(y[:, 0], y[:, 1].transpose(1, 2)), y.roll(1, 2), F.instance_norm(y), y.new_zeros(3),
        )  # fmt: skip

    def sums(self, y):
        return (
            y.amax(dim=(2, 3)), torch.einsum("bchw,bchw->bc", y, y), F.adaptive_avg_pool2d(y, 1).squeeze(-1).squeeze(-1),
            y.std(dim=1), torch.logsumexp(y, dim=1), torch.stack([y, y]).sum((0, 1)), torch.topk(y, 2, dim=1)[0], y.argmax(1),
            y.max(), torch.cumsum(y, dim=3), torch.addmm(y[0, 0], y[0, 0], y[0, 0].t()), y.norm(dim=1),
        )  # fmt: skip


def close(made, wanted):
    if isinstance(wanted, dict):
        wanted = [value for value in wanted.values() if value is not None]
        made = made if isinstance(made, (tuple, list)) else [made]
    if isinstance(wanted, (tuple, list)):
        for one, other in zip(made, wanted):
            close(one, other)
        return
    assert str(made.dtype) == str(wanted.dtype).removeprefix("torch.") and made.shape == tuple(wanted.shape)
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "make, shapes, dynamic",
    [
        (Convolutional, [(2, 3, 12, 12), (1, 3, 8, 20)], True),
        (Attention, [(2, 5, 8), (1, 9, 8)], {"x": [0, 1]}),
        (Recurrent, [(2, 5), (3, 1)], True),
        (Residual, [(2, 4, 12, 12), (1, 4, 16, 16)], True),
    ],
)
def test_from_torch(make, shapes, dynamic):
    torch.manual_seed(1)
    module = make()
    assert module.training
    examples = [torch.randint(0, 11, s) if make is Recurrent else torch.randn(s) for s in shapes]
    model = frazil.from_torch(module, examples[0], dynamic=dynamic, threads=1)
    assert module.training and model.name == make.__name__
    for example in examples:
        with torch.no_grad():
            close(model(example.numpy()), module.eval()(example))


def test_from_fx():
    graph = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 4), nn.Tanh()))
    model = frazil.from_fx(graph, {"input": ("float32", ("N", 3))})
    assert model.inputs[0].shape == ("N", 3) and model.outputs[0].shape == ("N", 4)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(model(x), graph(torch.from_numpy(x)).detach().numpy(), rtol=1e-5)
    assert fx.convert(graph)(x).tolist() == model(x).tolist()
    other = frazil.from_fx(graph, {"input": torch.ones(2, 3)}, dynamic=False)
    assert other.inputs[0].shape == (2, 3)


def module_of(function):
    made = type("Made", (nn.Module,), {"forward": lambda self, x: function(x)})()
    return torch.fx.symbolic_trace(made)


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: torch.fft.fft(x), r"node 'fft_fft' \(call_function .*fft_fft\): Frazil has no function"),
        (lambda x: x.lu_solve(1, 2), r"node 'lu_solve' \(call_method lu_solve\): a Tensor has no method"),
        (lambda x: torch.relu(x).transpose(1, 5), r"node 'transpose' \(call_method transpose\): dimension 5"),
        (lambda x: x.sum(bogus=1), r"node 'sum_1' \(call_method sum\): .*bogus"),
        (lambda x: x.split(x.shape[1], 0), r"node 'split' .*known in a run only"),
        (lambda x: torch.matmul(x, torch.relu(x)[0:1, 0:2]), r"node 'matmul'"),
    ],
)
def test_errors_name_the_node(function, message):
    with pytest.raises((frazil.Unsupported, frazil.BadModel), match=message):
        frazil.from_fx(module_of(function), {"x": ("float32", ("N", 3))})


def test_unknown_modules():
    with pytest.raises(frazil.Unsupported, match=r"node '_0' \(call_module 0\) in module '0' at .*: module .*FractionalMaxPool2d"):
        frazil.from_torch(nn.Sequential(nn.FractionalMaxPool2d(2, 1)), torch.ones(1, 1, 4, 4))


def test_every_function_of_the_table_is_one_of_pytorch():
    """The look-up is by name: what is public in frazil.nn has the name of something in PyTorch."""
    ours = [name for name, value in vars(frazil.nn).items() if isinstance(value, type) and name != "Tensor"]
    newer = {"RMSNorm", "ZeroPad1d", "ZeroPad3d", "CircularPad1d", "CircularPad2d", "CircularPad3d"}
    assert [name for name in ours if not hasattr(nn, name) and name not in newer] == []
