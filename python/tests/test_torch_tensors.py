"""Tensors of frazil.torch against PyTorch's: indices, changes in place, functions, control flow and side effects."""

import random
import time

import frazil
import frazil.torch as ours
import numpy as np
import pytest
from frazil import nn
from test_torch import close

torch = pytest.importorskip("torch", reason="python3-torch is not installed")


def pair(array):
    return torch.from_numpy(array.copy()), ours.from_numpy(array)


def random_key(rng, shape):
    """An index as tuple: of numbers, slices, None, ... and at most two arrays."""
    parts, arrays = [], 0
    count = rng.integers(1, len(shape) + 1)
    broadcast = int(rng.integers(1, 4))
    for axis in range(count):
        kind = rng.choice(["int", "slice", "step", "array", "list", "mask", "none"])
        extent = shape[axis]
        if kind == "none":
            parts.append(None)
        if kind == "int":
            parts.append(int(rng.integers(-extent, extent)))
        elif kind == "step":
            parts.append(slice(None, None, 2))
        elif kind in ("array", "list") and arrays < 2:
            arrays += 1
            found = rng.integers(0, extent, broadcast)
            parts.append(found if kind == "array" else found.tolist())
        elif kind == "mask" and arrays == 0:
            arrays += 2
            mask = np.zeros(extent, bool)
            mask[rng.permutation(extent)[: rng.integers(1, extent + 1)]] = True
            parts.append(mask)
        else:
            a, b = sorted(rng.integers(0, extent + 1, 2).tolist())
            parts.append(slice(a, b if rng.random() < 0.7 else None))
    if rng.random() < 0.3:
        parts.append(Ellipsis)
    return tuple(parts) if len(parts) > 1 or rng.random() < 0.5 else parts[0]


def keyed(key, make):
    parts = key if isinstance(key, tuple) else (key,)
    made = tuple(make(part) if isinstance(part, np.ndarray) else part for part in parts)
    return made if isinstance(key, tuple) else made[0]


def test_indices():
    rng = np.random.default_rng(5)
    done = 0
    while done < 300:
        shape = tuple(rng.integers(1, 5, rng.integers(1, 4)).tolist())
        theirs, mine = pair(rng.normal(size=shape).astype(np.float32))
        key = random_key(rng, shape)
        their_key, my_key = keyed(key, torch.from_numpy), keyed(key, ours.from_numpy)
        try:
            wanted = theirs[their_key]
        except IndexError:
            continue
        done += 1
        close(mine[my_key], wanted)
        theirs[their_key], mine[my_key] = 7.5, 7.5
        close(mine, theirs)
        value = rng.normal(size=wanted.shape).astype(np.float32)
        places = np.arange(mine.numel()).reshape(shape)[key]
        if np.unique(places).size == value.size:  # else the order of writes matters
            theirs[their_key], mine[my_key] = pair(value)
            close(mine, theirs)


VIEWS = {
    "row": lambda x: x[0],
    "column": lambda x: x[:, -1],
    "slice": lambda x: x[1:, :-1],
    "transposed": lambda x: x.t(),
    "permuted": lambda x: x.permute(1, 0),
    "flat": lambda x: x.view(-1) if x.is_contiguous() else x.reshape(-1),
    "more": lambda x: x.unsqueeze(1).squeeze(1),
    "chunk": lambda x: x.chunk(2, 1)[0],
    "split": lambda x: x.split([1, x.shape[0] - 1], 0)[1],
    "narrow": lambda x: x.narrow(0, 0, 1),
    "unbound": lambda x: x.unbind(1)[1],
    "detached": lambda x: x.detach(),
    "copy": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "data": lambda x: x.data,
}
CHANGES = {
    "add": lambda x, n: x.add_(n),
    "iadd": lambda x, n: x.__iadd__(n),
    "mul": lambda x, n: x.mul_(0.5),
    "set": lambda x, n: x.__setitem__(0, n),
    "fill": lambda x, n: x.fill_(n),
    "clamp": lambda x, n: x.clamp_(min=n),
    "mask": lambda x, n: x.masked_fill_(x > n, n),
    "copy": lambda x, n: x.copy_(x * 2 + n),
    "at": lambda x, n: x.__setitem__(x < n, n),
}


def test_views_change_together():
    rng = np.random.default_rng(6)
    for _ in range(60):
        theirs, mine = map(lambda x: [x], pair(rng.normal(size=(3, 4)).astype(np.float32)))
        for _ in range(7):
            at = int(rng.integers(len(mine)))
            if rng.random() < 0.6:
                of = [i for i, x in enumerate(theirs) if x.dim() == 2 and min(x.shape) > 1]
                at, view = int(rng.choice(of)), VIEWS[str(rng.choice(list(VIEWS)))]
                theirs.append(view(theirs[at])), mine.append(view(mine[at]))
            else:
                change, n = CHANGES[str(rng.choice(list(CHANGES)))], float(rng.normal())
                change(theirs[at], n), change(mine[at], n)
        for one, other in zip(mine, theirs):
            close(one, other)


def reading(torch, F, x, y, i):
    """What needs values, or extents that are known."""
    return (
            torch.bincount(i, minlength=6), torch.bincount(i, x[:, 0]), torch.cross(x[:, :3], y.new_ones(3, 3)),
            F.one_hot(i),
            x.split(2, 1), y.unbind(),
    )  # fmt: skip


def functions(torch, F, x, y, i, reads=True):
    m = x > 0
    src = x[:, 1:3] * 3
    return {
        "values": reading(torch, F, x, y, i) if reads else (),
        "scatter_add": torch.zeros(5, 4).scatter_add(0, i[:, None].expand(3, 4), x),
        "scatter": x.scatter(1, i[:, None], 9.0),
        "scatter of more": x.scatter(1, torch.tensor([[0, 3], [1, 2]]), y),
        "scatter_reduce": [
            torch.ones(5, 4).scatter_reduce(0, i[:, None].expand(3, 4), x, how, include_self=inner)
            for how in ("sum", "prod", "mean", "amax", "amin") for inner in (True, False)
        ],
        "gather": y.gather(1, torch.tensor([[1], [0]])),
        "index_add": x.index_add(1, torch.tensor([3, 0]), src, alpha=2),
        "index_copy": x.index_copy(1, torch.tensor([3, 0]), src),
        "index_fill": x.index_fill(0, torch.tensor([2, 0]), -1),
        "index_select": x.index_select(1, i),
        "masked_scatter": x.masked_scatter(m, y.reshape(-1).repeat(2)),
        "take": (x.take(i), torch.take_along_dim(x, x.argsort(1), 1)),
        "elements": (
            torch.log1p(y.abs()), torch.expm1(y / 9), torch.exp2(y), torch.log2(m + 1.5), torch.log10(y.abs() + 1),
            torch.trunc(y * 3),
            torch.frac(y * 3), torch.fmod(y, 0.3), torch.hypot(x, x + 1), torch.atan2(x, x.flip(0)),
            torch.lerp(x, x * 2, 0.3),
            torch.addcmul(x, x, x, value=2), torch.addcdiv(x, x, x + 9), torch.isfinite(x / 0),
            torch.logaddexp(x, x * 2),
            torch.nan_to_num(x / torch.zeros_like(x)), torch.isclose(x, x + 1e-7), torch.erfc(x),
            torch.logical_xor(m, x > 1),
        ),
        "bits": (i & 3, i | 1, i ^ 2, ~i, m & (x < 1), torch.bitwise_or(m, ~m)),
        "sorted": (
            x.kthvalue(2), x.median(), x.median(1), x.sort(1, descending=True),
            torch.searchsorted(torch.tensor([0.0, 1.0, 2.0]), x),
            torch.bucketize(x, torch.tensor([-1.0, 0.5]), right=True), i.unique(), torch.unique(i, return_counts=True),
        ),
        "products": (
            torch.tensordot(x, y, ([1], [1])), torch.inner(x, y), torch.outer(i, i), torch.cdist(x, y),
            
            torch.baddbmm(x[None, :, :2], x[None], x[None].transpose(1, 2)[..., :2]), torch.dot(x[0], x[1]),
            torch.mv(x, y[0]),
        ),
        "diagonals": (
            x.diagonal(), x.diagonal(1), x.diagonal(-1), torch.diag(y[0]), torch.diag_embed(x, 1),
            torch.diag_embed(x, -2), x[:, :3].trace(),
        ),
        "made": (
            torch.linspace(0, 1, 5), torch.eye(3), torch.full((2, 3), 7), torch.full_like(i, 3),
            torch.tensor([[1, 2], [3, 4]]),
            torch.tensor(2.5), torch.tensor([True, False]), torch.zeros(2, 3, dtype=torch.float16), torch.ones_like(m),
            torch.arange(1, 7, 2),
            torch.arange(0, 1, 0.3), torch.empty(2, 0), x.new_tensor([1, 2]), torch.as_tensor([1.0, 2.0]),
            torch.stack(torch.meshgrid(i, i, indexing="xy")),
        ),
        "parts": (
            torch.hstack([x, x]), torch.vstack([x, y]), torch.tensor_split(x, 3, 1), x.tensor_split([1, 3], 1),
            x.split([1, 3], 1),
        ),
        "sums": (
            x.cumprod(1), torch.count_nonzero(m), torch.var_mean(x, 1), torch.std_mean(x), x.std(unbiased=False),
            x.norm(p=1, dim=0),
            x.sum((0, 1)), m.sum(), m.any(0), (x > -9).all(), x.max(), x.min(1),
            x.aminmax() if hasattr(x, "aminmax_") else x.amax(),
        ),
        "other names": (
            torch.asinh(x), torch.acosh(x.abs() + 1), torch.atanh(x / 9), x.clamp_min(0.1), x.clamp_max(0.1),
            torch.aminmax(x, dim=1),
            torch.fmax(x, x / 0 * 0), x.ravel(), x.adjoint(), torch.argwhere(m), torch.deg2rad(x), torch.rad2deg(x),
            torch.signbit(torch.tensor([-0.0, 0.0, -2.0])), torch.copysign(x, x.flip(0)),
            torch.heaviside(x, torch.tensor([0.5])),
            torch.float_power(i, 2), torch.logit(x.sigmoid()), torch.sinc(x), torch.sinc(torch.zeros(1)),
            torch.xlogy(m.float(), x.abs()),
            torch.nansum(x / torch.relu(x)), torch.nanmean(torch.sqrt(x), 1), torch.dist(x, x * 2, 1.0),
            torch.isin(i, torch.tensor([2, 7])),
        ),
        "other shapes": (
            torch.atleast_2d(i), torch.column_stack([i, i * 2]),
            torch.block_diag(x, y), torch.broadcast_tensors(x[:, :1], y[0]), torch.chain_matmul(x, x.t(), x),
            torch.kron(x, y),
            torch.matrix_power(x @ x.t(), 3), torch.inverse(x[:, :3]), torch.logdet(x @ x.t()), torch.fliplr(x),
            torch.rot90(x, 3),
            torch.tril_indices(3, 4, -1), torch.triu_indices(3, 4), x.select_scatter(y[0], 0, 1),
            x.slice_scatter(x[:, :2], 1, 1, 3, 1),
            x.unfold(1, 2, 1), x.unfold(0, 2, 2), torch.hann_window(7), torch.hamming_window(6),
            torch.blackman_window(5, periodic=False),
            torch.stft(x.reshape(-1).repeat(4)[None], 8, 3, 6, torch.hann_window(6), return_complex=False),
            x.reshape_as(x.t()),
            x.clone().fill_diagonal_(9.0), x.clone().index_put_((i % 3, i), x[:, 0], accumulate=True),
        ),
        "types": (
            x.to(torch.float64), x.half(), i.to(x), x.type(torch.long), x.long().dtype == torch.int64,
            x.double().float(), m.int(), x.to("cpu", torch.int32),
        ),
        "losses": (
            F.mse_loss(x, x * 2), F.l1_loss(x, y[:1] * x, reduction="sum"), F.smooth_l1_loss(x, x * 3, beta=0.5),
            F.huber_loss(x, x * 3, delta=0.7),
            F.cross_entropy(x, i),
            F.cross_entropy(x, i, weight=torch.tensor([1.0, 2.0, 3.0, 0.5]), label_smoothing=0.1),
            F.kl_div(x, x.softmax(1), reduction="batchmean"),
            F.cross_entropy(x, torch.softmax(x * 2, 1), reduction="none"), F.nll_loss(x, i, ignore_index=2),
            F.binary_cross_entropy(x.sigmoid(), m.float()),
            F.binary_cross_entropy_with_logits(x, m.float(), pos_weight=torch.tensor([1.0, 2.0, 3.0, 4.0])),
            F.triplet_margin_loss(x, x * 2, x + 1),
            F.margin_ranking_loss(x[0], x[1], torch.sign(x[2])), F.gaussian_nll_loss(x, x * 2, x.abs()),
            F.poisson_nll_loss(x, x.abs()), F.cosine_similarity(x, x * x),
            F.cosine_embedding_loss(x, x * x, torch.tensor([1, -1, 1])), F.pairwise_distance(x, x * x, 1.0),
        ),
        "activations": (
            F.hardshrink(x), F.softshrink(x, 0.3), F.threshold(x, 0.1, 20), F.rrelu(x, 0.1, 0.5), F.softmin(x, 1),
            F.normalize(x, p=1), F.glu(x),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("seed", [8, 9, 10])
def test_functions(seed):
    rng = np.random.default_rng(seed)
    arrays = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(2, 4)).astype(np.float32), np.array([3, 0, 2])
    theirs, mine = zip(*map(pair, arrays))
    wanted = functions(torch, torch.nn.functional, *theirs)
    made = functions(ours, ours.nn.functional, *mine)
    assert sum(len(leaves(value)) for value in wanted.values()) > 150
    for name in wanted:
        for place, (one, other) in enumerate(zip(made[name], wanted[name])) if isinstance(wanted[name], tuple) else ():
            try:
                close(one, other)
            except AssertionError as error:
                raise AssertionError(f"{name}, {place}: {error}") from None
        close(made[name], wanted[name])


@pytest.mark.parametrize("dynamic", [False, True])
def test_functions_in_graphs(dynamic):
    """All but those that need values, or extents."""

    class All(nn.Module):
        def forward(self, x, y, i):
            return functions(ours, ours.nn.functional, x, y, i, reads=False)

    rng = np.random.default_rng(12)
    arrays = rng.normal(size=(3, 4)).astype(np.float32), rng.normal(size=(2, 4)).astype(np.float32), np.array([3, 0, 2])
    wanted = functions(torch, torch.nn.functional, *map(torch.from_numpy, arrays), reads=False)
    model = nn.compile(All(), dict(zip("xyi", arrays)), dynamic=dynamic)
    assert len(model.outputs) > 150
    found = iter(model(*arrays))
    for value in wanted.values():
        for part in leaves(value):
            made = next(found)
            if isinstance(part, torch.Tensor):
                close(made, part)


def leaves(value):
    return [x for part in value for x in leaves(part)] if isinstance(value, (tuple, list)) else [value]


def called(module, x):
    """The results of a module with an array, a lazy array and a Tensor, which must be the same."""
    found = module(x)
    import frazil.numpy as fnp

    np.testing.assert_allclose(np.asarray(module(fnp.array(x))), found, rtol=1e-5)
    np.testing.assert_allclose(module(ours.from_numpy(x)).numpy(), found, rtol=1e-5)
    return found


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        if x.sum() > 0:
            x = self.first(x)
        for i in range(int(x.abs().max() * 3)):
            x = x * 0.9 + i
        return self.second(x) if len(x) > 2 else x


def test_control_flow_on_values():
    module = Branches()
    state = {name: torch.from_numpy(value.copy()) for name, value in module.state_dict().items()}

    def wanted(x):
        x = torch.from_numpy(x)
        if x.sum() > 0:
            x = torch.nn.functional.linear(x, state["first.weight"], state["first.bias"])
        for i in range(int(x.abs().max() * 3)):
            x = x * 0.9 + i
        return torch.nn.functional.linear(x, state["second.weight"], state["second.bias"]) if len(x) > 2 else x

    rng = np.random.default_rng(9)
    for scale, rows in ((1, 2), (2, 3), (-1, 4), (3, 1), (0.1, 3)):
        x = scale * np.abs(rng.normal(size=(rows, 3))).astype(np.float32)
        np.testing.assert_allclose(called(module, x), wanted(x), rtol=1e-4)
    assert "has no value while forward is recorded" in nn.reason(module) and nn.reason(module.first) is None


SEEN = []
COUNT = 0


class Effects(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind, self.calls, self.log, self.generator = kind, 0, [], np.random.default_rng(3)
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        global COUNT
        y = self.linear(x)
        if self.kind == "attribute":
            self.calls += 1
            return y + self.calls
        if self.kind == "list":
            self.log.append(x.shape)
            return y * len(self.log)
        if self.kind == "global list":
            SEEN.append(1)
            return y + len(SEEN)
        if self.kind == "global":
            COUNT += 1
            return y + COUNT
        if self.kind == "generator":
            return y + self.generator.random()
        if self.kind == "numpy":
            return y * float(np.random.rand())
        if self.kind == "torch":
            return y + ours.rand(2)
        if self.kind == "print":
            print("called", tuple(x.shape))
            return y
        self.state = y if not hasattr(self, "state") else self.state + y
        return self.state


KINDS = ["attribute", "list", "global list", "global", "generator", "numpy", "torch", "state"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lazily", ["array", "lazy", "tensor"])
def test_side_effects_happen_in_each_call(kind, lazily):
    """Results differ from call to call; the first call has the effect once."""
    convert = {"array": np.asarray, "lazy": frazil.numpy.array, "tensor": ours.from_numpy}[lazily]
    module = Effects(kind)
    x = np.ones((1, 2), np.float32)
    base = np.asarray(module.linear(x))
    SEEN.clear(), globals().update(COUNT=0)
    made = [np.asarray(module(convert(x))) for _ in range(4)]
    assert len({value.tobytes() for value in made}) == 4
    if kind in ("attribute", "global list", "global"):
        np.testing.assert_allclose(made, [base + n for n in (1, 2, 3, 4)], rtol=1e-6)
        assert module.calls + len(SEEN) + COUNT == 4
    if kind in ("list", "state"):
        np.testing.assert_allclose(made, [base * n for n in (1, 2, 3, 4)], rtol=1e-6)
    if kind == "generator":
        drawn = np.random.default_rng(3).random(4)
        np.testing.assert_allclose(made, [base + n for n in drawn], rtol=1e-6)


def test_prints_happen_in_each_call(capsys):
    module = nn.Sequential(Effects("print"), nn.ReLU())
    for rows in (1, 2, 3):
        module(np.ones((rows, 2), np.float32))
    assert capsys.readouterr().out == "called (1, 2)\ncalled (2, 2)\ncalled (3, 2)\n"
    assert "prints" in nn.reason(module)


def test_seeds_are_those_of_the_program():
    class Draws(nn.Module):
        def forward(self, x):
            return x * random.randint(1, 1000) + np.random.randint(1000)

    random.seed(4), np.random.seed(5)
    made = [Draws()(np.ones(1, np.float32)).item() for _ in range(3)]
    random.seed(4), np.random.seed(5)
    assert made == [random.randint(1, 1000) + np.random.randint(1000) for _ in range(3)]


def test_clocks_are_read_in_each_call():
    class Timed(nn.Module):
        def forward(self, x):
            return x + time.perf_counter()

    module, x = Timed(), np.zeros(1, np.float64)
    assert module(x) < module(x) < module(x)


def test_changes_of_weights_and_buffers():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", ours.zeros(3))
            self.scale = nn.Parameter(ours.ones(2))
            self.offset = ours.tensor([1.0, 2.0])

        def forward(self, x, i):
            self.seen[i] += x.sum()
            return x * self.scale + self.offset

    module = Counts()
    x = np.array([1, 2], np.float32)
    for i in (0, 2, 2):
        assert module(x, i).tolist() == [2, 4]
    assert module.seen.tolist() == [3, 0, 6] and module.state_dict()["seen"].tolist() == [3, 0, 6]
    module.offset += 1
    module.scale.data.mul_(2)
    assert module(x, 0).tolist() == [4, 7]
    module.scale += 1
    module.scale[0] = 0
    assert module(x, 0).tolist() == [2, 9] and isinstance(module.scale, nn.Parameter)

    class Grows(Counts):
        def forward(self, x):
            self.scale += 1
            return x * self.scale

    grows = Grows()
    assert [grows(x).tolist() for _ in range(2)] == [[2, 4], [3, 6]] and grows.scale.tolist() == [3, 3]


def test_an_argument_that_changes_in_place():
    class Doubles(nn.Module):
        def forward(self, x):
            y = nn.functional.relu(x, inplace=True)
            return y.mul_(2) + x

    theirs, mine = pair(np.array([-1, 3], np.float32))
    module = Doubles()
    made = module(mine)
    assert made.tolist() == [0, 12] and mine.tolist() == [0, 6]
    assert module(np.array([-1, 3], np.float32)).tolist() == [0, 12]


def test_what_is_refused_says_so():
    x = ours.ones(2, 2)
    with pytest.raises(frazil.Unsupported, match="Frazil computes on the CPU"):
        x.cuda()
    with pytest.raises(frazil.Unsupported, match="device 'cuda:1'"):
        nn.Linear(2, 2).to(ours.device("cuda:1"))
    with pytest.raises(frazil.Unsupported, match="does not train"):
        x.sum().backward()
    with pytest.raises(AttributeError, match="'Adam': Frazil does not train"):
        ours.optim.Adam
    with pytest.raises(AttributeError, match="'fft': it is not supported"):
        ours.fft
    with pytest.raises(frazil.BadInput, match="can't be cast in place"):
        ours.arange(3).add_(0.5)
    with pytest.raises(frazil.BadInput, match="clone"):
        ours.ones(1, 2).expand(3, 2).add_(1)
    with pytest.raises(frazil.BadInput, match="4 elements, expected one"):
        x.item()


def test_element_types_of_modules():
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    x = np.ones((2, 3), np.float32)
    wanted = module(x)
    half = module.half()
    assert half is module and half(x.astype(np.float16)).dtype == np.float16
    assert half[1].num_batches_tracked.dtype == ours.int64 and half[0].weight.dtype == ours.float16
    assert module.to(ours.float64)(x.astype(np.float64)).dtype == np.float64
    np.testing.assert_allclose(module.float()(x), wanted, rtol=1e-2)


def test_hooks_see_what_modules_return():
    module, seen = nn.Sequential(nn.Linear(3, 2), nn.ReLU()), []
    module[0].weight.data.fill_(0.5)
    hook = module[0].register_forward_hook(lambda part, args, made: seen.append(made.shape))
    x = np.ones((4, 3), np.float32)
    plain = module(x)
    module(x)
    assert seen == [(4, 2)] * 2
    hook.remove()
    other = module[0].register_forward_pre_hook(lambda part, args: (args[0] * 2,))
    assert not np.allclose(module(x), plain) and len(seen) == 2
    other.remove()
    np.testing.assert_array_equal(module(x), plain)


FACTOR = ours.tensor([2.0, 3.0])


class Captures(nn.Module):
    def forward(self, x):
        return FACTOR * x + FACTOR


def test_tensors_of_the_program():
    """They are read in each call, and constants of a model."""
    x = np.array([1, 5], np.float32)
    module = Captures()
    assert module(x).tolist() == [4, 18]
    model = nn.compile(module, x)
    FACTOR.add_(1)
    assert module(x).tolist() == [6, 24]
    FACTOR.sub_(1)
    assert model(x).tolist() == [4, 18]


def test_control_flow_of_graphs_in_a_module_that_runs_in_each_call():
    class Both(nn.Module):
        def forward(self, x):
            self.last = x
            x, n = ours.while_loop(lambda v, n: v.sum() > 1, lambda v, n: (v / 2, n + 1), (x, ours.tensor(0)))
            return ours.cond(n > 2, lambda: x * 2, lambda: -x)

    module = Both()
    for values, wanted in (([4, 12], [0.5, 1.5]), ([1, 1], [-0.5, -0.5])):
        assert module(np.array(values, np.float32)).tolist() == wanted


def test_attributes_that_are_tensors_change():
    class Shifted(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = ours.tensor([[1.0, 2.0], [3.0, 4.0]])
            self.row = self.table[1]

        def forward(self, x):
            return x + self.row

    module, x = Shifted(), np.zeros(2, np.float32)
    assert module(x).tolist() == [3, 4] and nn.reason(module) is None
    module.table.add_(1)
    assert module(x).tolist() == [4, 5]
    module.row[0] = 9
    assert module(x).tolist() == [9, 5] and module.table.tolist() == [[2, 3], [9, 5]]
    module.row = ours.ones(2)
    assert module(x).tolist() == [1, 1] and list(module.state_dict()) == []


def test_tensors_of_pytorch_and_arrays_as_arguments():
    x = np.array([[1, -2], [3, 4]], np.float32)
    F = ours.nn.functional
    for given in (x, torch.from_numpy(x), ours.nn.Parameter(x), frazil.numpy.array(x)):
        made = F.softmax(given, dim=1)
        close(np.asarray(made), torch.from_numpy(x).softmax(1))
        assert isinstance(made, frazil.LazyArray if isinstance(given, frazil.LazyArray) else ours.Tensor)
        close(np.asarray(ours.cat([given, given], dim=1)), torch.from_numpy(np.concatenate([x, x], 1)))
        close(np.asarray(F.linear(ours.ones(1, 2), given, bias=x[0])), torch.from_numpy(x.sum(1) + x[0])[None])
    linear = nn.Linear(2, 2)
    close(linear(torch.from_numpy(x)), torch.from_numpy(linear(x)))
    assert torch.from_dlpack(ours.from_numpy(x)).tolist() == x.tolist()
    assert (np.ones(2, np.float32) * ours.ones(2)).tolist() == [1, 1] and np.tanh(ours.zeros(1)).tolist() == [0]


@pytest.mark.parametrize("convert", [np.asarray, ours.from_numpy, frazil.numpy.array])
def test_numbers_that_differ_in_each_call(convert):
    class Steps(nn.Module):
        def forward(self, x, t):
            return x * 2 + t

    module, x = Steps(), np.ones(2, np.float32)
    for t in range(270):
        assert np.asarray(module(convert(x), t)).tolist() == [2 + t] * 2
    assert "256 different values: pass numbers that change as arrays" in nn.reason(module)
