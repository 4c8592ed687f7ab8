"""InferenceSession."""

from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Mapping, Sequence

from ..futures import start
from ..live import LiveModel
from .binding import IOBinding
from .engine import Engine
from .environment import PROVIDER
from .options import RunOptions, SessionOptions
from .ports import ModelMetadata, NodeArg
from .values import OrtValue

Providers = Sequence["str | tuple[str, Mapping[Any, Any]]"]


def check_and_normalize_provider_args(
    providers: Providers | None,
    provider_options: Sequence[Mapping[Any, Any]] | None,
    available_provider_names: Sequence[str],
) -> tuple[list[str], list[dict[str, str]]]:
    """Separates execution providers from their options, and warns of those that are not available.

    Parameters
    ----------
    providers : list of str or tuple, optional
        Names, or tuples of a name and options.
    provider_options : list of dict, optional
        Options of each provider.
    available_provider_names : list of str
        The available providers.

    Returns
    -------
    tuple of list
        The available ones, and their options.

    Raises
    ------
    ValueError
        If the arguments have another form.
    """
    if providers is None:
        return [], []
    if isinstance(providers, (str, bytes)) or not isinstance(providers, Sequence):
        raise ValueError("providers: expected a list of names, or of tuples of a name and a dict of options")
    if provider_options is not None and len(providers) != len(provider_options):
        raise ValueError(f"{len(providers)} providers, but {len(provider_options)} provider_options")
    found: dict[str, dict[str, str]] = {}
    for i, given in enumerate(providers):
        name, options = _name_and_options(given, provider_options[i] if provider_options else {})
        if name not in available_provider_names:
            listed = ", ".join(f"'{each}'" for each in available_provider_names)
            text = f"Specified provider '{name}' is not in available provider names. Available providers: {listed}"
            warnings.warn(text, stacklevel=3)
            continue
        found.setdefault(name, {str(key): str(value) for key, value in options.items()})
    return list(found), list(found.values())


def _name_and_options(given: Any, options: Any) -> tuple[str, Mapping[Any, Any]]:
    pair = isinstance(given, tuple) and len(given) == 2
    if pair and options:
        raise ValueError("providers: options are given both in a tuple and in provider_options")
    name, options = given if pair else (given, options)
    if not isinstance(name, str) or not isinstance(options, Mapping):
        raise ValueError(f"providers: expected a name, or a tuple of a name and a dict of options, got {given!r}")
    return name, options


def _plain(feeds: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the inputs with the values of OrtValues."""
    if not any(isinstance(value, OrtValue) for value in feeds.values()):
        return feeds
    return {name: value._value if isinstance(value, OrtValue) else value for name, value in feeds.items()}


class InferenceSession:
    """A model that is run as with ONNX Runtime. Threads may share it.

    Parameters
    ----------
    path_or_bytes : str, path or bytes
        The model: a file, or the contents of one.
    sess_options : SessionOptions, optional
        The options of the session.
    providers : list, optional
        Execution providers. Those that are not available cause a warning; the session uses the CPU.
    provider_options : list of dict, optional
        Options of the providers. They are kept.
    **kwargs : any
        Further options of ONNX Runtime. They have no effect.

    Raises
    ------
    TypeError
        If `path_or_bytes` has another type.

    Examples
    --------
    session = InferenceSession("model.onnx", providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"x": x})
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Providers | None = None,
        provider_options: Sequence[Mapping[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(path_or_bytes, (bytearray, memoryview)):
            path_or_bytes = bytes(path_or_bytes)
        if not isinstance(path_or_bytes, (str, os.PathLike, bytes)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        source: str | bytes = path_or_bytes if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes)
        self._model_path = source if isinstance(source, str) else None
        self._model_bytes = source if isinstance(source, bytes) else None
        self._sess_options = sess_options if sess_options is not None else SessionOptions()
        self._enable_fallback = bool(kwargs.get("enable_fallback", True))
        self._set_providers(providers, provider_options)
        self._sess = Engine(source, self._sess_options)

    def _set_providers(self, providers: Providers | None, options: Sequence[Mapping[Any, Any]] | None) -> None:
        names, given = check_and_normalize_provider_args(providers, options, [PROVIDER])
        self._providers = names or [PROVIDER]
        self._provider_options = dict(zip(names, given)) or {PROVIDER: {}}

    # ---- the model ----

    @property
    def frazil(self) -> LiveModel:
        """The model for edits, debugging and profiles. Later runs use its current version."""
        return self._sess.live

    def get_inputs(self) -> list[NodeArg]:
        """Returns the inputs, without initializers.

        Returns
        -------
        list of NodeArg
            Each has a name, a shape and a type.
        """
        return list(self._sess.ports.inputs)

    def get_outputs(self) -> list[NodeArg]:
        """Returns the outputs.

        Returns
        -------
        list of NodeArg
            Each has a name, a shape and a type.
        """
        return list(self._sess.ports.outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Returns the initializers that a run may be fed with.

        Returns
        -------
        list of NodeArg
            Each has a name, a shape and a type.
        """
        return list(self._sess.ports.initializers.values())

    def get_modelmeta(self) -> ModelMetadata:
        """Returns the description in the model file.

        Returns
        -------
        ModelMetadata
            The description.
        """
        return ModelMetadata(self._sess.ports.model.metadata)

    # ---- settings ----

    def get_session_options(self) -> SessionOptions:
        """Returns the options of the session.

        Returns
        -------
        SessionOptions
            The options.
        """
        return self._sess_options

    def get_providers(self) -> list[str]:
        """Returns the execution providers of the session.

        Returns
        -------
        list of str
            The names.
        """
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Returns the options of the execution providers.

        Returns
        -------
        dict
            Options by the name of the provider.
        """
        return {name: dict(options) for name, options in self._provider_options.items()}

    def set_providers(
        self, providers: Providers | None = None, provider_options: Sequence[Mapping[Any, Any]] | None = None
    ) -> None:
        """Sets the execution providers. Those that are not available cause a warning.

        Parameters
        ----------
        providers : list, optional
            Names, or tuples of a name and options.
        provider_options : list of dict, optional
            Options of each provider.
        """
        self._set_providers(providers, provider_options)

    def disable_fallback(self) -> None:
        """Keeps the setting. Runs of Frazil have no other provider to fall back to."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """Keeps the setting. Runs of Frazil have no other provider to fall back to."""
        self._enable_fallback = True

    # ---- runs ----

    def _check_feeds(self, input_feed: Mapping[str, Any]) -> None:
        required = self._sess.ports.required
        if not required <= input_feed.keys():
            missing = [arg.name for arg in self._sess.ports.inputs if arg.name in required - input_feed.keys()]
            given = list(input_feed)
            raise ValueError(f"Required inputs ({missing}) are missing from input feed ({given}).")

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Runs the model.

        Parameters
        ----------
        output_names : list of str or None
            The wanted outputs; None is all.
        input_feed : dict
            The inputs by name.
        run_options : RunOptions, optional
            The options of the run.

        Returns
        -------
        list
            The outputs: arrays, lists for sequences, dicts for maps. They share no memory with inputs.

        Raises
        ------
        ValueError
            If a required input is missing.
        """
        self._check_feeds(input_feed)
        return self._sess.run(output_names, _plain(input_feed), run_options)

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[Any, Any, str], Any],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Begins a run on another thread, which then calls a function.

        Parameters
        ----------
        output_names : list of str or None
            The wanted outputs; None is all.
        input_feed : dict
            The inputs by name. Arrays must not change until the run has ended.
        callback : callable
            Called with the outputs, `user_data`, and the text of the error or ''. After an error the outputs are [].
        user_data : any
            Passed to the function.
        run_options : RunOptions, optional
            The options of the run.

        Raises
        ------
        ValueError
            If a required input is missing.
        """
        self._check_feeds(input_feed)
        feeds = _plain(input_feed)

        def run(token: Any) -> None:
            try:
                results, text = self._sess.run(output_names, feeds, run_options), ""
            except Exception as error:
                results, text = [], str(error)
            callback(results, user_data, text)

        start(run)

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Runs the model on values.

        Parameters
        ----------
        output_names : list of str or None
            The wanted outputs; None is all.
        input_dict_ort_values : dict
            The inputs by name.
        run_options : RunOptions, optional
            The options of the run.

        Returns
        -------
        list of OrtValue
            The outputs.

        Raises
        ------
        ValueError
            If a required input is missing.
        """
        self._check_feeds(input_dict_ort_values)
        results = self._sess.run(output_names, _plain(input_dict_ort_values), run_options)
        return [OrtValue(value) for value in results]

    def io_binding(self) -> IOBinding:
        """Returns a binding without inputs and outputs.

        Returns
        -------
        IOBinding
            The binding.
        """
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs the model on bound inputs. The binding receives the outputs.

        Parameters
        ----------
        iobinding : IOBinding
            The binding.
        run_options : RunOptions, optional
            The options of the run.
        """
        iobinding._run(self._sess, run_options)

    # ---- profiles ----

    def end_profiling(self) -> str:
        """Writes the profile of the runs so far, in the trace event format, and ends it.

        Returns
        -------
        str
            The path of the file; '' if the session is not profiled.
        """
        return self._sess.end_profiling()

    def get_profiling_start_time_ns(self) -> int:
        """Returns when the profile began.

        Returns
        -------
        int
            Nanoseconds since 1970; 0 without a profile.
        """
        return self._sess.profile_start
