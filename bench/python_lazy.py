#!/usr/bin/env python3
"""What define by run costs in Python: python_lazy.py [--runs N] [--json]

Recording: loops of one operator. Reading: an operator whose structure was seen before, recorded and read. Batches: what a
wait of an instance costs, on greenlets and on threads. One thread; the fastest of several repetitions. Needs
PYTHONPATH=build/python; pin the process to a core. bench/lazy_hit.cc has the C++ side.
"""

import argparse
import json
import time
import timeit

import frazil
import frazil.numpy as fnp
import numpy as np
from frazil.lazy import batches

LENGTH = 1000
x = fnp.array(np.ones((4, 4), np.float32))
y = fnp.array(np.full((4, 4), 0.5, np.float32))
w = frazil.parameter(np.eye(4, dtype=np.float32))


@frazil.function
def cell(h, i):
    return fnp.tanh(h @ w + i)


RECORDED = {
    "x + y": lambda a: a + y,
    "x * 2": lambda a: a * 2,
    "x @ w": lambda a: a @ w,
    "fnp.tanh(x)": fnp.tanh,
    "x[1]": lambda a: (a[1], a)[1],
    "x.sum(axis=1, keepdims=True)": lambda a: (a.sum(axis=1, keepdims=True), a)[1],
    "x.reshape(2, 8)": lambda a: (a.reshape(2, 8), a)[1],
    "ops.Softmax(x, axis=-1)": lambda a: frazil.lazy.ops.Softmax(a, axis=-1),
    "nn.functional.gelu(x)": frazil.nn.functional.gelu,
    "cell(x, y)": lambda a: cell(a, y),
}


def fastest(function, number, repeats=7):
    function()
    return 1e6 * min(timeit.repeat(function, number=number, repeat=repeats)) / number


def recording(step):
    """Without what frees the arrays afterwards."""

    def chain():
        array = x
        begin = time.perf_counter()
        for _ in range(LENGTH):
            array = step(array)
        return time.perf_counter() - begin

    return 1e6 * min(chain() for _ in range(15)) / LENGTH


def wait():
    def count(i):
        array = fnp.array(float(i))
        for _ in range(50):
            array = array + 1
            array.item()

    def run():
        begin = time.perf_counter()
        report = frazil.batch(range(200), count).report
        return (time.perf_counter() - begin) / report.waits

    return 1e6 * min(run() for _ in range(5))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--json", action="store_true", help="one object on the last line")
    arguments = parser.parse_args()
    rows = {f"record {name}": recording(step) for name, step in RECORDED.items()}
    value = (x + y) + 0
    value.numpy()
    rows["read x + y"] = fastest(lambda: (x + y).numpy(), arguments.runs)
    rows["read what is there"] = fastest(value.numpy, arguments.runs)
    greenlet = batches.greenlet
    if greenlet is not None:
        rows["wait, on greenlets"] = wait()
    batches.greenlet = None
    rows["wait, on threads"] = wait()
    batches.greenlet = greenlet
    for name, time_ in rows.items():
        print(f"{name:36}{time_:8.3f} us")
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
