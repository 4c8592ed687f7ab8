"""Models that are edited while requests run."""

import datetime
import gc
import os
import signal
import threading
import time
import weakref

import frazil
import numpy as np
import pytest

X = np.array([10], np.float32)


@pytest.fixture
def model():
    """y = x * 2 + 1, with names for both nodes."""
    return frazil.from_text(
        """graph g(%x: f32[N]) {
             %a: f32[N] = Mul(%x, f32[] 2) "double"
             %y: f32[N] = Add(%a, f32[] 1) "shift"
             return y = %y
           }""",
        threads=1,
    )


def shift(patch, by):
    patch.replace("y", patch.tap("a") + float(by))


def test_versions(model):
    live = frazil.LiveModel(model, author="ada", reason="start")
    session = live.open()
    assert session.version == 0 and session(X) == 21 and session.version == 1
    with live.edit(author="bob", reason="more") as patch:
        shift(patch, 5)
    assert patch.version == live.current and patch.model(X) == 25
    assert session.run({"x": X})["y"] == 25 and session.version == 2
    first, second = live.history()
    assert (first.number, first.parent, first.author, first.reason, first.change) == (1, None, "ada", "start", "first")
    assert (second.number, second.parent, second.author, second.reason) == (2, 1, "bob", "more")
    assert "1 new node (Add)" in second.change and "patch 'more'" in second.change
    age = datetime.datetime.now(datetime.timezone.utc) - second.made
    assert datetime.timedelta(0) <= age < datetime.timedelta(minutes=5)
    assert first.model(X) == 21 and second.model.options.threads == 1
    assert "Version 2 by 'bob'" in repr(live)


def test_edit_by_a_function(model):
    live = frazil.LiveModel(model)
    version = live.edit(lambda patch: shift(patch, 7), author="ada")
    assert version.number == 2 and version.author == "ada" and live.open()(X) == 27


def test_commit_within_the_block(model):
    live = frazil.LiveModel(model)
    with live.edit() as patch:
        shift(patch, 5)
        patch.commit()
        assert live.current.number == 2
    assert len(live.history()) == 2


def test_roll_back_and_forget(model):
    live = frazil.LiveModel(model)
    session = live.open()
    live.edit(lambda patch: shift(patch, 5))
    back = live.roll_back(1, author="eve", reason="too much")
    assert back.number == 3 and back.change == "rolled back to 1" and session(X) == 21
    live.forget(2)
    assert [v.number for v in live.history()] == [1, 3]
    for call, message in [
        (lambda: live.version(2), "no version 2"),
        (lambda: live.roll_back(2), "no version 2"),
        (lambda: live.forget(3), "current"),
    ]:
        with pytest.raises(frazil.BadInput, match=message):
            call()
    assert live.version(1).model(X) == 21


def test_publish(model):
    live = frazil.LiveModel(model)
    session = live.open()
    other = frazil.from_text("graph h(%u: f32[N], %v: f32[N]) { %w = Sub(%u, %v) return w = %w }")
    assert session(X) == 21
    assert live.publish(other, author="ada").change == "published"
    assert session(u=X, v=[3]) == 7
    with pytest.raises(frazil.BadInput, match="no input 'x'"):
        session(x=X)


def test_failed_edits_change_nothing(model):
    live = frazil.LiveModel(model)
    with pytest.raises(frazil.BadInput, match="nothing.*" + __file__):
        with live.edit() as patch:
            patch.tap("nothing")
    with pytest.raises(frazil.BadInput, match="has not been committed"):
        patch.version
    with pytest.raises(ZeroDivisionError):
        live.edit(lambda patch: 1 / 0)
    with pytest.raises(frazil.BadModel, match=__file__):
        live.edit(lambda patch: patch.remove("double"))
    with pytest.raises(frazil.BadInput, match="not of version 2"):
        with live.edit() as outer:
            shift(outer, 1)
            live.edit(lambda inner: shift(inner, 5))
    assert live.open()(X) == 25 and len(live.history()) == 2, "the inner edit stands"
    live.edit(lambda patch: shift(patch, 6))


def test_inputs_are_converted_for_the_version_that_runs(model):
    live = frazil.LiveModel(model)
    session = live.open()
    assert session([1.5]).dtype == np.float32
    live.publish(frazil.from_text("graph h(%x: i64[N]) { %y = Add(%x, %x) return y = %y }"))
    assert session([3]).dtype == np.int64
    with pytest.raises(frazil.BadInput, match="input 'x'"):
        session([1.5])


def test_carried_state(model):
    text = """graph g(%x: f32[N], %s: SHAPE = VALUE) {
                %t = Add(%x, %s) "sum"
                return t = %t
              }"""
    small = frazil.from_text(text.replace("SHAPE", "f32[1]").replace("VALUE", "[0]"))
    live = frazil.LiveModel(small)
    session = live.open()
    session.carry("t", "s")
    assert session([1]) == 1
    kept = session([2])
    assert kept == 3 and not kept.flags.writeable, "the session uses it"
    live.edit(lambda patch: patch.replace("t", patch.Mul(patch.tap("t"), 10.0)))
    assert session([1]) == 40, "it is kept when the version changes"
    assert session([1], s=[0]) == 10, "a given input comes first"
    with pytest.raises(frazil.BadInput):
        session(["a"])
    assert session([1]) == 110, "a request that fails keeps it"
    session.reset()
    assert session([1]) == 10
    live.publish(frazil.from_text(text.replace("SHAPE", "f32[1,1]").replace("VALUE", "[[7]]")))
    assert session([1]).tolist() == [[8]], "it does not fit the new type"
    for output, input in [("q", "s"), ("t", "q")]:
        with pytest.raises(frazil.BadInput, match="'q'"):
            session.carry(output, input)


def test_edits_while_other_threads_run(model):
    live = frazil.LiveModel(model)
    done = threading.Event()
    runs, wrong = [0] * 3, []

    def work(t):
        session = live.open()
        while not done.is_set():
            got = session(X).item()
            runs[t] += 1
            if got != 20 + max(1, session.version - 1):  # version v adds v - 1, the first one 1
                wrong.append((session.version, got))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(3)]
    for thread in threads:
        thread.start()
    for k in range(1, 60):
        live.edit(lambda patch: shift(patch, k))
        if k > 3:
            live.forget(k - 2)
        time.sleep(0.001)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong and min(runs) > 0 and live.current.number == 60


def test_edits_of_several_threads_wait_for_each_other(model):
    live = frazil.LiveModel(model)

    def work():
        for _ in range(10):
            with live.edit() as patch:
                patch.replace("y", patch.tap("y") + 1.0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert live.current.number == 41 and live.open()(X) == 61


def endless_live(endless):
    return frazil.LiveModel(endless).open()


def test_cancel(endless):
    session = endless_live(endless)
    raised = []

    def run():
        try:
            session(0)
        except frazil.Error as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.1)
    for call in (lambda: session(0), session.reset, lambda: session.carry("y", "x")):
        with pytest.raises(frazil.BadInput, match="session is"):
            call()
    assert session.version == 1
    while thread.is_alive():
        session.cancel()
        thread.join(0.05)
    assert isinstance(raised[0], frazil.Cancelled)


def test_ctrl_c(endless):
    session = endless_live(endless)
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session(0)
    timer.join()


def test_runs_let_go_of_inputs(model):
    class Array(np.ndarray):
        """With weak references."""

    session = frazil.LiveModel(model).open()
    x = np.ones(64, np.float32).view(Array)
    session(x)
    alive = weakref.ref(x)
    del x
    assert alive() is None


def test_versions_that_are_forgotten_are_freed():
    class Array(np.ndarray):
        """With weak references."""

    def build():
        value = np.ones(10_000, np.float32).view(Array)
        g = frazil.Graph()
        g.output("y", g.input("x", "float32", ("N",)) + g.ReduceSum(g.constant(value, copy=False), keepdims=0))
        return g.build(), weakref.ref(value)

    first, alive = build()
    live = frazil.LiveModel(first)
    session = live.open()
    session(X)
    live.publish(frazil.from_text("graph h(%x: f32[N]) { %y = Add(%x, %x) return y = %y }"))
    session(X)
    del first
    gc.collect()
    assert alive() is not None
    live.forget(1)
    gc.collect()
    assert alive() is None


def test_patch_inputs(model):
    with model.edit() as patch:
        patch.replace("a", patch.input("fed", "float32", ("N",)))
    assert patch.model.run({"x": X, "fed": [3]})["y"] == 4
    with pytest.raises(frazil.BadModel, match="'x'"):
        with model.edit() as patch:
            patch.input("x", "float32")


def test_diff(model, monkeypatch):
    with model.edit() as patch:
        shift(patch, 5)
    text = frazil.diff(model, patch.model)
    assert frazil.diff(model, model) == ""
    assert any(line.startswith("- ") and "shift" in line for line in text.splitlines())
    assert any(line.startswith("+ ") and "Add" in line for line in text.splitlines())
    dot = frazil.diff_dot(model, patch.model)
    assert dot.startswith("digraph") and text.dot == dot
    monkeypatch.setenv("PATH", "")
    assert text._repr_svg_() is None and text._repr_html_().startswith("<pre>+ ")


def test_digests_are_of_the_content(model):
    live = frazil.LiveModel(model)
    first = model.digest()
    assert first.startswith("sha256:") and len(first) == 71
    with live.edit() as patch:
        shift(patch, 5)
    assert live.current.model.digest() != first
    assert live.roll_back(1).model.digest() == first


def test_graphs_call_models_by_name(model):
    live = frazil.LiveModel(model)
    frazil.registry["shift"] = live
    try:
        contract = {"model": "shift", "takes": ["f32[N]"], "gives": ["f32[N]"]}
        g = frazil.Graph("caller")
        g.output("z", g.op("frazil.Call", [g.input("x", frazil.float32, ("N",))], contract))
        caller = g.build()
        assert caller(X).tolist() == [21]
        with live.edit() as patch:
            shift(patch, 5)
        assert caller(X).tolist() == [25]
        assert list(frazil.registry) == ["shift"] and frazil.registry["shift"] is live
    finally:
        del frazil.registry["shift"]
    with pytest.raises(frazil.BadInput, match="there is no model 'shift'"):
        caller(X)


def test_old_versions_are_forgotten(square):
    live = frazil.LiveModel(square, most_versions=3)
    for _ in range(5):
        live.roll_back(live.current.number)
    assert [version.number for version in live.history()] == [4, 5, 6]
    assert len(live._models) <= 4
    with pytest.raises(frazil.BadInput, match="no version 1"):
        live.version(1)
    with pytest.raises(frazil.BadInput, match="most_versions"):
        frazil.LiveModel(square, most_versions=0)
