"""A Python function as a node, for computations without an operator or easier to write in NumPy."""

import frazil
import numpy as np


@frazil.host_operator("com.acme.Histogram")
def histogram(x, *, bins=4):
    """Returns the counts of values in equal ranges between 0 and 1."""
    return np.histogram(x, bins=bins, range=(0, 1))[0].astype(np.int64)


@histogram.types
def histogram_types(x, *, bins):
    return frazil.TensorType(frazil.int64, (bins,))


g = frazil.Graph("counts")
x = g.input("x", frazil.float32, ("N",))
counts = histogram(g.Sigmoid(x), bins=5)
g.output("share", counts.astype(frazil.float32) / g.ReduceSum(counts, keepdims=0).astype(frazil.float32))
model = g.build()
share = model(np.linspace(-4, 4, 200, dtype=np.float32))
print(model)
print(share.tolist())
assert share.shape == (5,) and abs(share.sum() - 1) < 1e-6


@frazil.host_operator("com.acme.Checked")
def checked(x):
    if not np.isfinite(x).all():
        raise ValueError("not finite")
    return x


g = frazil.Graph("checks")
g.output("y", g.com_acme.Checked(g.Log(g.input("x", frazil.float32, ("N",))), name="after_log"))
model = g.build()
try:
    model([1, 0])
except frazil.Error as error:
    print(error)
    assert "'after_log'" in str(error) and isinstance(error.__cause__, ValueError)
else:
    raise AssertionError("log(0) must not pass")
