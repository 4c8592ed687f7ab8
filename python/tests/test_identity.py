"""What is remembered is found by all that it depends on: neither shapes nor values are taken for one another."""

import itertools
import math
import os
import random
import signal
import threading
import time
import traceback

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from frazil import nn, trees


# ---- small arrays of integers, which a program may contain ----


def test_arrays_of_equal_elements_keep_their_shapes():
    shapes = [(2, 3), (3, 2), (6, 1), (1, 6), (2, 3, 1), (6,), (1, 2, 3)]
    for shape in shapes:
        a = np.arange(6).reshape(shape)
        made = (fnp.array(a) * 3 + 1).numpy()
        assert made.shape == shape and made.tolist() == (a * 3 + 1).tolist()


@pytest.mark.parametrize("dtype", ["int64", "int32", "float32"])
def test_empty_arrays_keep_their_shapes(dtype):
    for shape in [(0, 3), (0, 2), (4, 0, 2), (3, 0, 2), (0,), (2, 0), (5, 0, 7)]:
        x = fnp.array(np.zeros(shape, dtype))
        assert x.shape == x.numpy().shape == (x + 1).numpy().shape == fnp.sort(x, 0).numpy().shape == shape


def shapes_of(count, seed=0):
    r = random.Random(seed)
    return [tuple(r.choice([1, 2, 3, 4, 5]) for _ in range(r.randint(1, 4))) for _ in range(count)]


# What is called, and the same in NumPy.
CALLS = {
    "zeros_like": (lambda x: fnp.zeros_like(x), lambda x: np.zeros_like(x)),
    "full": (lambda x: fnp.full(x.shape, 2.5), lambda x: np.full(x.shape, 2.5)),
    "broadcast_to": (lambda x: fnp.broadcast_to(x, (2, *x.shape)), lambda x: np.broadcast_to(x, (2, *x.shape))),
    "reshape": (lambda x: x.reshape(1, *x.shape[::-1]), lambda x: x.reshape(1, *x.shape[::-1])),
    "argmax": (lambda x: fnp.argmax(x, keepdims=True), lambda x: np.argmax(x, keepdims=True)),
    "sum over all but the first": (lambda x: x.sum(tuple(range(1, x.ndim))), lambda x: x.sum(tuple(range(1, x.ndim)))),
    "mean over all": (lambda x: x.mean(), lambda x: x.mean()),
    "var over all": (lambda x: x.var(), lambda x: x.var()),
    "tile": (lambda x: fnp.tile(x, (2, 1, 1, 1, 1)), lambda x: np.tile(x, (2, 1, 1, 1, 1))),
    "outer": (lambda x: fnp.outer(x, x), lambda x: np.outer(x, x)),
    "a mask": (lambda x: x[x > 2], lambda x: x[x > 2]),
    "max along the last": (lambda x: x - x.max(-1, keepdims=True), lambda x: x - x.max(-1, keepdims=True)),
}


@pytest.mark.parametrize("name", CALLS)
def test_any_number_of_shapes_may_stand_in_code(name):
    ours, numpys = CALLS[name]
    for shape in shapes_of(60):
        a = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
        made, wanted = np.asarray(ours(fnp.array(a))), np.asarray(numpys(a))
        assert made.shape == wanted.shape and np.allclose(made, wanted, 1e-9, 1e-9), shape


def test_elements_are_not_taken_for_code():
    def positive(x):
        return x[x > 0]

    for seed in range(100):
        rng = np.random.default_rng(seed)
        a = rng.integers(-2, 3, (rng.integers(1, 4), rng.integers(1, 4)))
        assert positive(fnp.array(a)).numpy().tolist() == a[a > 0].tolist()


# ---- values that belong to what is recorded ----


def test_exact_keys_are_equal_for_the_same_values_alone():
    values = [0, False, 0.0, -0.0, 1, True, 1.0, math.nan, math.inf, "", "0", b"", None, (), (0,), (0.0,), (-0.0,), (False,)]
    values += [((0,),), (0, 0), complex(0.0, -0.0), complex(0.0, 0.0), frozenset([0]), frozenset([0.0])]
    for (i, a), (j, b) in itertools.product(enumerate(values), repeat=2):
        assert (trees.exact(a) == trees.exact(b)) == (i == j), (a, b)
    assert hash(trees.exact(math.nan)) == hash(trees.exact(float("nan")))


def test_functions_tell_their_arguments_by_their_bits():
    @frazil.function
    def divided(x, by):
        return x / by if isinstance(by, float) else x * 7

    x = fnp.array(np.array([1.0, -2.0]))
    for by, wanted in [(0.0, [math.inf, -math.inf]), (-0.0, [-math.inf, math.inf]), (2.0, [0.5, -1]), (2, [7, -14])]:
        assert divided(x, by).numpy().tolist() == wanted
        assert divided(x, by=by).numpy().tolist() == wanted
    for _ in range(300):  # not a recording for each
        assert np.isnan(divided(x, math.nan).numpy()).all()


def test_operators_tell_attributes_by_their_bits():
    x = fnp.array(np.array([-4.0], np.float32))
    for alpha, wanted in [(0.0, -math.inf), (-0.0, math.inf), (0.0, -math.inf)]:
        y = 1 / frazil.lazy.ops.LeakyRelu(x, alpha=alpha)
        assert y.numpy().tolist() == [wanted]


def test_modules_tell_arguments_by_their_bits():
    class Divide(nn.Module):
        def forward(self, x, by):
            return x / by

    module = Divide()
    x = np.array([1.0, -2.0], np.float32)
    for by, wanted in [(0.0, [math.inf, -math.inf]), (-0.0, [-math.inf, math.inf]), (0.0, [math.inf, -math.inf])]:
        assert np.asarray(module(x, by)).tolist() == wanted


# ---- processes ----


def end_of_child(body, seconds=60):
    """Returns how a child that runs `body` ends."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return f"ends with {os.waitstatus_to_exitcode(status)}"
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return f"runs after {seconds} s"


def fork_beside(serve, child):
    """Forks 15 children that call `child`, while two threads call `serve` again and again."""
    stop = False

    def serve_on():
        while not stop:
            serve()

    threads = [threading.Thread(target=serve_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            assert end_of_child(child) == "ends with 0"
    finally:
        stop = True
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("tier", ["0", "auto", "1", "2"])
def test_children_run_what_other_threads_run(tier):
    graph = frazil.Graph("squares")
    x = graph.input("x", frazil.float32, ("N", "M"))
    graph.output("y", graph.Tanh(x @ graph.Transpose(x) * 0.5) + 1)
    model = graph.build(threads=2, tier=tier)
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((n, 7), np.float32) for n in range(2, 40)]
    wanted = [model(a) for a in arrays]

    def serve():
        for a in arrays:
            model(a)
            fnp.tanh(fnp.array(a) * 2).numpy()

    def child():
        for a, y in zip(arrays, wanted):
            assert np.array_equal(model(a), y)
            fnp.exp(fnp.array(a)).numpy()

    fork_beside(serve, child)


WORDS = frazil.parameter(np.arange(24, dtype=np.float32).reshape(6, 4) * np.float32(0.7))


def tree_value(tree):
    if isinstance(tree, int):
        return WORDS[tree]
    left = tree_value(tree[0])
    return left if left.sum() > 40 else left + tree_value(tree[1])


def batch_of_trees():
    made = frazil.batch([(0, 1), ((2, 5), 3), (4, (1, 0))], tree_value)
    return [m.tolist() for m in made]


def run_beside(square):
    return [square.run_async({"x": np.full(k, k, np.float32)}).result(30)["y"].tolist() for k in range(1, 5)]


@pytest.mark.parametrize("work", ["batch", "future"])
def test_children_of_threads_that_batch_and_wait(work, square):
    """Forks fall into batches, into the making of programs and into futures of other threads."""
    run = batch_of_trees if work == "batch" else lambda: run_beside(square)
    wanted, ranks = run(), itertools.cycle(range(1, 6))

    def serve():
        run()
        fnp.tanh(fnp.array(np.ones((1,) * next(ranks), np.float32))).numpy()

    def child():
        assert run() == wanted and batch_of_trees() and run_beside(square)

    fork_beside(serve, child)
