#!/usr/bin/env python3
"""Programs whose structure is new each time: python_structures.py [--runs N] [--rows NAME,...]

Each program runs as a plain loop and in frazil.batch(), beside the same text with NumPy and with PyTorch eager, run by
run. Prints medians per instance, the first run of each, and what the process keeps. Needs PYTHONPATH=build/python; pin
the process to a core.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import time

import frazil
import frazil.numpy as fnp
import numpy as np

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

rng = np.random.default_rng(0)


def weights(*shape):
    return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


class Torch:
    """NumPy's names for what the programs use."""

    if torch is not None:
        exp, tanh, maximum = torch.exp, torch.tanh, torch.maximum
        concatenate, stack, argmax, sum, max = torch.cat, torch.stack, torch.argmax, torch.sum, torch.amax

        @staticmethod
        def split(x, parts):
            return torch.chunk(x, parts)


class Library:
    """A library, its arrays, and how it marks functions that run often."""

    def __init__(self, name, xp, array, weight, function=lambda f: f):
        self.name, self.xp, self.array, self.weight, self.function = name, xp, array, weight, function


def libraries():
    yield Library("Frazil", fnp, fnp.array, frazil.parameter, frazil.function)
    yield Library("NumPy", np, lambda a: a, lambda a: a)
    if torch is not None:
        yield Library("PyTorch", Torch, torch.from_numpy, torch.from_numpy)


def numbers(value):
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


TREE = weights(128, 320), weights(100, 64)
EXIT = weights(96, 96), weights(96, 1)
BEAM = weights(64, 64), weights(64, 200), weights(200, 64)
POLICY = weights(16, 64), weights(64, 16), weights(64, 4)
EXPRESSION = weights(32, 32)


def trees(lib):
    xp, w, words, zero = lib.xp, lib.weight(TREE[0]), lib.weight(TREE[1]), lib.weight(np.zeros(64, np.float32))

    def sigmoid(x):
        return 1 / (1 + xp.exp(-x))

    def join(a, c, b, d):
        i, f, g, o, u = xp.split(xp.concatenate([a, b]) @ w, 5)
        made = sigmoid(i) * xp.tanh(u) + sigmoid(f) * c + sigmoid(g) * d
        return sigmoid(o) * xp.tanh(made), made

    join = lib.function(join)

    def tree(r, n):
        if n == 1:
            return r.randrange(100)
        k = r.randint(1, n - 1)
        return tree(r, k), tree(r, n - k)

    def state(t):
        return (words[t], zero) if isinstance(t, int) else join(*state(t[0]), *state(t[1]))

    return lambda r: tree(r, r.randint(5, 40)), lambda t: state(t)[0]


def exits(lib):
    xp, w, halt = lib.xp, lib.weight(EXIT[0]), lib.weight(EXIT[1])

    def value(x):
        x = lib.array(x)
        for _ in range(40):
            x = xp.tanh(x @ w)
            if float((x @ halt)[0]) > 0.4:
                break
        return x

    return lambda r: np.asarray([r.gauss(0, 2) for _ in range(96)], np.float32), value


def beams(lib):
    xp, w, out, table = lib.xp, lib.weight(BEAM[0]), lib.weight(BEAM[1]), lib.weight(BEAM[2])

    def value(given):
        start, length = given
        beams = [(0.0, table[start])]
        for _ in range(length):
            found = []
            for score, h in beams:
                h = xp.tanh(h @ w)
                scores = numbers(h @ out)
                for token in np.argpartition(scores, -3)[-3:]:
                    found.append((score + float(scores[token]), h + table[int(token)]))
            beams = sorted(found, key=lambda f: f[0])[-3:]
        return beams[-1][1]

    return lambda r: (r.randrange(200), r.randint(3, 12)), value


def policies(lib):
    xp, a, b, act = lib.xp, lib.weight(POLICY[0]), lib.weight(POLICY[1]), lib.weight(POLICY[2])

    def value(x):
        x = lib.array(x)
        for _ in range(20):
            h = xp.tanh(x @ a)
            action = int(xp.argmax(h @ act))
            if action == 3:
                break
            x = x + 0.1 * (action + 1) * (h @ b)
        return x

    return lambda r: np.asarray([r.gauss(0, 1) for _ in range(16)], np.float32), value


def expressions(lib):
    xp, w = lib.xp, lib.weight(EXPRESSION)
    steps = [
        lambda x, y: xp.tanh(x + y),
        lambda x, y: xp.maximum(x, y * 0.5),
        lambda x, y: (x * y) @ w,
        lambda x, y: x - 0.25 * y,
        lambda x, y: xp.exp(-x * x) + y,
    ]

    def value(given):
        x, moves = given
        made = [lib.array(x), lib.array(x[::-1].copy())]
        for step, i, j in moves:
            made.append(steps[step](made[i % len(made)], made[j % len(made)]))
        return made[-1]

    def draw(r):
        moves = [(r.randrange(5), -1 - r.randrange(3), -1 - r.randrange(9)) for _ in range(r.randint(10, 60))]
        return np.asarray([r.gauss(0, 1) for _ in range(32)], np.float32), moves

    return draw, value


PROGRAMS = {"trees": trees, "early exits": exits, "beam search": beams, "policy loop": policies, "expressions": expressions}


def timed(function):
    begin = time.perf_counter()
    result = numbers(function())
    return result, time.perf_counter() - begin


def measure(name, program, runs):
    ways = {lib.name: program(lib) for lib in libraries()}
    random_numbers = random.Random(name)
    instances = [ways["NumPy"][0](random_numbers) for _ in range(runs)]
    times = {way: [] for way in ways}
    for instance in instances:
        results = {}
        for way, (_, value) in ways.items():
            results[way], seconds = timed(lambda: value(instance))
            times[way].append(seconds)
        for way, result in results.items():
            np.testing.assert_allclose(result, results["NumPy"], rtol=1e-2, atol=1e-3, err_msg=f"{name} with {way}")
    value = ways["Frazil"][1]
    for size in (1, 64):
        batches = [instances[i : i + size] for i in range(0, len(instances), size)]
        for _ in range(2):
            spent = [timed(lambda: frazil.batch(b, value)[-1])[1] / len(b) for b in batches if len(b) == size]
        times[f"batch of {size}"] = spent
    medians = {way: statistics.median(t[len(t) // 10 :]) * 1e6 for way, t in times.items()}
    row = "  ".join(f"{way} {median:7.0f} us" for way, median in medians.items())
    first = "  ".join(f"{way} {times[way][0] * 1e3:.1f} ms" for way in ways)
    print(f"{name:12s} {row}\n{'':12s} first run: {first}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=512)
    parser.add_argument("--rows", default=",".join(PROGRAMS))
    arguments = parser.parse_args()
    for name in arguments.rows.split(","):
        measure(name, PROGRAMS[name], arguments.runs)
    print("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, "MB")


main()
