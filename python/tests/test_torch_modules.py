"""Models of modules of PyTorch, by torch.fx, torch.jit.script and torch.jit.trace."""

import random
import warnings
from typing import List

import frazil
import numpy as np
import pytest
from test_torch import close

torch = pytest.importorskip("torch", reason="python3-torch is not installed")
from torch import nn  # noqa: E402
from torch_modules import MODULES  # noqa: E402

OPTIONAL = {"Conditioned"}  # whose calls differ in which arguments are None
HOW = {
    "EarlyExit": {"If"}, "Halving": {"Loop"}, "Repeated": {"Loop"}, "Decaying": {"Loop", "If"},
    "UnrolledCell": {"Loop"},
    "Suppression": {"Loop"}, "Collected": {"Loop"}, "Bidirectional": {"Loop"}, "MixtureOfExperts": {"If"},
}  # fmt: skip


def values(found):
    """The Tensors of a structure."""
    if isinstance(found, dict):
        return values(list(found.values()))
    return [x for part in found for x in values(part)] if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("name", MODULES)
def test_models(name):
    make, inputs = MODULES[name]
    torch.manual_seed(1)
    module = make().eval()
    calls = inputs()
    model = frazil.from_torch(module, calls[0], threads=1)
    assert HOW.get(name, set()) <= set(model.operators)
    every = frazil.from_torch(module)
    for args in calls:
        with torch.no_grad():
            wanted = values(module(*args))
        if name in OPTIONAL:
            model = frazil.from_torch(module, args)
        arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in args]
        for made in (model(*(x for x in arrays if isinstance(x, np.ndarray))), every(*arrays)):
            found = values(made)
            assert len(found) == len(wanted)
            for one, other in zip(found, wanted):
                assert one.shape == tuple(other.shape) and str(one.dtype) == str(other.dtype).removeprefix("torch.")
                np.testing.assert_allclose(one, other.numpy(), rtol=1e-3, atol=1e-4)


class Untyped(nn.Module):
    """Code that neither torch.fx nor torch.jit.script takes."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, *more):
        table = {"scale": lambda y: y * 2}
        y = table["scale"](self.linear(x))
        return y[: len(more) + 1] if y.shape[0] > 99 else torch.relu(y) + more[0]


def test_traced_with_examples():
    module = Untyped()
    x = torch.randn(2, 3)
    ways = r"torch.fx: .*torch.jit.script: .*torch.jit.trace: .*a trace would fix values"
    with pytest.raises(frazil.Unsupported, match=ways):
        frazil.from_torch(module, (x, x), dynamic=False)

    class Sizes(Untyped):
        def forward(self, x, *more):
            return {"scale": lambda y: y * 2}["scale"](self.linear(x)) + more[0].view(x.size(0), -1).sum()

    with pytest.raises(frazil.Unsupported, match="pass dynamic=False"):
        frazil.from_torch(Sizes(), (x, x))
    sizes = Sizes()
    model = frazil.from_torch(sizes, (x, x), dynamic=False)
    assert model.inputs[0].shape == (2, 3)
    close(model(x.numpy(), x.numpy()), sizes(x, x))


def test_draws_are_not_fixed():
    class Noisy(nn.Module):
        def forward(self, x):
            return x + torch.randn(2)

    class Chosen(nn.Module):
        def forward(self, x):
            return x * random.random()

    x = torch.ones(2)
    state = torch.get_rng_state()
    for make in (Noisy, Chosen):
        with pytest.raises(frazil.Unsupported, match="draws? random numbers.*torch.jit.trace: .*draws? random numbers"):
            frazil.from_torch(make(), x, dynamic=False)
    assert torch.equal(state, torch.get_rng_state())
    noisy = frazil.from_torch(Noisy())
    assert noisy(x.numpy()).tolist() != noisy(x.numpy()).tolist()


def test_hooks_are_not_left_out():
    module = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    module[0].register_forward_hook(lambda part, args, made: made * 2)
    with pytest.raises(frazil.Unsupported, match="module Linear has hooks"):
        frazil.from_torch(module, torch.ones(1, 2))


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(4, 4), Spectrum())

    def forward(self, x):
        return self.inner(x)


class Spectrum(nn.Module):
    def forward(self, x):
        return torch.view_as_real(torch.fft.fft(x))


def test_what_is_missing_is_named_with_its_place():
    with pytest.raises(frazil.Unsupported) as raised:
        frazil.from_torch(Broken(), torch.ones(2, 4))
    text = str(raised.value)
    line = Spectrum.forward.__code__.co_firstlineno + 1
    assert "module Broken cannot be imported" in text
    assert f"(call_function torch._C._fft.fft_fft) in module 'inner.1' at {__file__}:{line} in forward" in text
    assert "view_as_real" in text, "all that is missing, not only the first"
    assert f"node 'aten::fft_fft' at {__file__}:{line} (return torch.view_as_real" in text


def test_attributes_and_buffers_of_scripted_modules():
    class Keeps(nn.Module):
        scale: float

        def __init__(self):
            super().__init__()
            self.register_buffer("offset", torch.tensor([1.0, 2.0]))
            self.scale, self.sizes, self.plain = 1.5, [2, 3], torch.tensor([3.0, 4.0])

        def forward(self, x):
            if x.sum() > 0:
                x = x * self.scale + self.sizes[1]
            return x + self.offset + self.plain

    module = Keeps()
    model = frazil.from_torch(module, torch.ones(2))
    for sign in (1, -1):
        x = sign * torch.tensor([1.0, 3.0])
        close(model(x.numpy()), module(x))


def test_a_list_of_unknown_length_is_not_returned():
    class Listed(nn.Module):
        def forward(self, x):
            found: List[torch.Tensor] = []
            for t in range(x.size(0)):
                found.append(x[t] * t)
            return found

    x = torch.randn(3, 2)
    with pytest.raises(frazil.Unsupported, match="returns a list whose length is known only in a run"):
        frazil.from_torch(Listed(), x)
    close(list(frazil.from_torch(Listed(), x, dynamic=False)(x.numpy())), Listed()(x))
    close(frazil.from_torch(Listed())(x.numpy()), Listed()(x))


def test_a_module_without_inputs_has_the_names_of_weights():
    module = MODULES["EarlyExit"][0]()
    made = frazil.from_torch(module)
    assert [name.removeprefix("root.") for name in made.state_dict()] == list(module.state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made(np.ones((2, 4), np.float32))


FILES = ["ResNet", "Bert", "Decaying", "GreedyDecoder", "UNet", "Swin", "Gpt", "Perceiver", "PackedTagger"]


@pytest.mark.parametrize("name", FILES)
def test_files_of_scripts(name, tmp_path):
    """torch.jit.load() has no classes of torch.nn, only their code."""
    make, inputs = MODULES[name]
    torch.manual_seed(2)
    module = make().eval()
    torch.jit.save(torch.jit.script(module), tmp_path / "script.pt")
    script = torch.jit.load(tmp_path / "script.pt")
    model = frazil.from_torch(script, inputs()[0])
    for args in inputs():
        arrays = [x.numpy() for x in args if isinstance(x, torch.Tensor)]
        with torch.no_grad():
            wanted = values(module(*args))
        for one, other in zip(values(model(*arrays)), wanted):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-3, atol=1e-4)
