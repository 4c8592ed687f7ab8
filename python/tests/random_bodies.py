"""Random programs with nested bodies, in which one value may be changed while they are built."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple

import frazil
import numpy as np

Change = Callable[[Any], Any]
HALF = np.float32(0.5)


class Place(NamedTuple):
    """Where a value is."""

    name: str
    bodies: str  #: around it, outermost first: "If Loop"


class Program:
    """A program that depends on the seed alone. Each value of it is called v0, v1, ...

    change  the values of these names are what the function makes of them
    """

    def __init__(self, seed: int, change: Dict[str, Change] | None = None, most_depth: int = 3) -> None:
        self.random = np.random.default_rng(seed)
        self.change = change or {}
        self.most_depth = most_depth
        self.places: List[Place] = []
        self.graph = g = frazil.Graph("random")
        x = g.x = g.input("x", "float32", ("N",))
        y = g.input("y", "float32", ("N",))
        g.output("z", self.body([x, y], ""))
        self.model = g.build(threads=1)

    def named(self, term: Any, bodies: str) -> Any:
        """The value under a name of its own, or what the change makes of it."""
        name = f"v{len(self.places)}"
        self.places.append(Place(name, bodies.strip()))
        term = self.graph.Mul(term, np.float32(0.75), name=name)
        return self.change[name](term) if name in self.change else term

    def number(self) -> np.float32:
        return np.float32(self.random.uniform(-1.5, 1.5))

    def body(self, values: list[Any], bodies: str) -> Any:
        depth = len(bodies.split())
        values = list(values)
        kinds = ["plain", "plain", "if", "loop", "scan"] if depth < self.most_depth else ["plain"]
        for kind in self.random.permutation(kinds)[: 4 if depth == 0 else 3]:
            a, b = (values[i] for i in self.random.integers(len(values), size=2))
            values.append(self.named(getattr(self, f"{kind}_of")(a, b, bodies), bodies))
        total = values[-1]
        for value in values[:-1]:
            total = total - value
        return total

    def plain_of(self, a: Any, b: Any, bodies: str) -> Any:
        g, number = self.graph, self.number()
        operators = (
            lambda: g.Tanh(a) + b,
            lambda: g.Max(a, b * number),
            lambda: a - g.ReduceMean(b, keepdims=0),
            lambda: g.Relu(a * number) - b,
        )
        return operators[self.random.integers(len(operators))]()

    def if_of(self, a: Any, b: Any, bodies: str) -> Any:
        condition = self.graph.ReduceSum(a, keepdims=0) > self.number()
        then = lambda: self.body([a, b], f"{bodies} If")
        otherwise = lambda: self.body([b, a], f"{bodies} If")
        return self.graph.if_(condition, then, otherwise)

    def loop_of(self, a: Any, b: Any, bodies: str) -> Any:
        trips = int(self.random.integers(1, 4))
        step = lambda i, condition, v: (~~condition, self.body([v, b], f"{bodies} Loop") * HALF)
        return self.graph.loop(trips, True, a, step)

    def scan_of(self, a: Any, b: Any, bodies: str) -> Any:
        """Over the elements, with one outer value."""
        g = self.graph
        rows = g.Concat(g.Reshape(a, [-1]), g.Reshape(b, [-1]), axis=0)

        def step(state: Any, element: Any) -> Any:
            made = self.body([state, element], f"{bodies} Scan") + g.ReduceMax(b, keepdims=0)
            return made * HALF, made

        state, made = g.Scan(g.ReduceMin(a, keepdims=0), rows, num_scan_inputs=1, body=step, outputs=2)
        return a * HALF + g.ReduceMean(made, keepdims=0) * state
