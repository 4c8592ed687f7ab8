"""Weights that a model joins from parts are joined once, not in each run."""

from __future__ import annotations

import frazil
import numpy as np
import pytest


def parts(random, g, weight):
    """Views of rows of a constant, and the same by NumPy."""
    terms, arrays = [], []
    cuts = np.sort(random.choice(np.arange(1, weight.shape[0]), 3, replace=False))
    constant = g.constant(weight)
    pieces = list(zip([0, *cuts.tolist()], [*cuts.tolist(), weight.shape[0]]))
    for at in random.permutation(len(pieces)):
        begin, end = pieces[at]
        term, array = constant[begin:end], weight[begin:end]
        if random.random() < 0.5:
            term, array = g.Transpose(g.Transpose(term, perm=[1, 0])[::-1], perm=[1, 0]), array[:, ::-1]
        if random.random() < 0.5:
            term = g.Reshape(g.Reshape(term, [-1]), [-1, weight.shape[1]])
        terms.append(term)
        arrays.append(array)
    return terms, np.concatenate(arrays)


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_weights(seed):
    random = np.random.default_rng(seed)
    dtype = (np.float32, np.int64, np.float64)[seed % 3]
    weight = (random.normal(size=(random.integers(300, 600), 257)) * 100).astype(dtype)
    g = frazil.Graph("parts")
    x = g.input("x", weight.dtype, ("N", 257))
    terms, whole = parts(random, g, weight)
    g.output("y", x @ g.Transpose(g.Concat(*terms, axis=0), perm=[1, 0]))
    model = g.build(threads=1)
    given = (random.normal(size=(3, 257)) * 10).astype(dtype)
    for tier in ("ref", "0", "2"):
        got = model.with_options(tier=tier)(given)
        np.testing.assert_allclose(got, given @ whole.T, rtol=1e-4, atol=0.05)
    assert "(Concat)" not in model.explain() and "(Concat)" in mixed(g, terms, x).explain()


def mixed(g, terms, x):
    """One part is an input, so that each run joins them."""
    g.output("z", g.Concat(x, *terms, axis=0))
    return g.build()


def test_what_would_grow_stays():
    """A constant that is joined to itself, and one that is expanded."""
    g = frazil.Graph("grows")
    x = g.input("x", "float32", ("N",))
    rows = g.constant(np.random.default_rng(1).normal(size=(1, 70_000)).astype(np.float32))
    g.output("y", g.ReduceMax(g.Concat(rows, rows, axis=0)) + x)
    g.output("z", g.ReduceMax(g.Concat(rows, g.Expand(g.constant(np.float32([[3]])), [1, 70_000]), axis=0)) + x)
    assert g.build().explain().count("(Concat)") >= 2
