"""A branch that depends on data: one side of an `if` runs, and the other side costs nothing.

Large inputs are scaled by their largest element, others pass.
"""

import frazil
import numpy as np

g = frazil.Graph("scale")
x = g.input("x", frazil.float32, ("N",))
largest = g.ReduceMax(g.Abs(x), keepdims=0)
y = g.if_(largest > 1, lambda: g.Div(x, largest, name="divide"), lambda: x, name="is_large")
g.output("y", y)
model = g.build()


class Nodes(frazil.Observer):
    """Returns the branches taken."""

    def __init__(self):
        self.taken = []

    def branch(self, node, taken):
        self.taken.append((node.name, taken))


nodes = Nodes()
session = model.session()
session.observe(nodes)
for values in ([0.5, -0.25], [2, -4, 1]):
    result = session(np.array(values, np.float32))
    print(values, "->", result.tolist(), nodes.taken[-1])
assert nodes.taken == [("is_large", False), ("is_large", True)]
assert result.tolist() == [0.5, -1, 0.25]
