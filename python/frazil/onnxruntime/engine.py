"""The runs of a session. Threads may share it."""

from __future__ import annotations

import threading
from typing import Any, Iterable, Mapping, Sequence

import numpy

from .. import _frazil, errors
from ..live import LiveModel
from ..model import Model
from .checks import TERMINATED, error_of_run
from .errors import Fail
from .loading import Opened, Source
from .options import RunOptions, SessionOptions
from .ports import Ports
from .recording import Recorder


def _own(value: Any) -> Any:
    """Returns a result that shares no memory with inputs, constants or a session."""
    if isinstance(value, numpy.ndarray):
        return value if value.flags.writeable else value.copy()
    if isinstance(value, list):
        return [_own(item) for item in value]
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    return value


def _distinct(results: list[Any]) -> list[Any]:
    """Copies a result that is listed twice."""
    seen: set[int] = set()
    for i, value in enumerate(results):
        if isinstance(value, numpy.ndarray) and id(value) in seen:
            results[i] = value.copy()
        seen.add(id(results[i]))
    return results


class Engine:
    """A model with a pool of sessions, which may be edited while it runs.

    Parameters
    ----------
    of : str or bytes
        The path or the bytes of a model.
    options : SessionOptions
        The options of the session.
    """

    def __init__(self, of: str | bytes, options: SessionOptions) -> None:
        self._options = options
        self._opened = Opened(Source(of, options))
        self._overridable = dict(self._opened.overridable)
        self._now = Ports(self._opened.model, self._overridable)
        self._lock = threading.Lock()
        self._live: LiveModel | None = None
        self._recorder = Recorder(options.profile_file_prefix) if options.enable_profiling else None
        self._profile_start = self._recorder.start_ns if self._recorder else 0
        self._write_optimized()

    def _write_optimized(self) -> None:
        path = self._options.optimized_model_filepath
        if not path:
            return
        try:
            self._opened.model.save(path)
        except errors.Error as error:
            raise Fail.of(f"SessionOptions.optimized_model_filepath: {error}") from error

    # ---- the model ----

    @property
    def live(self) -> LiveModel:
        """The model for edits. Its current version is what runs use."""
        with self._lock:
            if self._live is None:
                self._live = LiveModel(self._now.model)
            return self._live

    @property
    def ports(self) -> Ports:
        """The inputs and outputs of the current model."""
        if self._live is not None:
            model = self._live.current.model
            if model is not self._now.model:
                self._now = Ports(model, self._overridable)
        return self._now

    def _open_initializers(self) -> None:
        """Makes the overridable initializers inputs."""
        with self._lock:
            if not self._overridable:
                return
            if self._live is not None and len(self._live.history()) > 1:
                raise Fail.of(
                    "initializers cannot be fed to an edited model; feed one in a run before the first edit, or edit"
                    " the constant"
                )
            model = self._opened.with_inputs()
            if self._live is not None:
                self._live.publish(model, reason="initializers become inputs")
                model = self._live.current.model
            self._overridable = {}
            self._now = Ports(model, {})

    # ---- runs ----

    def run(
        self,
        names: Iterable[str] | None,
        feeds: Mapping[str, Any],
        options: RunOptions | None = None,
        out: Mapping[str, numpy.ndarray] | None = None,
    ) -> list[Any]:
        """Runs the model.

        Parameters
        ----------
        names : iterable of str or None
            The wanted outputs; None or none is all.
        feeds : dict
            The inputs by name.
        options : RunOptions, optional
            The options of the run.
        out : dict, optional
            Arrays by the name of an output, which receive the results.

        Returns
        -------
        list
            The outputs. They share no memory with inputs.

        Raises
        ------
        OnnxRuntimeError
            If the run fails.
        """
        if self._overridable and not self._overridable.keys().isdisjoint(feeds):
            self._open_initializers()
        ports = self.ports
        wanted = list(names) if names else None
        if options is not None and options.terminate:
            raise Fail.of(TERMINATED)
        try:
            results = self._results(ports.model, wanted, feeds, options, out)
        except errors.Error as error:
            terminated = options is not None and options.terminate
            raise error_of_run(error, ports, wanted, feeds, terminated) from error
        results = [_own(value) for value in results]
        return results if wanted is None or len(wanted) == 1 else _distinct(results)

    def _results(
        self,
        model: Model,
        names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        options: RunOptions | None,
        out: Mapping[str, numpy.ndarray] | None,
    ) -> list[Any]:
        recorder = self._recorder
        if recorder is not None:
            return recorder.run(model, names, feeds, out, options)
        if options is None:
            return model.run(names, feeds, out=out)  # type: ignore[call-overload, no-any-return]
        token = _frazil.RunToken()
        options._begin(token)
        try:
            return model._run_until(token, names, feeds, out)  # type: ignore[no-any-return]
        finally:
            options._end(token)

    # ---- profiles ----

    def end_profiling(self) -> str:
        """Writes the profile of the runs so far, and ends it.

        Returns
        -------
        str
            The path of the file; '' if the session is not profiled.
        """
        with self._lock:
            recorder, self._recorder = self._recorder, None
        return recorder.end() if recorder else ""

    @property
    def profile_start(self) -> int:
        """When the profile began, in nanoseconds since 1970; 0 without a profile."""
        return self._profile_start
