"""Replaces a layer while requests run, and then rolls the edit back. No request waits or sees half of the edit."""

import threading

import frazil
import numpy as np

g = frazil.Graph("classifier")
x = g.input("x", frazil.float32, ("N", 4))
hidden = g.MatMul(x, np.eye(4, dtype=np.float32), name="layer")
g.output("y", g.Relu(hidden, name="relu"))
live = frazil.LiveModel(g.build(threads=1), author="ada", reason="first release")

rows = np.ones((2, 4), np.float32)
done = threading.Event()
wrong = []


def serve():
    session = live.open()
    while not done.is_set():
        y = session(rows)
        expected = {1: 1, 2: 3, 3: 1}[session.version]
        if not (y == expected).all():
            wrong.append((session.version, y))


threads = [threading.Thread(target=serve) for _ in range(3)]
for thread in threads:
    thread.start()
before = live.current.model
with live.edit(author="bob", reason="new weights") as patch:
    patch.replace("layer", patch.tap("x") @ (3 * np.eye(4, dtype=np.float32)))
print(frazil.diff(before, patch.model))
session = live.open()
assert (session(rows) == 3).all() and session.version == 2

live.roll_back(1, author="ada", reason="too large")
assert (session(rows) == 1).all() and session.version == 3
done.set()
for thread in threads:
    thread.join()
for version in live.history():
    print(version.number, version.author, version.reason, "|", version.change)
assert not wrong
