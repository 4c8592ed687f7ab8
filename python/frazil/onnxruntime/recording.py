"""Profiles of a session's runs, as files in the trace event format."""

from __future__ import annotations

import datetime
import json
import os
import threading
import time
from typing import Any, Mapping, Sequence

from .. import _frazil
from ..model import Model
from .environment import PROVIDER

MOST_EVENTS = 1_000_000


class Recorder:
    """Runs models and records their nodes. One run at a time; threads wait for each other.

    Parameters
    ----------
    prefix : str
        The beginning of the path of the file.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._lock = threading.Lock()
        self._model: Model | None = None
        self._session: _frazil.Session | None = None
        self._offset = 0.0
        self._events: list[dict[str, Any]] = []
        self.start_ns = time.time_ns()

    def run(
        self,
        model: Model,
        names: Sequence[str] | None,
        feeds: Mapping[str, Any],
        out: Mapping[str, Any] | None,
        options: Any,
    ) -> list[Any]:
        """Runs a model.

        Parameters
        ----------
        model : Model
            The model.
        names : list of str or None
            The wanted outputs.
        feeds : dict
            The inputs by name.
        out : dict, optional
            Arrays that receive outputs.
        options : RunOptions or None
            What may end the run.

        Returns
        -------
        list
            The outputs.
        """
        with self._lock:
            session = self._session_of(model)
            if options is None:
                return session.run(names, feeds, out=out)
            options._begin(session)
            try:
                return session.run(names, feeds, out=out)
            finally:
                options._end(session)

    def _session_of(self, model: Model) -> _frazil.Session:
        if self._session is None or self._model is not model:
            self._take()
            self._model, self._session = model, model.session()
            self._session.start_profile(trace_events=MOST_EVENTS)
            self._offset = (time.time_ns() - self.start_ns) / 1000
        return self._session

    def _take(self) -> None:
        """Moves the events of the session to those of the file."""
        if self._session is None:
            return
        events = json.loads(self._session.stop_profile().trace)["traceEvents"]
        self._events += [self._event(event) for event in events if event["ph"] == "X"]
        self._session = None

    def _event(self, event: dict[str, Any]) -> dict[str, Any]:
        arguments = dict(event.get("args", {}))
        node = "op" in arguments
        if node:
            arguments.update(op_name=arguments["op"], provider=PROVIDER)
        return {
            "cat": "Node" if node else "Session",
            "pid": event["pid"],
            "tid": event["tid"],
            "dur": event["dur"],
            "ts": event["ts"] + self._offset,
            "ph": "X",
            "name": f"{event['name']}_kernel_time" if node else "model_run",
            "args": arguments,
        }

    def end(self) -> str:
        """Writes the file.

        Returns
        -------
        str
            Its path.
        """
        with self._lock:
            self._take()
            now = datetime.datetime.now()
            path = f"{self._prefix}_{now:%Y-%m-%d_%H-%M-%S}.json"
            number = 0
            while os.path.exists(path):
                number += 1
                path = f"{self._prefix}_{now:%Y-%m-%d_%H-%M-%S}_{number}.json"
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self._events, file)
            return path
