#!/usr/bin/env python3
"""What a call from Python adds to the same run in C++: python_overhead.py [--runs N] [--json]

Small models, one thread. C++ is Session::run alone, in the same process, in a loop without Python. The rest are
repetitions of the call in Python, the fastest of several. Needs PYTHONPATH=build/python; pin the process to a core.
"""

import argparse
import json
import timeit

import frazil
import numpy as np

MODELS = {
    "add, 1 element": ("graph g(%x: f32[N]) { %y = Add(%x, f32[] 1) return y = %y }", {"x": (1,)}),
    "add, 1024 elements": ("graph g(%x: f32[N]) { %y = Add(%x, f32[] 1) return y = %y }", {"x": (1024,)}),
    "4 inputs, 2 outputs": (
        """graph g(%a: f32[N], %b: f32[N], %c: f32[N], %d: f32[N]) {
             %e = Add(%a, %b) %f = Add(%c, %d) return e = %e, f = %f }""",
        {name: (8,) for name in "abcd"},
    ),
}


def fastest(function, runs, repeats=7):
    function()
    return min(timeit.repeat(function, number=runs, repeat=repeats)) / runs


def measure(text, shapes, runs):
    model = frazil.from_text(text, threads=1)
    inputs = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
    values = list(inputs.values())
    session = model.session()
    cpp = min(frazil._frazil.time_runs(model._handle, model.options, inputs, runs) for _ in range(7))
    calls = {
        "model(x)": lambda: model(*values),
        "model.run": lambda: model.run(inputs),
        "session.run": lambda: session.run(inputs),
    }
    return {"C++": cpp, **{name: fastest(call, runs) for name, call in calls.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--json", action="store_true", help="one object on the last line")
    arguments = parser.parse_args()
    rows = {name: measure(text, shapes, arguments.runs) for name, (text, shapes) in MODELS.items()}
    columns = list(next(iter(rows.values())))
    print(f"{'us a call':22}" + "".join(f"{column:>14}" for column in columns) + f"{'added at most':>16}")
    for name, row in rows.items():
        added = max(row.values()) - row["C++"]
        print(f"{name:22}" + "".join(f"{1e6 * row[column]:14.2f}" for column in columns) + f"{1e6 * added:16.2f}")
    if arguments.json:
        print(json.dumps({name: {column: 1e6 * value for column, value in row.items()} for name, row in rows.items()}))


if __name__ == "__main__":
    main()
