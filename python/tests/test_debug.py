"""Stops, values and other values in runs; comparisons."""

import threading

import numpy as np
import pytest

import frazil

CHAIN = """graph g(%x: f32[N]) {
  %a = Add(%x, f32[] 1) "add"
  %b = Mul(%a, f32[] 2) "mul"
  %c = Neg(%b) "neg"
  return y = %c
}"""
LOOP = """graph g(%n: i64[], %x: f32[2]) {
  %r = Loop(%n, _, %x) body(%i: i64[], %go: bool[], %h: f32[2]) {
    %d = Add(%h, f32[] 1) "more"
    yield %go, %d
  } "loop"
  return y = %r
}"""
X = np.array([1, 2], np.float32)


def test_steps_and_values():
    debugger = frazil.Debugger(frazil.from_text(CHAIN))
    seen = []
    stop = debugger.start({"x": X})
    while stop:
        seen.append((stop.value, stop.node, stop.op, debugger[stop.value].tolist()))
        stop = debugger.next()
    assert seen == [("a", "add", "Add", [2, 3]), ("b", "mul", "Mul", [4, 6]), ("c", "neg", "Neg", [-4, -6])]
    assert debugger.results["y"].tolist() == [-4, -6]
    assert debugger.values() == ["x", "a", "b", "c"]
    assert debugger.why_missing("a") == ""


def test_breakpoints_in_a_loop():
    debugger = frazil.Debugger(frazil.from_text(LOOP), tier="ref")
    number = debugger.break_at("d > 3")
    stop = debugger.run({"n": 5, "x": X})
    assert (stop.why, stop.value, stop.iterations, stop.breakpoint) == ("breakpoint", "d", (1,), number)
    assert stop.around == ["node 'loop' (Loop), body"]
    debugger.clear(number)
    assert debugger.out().value == "r"
    assert not debugger.resume()


def test_a_value_is_set():
    debugger = frazil.Debugger(frazil.from_text(CHAIN))
    debugger.break_at("mul")
    assert debugger.run({"x": X}).value == "b"
    assert debugger.set("b", [10, 20]).value == "b"
    assert not debugger.resume()
    assert debugger.results["y"].tolist() == [-10, -20]
    debugger["b"] = X
    assert not debugger.resume()
    assert debugger.results["y"].tolist() == [-1, -2]


def test_faults():
    debugger = frazil.Debugger(frazil.from_text(CHAIN))
    with pytest.raises(frazil.BadInput, match="no run is stopped"):
        debugger.step()
    with pytest.raises(frazil.BadInput, match="is not a value, node or operator"):
        debugger.break_at("nothing")
    with pytest.raises(frazil.BadInput, match="no value or node"):
        debugger["nothing"]
    debugger.start({"x": X})
    with pytest.raises(frazil.BadInput, match=r"value 'a' is f32\[2\], not f32\[3\]"):
        debugger["a"] = np.zeros(3, np.float32)
    with pytest.raises(frazil.BadInput):
        debugger.run({"z": X})


def test_inputs_are_copied():
    debugger = frazil.Debugger(frazil.from_text(CHAIN))
    x = X.copy()
    debugger.start({"x": x})
    x[:] = 100
    assert debugger.next().value == "b"
    assert debugger["b"].tolist() == [4, 6]


def test_cancel_ends_a_run_that_goes_on():
    debugger = frazil.Debugger(frazil.from_text(LOOP))
    timer = threading.Timer(0.2, debugger.cancel)
    timer.start()
    with pytest.raises(frazil.Cancelled):
        debugger.run({"n": 10**9, "x": X})
    timer.join()


def test_a_stopped_run_is_left():
    debugger = frazil.Debugger(frazil.from_text(LOOP))
    debugger.start({"n": 10**9, "x": X})
    del debugger


def test_compare():
    model = frazil.from_text(CHAIN)
    assert frazil.compare(model, inputs={"x": X})
    found = frazil.compare(model, frazil.from_text(CHAIN.replace("f32[] 2", "f32[] 3")), {"x": X})
    assert not found
    assert (found.value, found.node) == ("b", "node 'mul' (Mul)")
    assert "got 4, expected 6" in found.what
