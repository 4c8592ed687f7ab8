"""Models and sessions."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any, ClassVar, Mapping, Sequence

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

    Parameters
    ----------
    of : Model or handle
        The model whose graph is used.
    options : Options, optional
        The defaults of calls and sessions.

    Examples
    --------
    model = frazil.load("model.onnx", threads=2)
    y = model(x)
    """

    patch_type: ClassVar[type[Patch]]  #: the class that edit() returns, which frazil.graph sets

    def session(self, **options: Any) -> Session:
        """Opens a session, which runs on one thread at a time.

        Parameters
        ----------
        **options : any
            Options of runs, see frazil.Options. They default to those of the model.

        Returns
        -------
        Session
            A session of its own; it is not part of the model's pool.

        Raises
        ------
        BadInput
            If an option is not valid.
        """
        return _frazil.open_session(self._handle, self._options(options))

    def with_options(self, **options: Any) -> Model:
        """Returns the same model with other options.

        Parameters
        ----------
        **options : any
            Options of runs, in addition to those of the model.

        Returns
        -------
        Model
            A model that shares the graph.

        Raises
        ------
        BadInput
            If an option is not valid.
        """
        return Model(self, self._options(options))

    def with_pool(self, *, max_sessions: int | None = None, memory_limit: int | None = None) -> Model:
        """Returns the same model with other bounds of the sessions of its calls.

        Parameters
        ----------
        max_sessions : int, optional
            The most sessions at a time; None is four per core, at least 64. Further calls wait.
        memory_limit : int, optional
            The most bytes that all sessions hold between runs; None is no limit.

        Returns
        -------
        Model
            A model that shares the graph.

        Raises
        ------
        BadInput
            If a bound is not valid.
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
        """Begins a run on another thread.

        The process has one such thread per core. Runs start in the order of the calls. Arrays must not change until the
        run has ended. At its exit, the interpreter waits for runs that have begun.

        Parameters
        ----------
        inputs : dict, list of str, or None
            Inputs by name, or the names of the wanted outputs, as for run().
        feeds : dict, optional
            Inputs by name, if `inputs` has names of outputs.
        out : dict, optional
            Arrays by the name of an output, which receive the results.

        Returns
        -------
        RunFuture
            Its result() is that of run(). Its cancel() ends the run.
        """
        return start(lambda token: self._run_until(token, inputs, feeds, out))

    async def arun(
        self,
        inputs: Mapping[str, Any] | Sequence[str] | None = {},
        feeds: Mapping[str, Any] | None = None,
        *,
        out: Mapping[str, Any] | None = None,
    ) -> Any:
        """As run(), for `await`: the event loop continues meanwhile. Cancelling the task ends the run.

        Parameters
        ----------
        inputs : dict, list of str, or None
            Inputs by name, or the names of the wanted outputs, as for run().
        feeds : dict, optional
            Inputs by name, if `inputs` has names of outputs.
        out : dict, optional
            Arrays by the name of an output, which receive the results.

        Returns
        -------
        dict or list
            The result of run().

        Raises
        ------
        Error
            The exceptions of run().
        """
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
        """Returns the inputs as in ONNX Runtime's sessions.

        Returns
        -------
        list of Port
            Each has a name, a shape and a type ('f32[N,3]').
        """
        return list(self.inputs)

    def get_outputs(self) -> list[Port]:
        """Returns the outputs in the form of get_inputs().

        Returns
        -------
        list of Port
            Each has a name, a shape and a type.
        """
        return list(self.outputs)

    def edit(self, name: str = "edit") -> Patch:
        """Begins an edit of this model, for a `with` block.

        Parameters
        ----------
        name : str, default 'edit'
            The name of the edit in messages.

        Returns
        -------
        Patch
            Its `model` is the edited one after the block.

        Examples
        --------
        with model.edit("clip") as patch:
            patch.replace("y", patch.Min(patch.tap("y"), 6.0))
        clipped = patch.model
        """
        return self.patch_type(self, name)

    def save(self, path: str | os.PathLike[str], *, opset: int | None = None, external_bytes: int = 0) -> None:
        """Writes an ONNX file.

        Parameters
        ----------
        path : str or path
            The file. An existing one is replaced.
        opset : int, optional
            The opset of ai.onnx; by default the oldest sufficient one.
        external_bytes : int, default 0
            Tensors of at least this size go to "<path>.data"; 0 means none.

        Raises
        ------
        BadInput
            If the opset is too old for an operator.
        FileError
            If the file cannot be written.
        """
        with of_file(os.fspath(path), writing=True):
            self._save(os.fspath(path), opset, external_bytes)

    def fetch(
        self, inputs: Mapping[str, Any], values: Sequence[str], **options: Any
    ) -> dict[str, numpy.ndarray | dict[tuple[int, ...], numpy.ndarray] | None]:
        """Runs the model and returns inner values, by their names in texts, errors, profiles and debuggers.

        Parameters
        ----------
        inputs : dict
            Inputs by name.
        values : list of str
            The names of the values.
        **options : any
            Options of the run, in addition to those of the model.

        Returns
        -------
        dict
            An array by name. A value inside of loops is a dict by iteration numbers, outermost first. A value that was
            not computed is None.

        Raises
        ------
        BadInput
            If a name is unknown.
        Unsupported
            If the passes removed a value; with tier="ref" all values exist.
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
        """Measures the time per node. `frazil profile` has more details.

        Profiled runs go step by step on one thread, without machine code for whole plans.

        Parameters
        ----------
        inputs : dict
            Inputs by name.
        runs : int, default 20
            The number of measured runs.
        warmup : int, default 2
            The number of runs before these.
        trace_events : int, default 0
            The number of events that the result's `trace` keeps.
        **options : any
            Options of the runs, in addition to those of the model.

        Returns
        -------
        Profile
            A table, for texts and notebooks.
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

    Parameters
    ----------
    path : str or path
        The file.
    **options : any
        Options of runs, see frazil.Options, which are the defaults of the model's calls and sessions; and options of
        loading: fix_defaults (inputs with a default become constants), lenient (what ONNX Runtime allows beyond ONNX
        is allowed, such as different extents of one name), extents and denoted_extents (numbers for open extents of the
        inputs, by name or by denotation in the file), files (bytes of external data by location), max_nodes,
        max_nesting, max_name_bytes, max_elements (per tensor, of runs too), load_memory_limit in bytes,
        load_deadline_ms (of the load, and again of planning, when the model is first run), policy (a frazil.Policy, a
        frazil.Governor or None).

    Returns
    -------
    Model
        The model. It is planned in the first call.

    Raises
    ------
    BadModel
        If the file is damaged or not a valid model.
    FileError
        If the file cannot be read. It is also the exception of open(), for instance FileNotFoundError.
    Unsupported
        If this build lacks a feature that the model needs.
    LimitExceeded
        If a limit of loading is exceeded.

    Examples
    --------
    model = frazil.load("model.onnx", threads=1, deadline_ms=500)
    """
    with of_file(os.fspath(path)):
        return Model(_frazil.load(os.fspath(path), **options))


def from_bytes(data: bytes | bytearray | memoryview, **options: Any) -> Model:
    """Reads an ONNX model from memory.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        The contents of a file.
    **options : any
        Options of runs and of loading, as for load().

    Returns
    -------
    Model
        The model.

    Raises
    ------
    BadModel
        If the data is damaged or not a valid model.
    Unsupported
        If this build lacks a feature that the model needs.
    LimitExceeded
        If a limit of loading is exceeded.
    """
    return Model(_frazil.from_bytes(data, **options))


def from_text(text: str, weights: Mapping[str, Any] | None = None, **options: Any) -> Model:
    """Reads a model in the text form (docs/reference/text-form.md).

    Parameters
    ----------
    text : str
        The text of one graph.
    weights : dict, optional
        The arrays that the text names as @name.
    **options : any
        Options of runs and of loading, as for load().

    Returns
    -------
    Model
        The model.

    Raises
    ------
    BadModel
        If the text is not valid; the message has the line.

    Examples
    --------
    double = frazil.from_text("graph g(%x: f32[N]) { %y = Add(%x, %x) return y = %y }")
    """
    return Model(_frazil.from_text(text, dict(weights or {}), **options))
