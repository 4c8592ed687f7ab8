"""Observers, inner values, profiles."""

import frazil
import numpy as np
import pytest


@pytest.fixture(scope="module")
def model():
    g = frazil.Graph("observed")
    x = g.input("x", "float32", ("N",))
    y = g.Relu(x, name="relu")
    g.output("y", g.loop(3, None, y, lambda i, c, v: g.Mul(v, 2, name="twice"), name="loop"))
    g.output("z", g.if_(x[0] > 0, lambda: g.Add(x, 1, name="up"), lambda: g.Neg(x, name="down")))
    return g.build()


class Recorder(frazil.Observer):
    def __init__(self, wanted=()):
        self.events, self.values, self.names = [], [], list(wanted)

    def run_begin(self):
        self.events.append("run_begin")

    def run_end(self):
        self.events.append("run_end")

    def node_begin(self, node):
        self.events.append(("node_begin", node.name, node.op))

    def node_end(self, node):
        self.events.append(("node_end", node.name, node.op))

    def wanted(self):
        return self.names

    def value(self, name, value, iterations):
        self.values.append((name, value.tolist(), iterations))


def relu_model():
    return frazil.from_text('graph g(%x: f32[N]) { %y = Relu(%x) "relu" return y = %y }')


def test_events():
    session = relu_model().session()
    recorder = Recorder()
    session.observe(recorder)
    session([1, -1])
    assert recorder.events == ["run_begin", ("node_begin", "relu", "Relu"), ("node_end", "relu", "Relu"), "run_end"]
    session.observe(None)
    session([1, -1])
    assert len(recorder.events) == 4


def test_loops_and_branches():
    class Counter(frazil.Observer):
        turns, branches = 0, []

        def iteration(self, node):
            self.turns += 1

        def branch(self, node, taken):
            self.branches.append(taken)

    g = frazil.Graph()
    x = g.input("x", "float32")
    g.output("y", g.loop(None, True, x, lambda i, c, v: (v < 10, v * 2)))
    session = g.build().session()
    counter = Counter()
    session.observe(counter)
    assert session(1) == 32 and counter.turns == 5 and counter.branches[-1] is False


def test_values():
    recorder = Recorder(["relu"])
    g = frazil.Graph()
    x = g.input("x", "float32", (2,))
    g.output("y", g.Relu(x, name="relu") + 1)
    session = g.build().session()
    session.observe(recorder)
    session([-1, 4])
    assert recorder.values == [("relu", [0, 4], ())]
    with pytest.raises(frazil.BadInput, match="nothing"):
        session.observe(Recorder(["nothing"]))
    with pytest.raises(TypeError, match="frazil.Observer"):
        session.observe(object())


def test_exceptions_stop_the_run():
    class Bad(frazil.Observer):
        def node_begin(self, node):
            raise KeyError(node.name)

    session = relu_model().session()
    session.observe(Bad())
    for _ in range(2):
        with pytest.raises(KeyError, match="relu"):
            session([1])
    session.observe(None)
    assert session([1]).tolist() == [1]


def test_fetch():
    g = frazil.Graph()
    x = g.input("x", "float32", ("N",))
    y = g.Relu(x, name="relu")
    total = g.loop(g.Size(x), None, y, lambda i, c, v: g.Mul(v, 2, name="twice"))
    g.output("y", total)
    model = g.build()
    x = np.array([1, -2, 3], np.float32)
    found = model.fetch({"x": x}, ["relu", "twice"])
    assert found["relu"].tolist() == [1, 0, 3]
    assert {key: value.tolist() for key, value in found["twice"].items()} == {
        (0,): [2, 0, 6], (1,): [4, 0, 12], (2,): [8, 0, 24],
    }  # fmt: skip
    same = model.fetch({"x": x}, ["relu"], tier="ref")
    assert same["relu"].tolist() == [1, 0, 3]
    with pytest.raises(frazil.BadInput, match="nothing"):
        model.fetch({"x": x}, ["nothing"])


def test_fetch_of_a_branch_not_taken(model):
    found = model.fetch({"x": [1, 2]}, ["up", "down"], tier="ref")
    assert found["up"].tolist() == [2, 3] and found["down"] is None


def test_profile(model):
    profile = model.profile({"x": [1, 2]}, runs=5)
    assert profile.runs == 5 and profile.seconds > 0
    assert sum(row.seconds for row in profile.rows) <= 5 * profile.seconds
    profile = relu_model().profile({"x": [1, 2]}, runs=5)
    assert [(row.name, row.op, row.calls) for row in profile.rows] == [("relu", "Relu", 5)]
    assert "relu" in repr(profile) and "us/run" in repr(profile) and profile._repr_html_().startswith("<table>")
