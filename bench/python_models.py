#!/usr/bin/env python3
"""Five small dynamic models in PyTorch, eager, and in frazil.nn from the same weights: times side by side.

PYTHONPATH=build/python bench/python_models.py [--runs N] [--json FILE]

The source of a model is one class for both; `ns` has the modules and functions of the one or the other. One thread each;
shapes change from call to call, and runs of the two take turns. A time is the median of a pass over all inputs, divided by
their number. Outputs are compared first. Needs python3-torch; pin the process to a core. Debian's PyTorch takes the BLAS that
is installed: without libopenblas0-pthread that is the reference, which is slow.
"""

import argparse
import json
import statistics
import sys
import time
import types

import frazil
import frazil.nn.functional
import frazil.nn.ops
import numpy as np
import torch


def while_loop(cond_fn, body_fn, carried):
    while cond_fn(*carried):
        carried = body_fn(*carried)
    return carried


TORCH = types.SimpleNamespace(
    nn=torch.nn,
    F=torch.nn.functional,
    ops=torch,
    cond=lambda pred, then, other, operands: then(*operands) if pred else other(*operands),
    while_loop=while_loop,
)
FRAZIL = types.SimpleNamespace(
    nn=frazil.nn,
    F=frazil.nn.functional,
    ops=frazil.nn.ops,
    cond=frazil.nn.functional.cond,
    while_loop=frazil.nn.functional.while_loop,
)


def early_exit(ns):
    class EarlyExit(ns.nn.Module):
        """Three blocks; after the first, half of the inputs are sure enough."""

        def __init__(self):
            super().__init__()
            self.first = ns.nn.Linear(64, 128)
            self.rest = ns.nn.Sequential(
                ns.nn.Linear(128, 256), ns.nn.GELU(), ns.nn.LayerNorm(256), ns.nn.Linear(256, 128), ns.nn.ReLU()
            )
            self.head = ns.nn.Linear(128, 10)

        def forward(self, x):
            h = ns.F.relu(self.first(x))
            return ns.cond(x.mean() > 0, self.head, lambda h: self.head(h + self.rest(h)), (h,))

    return EarlyExit()


def recurrent(ns):
    class Recurrent(ns.nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = ns.nn.GRU(64, 96, batch_first=True)
            self.head = ns.nn.Linear(96, 10)

        def forward(self, x):
            y, last = self.rnn(x)
            return self.head(y.mean(1)) + self.head(last[0])

    return Recurrent()


def attention(ns):
    class Attention(ns.nn.Module):
        """A block of a transformer."""

        def __init__(self):
            super().__init__()
            self.attend = ns.nn.MultiheadAttention(128, 4, batch_first=True)
            self.norm1, self.norm2 = ns.nn.LayerNorm(128), ns.nn.LayerNorm(128)
            self.feed = ns.nn.Sequential(ns.nn.Linear(128, 512), ns.nn.GELU(), ns.nn.Linear(512, 128))

        def forward(self, x):
            y = self.norm1(x)
            x = x + self.attend(y, y, y, need_weights=False)[0]
            return x + self.feed(self.norm2(x))

    return Attention()


def convolutional(ns):
    def block(a, b, stride):
        return [ns.nn.Conv2d(a, b, 3, stride, 1, bias=False), ns.nn.BatchNorm2d(b), ns.nn.ReLU()]

    class Convolutional(ns.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = ns.nn.Sequential(*block(3, 16, 1), *block(16, 32, 2), ns.nn.MaxPool2d(2), *block(32, 64, 1))
            self.head = ns.nn.Sequential(ns.nn.AdaptiveAvgPool2d(1), ns.nn.Flatten(), ns.nn.Linear(64, 10))

        def forward(self, x):
            return self.head(self.body(x))

    return Convolutional()


def decoder(ns):
    class Decoder(ns.nn.Module):
        """Takes the best token until it is 0, or `limit` times."""

        def __init__(self):
            super().__init__()
            self.embed, self.cell = ns.nn.Embedding(100, 64), ns.nn.GRUCell(64, 64)
            self.head = ns.nn.Linear(64, 100)

        def forward(self, start, hidden, limit):
            def more(tokens, hidden, n):
                return (n < limit) & (tokens[-1] != 0)

            def step(tokens, hidden, n):
                hidden = self.cell(self.embed(tokens[-1:]), hidden)
                return ns.ops.cat([tokens, self.head(hidden).argmax(-1)]), hidden, n + 1

            return ns.while_loop(more, step, (start, hidden, limit * 0))[0]

    return Decoder()


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def sure(x, positive):
    return np.abs(x) if positive else -np.abs(x)


LENGTHS = (7, 33, 12, 64, 20, 48)
CASES = {
    "MLP with an early exit": (
        early_exit,
        [(sure(normal(rows, 64), rows % 2),) for rows in (1, 4, 7, 16, 3, 8)],
        {"x": {0: "N"}},
    ),
    "GRU, 7 to 64 steps": (recurrent, [(normal(1, n, 64),) for n in LENGTHS], {"x": {0: "N", 1: "T"}}),
    "attention, 7 to 64 tokens": (attention, [(normal(1, n, 128),) for n in LENGTHS], {"x": {0: "N", 1: "T"}}),
    "convolutions, 32 to 96 pixels": (
        convolutional,
        [(normal(1, 3, a, b),) for a, b in ((32, 32), (64, 48), (40, 56), (96, 96), (33, 65), (48, 80))],
        {"x": {0: "N", 2: "H", 3: "W"}},
    ),
    "decoding, 5 to 40 tokens": (
        decoder,
        [(np.array([n]), normal(1, 64) * n, np.array(n)) for n in (5, 20, 40, 11, 31, 8)],
        {},
    ),
}


def blas():
    """The file of the BLAS in use."""
    with open("/proc/self/maps") as file:
        return next((line.split()[-1] for line in file if "/libblas" in line or "/libopenblas" in line), "unknown")


def both(make, inputs, dynamic):
    """Calls of the two, after a check that they agree."""
    theirs, ours = make(TORCH).eval(), make(FRAZIL)
    ours.load_state_dict(theirs.state_dict())
    model = frazil.nn.compile(ours, inputs[0], dynamic, threads=1)
    tensors = [tuple(map(torch.from_numpy, map(np.asarray, row))) for row in inputs]
    worst = 0.0
    for row, tensor in zip(inputs, tensors):
        made, wanted = model(*row), theirs(*tensor).numpy()
        if made.shape != wanted.shape or not np.allclose(made, wanted, rtol=1e-3, atol=1e-4):
            sys.exit(f"{make.__name__}: the outputs differ")
        worst = max(worst, float(np.abs(made - wanted).max()))
    return (lambda: [theirs(*row) for row in tensors]), (lambda: [model(*row) for row in inputs]), worst


def measure(calls, runs):
    """The median time of each, in turns."""
    times = [[] for _ in calls]
    for _ in range(runs):
        for call, kept in zip(calls, times):
            begin = time.perf_counter()
            call()
            kept.append(time.perf_counter() - begin)
    return [statistics.median(kept[runs // 5 :]) for kept in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60, help="passes over the inputs of each")
    parser.add_argument("--json", help="a file to write")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(7)
    rows = []
    print(f"{'model':32}{'PyTorch':>10}{'Frazil':>10}   ratio   us a call; PyTorch {torch.__version__} with {blas()}")
    with torch.inference_mode():
        for name, (make, inputs, dynamic) in CASES.items():
            theirs, ours, worst = both(make, inputs, dynamic)
            times = [1e6 * t / len(inputs) for t in measure((theirs, ours), options.runs)]
            rows.append({"model": name, "torch_us": times[0], "frazil_us": times[1], "largest_difference": worst})
            print(f"{name:32}{times[0]:10.1f}{times[1]:10.1f}{times[0] / times[1]:8.2f}", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(
                {"torch": torch.__version__, "blas": blas(), "frazil": frazil.__version__, "rows": rows}, file, indent=1
            )


if __name__ == "__main__":
    main()
