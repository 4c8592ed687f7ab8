"""Runs on other threads, for concurrent.futures and asyncio."""

from __future__ import annotations

import concurrent.futures
import os
from concurrent.futures.thread import ThreadPoolExecutor
from typing import Any, Callable

from . import _frazil
from .errors import BadInput


class RunFuture(concurrent.futures.Future[Any]):
    """A run started by Model.run_async(), for concurrent.futures.wait() and asyncio.wrap_future().

    cancel() also ends a run that has begun. After a fork the run belongs to the parent.

    Parameters
    ----------
    token : handle
        What ends the run.
    """

    def __init__(self, token: _frazil.RunToken) -> None:
        super().__init__()
        self._token = token
        self._process = os.getpid()
        self._began = False

    def cancel(self) -> bool:
        """Cancels the run; result() then raises CancelledError.

        Returns
        -------
        bool
            False if the run has already ended.
        """
        if not super().cancel():
            return False
        self._token.cancel()
        return True

    def running(self) -> bool:
        """Returns whether the run has begun and has neither ended nor been cancelled.

        Returns
        -------
        bool
            Whether it is running.
        """
        return self._began and not self.done()

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the result of Model.run().

        Parameters
        ----------
        timeout : float, optional
            The longest wait in seconds; None waits until the end.

        Returns
        -------
        dict or list
            The result of run().

        Raises
        ------
        Error
            The exceptions of run().
        CancelledError
            If the run was cancelled.
        TimeoutError
            If the run has not ended in time.
        BadInput
            If this process is a fork of the one that began the run.
        """
        self._check_process()
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits for the end of the run and returns its exception.

        Parameters
        ----------
        timeout : float, optional
            The longest wait in seconds; None waits until the end.

        Returns
        -------
        Exception or None
            None if the run succeeded.

        Raises
        ------
        CancelledError
            If the run was cancelled.
        TimeoutError
            If the run has not ended in time.
        BadInput
            If this process is a fork of the one that began the run.
        """
        self._check_process()
        return super().exception(timeout)

    def _check_process(self) -> None:
        if not self.done() and os.getpid() != self._process:
            raise BadInput("the run belongs to the process that began it: this one is a fork of it")

    def _run(self, run: Callable[[_frazil.RunToken], Any]) -> None:
        """Runs on the worker thread. The state stays pending until the end, so that cancel() can succeed until then."""
        result, raised = None, None
        self._began = True
        try:
            if not self.cancelled():
                result = run(self._token)
        except BaseException as error:
            raised = error
        if not self.set_running_or_notify_cancel():
            return
        if raised is not None:
            self.set_exception(raised)
        else:
            self.set_result(result)


_threads: ThreadPoolExecutor | None = None


def start(run: Callable[[_frazil.RunToken], Any]) -> RunFuture:
    """Begins a run on one of the process's threads. There is one per core."""
    global _threads
    if _threads is None:
        _threads = ThreadPoolExecutor(os.cpu_count(), "frazil")
    future = RunFuture(_frazil.RunToken())
    _threads.submit(future._run, run)
    return future


def _forget_threads() -> None:
    global _threads
    _threads = None


os.register_at_fork(after_in_child=_forget_threads)
