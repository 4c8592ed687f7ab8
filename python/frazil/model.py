"""Models and sessions."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy

from . import _frazil, render
from ._frazil import Port, Session
from .errors import of_file
from .futures import RunFuture, start
from .observe import Profile

if TYPE_CHECKING:
    from .graph import Patch


class Model(_frazil.Model):
    """A graph that can be run. Immutable: an edit creates a new one. Threads may share it.

    model.run({"x": x}) returns a dict; model(x) returns the output or a tuple of several. Each call takes a session
    from a pool, which grows to the number of concurrent calls.
    """

    def session(self, **options: Any) -> Session:
        """Opens a session. Options (see frazil.Options) default to those of the model."""
        return _frazil.open_session(self._handle, self._options(options))

    def with_options(self, **options: Any) -> Model:
        """Returns the same model with these options in addition to its own."""
        return Model(self, self._options(options))

    def with_pool(self, *, max_sessions: int | None = None, memory_limit: int | None = None) -> Model:
        """Returns the same model with other bounds of the sessions of its calls.

        max_sessions  most sessions at a time; None: four per core, at least 64. Further calls wait
        memory_limit  most bytes that all sessions hold between runs; None: no limit
        """
        return Model(self, max_sessions, memory_limit)

    def _options(self, options: Mapping[str, Any]) -> _frazil.Options:
        own = {name: getattr(self.options, name) for name in OPTIONS}
        return _frazil.Options(**{**own, **options})

    def run_async(
        self,
        inputs: Mapping[str, Any] | Sequence[str] | None = {},
        feeds: Mapping[str, Any] | None = None,
        *,
        out: Mapping[str, Any] | None = None,
    ) -> RunFuture:
        """Begins a run on another thread. The arguments and the future's result() are those of run().

        The process has one such thread per core. Runs start in the order of the calls. Arrays must not change until the
        run has ended. The future's cancel() ends the run. At its exit, the interpreter waits for runs that have begun.
        """
        return start(lambda token: self._run_until(token, inputs, feeds, out))

    async def arun(
        self,
        inputs: Mapping[str, Any] | Sequence[str] | None = {},
        feeds: Mapping[str, Any] | None = None,
        *,
        out: Mapping[str, Any] | None = None,
    ) -> Any:
        """As run(), for `await`: the event loop continues meanwhile. Cancelling the task ends the run."""
        return await asyncio.wrap_future(self.run_async(inputs, feeds, out=out))

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [port.name for port in self.inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return [port.name for port in self.outputs]

    def get_inputs(self) -> list[Port]:
        """Returns the inputs as in ONNX Runtime's sessions: each has name, shape and type ('f32[N,3]')."""
        return list(self.inputs)

    def get_outputs(self) -> list[Port]:
        """Returns the outputs in the same form."""
        return list(self.outputs)

    def edit(self, name: str = "edit") -> Patch:
        """Returns a Patch of this model, for a `with` block."""
        from .graph import Patch

        return Patch(self, name)

    def save(self, path: str | os.PathLike[str], *, opset: int | None = None, external_bytes: int = 0) -> None:
        """Writes an ONNX file.

        opset           opset of ai.onnx; by default the oldest sufficient one. Raises BadInput if it is too old
        external_bytes  tensors of at least this size go to "<path>.data"; 0: none
        """
        with of_file(os.fspath(path), writing=True):
            self._save(os.fspath(path), opset, external_bytes)

    def fetch(
        self, inputs: Mapping[str, Any], values: Sequence[str], **options: Any
    ) -> dict[str, numpy.ndarray | dict[tuple[int, ...], numpy.ndarray] | None]:
        """Runs the model and returns inner values, by their names in texts, errors, profiles and debuggers.

        A value inside of loops is a dict by iteration numbers, outermost first. A value that was not computed is None.
        Raises BadInput for an unknown name, and Unsupported for a value that the passes removed; with tier="ref" all
        values exist.
        """
        found: dict[str, Any] = dict.fromkeys(values)
        for name, value, iterations in _frazil.fetch(self._handle, self._options(options), inputs, list(values)):
            if not iterations:
                found[name] = value
            else:
                found[name] = {**(found[name] or {}), iterations: value}
        return found

    def profile(
        self,
        inputs: Mapping[str, Any],
        *,
        runs: int = 20,
        warmup: int = 2,
        trace_events: int = 0,
        **options: Any,
    ) -> Profile:
        """Returns the time per node as a table, for texts and notebooks. `frazil profile` has more details.

        Profiled runs go step by step on one thread, without machine code for whole plans. The result's `trace` keeps
        the first `trace_events` events.
        """
        return _frazil.profile(self._handle, self._options(options), inputs, warmup, runs, trace_events)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{port.name}: {port.type}" for port in self.inputs)
        outputs = ", ".join(f"{port.name}: {port.type}" for port in self.outputs)
        return f"<frazil.Model {self.name!r} ({inputs}) -> ({outputs})>"

    def _repr_svg_(self) -> str | None:
        return render.svg(self.dot())

    def _repr_html_(self) -> str:
        return render.html(self.dot(), self.text())

    def __reduce__(self) -> tuple[Any, ...]:
        weights = {name: numpy.array(value) for name, value in self.weights().items()}
        return _unpickle, (self.text(), weights, {name: getattr(self.options, name) for name in OPTIONS})

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: Any) -> Model:
        return self


OPTIONS = tuple(name for name, value in vars(_frazil.Options).items() if isinstance(value, property))


def _unpickle(text: str, weights: Mapping[str, numpy.ndarray], options: Mapping[str, Any]) -> Model:
    return from_text(text, weights, **options)


def load(path: str | os.PathLike[str], **options: Any) -> Model:
    """Reads an ONNX file; weights are mapped, not copied.

    Options of runs are those of frazil.Options. They are the defaults of the model's calls and sessions. Options of
    loading: fix_defaults (inputs with a default become constants), max_nodes, max_nesting, max_name_bytes, max_elements
    (per tensor, of runs too), load_memory_limit, load_deadline_ms (of the load, and again of planning, when the model
    is first run), policy (a frazil.Policy, None). Raises BadModel for a damaged or invalid file, Unsupported or
    LimitExceeded. Raises FileError for an unreadable file; it is also the exception of open(), for instance
    FileNotFoundError.
    """
    with of_file(os.fspath(path)):
        return Model(_frazil.load(os.fspath(path), **options))


def from_bytes(data: bytes | bytearray | memoryview, **options: Any) -> Model:
    """As load(), but from memory."""
    return Model(_frazil.from_bytes(data, **options))


def from_text(text: str, weights: Mapping[str, Any] | None = None, **options: Any) -> Model:
    """Returns a model from the text form (docs/text-form.md). `weights` are the tensors named @name in the text."""
    return Model(_frazil.from_text(text, dict(weights or {}), **options))
