"""Names that texts, errors, profiles and debuggers show, in all that takes names."""

from __future__ import annotations

import re
from typing import Any

import frazil
import numpy as np
import pytest

X = np.array([0.31, -1.72, 2.05], np.float32)
INPUTS = {"x": X, "c": True}
TRIPS = 2


def nested(g: frazil.Graph, v: Any, factors: tuple[float, ...], name: str) -> Any:
    """A branch in a loop. Each product has a factor of its own, by which it is known."""
    before, then, otherwise, after = (np.float32(factor) for factor in factors)

    def step(i: Any, condition: Any, w: Any) -> Any:
        w = w * before
        w = g.if_(g.c, lambda: g.Mul(w, then, name="act"), lambda: g.Mul(w, otherwise, name="act"))
        return condition, g.Mul(w, after, name=f"{name}/out" if name else "")

    return g.loop(TRIPS, True, v, step, name=name)


FIRST, SECOND = (1.25, 1.75, 1.5, 0.875), (0.625, 1.375, 1.125, 0.75)


@pytest.fixture(scope="module")
def model():
    g = frazil.Graph("names")
    x = g.input("x", "float32", ("N",))
    g.c = g.input("c", "bool")
    v = nested(g, g.Mul(x, np.float32(3), name="twice"), FIRST, "block/loop")
    v = nested(g, g.Mul(v, np.float32(5), name="twice"), SECOND, "")
    values, indices = g.TopK(v * np.float32(0.375), np.array([2]), name="top", outputs=2)
    g.output("y", values + g.Cast(indices, to="float32"))
    return g.build(threads=1)


def products() -> dict[float, dict[tuple[int, ...], np.ndarray]]:
    """By factor and iteration, of a run in which the branch is taken."""
    made: dict[float, dict[tuple[int, ...], np.ndarray]] = {}
    v = X

    def multiply(factor: float, at: tuple[int, ...] = ()) -> None:
        nonlocal v
        v = v * np.float32(factor)
        made.setdefault(factor, {})[at] = v

    for factor, block in ((3, FIRST), (5, SECOND)):
        multiply(factor)
        for i in range(TRIPS):
            for inner in (block[0], block[1], block[3]):
                multiply(inner, (i,))
    multiply(0.375)
    return made


PRODUCTS = products()


def in_text(model: frazil.Model) -> dict[str, float]:
    pattern = r"(%(?:\"[^\"]+\"|[\w./]+)): [^=\n]* = Mul\(%[^,]*, f32\[\] ([\d.]+)\)"
    names = {name: float(factor) for name, factor in re.findall(pattern, model.text())}
    return {**names, **{name.replace('"', ""): factor for name, factor in names.items()}}


def in_debugger(model: frazil.Model) -> dict[str, float]:
    """By what is in the value where the debugger stops."""
    names = {}
    debugger = frazil.Debugger(model)
    stop = debugger.start(INPUTS)
    while stop:
        if stop.op == "Mul":
            shown = debugger[stop.value]
            factor = [f for f, at in PRODUCTS.items() if np.array_equal(at.get(stop.iterations, []), shown)]
            assert len(factor) == 1, stop
            names[stop.value] = names[stop.node] = factor[0]
        stop = debugger.step()
    return names


def in_events(model: frazil.Model) -> list[str]:
    """Of nodes, as an observer and the profile have them."""

    class Names(frazil.Observer):
        def __init__(self) -> None:
            self.names: list[str] = []

        def node_begin(self, node: Any) -> None:
            self.names += [node.name or f"#{node.id}", f"#{node.id}"]

    names = Names()
    session = model.session()
    session.observe(names)
    session.run(INPUTS)
    rows = [row.name for row in model.profile(INPUTS, runs=1, warmup=0).rows]
    assert "" not in rows
    return [*names.names, *rows]


def in_plan(model: frazil.Model) -> list[str]:
    return re.findall(r"node (?:'[^']+'|#\d+) \(\w+\)", model.explain())


def alternatives(error: frazil.Error) -> list[str]:
    return re.findall("'([^']+)'", str(error).partition(": ")[2])


def resolved(model: frazil.Model, name: str) -> list[str]:
    """The name, or those that the message about several offers."""
    with model.edit() as p:
        try:
            p.tap(name)
            return [name]
        except frazil.BadInput as error:
            offered = alternatives(error)
            if len(offered) < 2:
                raise
            return offered


def check_fetched(model: frazil.Model, name: str, factor: float) -> None:
    got = model.fetch(INPUTS, [name], tier="ref")[name]
    expected = PRODUCTS.get(factor)
    if expected is None:
        assert got is None, "the branch that is not taken"
    else:
        found = got if isinstance(got, dict) else {(): got}
        assert found.keys() == expected.keys()
        for at, value in found.items():
            np.testing.assert_array_equal(value, expected[at])


def check_replaced(model: frazil.Model, name: str, factor: float) -> None:
    """Doubling the value doubles what follows in each iteration."""
    with model.edit("twice") as p:
        p.replace(name, p.tap(name) * np.float32(2))
    times = 2.0 ** (len(PRODUCTS[factor]) if factor in PRODUCTS else 0)
    with model.edit("product") as p:
        p.add_output("z", p.tap("top"))
    with p.model.edit("twice") as q:
        q.replace(name, q.tap(name) * np.float32(2))
    before, after = (m.with_options(tier="ref").run(INPUTS)["z"] for m in (p.model, q.model))
    np.testing.assert_array_equal(after, before * np.float32(times))


def check_stops(model: frazil.Model, name: str, factor: float) -> None:
    debugger = frazil.Debugger(model)
    debugger.break_at(name)
    expected = dict(PRODUCTS.get(factor, {}))
    stop = debugger.run(INPUTS)
    while stop:
        np.testing.assert_array_equal(debugger[name], expected.pop(stop.iterations))
        np.testing.assert_array_equal(debugger[stop.value], debugger[name])
        stop = debugger.resume()
    assert not expected


CHECKS = {"fetch": check_fetched, "replace": check_replaced, "breakpoint": check_stops}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("source", [in_text, in_debugger])
def test_values(model, source, check):
    """Each product, by the name that the source has for it."""
    names = source(model)
    assert set(names.values()) >= set(PRODUCTS)
    for name, factor in names.items():
        CHECKS[check](model, name, factor)


def test_paths(model):
    paths = {
        "block/loop/out": 0.875,
        "block/loop/act": None,
        "block/loop.body/act": None,
        "twice": None,
        "nothing/act": 0,
        "block/loop/twice": 0,
    }
    for name, factor in paths.items():
        if factor:
            check_fetched(model, name, factor)
        elif factor is None:
            offered = resolved(model, name)
            assert len(offered) == 2
            for one in offered:
                model.fetch(INPUTS, [one], tier="ref")
        else:
            with pytest.raises(frazil.BadInput, match="no value or node"):
                resolved(model, name)
    branch = [name for name in resolved(model, "block/loop/act") if "then" in name]
    check_fetched(model, branch[0], 1.75)


@pytest.mark.parametrize("source", [in_events, in_plan])
def test_nodes(model, source):
    names = source(model)
    assert len(names) > 10
    for name in names:
        for one in resolved(model, name):
            model.fetch(INPUTS, [one], tier="ref")
            debugger = frazil.Debugger(model)
            debugger.break_at(one)
            with model.edit("same") as p:
                p.replace(one, p.tap(one))


def test_names_of_errors(model):
    @frazil.host_operator("test.names.Raises", replace=True)
    def raises(x):
        raise ArithmeticError("no")

    for options in ({"name": "odd"}, {}):
        g = frazil.Graph("raises")
        x = g.input("x", "float32", ("N",))
        g.output("y", g.loop(1, True, x, lambda i, k, v: (k, g.test_names.Raises(v, **options))))
        broken = g.build()
        with pytest.raises(frazil.Error, match="node .* \\(Raises\\): ArithmeticError") as raised:
            broken([1.0])
        shown = re.search(r"node (?:'[^']+'|#\d+) \(\w+\)", str(raised.value)).group()
        with broken.edit("calm") as p:
            p.replace(shown, -p.tap(broken.inputs[0].name))
            p.remove(shown)
        assert p.model([1.0]).tolist() == [-1.0]


def test_nodes_of_edits(model):
    """set_attribute() and remove() take names of nodes, and those of the values that they make."""
    for name in ("top", "top:0", "top.1", "%top.0", "node 'top' (TopK)"):
        with model.edit() as p:
            p.set_attribute(name, "largest", 0)
        assert "largest = 0" in p.model.text()
    with pytest.raises(frazil.BadInput, match="no node 'x'"):
        with model.edit() as p:
            p.remove("x")
    with pytest.raises(frazil.BadInput, match="several nodes 'twice': '#"):
        with model.edit() as p:
            p.remove("twice")
    with pytest.raises(frazil.BadInput, match=r"node 'top' \(TopK\) has no output 2"):
        model.fetch(INPUTS, ["top:2"])
    with pytest.raises(frazil.BadInput, match="no node #4000: a pass has made it"):
        model.fetch(INPUTS, ["#4000"])


def test_a_parameter_without_a_name(model):
    """It can be replaced, and not watched."""
    name = re.search(r"body\(%\d+: i64\[\], %\d+: bool\[\], (%\d+): f32\[N\]\)", model.text()).group(1)
    with model.edit() as p:
        p.replace(name, p.tap(name) * np.float32(0))
    assert p.model.run(INPUTS)["y"].tolist() == [0, 1]
    with pytest.raises(frazil.Unsupported, match="cannot be watched: it is a parameter without a name"):
        model.fetch(INPUTS, [name])
