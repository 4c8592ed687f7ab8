"""Many instances of ordinary code run concurrently; equal work of several instances runs together."""

from __future__ import annotations

import contextvars
import threading
from typing import Any, Callable, Iterable, Iterator, NamedTuple

from .. import _frazil, trees
from ..errors import BadInput
from .array import LazyArray

try:
    import greenlet
except ImportError:
    greenlet = None  # type: ignore[assignment]

MOST_THREADS = 256
MOST_WORKERS = 1024  # limit for idle greenlets per thread

_of_thread = threading.local()


class BatchReport(NamedTuple):
    """Statistics of a batch.

    Parameters
    ----------
    instances : int, default 0
        The number of instances.
    waits : int, default 0
        How often an instance waited for a value.
    rounds : int, default 0
        How often all waited and their values were computed.
    runs : int, default 0
        The number of runs of compiled programs.
    nodes : int, default 0
        The number of recorded operators and calls in these runs.
    recalled : int, default 0
        The number of calls of functions with cached results.
    """

    instances: int = 0
    waits: int = 0  #: number of times that an instance waited for a value
    rounds: int = 0  #: number of times that all waited and their values were computed
    runs: int = 0  #: number of runs of compiled programs
    nodes: int = 0  #: recorded operators and calls in these runs
    recalled: int = 0  #: calls of functions with cached results


class BatchResults(list):
    """A list of the results of the instances, with a BatchReport as `report`.

    Parameters
    ----------
    iterable : iterable
        The results.
    """

    report: BatchReport


class _Stop(BaseException):
    """Raised to end the thread of an instance whose batch has ended."""


class _Instance:
    """Code that can be suspended while it waits for values."""

    wanted: list[LazyArray]
    ended = False
    recalled = 0

    def go_on(self, warn_about_effects: BaseException | None) -> None:
        """Continues until the code waits or ends. Raises `told` at the point where it waits. Raises the code's
        exception.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """Ends the waiting code."""
        raise NotImplementedError


class _Worker:
    """A greenlet that runs instances one after another, as creating a greenlet costs as much as many waits."""

    def __init__(self) -> None:
        self.work: Any = None  # the work of the current instance
        self.raised: BaseException | None = None
        self.greenlet = greenlet.greenlet(self._serve)

    def _serve(self, _: Any) -> None:
        while True:
            try:
                self.work()
            except greenlet.GreenletExit:
                return
            except BaseException as error:  # the batch raises it
                self.raised = error
            self.work = None
            self.greenlet.parent.switch()

    @classmethod
    def take(cls) -> _Worker:
        idle = cls._idle()
        return idle.pop() if idle else cls()

    def give_back(self) -> None:
        idle = self._idle()
        if len(idle) < MOST_WORKERS:
            idle.append(self)

    @staticmethod
    def _idle() -> list[_Worker]:
        try:
            return _of_thread.workers
        except AttributeError:
            _of_thread.workers = []
            return _of_thread.workers


class _Greenlet(_Instance):
    def __init__(self, batch: _Batch, number: int, argument: Any) -> None:
        self._batch = batch
        self._worker: Any = _Worker.take()
        self._worker.greenlet.parent = batch.hub
        self._worker.work = lambda: batch.work(number, argument)
        self._worker.greenlet.gr_context = contextvars.copy_context()

    def go_on(self, warn_about_effects: BaseException | None) -> None:
        batch, worker = self._batch, self._worker
        batch.now = worker.greenlet
        try:
            self.wanted = _frazil.enter_instances(batch.waiting, worker.greenlet.switch, warn_about_effects)
        finally:
            batch.now = None
        if worker.work is None:
            self._end()

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        self.ended = True
        raised, worker.raised = worker.raised, None
        worker.give_back()
        if raised is not None:
            raise raised

    def stop(self) -> None:
        self._worker.greenlet.throw()
        self.ended = True


class _Thread(_Instance):
    def __init__(self, batch: _Batch, number: int, argument: Any) -> None:
        self._batch = batch
        self._turn, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._told: BaseException | None = None
        self._raised: BaseException | None = None
        self._waiting = _frazil.waiting(self._await)
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run, number, argument), daemon=True)
        self._begun = False

    def _run(self, number: int, argument: Any) -> None:
        try:
            _frazil.enter_instances(self._waiting, lambda _: self._batch.work(number, argument), None)
        except _Stop:
            pass
        except BaseException as error:  # the batch raises it
            self._raised = error
        finally:
            self.recalled = _frazil.calls_recalled()
            self._waiting = None  # breaks the reference cycle
            _frazil.forget_thread()
            self.ended = True
            self._back.release()

    def _await(self, wanted: list[LazyArray]) -> bool:
        if threading.current_thread() is not self._thread:
            return False
        self.wanted = wanted
        self._back.release()
        self._turn.acquire()
        if self._told is not None:
            raise self._told
        return True

    def go_on(self, warn_about_effects: BaseException | None) -> None:
        self._told = warn_about_effects
        if self._begun:
            self._turn.release()
        else:
            self._begun = True
            self._thread.start()
        self._back.acquire()
        if self._raised is not None:
            raise self._raised

    def stop(self) -> None:
        if self._begun:
            self.go_on(_Stop())


class _Batch:
    def __init__(self, fn: Callable[[Any], Any], kind: type[Any]) -> None:
        self._fn, self._kind = fn, kind
        self.now: Any = None  # the running greenlet
        self.waiting = _frazil.waiting(self._await) if kind is _Greenlet else None
        self.hub = greenlet.getcurrent() if kind is _Greenlet else None
        self.results = BatchResults()
        self.failures: dict[int, Exception] = {}
        self._running: list[_Instance] = []
        self._waits = self._rounds = self._runs = self._nodes = self._recalled = 0

    def _await(self, wanted: list[LazyArray]) -> bool:
        if greenlet.getcurrent() is not self.now:
            return False
        warn_about_effects = self.hub.switch(wanted)
        if warn_about_effects is not None:
            raise warn_about_effects
        return True

    def work(self, number: int, argument: Any) -> None:
        """Runs the code of an instance, and computes its results."""
        try:
            made = self._fn(argument)
            arrays = [leaf for leaf in trees.flatten(made)[0] if isinstance(leaf, LazyArray)]
            if arrays:
                _frazil.settle(arrays)
            self.results[number] = made
        except Exception as error:
            self.failures[number] = error

    def run(self, instances: Iterator[Any], at_once: int) -> None:
        """Runs all instances. Waiting ones continue together, and the end of one starts the next."""
        recalled = _frazil.calls_recalled()
        try:
            while self._begin(instances, at_once) or self._running:
                errors, runs, nodes = _frazil.settle_together([instance.wanted for instance in self._running])
                self._rounds += 1
                self._runs += runs
                self._nodes += nodes
                waited, self._running = self._running, []
                for i, (instance, error) in enumerate(zip(waited, errors)):
                    try:
                        self._go_on(instance, error)
                    except BaseException:
                        self._running += waited[i + 1 :]
                        raise
        finally:
            for instance in self._running:
                instance.stop()
            self.waiting = None  # breaks the reference cycle
        if self._kind is _Greenlet:
            self._recalled = _frazil.calls_recalled() - recalled
        self.results.report = BatchReport(
            len(self.results), self._waits, self._rounds, self._runs, self._nodes, self._recalled
        )

    def _begin(self, instances: Iterator[Any], at_once: int) -> bool:
        """Starts instances until `at_once` wait. Returns False if none waits because none is left."""
        while len(self._running) < at_once:
            try:
                argument = next(instances)
            except StopIteration:
                break
            self.results.append(None)
            self._go_on(self._kind(self, len(self.results) - 1, argument), None)
        return bool(self._running)

    def _go_on(self, instance: _Instance, warn_about_effects: BaseException | None) -> None:
        instance.go_on(warn_about_effects)
        if instance.ended:
            self._recalled += instance.recalled
        else:
            self._waits += 1
            self._running.append(instance)


def batch(instances: Iterable[Any], fn: Callable[[Any], Any], *, at_once: int = 1024) -> BatchResults:
    """Calls a function on many instances concurrently. An instance that reads a value waits; when all wait, equal work
    runs together.

    Instances are greenlets if the package greenlet is installed. Otherwise they are at most 256 threads, of which one
    runs at a time: slower, with the same results. If calls raise, the others are completed.

    Parameters
    ----------
    instances : iterable
        The arguments of the calls.
    fn : callable
        Ordinary code with ordinary control flow.
    at_once : int, default 1024
        The most concurrent instances.

    Returns
    -------
    BatchResults
        The results in order, with statistics in `report`.

    Raises
    ------
    BadInput
        If `at_once` is below 1.
    Exception
        That of the first call that raises.

    Examples
    --------
    results = frazil.batch(trees, lambda tree: embed(tree).numpy())
    """
    if at_once < 1:
        raise BadInput(f"batch(): at_once is at least 1, got {at_once}")
    kind: type[Any] = _Greenlet if greenlet is not None else _Thread
    made = _Batch(fn, kind)
    made.run(iter(instances), at_once if kind is _Greenlet else min(at_once, MOST_THREADS))
    if made.failures:
        raise made.failures[min(made.failures)]
    return made.results
