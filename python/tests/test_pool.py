"""Calls of one model by many threads, within the bounds of its pool."""

import logging
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import frazil
import numpy as np
import pytest


def test_no_more_sessions_than_the_maximum(affine):
    model = affine.with_pool(max_sessions=2)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: model(np.float32([i, 1]), i)[0].tolist(), range(200)))
    assert results == [[2 * i, 1 + i] for i in range(200)]
    assert model.pool.opened <= 2 and model.pool.idle == model.pool.sessions and model.pool.waiting == 0
    model.trim()
    assert model.pool.sessions == 0
    with pytest.raises(frazil.BadInput, match="max_sessions"):
        affine.with_pool(max_sessions=0)


def test_bounds_stay_with_other_options(affine):
    model = affine.with_pool(max_sessions=1).with_options(tier="0")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: model([1.0], i), range(40)))
    assert model.pool.opened == 1


def until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_call_that_waits_can_be_cancelled(endless):
    model = endless.with_pool(max_sessions=1)
    running = model.run_async({"x": 0})
    until(lambda: model.pool.sessions > model.pool.idle)
    token, raised = frazil._frazil.RunToken(), []

    def wait():
        try:
            model._run_until(token, {"x": 0}, None, None)
        except frazil.Cancelled as error:
            raised.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: model.pool.waiting == 1)
    token.cancel()
    thread.join(20)
    assert raised == ["the run was cancelled before it began"]
    running.cancel()


def test_the_deadline_counts_while_a_call_waits(endless):
    model = endless.with_pool(max_sessions=1)
    short = frazil.Model(model, frazil.Options(deadline_ms=200.0))
    threads = [threading.Thread(target=lambda: pytest.raises(frazil.LimitExceeded, short, 0)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert short.pool.opened == 1 and short.pool.waiting == 0


def test_a_function_in_a_run_may_run_the_model(square):
    model = square.with_pool(max_sessions=1)

    @frazil.host_operator("acme.TwiceSquared")
    def twice_squared(x):
        return model(model(x))

    g = frazil.Graph()
    g.output("y", twice_squared(g.input("x", "float32", ("N",))))
    outer = g.build().with_pool(max_sessions=1)
    assert outer([2.0]).tolist() == [16.0]


def test_metadata_and_extents(tmp_path, affine):
    affine.save(str(tmp_path / "m.onnx"))
    model = frazil.load(str(tmp_path / "m.onnx"))
    data = model.metadata
    assert data.graph_name == "affine" and data.ir_version > 0 and data.opsets[""] >= 7
    assert data.properties == {} and "affine" in repr(data)
    port = model.inputs[0]
    assert port.extents == (-1,) and port.shape == ("N",) and port.full_type == port.type == "f32[N]"


# ---- the log ----


@pytest.fixture(autouse=True)
def enabled_logging(monkeypatch):
    """Other tests disable logging for the whole process."""
    monkeypatch.setattr(logging.root.manager, "disable", logging.NOTSET)


def odd_model():
    """A file that declares f32[3] for an output of f32[2]."""

    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    def number(at, value):
        return bytes([at << 3, value])

    def port(name, extent):
        dim = field(1, number(1, extent))
        return field(1, name) + field(2, field(1, number(1, 1) + field(2, dim)))

    node = field(1, b"x") + field(2, b"y") + field(4, b"Neg")
    graph = field(1, node) + field(2, b"g") + field(11, port(b"x", 2)) + field(12, port(b"y", 3))
    return number(1, 9) + field(8, number(2, 13)) + field(7, graph)


def test_warnings_go_to_the_logger(caplog):
    with caplog.at_level(logging.INFO, logger="frazil"):
        frazil.from_bytes(odd_model())
    records = [record for record in caplog.records if record.name == "frazil.load"]
    assert records and records[0].levelno == logging.WARNING and "y" in records[0].getMessage()


GUARDED = """graph g(%x: f32[N,2]) {
  %s = Shape(%x)
  %n = Gather(%s, i64[] 0)
  %small = Less(%n, i64[] 4)
  %r = If(%small) then_branch() { %flat = Reshape(%x, i64[1] [-1]) yield %flat } else_branch() { yield %x } "choice"
  %y = Add(%r, %r)
  return y = %y
}"""


def test_guards_are_logged_for_debugging(caplog):
    with caplog.at_level(logging.DEBUG, logger="frazil"):
        model = frazil.from_text(GUARDED, tier="0")
        for rows in (1, 5, 1, 5):
            model(np.zeros((rows, 2), np.float32))
        frazil._frazil.flush_log()
    levels = [record.levelno for record in caplog.records if record.name == "frazil.guard"]
    assert logging.INFO in levels and logging.DEBUG in levels


def test_many_threads_log(caplog):
    with caplog.at_level(logging.WARNING, logger="frazil"):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: frazil.from_bytes(odd_model()), range(40)))
        frazil._frazil.flush_log()
    assert sum(record.name == "frazil.load" for record in caplog.records) == 40


def test_messages_at_exit_are_delivered():
    program = (
        "import logging, frazil, sys; logging.basicConfig(stream=sys.stdout, format='%(name)s %(levelname)s')\n"
        "sys.path.insert(0, sys.argv[1]); from test_pool import odd_model\n"
        "frazil.from_bytes(odd_model())"
    )
    folder = __file__.rpartition("/")[0]
    out = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True)
    assert out.stdout.split("\n")[0] == "frazil.load WARNING" and out.stderr == ""


# ---- profiles ----


def test_a_session_can_be_profiled(affine):
    session = affine.session()
    with pytest.raises(frazil.BadInput, match="not profiled"):
        session.stop_profile()
    session.start_profile(trace_events=100)
    with pytest.raises(frazil.BadInput, match="already"):
        session.start_profile()
    for _ in range(3):
        session([1.0, 2.0], 1)
    profile = session.stop_profile()
    assert profile.runs == 3 and profile.seconds > 0 and profile.rows and '"traceEvents"' in profile.trace
    assert affine.profile({"x": [1.0]}, runs=2).trace == ""
