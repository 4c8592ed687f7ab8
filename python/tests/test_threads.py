"""Threads, cancelling, Ctrl-C."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import frazil
import numpy as np
import pytest


def after(seconds, function):
    timer = threading.Timer(seconds, function)
    timer.start()
    return timer


def test_a_model_runs_on_many_threads(affine):
    def work(seed):
        x = np.random.default_rng(seed).standard_normal(1000, np.float32)
        return all(np.array_equal(affine(x, i)[0], x + np.float32(i)) for i in range(50))

    model = affine.with_options()
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))
    assert 1 <= model._idle_sessions or affine._idle_sessions <= 9


def test_other_threads_run_meanwhile(endless):
    count = 0
    session = endless.session()
    done = threading.Event()

    def run():
        with pytest.raises(frazil.Cancelled):
            session(0)
        done.set()

    threading.Thread(target=run).start()
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        count += 1
    while not done.wait(0.05):
        session.cancel()
    assert count > 100


def test_a_busy_session_refuses(endless):
    session = endless.session()
    thread = threading.Thread(target=lambda: pytest.raises(frazil.Cancelled, session, 0))
    thread.start()
    time.sleep(0.1)
    for call in (lambda: session(0), session.trim, lambda: session.counters, lambda: session.observe(None)):
        with pytest.raises(frazil.BadInput, match="session is"):
            call()
    while thread.is_alive():
        session.cancel()
        thread.join(0.05)
    assert session.counters.runs == 1


@pytest.mark.parametrize("run", [lambda m: m(0), lambda m: m.run({"x": 0}), lambda m: m.session()(0)])
def test_ctrl_c(endless, run):
    start = time.monotonic()
    timer = after(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run(endless)
    timer.join()
    assert time.monotonic() - start < 10
    with pytest.raises(frazil.LimitExceeded):
        endless.with_options(max_steps=100)(0)


def test_ctrl_c_after_another_handler(endless):
    """signal.signal() removes what was installed in front of Python's handler."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGINT, before)
    timer = after(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        endless(0)
    timer.join()


def test_ctrl_c_with_a_handler_that_returns(endless):
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    try:
        timer = after(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(frazil.Cancelled):
            endless(0)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert calls == [1]


def test_ctrl_c_between_runs_is_pythons(square):
    square(np.float32(1))
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    assert square(np.float32(2)) == 4
