"""A classifier that stops at the first confident stage. Later stages are not computed."""

import frazil
import numpy as np

STAGES, CLASSES, WIDTH = 3, 4, 16
random = np.random.default_rng(1)


def matrix(*shape):
    return random.standard_normal(shape).astype(np.float32)


g = frazil.Graph("early_exit")
x = g.input("x", frazil.float32, (1, WIDTH))
threshold = g.input("threshold", frazil.float32)


def stage(k, hidden):
    """Returns the class and the number of the confident stage."""
    hidden = g.Relu(hidden @ matrix(WIDTH, WIDTH), name=f"hidden_{k}")
    scores = g.Softmax(hidden @ matrix(WIDTH, CLASSES))
    guess = g.ArgMax(scores, axis=1, keepdims=0), g.constant(k)
    if k == STAGES - 1:
        return guess
    sure = g.ReduceMax(scores, keepdims=0) > threshold
    return g.if_(sure, lambda: guess, lambda: stage(k + 1, hidden), name=f"sure_{k}")


for name, term in zip(("class", "stage"), stage(0, x)):
    g.output(name, term)
model = g.build(threads=1)


class Branches(frazil.Observer):
    """Returns the branches of a run, in order."""

    def run_begin(self):
        self.seen = []

    def branch(self, node, taken):
        self.seen.append((node.name, taken))


branches = Branches()
session = model.session()
session.observe(branches)
row = matrix(1, WIDTH)
for threshold, expected in ((0.0, 0), (1.0, STAGES - 1)):
    result = session.run({"x": row, "threshold": threshold})
    print(f"threshold {threshold}: class {result['class'].item()} of stage {result['stage']}, {branches.seen}")
    assert result["stage"] == expected
    assert branches.seen == [(f"sure_{k}", k == expected) for k in range(min(expected + 1, STAGES - 1))]
