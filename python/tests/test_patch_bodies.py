"""Edits of values inside of nested bodies, against programs that are built in that way."""

from __future__ import annotations

from typing import Any

import frazil
import numpy as np
import pytest
from frazil.nn import functional

from random_bodies import Change, Program

TIERS = ("ref", "0", "1", "2")
INPUTS = {
    "x": np.array([0.31, -1.72, 2.05, 0.44, -0.93], np.float32),
    "y": np.array([1.27, 0.58, -0.66, -2.11, 0.19], np.float32),
}


KINDS = ["if", "loop", "scan", "nested", "call", "function"]


def changes(graph: Any) -> dict[str, Change]:
    """What may be put in the place of a value."""

    def branch(v: Any) -> Any:
        return graph.if_(graph.ReduceMean(v, keepdims=0) > np.float32(0.05), lambda: graph.Tanh(v) - v, lambda: v)

    def loop(v: Any) -> Any:
        step = lambda i, condition, w: (condition, w * np.float32(0.6) - graph.Sigmoid(v))
        return graph.loop(3, True, v, step)

    def scan(v: Any) -> Any:
        rows = graph.Concat(graph.Reshape(v, [-1]), graph.Reshape(v * np.float32(0.3), [-1]), axis=0)
        body = lambda state, row: (state * np.float32(0.5) + row * graph.ReduceMax(v, keepdims=0), row)
        return v - graph.Scan(graph.ReduceMean(v, keepdims=0), rows, num_scan_inputs=1, body=body)[0]

    def nested(v: Any) -> Any:
        """A branch in a loop in a branch; each uses values of those around it."""
        least = graph.ReduceMin(v, keepdims=0)

        def step(i: Any, condition: Any, w: Any) -> Any:
            odd = graph.Cast(graph.Mod(i, 2), to="bool")
            return condition, graph.if_(odd, lambda: w * least - v, lambda: w * np.float32(0.8))

        inner = lambda: graph.loop(3, True, v * np.float32(0.9), step)
        return graph.if_(least < np.float32(0.2), inner, lambda: -v)

    def call(v: Any) -> Any:
        type_ = f"f32[{','.join(str(extent) for extent in v.shape)}]"
        contract = {"model": f"rank{v.ndim}", "takes": [type_], "gives": [type_]}
        return graph.op("frazil.Call", [v], contract)

    def function(v: Any) -> Any:
        """A function of PyTorch, which is composed of operators."""
        return functional.gelu(v) - functional.softplus(v * np.float32(0.2))

    return {"function": function, "if": branch, "loop": loop, "scan": scan, "nested": nested, "call": call}


@pytest.fixture(scope="module", autouse=True)
def called():
    for rank, extents in enumerate(((), ("N",))):
        g = frazil.Graph(f"rank{rank}")
        g.output("y", g.Sin(g.input("x", "float32", extents)) * np.float32(1.25))
        frazil.registry[f"rank{rank}"] = frazil.LiveModel(g.build(threads=1))
    yield
    for rank in range(2):
        del frazil.registry[f"rank{rank}"]


def patched(program: Program, wanted: dict[str, str]) -> frazil.Model:
    with program.model.edit("bodies") as p:
        made = changes(p)
        for name, kind in wanted.items():
            p.replace(name, made[kind](p.tap(name)))
    return p.model


def built(seed: int, wanted: dict[str, str]) -> frazil.Model:
    """The same program with the changes from the start. Its graph exists before its body."""
    kinds: dict[str, Change] = {}
    program = Program.__new__(Program)
    for name, kind in wanted.items():
        kinds[name] = lambda v, kind=kind: changes(program.graph)[kind](v)
    program.__init__(seed, kinds)
    return program.model


def agree(a: frazil.Model, b: frazil.Model, inputs: dict[str, Any] = INPUTS) -> None:
    for tier in TIERS:
        got, expected = (model.with_options(tier=tier).run(inputs)["z"] for model in (a, b))
        np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-5, err_msg=f"tier {tier}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_one_value(seed, kind):
    program = Program(seed)
    deepest = sorted(program.places, key=lambda place: -len(place.bodies.split()))
    random = np.random.default_rng([seed, len(kind)])
    name = deepest[random.integers(min(8, len(deepest)))].name
    agree(patched(program, {name: kind}), built(seed, {name: kind}))


@pytest.mark.parametrize("seed", range(10, 16))
def test_several_values(seed):
    """In one patch, of which some are around others."""
    program = Program(seed)
    random = np.random.default_rng(seed)
    names = random.choice([place.name for place in program.places], 4, replace=False)
    wanted = dict(zip(names.tolist(), random.choice(KINDS, 4).tolist()))
    agree(patched(program, wanted), built(seed, wanted))


def other_value(graph: Any, limit: Any, v: Any) -> Any:
    """In the place of a value, of its rank."""
    x = graph.tap("x") if isinstance(graph, frazil.Patch) else graph.x
    return x * limit if v.ndim else graph.ReduceMax(x, keepdims=0) * limit


@pytest.mark.parametrize("seed", range(20, 32))
def test_wrapped_values(seed):
    """wrap() gives what a branch around the value gives, wherever the nodes are that compute it."""
    program = Program(seed)
    names = np.random.default_rng(seed).choice([place.name for place in program.places], 2, replace=False)
    with program.model.edit("wrapped") as p:
        limit = p.input("limit", "float32")
        for name in names:
            p.wrap(name, limit > np.float32(0), lambda: other_value(p, limit, p.tap(name)))

    def branch(v: Any) -> Any:
        g = expected.graph
        if not hasattr(g, "limit"):
            g.limit = g.input("limit", "float32")
        return g.if_(g.limit > np.float32(0), lambda: v, lambda: other_value(g, g.limit, v))

    expected = Program.__new__(Program)
    expected.__init__(seed, dict.fromkeys(names, branch))
    for limit in (-0.7, 0.6):
        agree(p.model, expected.model, {**INPUTS, "limit": np.float32(limit)})


@pytest.fixture
def layers():
    """Three layers, a side value of the second, a loop in the third."""
    g = frazil.Graph("layers")
    x = g.input("x", "float32", ("N",))
    g.input("busy", "bool")
    first = g.Relu(g.Neg(x, name="turned"), name="first")
    second = g.Tanh(g.Mul(first, np.float32(1.7), name="scaled"), name="second")
    side = g.Exp(second, name="side")
    step = lambda i, condition, v: (condition, g.Sin(v, name="turn"))
    third = g.Sub(g.loop(2, True, second, step, name="looped"), np.float32(0.4), name="third")
    g.output("y", third + side)
    return g.build(threads=1)


def wrapped(model: frazil.Model, outputs: Any, otherwise: Any, **options: Any) -> frazil.Model:
    with model.edit("skip") as p:
        p.wrap(outputs, ~p.tap("busy"), lambda: otherwise(p), **options)
    return p.model


def skipped(model: frazil.Model) -> set[str]:
    """Values that a busy run does not compute."""
    names = ["turned", "first", "scaled", "second", "side", "looped", "third"]
    text = model.text()
    names = [name + "#1" if f'%"{name}#1"' in text else name for name in names if f"%{name}:" in text]
    inputs = {"x": INPUTS["x"], "busy": True}
    return {name for name, value in model.fetch(inputs, names, tier="ref").items() if value is None}


def third_layer(model: frazil.Model, busy: bool) -> np.ndarray:
    return model.run({"x": INPUTS["x"], "busy": busy})["y"]


def test_what_moves(layers):
    """What only the outputs need."""
    x = INPUTS["x"]
    whole = wrapped(layers, "second", lambda p: p.tap("x"))
    assert skipped(whole) == {"turned", "first", "scaled", "second#1"}
    looped = np.sin(np.sin(x)) - np.float32(0.4)
    np.testing.assert_allclose(third_layer(whole, True), looped + np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(third_layer(whole, False), third_layer(layers, False))
    one = wrapped(layers, "second", lambda p: p.tap("first"))
    assert skipped(one) == {"scaled", "second#1"}
    np.testing.assert_array_equal(third_layer(one, False), third_layer(layers, False))


def test_what_stays(layers):
    assert skipped(wrapped(layers, "third", lambda p: p.tap("x"))) == {"looped", "third#1"}, "the side value stays"
    assert skipped(wrapped(layers, "second", lambda p: p.tap("x"), inputs=["first"])) == {"scaled", "second#1"}
    both = wrapped(layers, ["side", "third"], lambda p: (p.tap("x"), -p.tap("x")))
    assert skipped(both) == {"turned", "first", "scaled", "second", "side#1", "looped", "third#1"}
    np.testing.assert_array_equal(third_layer(both, True), np.zeros(5, np.float32))
    np.testing.assert_array_equal(third_layer(both, False), third_layer(layers, False))


def test_wraps_in_wraps(layers):
    """In either order; and users of an output that stand in front of the others."""
    for names in (["third", "second", "first"], ["first", "second", "third"]):
        with layers.edit("skip") as p:
            high = p.input("high", "float32")
            p.replace("side", p.constant([0.25, 0.5, 0.75, 1.25, 2.5]).astype("float32"))
            for k, name in enumerate(names):
                p.wrap(name, p.Greater(high, np.float32(len(name))), lambda: p.tap("x"), name=f"skip_{name}")
        for high in (4, 5.5, 7):
            inputs = {"x": INPUTS["x"], "busy": False, "high": np.float32(high)}
            v = x = INPUTS["x"]
            v = np.maximum(-x, 0) if high > 5 else x
            v = np.tanh(v * np.float32(1.7)) if high > 6 else x
            v = np.sin(np.sin(v)) - np.float32(0.4) if high > 5 else x
            for tier in TIERS:
                y = p.model.with_options(tier=tier).run(inputs)["y"]
                np.testing.assert_allclose(y, v + [0.25, 0.5, 0.75, 1.25, 2.5], rtol=1e-6)


def test_an_output_that_another_one_needs(layers):
    """Inside of the branch the second one is computed from the first, not from the result of the If."""
    with layers.edit("two") as p:
        p.replace("side", p.Abs(p.tap("first"), name="length"))
    given = p.model
    both = wrapped(given, ["first", "third"], lambda p: (p.tap("x"), -p.tap("x")))
    assert skipped(both) == {"turned", "first#1", "scaled", "second", "looped", "third#1"}
    np.testing.assert_array_equal(third_layer(both, False), third_layer(given, False))
    np.testing.assert_array_equal(third_layer(both, True), np.abs(INPUTS["x"]) - INPUTS["x"])


def test_wraps_in_bodies(layers):
    with layers.edit("skip") as p:
        p.wrap("turn", p.Greater(p.ReduceMax(p.tap("second"), keepdims=0), 2), lambda: p.tap("second") + 1)
    x = INPUTS["x"]
    second = np.tanh(np.maximum(-x, 0) * np.float32(1.7))
    np.testing.assert_allclose(third_layer(p.model, False), second + np.float32(0.6) + np.exp(second), rtol=1e-6)
    with p.model.edit("again") as q:
        q.wrap("turn", q.tap("busy"), lambda: q.tap("x"))
    np.testing.assert_allclose(third_layer(q.model, False), x - np.float32(0.4) + np.exp(second), rtol=1e-6)
    np.testing.assert_array_equal(third_layer(q.model, True), third_layer(p.model, False))


def test_wraps_that_do_not_fit(layers):
    def fails(message: str, outputs: Any, condition: Any, otherwise: Any, more: Any = lambda p: None, **options: Any):
        with pytest.raises(frazil.Error, match=message):
            with layers.edit("skip") as p:
                p.wrap(outputs, condition(p), lambda: otherwise(p), **options)
                more(p)

    busy, x = lambda p: p.tap("busy"), lambda p: p.tap("x")
    of_third = "patch 'skip': node 'third' \\(Sub\\) cannot be wrapped: "
    fails(of_third + "node .* uses it outside", "third", lambda p: p.ReduceMax(p.tap("third"), keepdims=0) > 1, x)
    fails(of_third + "a result uses it", "third", busy, x, lambda p: p.add_output("before", p.tap("third")))
    fails(of_third + "the other branch uses it", "third", busy, lambda p: p.tap("third"))
    fails(of_third + "it is kept", "third", busy, x, inputs=["third"])
    fails("value 'x' cannot be wrapped: it is not made", "x", busy, lambda p: p.constant([1.0]))
    fails("'If_third' .*depends on its own results through node", ["third", "second"],
          lambda p: p.ReduceMax(p.tap("side"), keepdims=0) > 1, lambda p: (p.tap("x"), p.tap("x")))
    fails("wrap.* takes the names of one value or more", [], busy, x)
    fails("replaced twice", ["third", "third"], busy, lambda p: (p.tap("x"), p.tap("x")))
    fails("no value or node 'nothing'", "nothing", busy, x)
    fails("If", "third", busy, lambda p: (p.tap("x"), p.tap("x")))
    fails("do not agree", "third", busy, lambda p: p.tap("busy"))


def test_a_live_model_skips_a_layer(layers):
    live = frazil.LiveModel(layers)
    session = live.open()
    live.edit(lambda p: p.wrap("third", ~p.tap("busy"), lambda: p.tap("second")), author="ada")
    x = INPUTS["x"]
    second = np.tanh(np.maximum(-x, 0) * np.float32(1.7))
    np.testing.assert_allclose(session(x=x, busy=True), second + np.exp(second), rtol=1e-6)
    np.testing.assert_array_equal(session(x=x, busy=False), third_layer(layers, False))
