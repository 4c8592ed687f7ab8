"""Runs on other threads: futures, asyncio, cancellation."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import subprocess
import sys
import textwrap
import time

import frazil
import numpy as np
import pytest

BEGIN = 5.0  # seconds that anything may take to begin


@pytest.fixture(scope="module")
def slow():
    """Adds 1 as often as it is told."""
    g = frazil.Graph("slow")
    n, x = g.input("n", "int64"), g.input("x", "float32", ("N",))
    g.output("y", g.loop(n, None, x, lambda i, condition, v: (condition, g.Sin(v) + 1)))
    return g.build(threads=1)


TICKS = []


@pytest.fixture(scope="module")
def ticking():
    """Ends by itself long after all that the tests wait for."""

    @frazil.host_operator("test.futures.Tick", replace=True, pure=False)
    def tick(x):
        TICKS.append(1)
        if len(TICKS) > 5 * BEGIN / 0.004:
            raise RuntimeError("nobody has cancelled it")
        time.sleep(0.004)
        return x

    g = frazil.Graph("ticking")
    x = g.input("x", "float32")
    g.output("y", g.loop(None, True, x, lambda i, condition, v: (~~condition, tick(v) + 1)))
    return g.build(threads=1)


def ended(model, sessions=1):
    """Waits until as many runs have ended, and sees that nothing ticks afterwards."""
    end = time.monotonic() + BEGIN
    while model._idle_sessions < sessions:
        assert time.monotonic() < end, "a run goes on"
        time.sleep(0.002)
    before = len(TICKS)
    time.sleep(0.05)
    assert len(TICKS) == before


def begun(future):
    end = time.monotonic() + BEGIN
    while not future.running():
        assert time.monotonic() < end and not future.done()
        time.sleep(0.002)
    time.sleep(0.02)
    return future


def test_results(affine):
    x = np.array([1, 2], np.float32)
    future = affine.run_async({"x": x, "s": 3})
    assert isinstance(future, concurrent.futures.Future) and isinstance(future, frazil.RunFuture)
    assert future.result(BEGIN)["y"].tolist() == [4, 5]
    assert future.done() and not future.cancelled() and not future.running() and not future.cancel()
    assert affine.run_async(["z"], {"x": x}).result(BEGIN)[0].tolist() == [1, 4]
    y = np.zeros(2, np.float32)
    assert affine.run_async({"x": x}, out={"y": y}).result(BEGIN)["y"] is y and y.tolist() == [1, 2]


def test_many(affine):
    """More than there are threads; each has its own result."""
    futures = {affine.run_async({"x": np.full(1 + k % 7, k, np.float32)}): k for k in range(300)}
    for future in concurrent.futures.as_completed(futures, timeout=30):
        k = futures[future]
        assert future.result()["z"].tolist() == [float(k * k)] * (1 + k % 7)
    seen = []
    affine.run_async({"x": np.ones(1, np.float32)}).add_done_callback(seen.append)
    end = time.monotonic() + BEGIN
    while not seen and time.monotonic() < end:
        time.sleep(0.002)
    assert seen[0].result()["y"].tolist() == [1]


def test_errors(affine):
    with pytest.raises(frazil.BadInput, match="has no input 'q'"):
        affine.run_async({"q": 1}).result(BEGIN)
    error = affine.run_async({"x": np.zeros((1, 1, 1))}).exception(BEGIN)
    assert isinstance(error, frazil.BadInput) and "expected f32[N]" in str(error)


def test_cancelling_a_run(ticking):
    future = begun(ticking.run_async({"x": 1.0}))
    assert future.cancel() and future.cancelled() and future.done() and future.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(BEGIN)
    ended(ticking)
    done, waits = concurrent.futures.wait([future], BEGIN)
    assert future in done and not waits


def test_cancelling_what_waits(slow, ticking):
    """Runs that have not begun never do, and the session of a cancelled run is as good as before."""
    first = [begun(ticking.run_async({"x": 1.0})) for _ in range(os.cpu_count() or 1)]
    calls = []

    @frazil.host_operator("test.futures.Called", replace=True, pure=False)
    def called(x):
        calls.append(1)
        return x

    g = frazil.Graph("called")
    g.output("y", called(g.input("x", "float32")))
    counted = g.build()
    calls.clear()
    waiting = [counted.run_async({"x": 1.0}) for _ in range(5)]
    assert not any(future.running() for future in waiting)
    assert all(future.cancel() for future in waiting)
    assert all(future.cancel() for future in first)
    assert counted.run_async({"x": 2.0}).result(BEGIN)["y"] == 2
    assert len(calls) == 1
    ended(ticking, len(first))
    assert slow.run_async({"n": 0, "x": [5.0]}).result(BEGIN)["y"].tolist() == [5]


def test_a_race_of_cancelling_and_ending(slow):
    """Either a result or CancelledError, whenever it comes."""
    ends = {"result": 0, "cancelled": 0}
    for k in range(150):
        future = slow.run_async({"n": 2500 * (k % 9), "x": np.ones(3, np.float32)})
        time.sleep(0.0004 * (k % 5))
        cancelled = future.cancel()
        try:
            future.result(BEGIN)
            assert not cancelled
            ends["result"] += 1
        except concurrent.futures.CancelledError:
            assert cancelled
            ends["cancelled"] += 1
    assert slow.run({"n": 1, "x": [0.0]})["y"].tolist() == [1]
    assert min(ends.values()) > 0, ends


def test_asyncio(affine, ticking):
    async def all_of_it():
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.005)

        tick_task = asyncio.create_task(tick())
        runs = [affine.arun({"x": np.full(2, k, np.float32)}) for k in range(20)]
        results = await asyncio.gather(*runs, affine.arun(["y"], {"x": np.ones(1, np.float32)}))
        assert [r["z"][0] for r in results[:-1]] == [k * k for k in range(20)] and results[-1][0].tolist() == [1]
        with pytest.raises(frazil.BadInput, match="'q'"):
            await affine.arun({"q": 1})

        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(ticking.arun({"x": 1.0}), 0.1)
        task = asyncio.create_task(ticking.arun({"x": 1.0}))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ticks > 10, "the loop went on"
        tick_task.cancel()

    asyncio.run(all_of_it())
    ended(ticking)


def test_a_future_in_a_fork(endless, affine):
    """It belongs to the parent; the child's own runs work."""
    all_threads = [begun(endless.run_async({"x": 1.0})) for _ in range(os.cpu_count() or 1)]
    assert all(future.cancel() for future in all_threads), "so that each thread is there and waits for work"
    concurrent.futures.wait(all_threads, BEGIN)
    future = begun(endless.run_async({"x": 1.0}))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            future.result(BEGIN)
        except frazil.BadInput as error:
            x = np.ones(2, np.float32)
            works = affine.run_async({"x": x}).result(BEGIN)["y"].tolist() == [1, 1]
            status = 0 if "fork" in str(error) and works else 2
        os._exit(status)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        future.cancel()


def test_the_end_of_the_interpreter():
    """It waits for runs that have begun, as for other threads of concurrent.futures."""
    program = """
        import frazil
        g = frazil.Graph("late")
        x = g.input("x", "float32", ("N",))
        g.output("y", g.loop(20000, None, x, lambda i, c, v: (c, g.Sin(v) + 1)))
        future = g.build(threads=1).run_async({"x": [1.0]})
        future.add_done_callback(lambda f: print("ended", f.result()["y"].shape))
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and run.stdout == "ended (1,)\n", run.stderr
