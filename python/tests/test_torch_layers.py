"""Layers of frazil.nn that move elements between places, against PyTorch's, and packed sequences."""

import frazil
import frazil.torch as ours
import numpy as np
import pytest
from test_torch import close

torch = pytest.importorskip("torch", reason="python3-torch is not installed")
RANDOM = np.random.default_rng(11)


def normal(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def both(make, *arrays):
    """The results of a module of both, with the same weights."""
    theirs, mine = make(torch.nn).eval(), make(ours.nn)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine.load_state_dict(theirs.state_dict())
    with torch.no_grad():
        wanted = theirs(*(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays))
    close(mine(*arrays), wanted)
    close(mine(*(ours.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays)), wanted)


IMAGE = normal(2, 4, 6, 9)
LAYERS = {
    "Bilinear": (lambda n: n.Bilinear(3, 4, 5), normal(2, 3), normal(2, 4)),
    "RNNCell": (lambda n: n.RNNCell(3, 4, nonlinearity="relu"), normal(2, 3)),
    "ConvTranspose3d": (lambda n: n.ConvTranspose3d(2, 3, 2, stride=2), normal(1, 2, 3, 2, 4)),
    "pools in 3D": (lambda n: n.Sequential(n.MaxPool3d(2, 1), n.AvgPool3d(2)), normal(1, 2, 5, 5, 7)),
    "LPPool2d": (lambda n: n.LPPool2d(2, 3, 2), np.abs(IMAGE)),
    "adaptive, not divided": (lambda n: n.Sequential(n.AdaptiveAvgPool2d((4, 5)), n.AdaptiveMaxPool2d((3, 2))), IMAGE),
    "adaptive in 3D": (lambda n: n.AdaptiveAvgPool3d(1), normal(1, 2, 5, 5, 7)),
    "Unfold": (lambda n: n.Unfold((2, 3), dilation=(1, 2), padding=1, stride=2), IMAGE),
    "Fold": (lambda n: n.Fold((5, 6), (2, 3), padding=1, stride=2), normal(2, 12, 9)),
    "pads": (
        lambda n: n.Sequential(
            n.ConstantPad2d((1, 0, 2, 1), 3.5), n.ReplicationPad2d((1, 2, 0, 1)), n.ReflectionPad2d(2)
        ), IMAGE
    ),
    "pads in 1D": (
        lambda n: n.Sequential(n.ReflectionPad1d(2), n.ConstantPad1d(1, 9.0), n.ReplicationPad1d(1)), normal(2, 3, 5)
    ),
    "resized": (
        lambda n: n.Sequential(n.UpsamplingNearest2d(scale_factor=2), n.UpsamplingBilinear2d(size=(5, 4))), IMAGE
    ),
    "shuffled": (lambda n: n.Sequential(n.ChannelShuffle(2), n.Softmax2d(), n.LocalResponseNorm(3, alpha=0.1)), IMAGE),
    "shrunk": (lambda n: n.Sequential(n.Hardshrink(0.2), n.Softshrink(0.1), n.Threshold(0.3, 2.0), n.RReLU()), IMAGE),
    "TransformerEncoder": (
        lambda n: n.TransformerEncoder(n.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, n.LayerNorm(8)),
        normal(2, 5, 8)
    ),
    "TransformerDecoder": (
        lambda n: n.TransformerDecoder(n.TransformerDecoderLayer(8, 2, 16, norm_first=True), 2), normal(4, 2, 8),
        normal(5, 2, 8)
    ),
    "Transformer": (lambda n: n.Transformer(8, 2, 1, 2, 16, batch_first=True), normal(2, 4, 8), normal(2, 5, 8)),
    "CosineSimilarity": (lambda n: n.CosineSimilarity(-1), normal(2, 4), normal(2, 4)),
    "CrossEntropyLoss": (
        lambda n: n.CrossEntropyLoss(label_smoothing=0.2), normal(3, 5, 2), RANDOM.integers(0, 5, (3, 2))
    ),
    "BCEWithLogitsLoss": (
        lambda n: n.BCEWithLogitsLoss(reduction="sum"), normal(3, 5), RANDOM.random((3, 5)).astype(np.float32)
    ),
    "SmoothL1Loss": (lambda n: n.SmoothL1Loss(beta=0.3), normal(3, 5), normal(3, 5)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, *arrays = LAYERS[name]
    both(make, *arrays)


def test_places_of_maxima():
    for n in (torch, ours):
        x = n.from_numpy(IMAGE[..., :8].copy())
        pool, unpool = n.nn.MaxPool2d(2, 2, return_indices=True), n.nn.MaxUnpool2d(2, 2)
        values, places = pool(x)
        found = (values, places, unpool(values, places), unpool(values, places, output_size=x.shape))
        wanted = found if n is torch else wanted
    close(found, wanted)


def normed(n, how):
    class Net(n.nn.Module):
        def __init__(self):
            super().__init__()
            utils = n.nn.utils
            if how == "weight":
                self.conv = utils.weight_norm(n.nn.Conv1d(3, 4, 2))
                self.linear = utils.weight_norm(n.nn.Linear(4, 2), dim=None)
            else:
                self.conv = utils.spectral_norm(n.nn.Conv1d(3, 4, 2))
                self.linear = utils.spectral_norm(n.nn.ConvTranspose1d(4, 2, 3))

        def forward(self, x):
            x = self.conv(x)
            return self.linear(x.transpose(1, 2) if how == "weight" else x)

    return Net()


@pytest.mark.parametrize("how", ["weight", "spectral"])
def test_weights_that_are_computed(how):
    theirs, mine = normed(torch, how).eval(), normed(ours, how)
    assert set(mine.state_dict()) == set(theirs.state_dict())
    if how == "weight":
        theirs.conv.weight_g.data.mul_(2)
    mine.load_state_dict(theirs.state_dict())
    x = normal(2, 3, 6)
    with torch.no_grad():
        wanted = theirs(torch.from_numpy(x))
    close(mine(x), wanted)
    close(frazil.from_torch(theirs, torch.from_numpy(x))(x), wanted)
    utils = ours.nn.utils
    (utils.remove_weight_norm if how == "weight" else utils.remove_spectral_norm)(mine.conv)
    assert "conv.weight" in mine.state_dict()
    close(mine(x), wanted)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bags(mode):
    for i in range(12):
        padding = [None, 0, 3, -2][i % 4]
        last = i % 3 == 0

        def make(n):
            return n.EmbeddingBag(7, 3, mode=mode, padding_idx=padding, include_last_offset=last)

        tokens = RANDOM.integers(0, 7, 9)
        offsets = np.sort(RANDOM.integers(0, 10, 4))
        offsets[0] = 0
        if last:
            offsets[-1] = 9
        both(make, tokens, offsets)
        weights = [None, normal(9)][i % 2] if mode == "sum" else None
        if weights is not None:
            both(make, tokens, offsets, weights)
        if not last:
            both(make, tokens.reshape(3, 3))


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grids(mode, padding):
    for corners in (False, True):
        x, theta = normal(2, 3, 5, 7), normal(2, 2, 3)
        made = []
        for n in (torch, ours):
            F = n.nn.functional
            grid = F.affine_grid(n.from_numpy(theta), (2, 3, 4, 6), align_corners=corners)
            made.append((grid, F.grid_sample(n.from_numpy(x), grid, mode, padding, corners)))
        close(made[1], made[0])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("layers, sides", [(1, False), (2, True), (3, False)])
@pytest.mark.parametrize("ordered", [False, True])
def test_packed_sequences(kind, layers, sides, ordered):
    def net(n):
        class Net(n.nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = getattr(n.nn, kind)(3, 4, layers, bidirectional=sides, batch_first=True)

            def forward(self, x, lengths, state):
                rnn = n.nn.utils.rnn
                packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=ordered)
                y, last = self.rnn(packed, state)
                again = rnn.PackedSequence(y.data * 2, y.batch_sizes, y.sorted_indices, y.unsorted_indices)
                other, _ = rnn.pad_packed_sequence(again)
                padded, found = rnn.pad_packed_sequence(y, batch_first=True, padding_value=-7.0, total_length=9)
                return padded, found, last, y.data, y.batch_sizes, other

        return Net()

    lengths = RANDOM.integers(1, 8, 5)
    lengths = np.sort(lengths)[::-1].copy() if ordered else lengths
    state = normal(layers * (1 + sides), 5, 4)
    theirs, mine = net(torch), net(ours)
    mine.load_state_dict(theirs.state_dict())
    x = normal(5, 8, 3)
    for first in (None, state):


        def given(n):
            state = None if first is None else n.from_numpy(first)
            return (state, state) if kind == "LSTM" and state is not None else state

        with torch.no_grad():
            wanted = theirs(torch.from_numpy(x), torch.from_numpy(lengths), given(torch))
        close(mine(ours.from_numpy(x), ours.from_numpy(lengths), given(ours)), wanted)


def test_sequences_in_a_graph():
    """Lengths are inputs of the model."""

    class Last(ours.nn.Module):
        def __init__(self):
            super().__init__()
            self.gru = ours.nn.GRU(3, 4, batch_first=True)

        def forward(self, x, lengths):
            packed = ours.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            y, last = self.gru(packed)
            return ours.nn.utils.rnn.pad_packed_sequence(y, batch_first=True)[0], last

    module = Last()
    model = module.graph(x=("float32", ("N", "T", 3)), lengths=("int64", ("N",)))
    x = normal(3, 6, 3)
    for lengths in ([6, 2, 3], [1, 4, 2]):
        y, last = model(x, np.array(lengths))
        assert y.shape == (3, max(lengths), 4)
        alone = [module.gru(x[i : i + 1, :n])[0][0, -1] for i, n in enumerate(lengths)]
        np.testing.assert_allclose(last[0], alone, rtol=1e-5)
    with pytest.raises(Exception, match="enforce_sorted=False"):
        ours.nn.utils.rnn.pack_padded_sequence(ours.ones(2, 3, 1), ours.tensor([1, 3]), batch_first=True)


def test_lists_of_sequences():
    rows = [normal(n, 2) for n in (4, 2, 3)]
    made = []
    for n in (torch, ours):
        rnn, parts = n.nn.utils.rnn, [n.from_numpy(row) for row in rows]
        packed = rnn.pack_sequence(parts, enforce_sorted=False)
        padded = rnn.pad_sequence(parts, padding_value=2.5)
        made.append((packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices, padded,
                     rnn.unpad_sequence(padded.clone(), n.tensor([4, 2, 3]))))  # fmt: skip
    close(made[1], made[0])
