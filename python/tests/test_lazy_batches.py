"""Batches, on greenlets and on threads; lazy arrays of several threads; Ctrl-C."""

import contextvars
import gc
import os
import random
import signal
import threading
import time
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from frazil.lazy import batches


@pytest.fixture(params=["greenlets", "threads"], autouse=True)
def kind(request, monkeypatch):
    if request.param == "threads":
        monkeypatch.setattr(batches, "greenlet", None)
    elif batches.greenlet is None:
        pytest.skip("greenlet is not installed")
    return request.param


def doubled(start):
    x = fnp.array([start, start], np.float32)
    while x[0] < 100:
        x = x * 2
    return x


def test_equal_work_runs_together():
    starts = range(1, 65)
    made = frazil.batch(starts, doubled)
    for start, x in zip(starts, made, strict=True):
        assert x.tolist() == doubled(start).tolist()
    report = made.report
    assert report.instances == 64 and report.runs <= 24 < report.waits and report.rounds <= 16


# ---- trees ----


def tree_of(leaves, rng):
    if leaves == 1:
        return rng.randrange(7)
    left = rng.randrange(1, leaves)
    return tree_of(left, rng), tree_of(leaves - left, rng)


class Model:
    def __init__(self):
        rng = np.random.default_rng(1)
        self.words = frazil.parameter(rng.standard_normal((7, 4), np.float32))
        self.w = frazil.parameter(rng.standard_normal((8, 4), np.float32) / 2)

    @frazil.function
    def leaf(self, word):
        return fnp.tanh(word)

    @frazil.function
    def join(self, left, right):
        return fnp.tanh(fnp.concatenate([left, right]) @ self.w)

    def value(self, tree):
        if isinstance(tree, int):
            return self.leaf(self.words[tree])
        return self.join(self.value(tree[0]), self.value(tree[1]))

    def value_until(self, tree):
        """Looks no deeper where an inner value is large."""
        if isinstance(tree, int):
            return self.words[tree] * 1
        left = self.value_until(tree[0])
        if left.sum() > 1:
            return left
        return fnp.tanh(left + self.value_until(tree[1]) @ self.w[:4])


@pytest.mark.parametrize("name", ["value", "value_until"])
def test_trees(name):
    model, rng = Model(), random.Random(3)
    trees = [tree_of(1 + i % 9, rng) for i in range(40)]
    made = frazil.batch(trees, getattr(model, name))
    for tree, value in zip(trees, made, strict=True):
        assert np.allclose(value, getattr(model, name)(tree), 1e-5, 1e-5)
    assert made.report.runs < made.report.nodes / 3


def test_results_in_structures_are_computed():
    made = frazil.batch(range(3), lambda i: {"x": fnp.array([float(i)]) + 1, "n": i, "all": [fnp.array(i) * 2]})
    assert [(m["x"]._there, m["x"].item(), m["n"], m["all"][0].item()) for m in made] == [
        (True, i + 1.0, i, 2 * i) for i in range(3)
    ]
    assert isinstance(made, list) and frazil.batch([], doubled) == []


def test_what_was_recorded_before_belongs_to_all():
    common = fnp.tanh(fnp.array([1.0, 2.0]) + 1)
    made = frazil.batch(range(6), lambda i: (common + i).sum())
    assert np.allclose([m.item() for m in made], [2 * i + np.tanh([2.0, 3.0]).sum() for i in range(6)])


def test_instances_join_as_others_end():
    def count(n):
        x = fnp.array(0)
        for _ in range(n):
            x = x + 1
            assert x.item() > 0
        return x

    lengths = [i % 10 for i in range(100)]
    made = frazil.batch(iter(lengths), count, at_once=8)
    assert [m.item() for m in made] == lengths
    assert made.report.rounds < 80  # 450 steps, 8 at a time


def test_others_end_where_one_raises():
    ended = []

    def work(i):
        x = fnp.array([float(i)])
        if (x * 2).item() in (4, 8):
            raise KeyError(f"instance {i}")
        (x + 1).numpy()
        ended.append(i)
        return x

    with pytest.raises(KeyError, match="instance 2") as raised:
        frazil.batch(range(6), work)
    assert sorted(ended) == [0, 1, 3, 5]
    assert "work" in [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]


def test_only_those_fail_that_must():
    table = fnp.array([10.0, 11.0, 12.0])

    def look_up(i):
        try:
            return fnp.take(table, fnp.array(np.array([i], np.int32)) + 0).item()  # computed: the run finds out
        except frazil.Error as error:
            return "Gather" in str(error) and "test_lazy_batches.py" in str(error)

    assert frazil.batch([0, 1, 9, 2], look_up) == [10, 11, True, 12]


def test_batches_in_batches():
    def outer(i):
        x = fnp.array(float(i)) + 1
        inner = frazil.batch(range(3), lambda k: (x * k + 1).item())
        return sum(inner) + (x * 2).item()

    assert frazil.batch(range(5), outer) == [3 * (i + 1) + 3 + 2 * (i + 1) for i in range(5)]


def test_reads_where_an_instance_cannot_be_left(affine, kind):
    """In functions that C++ calls: the value is computed at once."""
    shift = fnp.array(np.ones(1, np.float32))

    @frazil.host_operator(f"test.lazy.Shift{kind}")
    def shifted(x):
        return x + (shift * 2).numpy()

    g = frazil.Graph("shifting")
    g.output("y", shifted(g.input("x", frazil.float32, ("N",))))
    model = g.build(threads=1)

    def work(i):
        x = fnp.array(np.full(2, i, np.float32)) * 2
        return affine(x + 1)[0].tolist() + model(x).tolist() + (x + 1).tolist()

    assert frazil.batch(range(4), work) == [[2 * i + 1] * 2 + [2 * i + 2] * 2 + [2 * i + 1] * 2 for i in range(4)]


def test_functions_are_recorded_in_instances():
    def work(i):
        own = frazil.function(lambda x: x + later)
        later = fnp.array([float(i)]) * 2
        return (own(fnp.array([1.0])) + 1).item()

    assert frazil.batch(range(4), work) == [2 * i + 2 for i in range(4)]


def test_context_variables():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(7)

    def work(i):
        assert variable.get() == 7
        variable.set(i)
        (fnp.array(i) + 1).item()
        return variable.get()

    assert frazil.batch(range(4), work) == [0, 1, 2, 3] and variable.get() == 7


def test_deep_recursion():
    def deep(n, x):
        return x.item() if n == 0 else deep(n - 1, x + 1)

    assert frazil.batch(range(3), lambda i: deep(100, fnp.array(i))) == [100, 101, 102]


def test_generators_and_greenlets_of_the_user():
    def numbers(i):
        for k in range(3):
            yield (fnp.array(i) + k).item()

    def work(i):
        if batches.greenlet is None:
            return list(numbers(i))
        return batches.greenlet.greenlet(lambda: list(numbers(i))).switch()

    assert frazil.batch(range(3), work) == [[i, i + 1, i + 2] for i in range(3)]


def test_what_ends_a_batch_at_once():
    cleaned = []

    def work(i):
        try:
            (fnp.array(i) + 1).item()
            if i == 2:
                raise KeyboardInterrupt
            (fnp.array(i) * 3 + 1).item()
        finally:
            cleaned.append(i)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        frazil.batch(range(5), work)
    assert sorted(cleaned) == [0, 1, 2, 3, 4]
    time.sleep(0.05)
    assert threading.active_count() <= before
    assert frazil.batch(range(2), lambda i: (fnp.array(i) + 1).item()) == [1, 2]


def test_batches_are_let_go_of():
    class Held:
        pass

    held = Held()
    frazil.batch(range(3), lambda i: (fnp.array(i) + 1).item() and held)
    alive = weakref.ref(held)
    del held
    gc.collect()
    assert alive() is None


def test_batches_that_are_refused():
    with pytest.raises(frazil.BadInput, match="at_once"):
        frazil.batch([1], doubled, at_once=0)
    with pytest.raises(TypeError):
        frazil.batch(5, doubled)


# ---- threads ----


def work_of(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, 8, 8), np.float32)
    x, wanted = fnp.array(a), a
    for _ in range(6):  # more of them make large differences of the last bits
        x, wanted = fnp.tanh(x @ b), np.tanh(wanted @ b)
    return np.allclose(x, wanted, 1e-3, 1e-3)


def test_threads_have_arrays_of_their_own():
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work_of, range(64)))


def test_threads_share_what_is_not_computed_yet():
    for attempt in range(20):
        x = fnp.array(np.full((4, 4), attempt, np.float32))
        shared = [x := fnp.sqrt(x * x + 1) for _ in range(40)]
        start = threading.Barrier(6)

        def read(k):
            start.wait()
            return [(shared[-1 - k] + i).numpy()[0, 0] for i in range(5)] + [shared[-1].numpy()[0, 0]]

        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(read, range(6)))
        wanted = [np.sqrt(np.float32(attempt) ** 2 + n + 1) for n in range(40)]
        for k, values in enumerate(found):
            assert np.allclose(values, [wanted[-1 - k] + i for i in range(5)] + [wanted[-1]], 1e-4)


def test_functions_and_parameters_of_several_threads():
    model, rng = Model(), random.Random(5)
    trees = [tree_of(1 + i % 6, rng) for i in range(48)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda tree: model.value(tree).numpy(), trees))
    for tree, value in zip(trees, made, strict=True):
        assert np.allclose(value, model.value(tree), 1e-5, 1e-5)
    ended = threading.Thread(target=lambda: model.leaf(model.words[0]))  # nobody reads it
    ended.start()
    ended.join()


def test_other_threads_run_while_a_program_does():
    @frazil.function
    def long(x):
        return frazil.while_loop(lambda v, n: n < 3_000_000, lambda v, n: (v + 1, n + 1), x, 0)[0]

    done = threading.Event()
    thread = threading.Thread(target=lambda: (long(np.zeros(1, np.float32)).numpy(), done.set()))
    thread.start()
    count = 0
    while not done.wait(0.0005):
        count += 1
    thread.join()
    assert count > 3


@frazil.function
def endless(x):
    return frazil.while_loop(lambda v: v.sum() > -1, lambda v: v + 1, x)


@pytest.mark.parametrize("read", [lambda x: x.numpy(), lambda x: frazil.batch([1, 2], lambda i: (x + i).sum().item())])
def test_ctrl_c(read):
    x = endless(fnp.array(np.zeros(2, np.float32)))
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        read(x)
    timer.join()
    assert (fnp.array(1) + 1).item() == 2


def test_a_program_that_needs_itself(kind):
    name = f"test.lazy.Itself{kind}"
    held = []

    @frazil.host_operator(name)
    def itself(x):
        return x + held[0].numpy()

    held.append(getattr(frazil.lazy.ops.test_lazy, f"Itself{kind}")(fnp.array([1.0])))
    with pytest.raises(frazil.BadInput, match="reads a value that they compute"):
        held[0].numpy()
