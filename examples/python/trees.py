"""Ordinary code on lazy arrays, one tree at a time. A batch runs the equal operations of all trees together.

Computes a value of each tree, from its leaves up. If a left part has a large value, its right part is skipped.
"""

import random

import frazil
import frazil.numpy as fnp
import numpy as np

rng = np.random.default_rng(0)
words = frazil.parameter(rng.standard_normal((20, 8), np.float32))
weights = frazil.parameter(rng.standard_normal((16, 8), np.float32) / 2)


@frazil.function
def join(left, right):
    return fnp.tanh(fnp.concatenate([left, right]) @ weights)


def value(tree):
    if isinstance(tree, int):
        return words[tree]
    left = value(tree[0])
    if left.max() > 2:  # a read: suspends this tree until all others wait, too
        return left
    return join(left, value(tree[1]))


def some_tree(leaves):
    if leaves == 1:
        return random.randrange(20)
    left = random.randint(1, leaves - 1)
    return some_tree(left), some_tree(leaves - left)


random.seed(1)
trees = [some_tree(random.randint(2, 20)) for _ in range(100)]
together = frazil.batch(trees, value)
alone = [value(tree) for tree in trees]
assert all(np.allclose(a, b, 1e-4, 1e-4) for a, b in zip(together, alone))
report = together.report
print(f"{len(trees)} trees: {report.nodes} recorded operators and calls in {report.runs} runs, {report.rounds} rounds")
