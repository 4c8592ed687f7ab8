"""Options of sessions and runs. All are accepted and kept; those that Frazil has are passed on."""

from __future__ import annotations

import operator
import os
import threading
from typing import Any, Callable, Iterable, Mapping, Protocol, Sequence

from .enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from .errors import InvalidArgument, NotFound, NotImplemented
from .values import OrtValue


def _kept(name: str, kind: type, doc: str) -> Any:
    """Returns a property that stores a value of one type."""
    conversions: dict[type, Callable[[Any], Any]] = {bool: bool, str: os.fspath, int: operator.index}
    convert = conversions.get(kind, lambda value: kind(operator.index(value)))

    def get(self: Any) -> Any:
        return self._values[name]

    def put(self: Any, value: Any) -> None:
        try:
            self._values[name] = convert(value)
        except (TypeError, ValueError):
            expected = f"{type(self).__name__}.{name}: expected {kind.__name__}"
            raise TypeError(f"{expected}, got {type(value).__name__} {value!r}") from None

    return property(get, put, doc=doc)


class _Entries:
    """Config entries: any key is accepted."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._entries: dict[str, str] = {}

    def add(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"{self._what} config entry: expected a key and a value of type str")
        self._entries[key] = value

    def get(self, key: str) -> str:
        if key not in self._entries:
            raise NotFound.of(f"the {self._what} options have no config entry '{key}'")
        return self._entries[key]

    def all(self) -> Mapping[str, str]:
        return dict(self._entries)


class SessionOptions:
    """The options of a session. A setting that Frazil lacks is kept and has no effect."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            "enable_cpu_mem_arena": True,
            "enable_mem_pattern": True,
            "enable_mem_reuse": True,
            "enable_profiling": False,
            "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
            "execution_order": ExecutionOrder.DEFAULT,
            "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
            "inter_op_num_threads": 0,
            "intra_op_num_threads": 0,
            "log_severity_level": -1,
            "log_verbosity_level": 0,
            "logid": "",
            "optimized_model_filepath": "",
            "profile_file_prefix": "onnxruntime_profile_",
            "use_deterministic_compute": False,
            "use_per_session_threads": True,
        }
        self._config = _Entries("session")
        self._extents: dict[str, int] = {}
        self._denotations: dict[str, int] = {}
        self._initializers: dict[str, OrtValue] = {}
        self._providers: list[str] = []

    enable_cpu_mem_arena = _kept("enable_cpu_mem_arena", bool, "Whether memory is kept between runs. Kept.")
    enable_mem_pattern = _kept("enable_mem_pattern", bool, "Whether memory is planned. Kept; Frazil always plans it.")
    enable_mem_reuse = _kept("enable_mem_reuse", bool, "Whether memory of dead values is reused. Kept.")
    enable_profiling = _kept("enable_profiling", bool, "Whether runs are recorded for end_profiling().")
    execution_mode = _kept("execution_mode", ExecutionMode, "An ExecutionMode. Kept.")
    execution_order = _kept("execution_order", ExecutionOrder, "An ExecutionOrder. Kept.")
    graph_optimization_level = _kept(
        "graph_optimization_level", GraphOptimizationLevel, "A GraphOptimizationLevel. Kept."
    )
    inter_op_num_threads = _kept("inter_op_num_threads", int, "Threads between operators. Kept.")
    intra_op_num_threads = _kept("intra_op_num_threads", int, "The most threads of one run; 0 is one per core.")
    log_severity_level = _kept("log_severity_level", int, "The least severity of messages. Kept.")
    log_verbosity_level = _kept("log_verbosity_level", int, "The verbosity of messages. Kept.")
    logid = _kept("logid", str, "The name of the session in messages. Kept.")
    optimized_model_filepath = _kept(
        "optimized_model_filepath", str, "A path that the loaded model is written to, as an ONNX file; '' is none."
    )
    profile_file_prefix = _kept("profile_file_prefix", str, "The beginning of the path of profiles.")
    use_deterministic_compute = _kept("use_deterministic_compute", bool, "Kept: results of Frazil do not vary.")
    use_per_session_threads = _kept("use_per_session_threads", bool, "Kept: sessions share the threads of the process.")

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Stores a config entry.

        Parameters
        ----------
        key : str
            Any key.
        value : str
            Its value. A later value replaces an earlier one.
        """
        self._config.add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """Returns a config entry.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        str
            Its value. A key that was not added raises NotFound.
        """
        return self._config.get(key)

    def get_session_configs(self) -> dict[str, str]:
        """Returns all config entries.

        Returns
        -------
        dict
            Values by key.
        """
        return dict(self._config.all())

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Fixes a free extent.

        Parameters
        ----------
        name : str
            The name of the extent in the file.
        value : int
            Its number.
        """
        self._extents[name] = int(value)

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """Fixes the free extents of inputs that have a denotation.

        Parameters
        ----------
        denotation : str
            The denotation in the file, such as 'DATA_BATCH'.
        value : int
            Their number.
        """
        self._denotations[denotation] = int(value)

    def add_initializer(self, name: str, ort_value: OrtValue) -> None:
        """Replaces the value of an initializer.

        Parameters
        ----------
        name : str
            The name of the initializer.
        ort_value : OrtValue
            A tensor of the same element type and shape. It must not change while the session exists.

        Raises
        ------
        InvalidArgument
            If the value is not a tensor.
        """
        if not isinstance(ort_value, OrtValue) or not ort_value.is_tensor():
            raise InvalidArgument.of(f"initializer '{name}': expected an OrtValue with a tensor")
        self._initializers[name] = ort_value

    def add_external_initializers(self, names: Sequence[str], values: Iterable[OrtValue]) -> None:
        """Replaces the values of several initializers.

        Parameters
        ----------
        names : list of str
            The names of the initializers.
        values : list of OrtValue
            As many tensors.

        Raises
        ------
        InvalidArgument
            If the numbers of names and values differ.
        """
        given = list(values)
        if len(given) != len(names):
            raise InvalidArgument.of(f"{len(names)} names of initializers, but {len(given)} values")
        for name, value in zip(names, given):
            self.add_initializer(name, value)

    def register_custom_ops_library(self, path: str) -> None:
        """Refuses a library of operators for ONNX Runtime.

        Parameters
        ----------
        path : str
            The path of the library.

        Raises
        ------
        NotImplemented
            Always. The message says what to do.
        """
        raise NotImplemented.of(
            f"'{path}': libraries of custom operators for ONNX Runtime cannot be loaded; define the operators with"
            " frazil.host_operator (docs/how-to/adding-an-operator.md)"
        )

    def add_provider(self, provider_name: str, provider_options: Mapping[str, str] = {}) -> None:
        """Adds an execution provider.

        Parameters
        ----------
        provider_name : str
            Only 'CPUExecutionProvider' is available.
        provider_options : dict, optional
            Kept without an effect.

        Raises
        ------
        InvalidArgument
            If the provider is not available.
        """
        if provider_name != "CPUExecutionProvider":
            raise InvalidArgument.of(f"'{provider_name}' is not available: this build has CPUExecutionProvider only")
        self._providers.append(provider_name)

    def add_provider_for_devices(self, ep_devices: Sequence[Any], provider_options: Mapping[str, str] = {}) -> None:
        """Adds the execution provider of devices that get_ep_devices() returned.

        Parameters
        ----------
        ep_devices : list of OrtEpDevice
            The devices.
        provider_options : dict, optional
            Kept without an effect.
        """
        for device in ep_devices:
            self.add_provider(device.ep_name, provider_options)

    def set_provider_selection_policy(self, policy: Any) -> None:
        """Accepts a policy. The only device is the CPU.

        Parameters
        ----------
        policy : OrtExecutionProviderDevicePolicy
            The policy.
        """

    def set_provider_selection_policy_delegate(self, delegate: Any) -> None:
        """Accepts a function that would choose devices. The only device is the CPU, so it is not called.

        Parameters
        ----------
        delegate : callable
            The function.
        """

    def has_providers(self) -> bool:
        """Returns whether add_provider() was called.

        Returns
        -------
        bool
            Whether these options name a provider.
        """
        return bool(self._providers)


class _Cancellable(Protocol):
    def cancel(self) -> None:
        ...


class RunOptions:
    """The options of runs. Threads may share them: `terminate` ends every run that uses them."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {
            "log_severity_level": 2,
            "log_verbosity_level": 0,
            "logid": "",
            "only_execute_path_to_fetches": False,
            "synchronize_execution_providers": True,
            "training_mode": False,
        }
        self._config = _Entries("run")
        self._terminate = False
        self._lock = threading.Lock()
        self._runs: list[_Cancellable] = []

    log_severity_level = _kept("log_severity_level", int, "The least severity of messages. Kept.")
    log_verbosity_level = _kept("log_verbosity_level", int, "The verbosity of messages. Kept.")
    logid = _kept("logid", str, "The tag of the run in messages. Kept.")
    only_execute_path_to_fetches = _kept("only_execute_path_to_fetches", bool, "Kept.")
    synchronize_execution_providers = _kept("synchronize_execution_providers", bool, "Kept: all runs are synchronous.")
    training_mode = _kept("training_mode", bool, "Kept: runs are inference.")

    @property
    def terminate(self) -> bool:
        """Whether runs with these options end: those in progress, and later ones until it is False again."""
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._terminate = bool(value)
        if self._terminate:
            with self._lock:
                for run in self._runs:
                    run.cancel()

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Stores a config entry.

        Parameters
        ----------
        key : str
            Any key.
        value : str
            Its value.
        """
        self._config.add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """Returns a config entry.

        Parameters
        ----------
        key : str
            The key.

        Returns
        -------
        str
            Its value. A key that was not added raises NotFound.
        """
        return self._config.get(key)

    def add_active_adapter(self, adapter: Any) -> None:
        """Refuses a LoRA adapter.

        Parameters
        ----------
        adapter : object
            The adapter.

        Raises
        ------
        NotImplemented
            Always.
        """
        raise NotImplemented.of("LoRA adapters are not available; merge the adapter into the weights of the model")

    def _begin(self, run: _Cancellable) -> None:
        with self._lock:
            self._runs.append(run)
            if self._terminate:
                run.cancel()

    def _end(self, run: _Cancellable) -> None:
        with self._lock:
            self._runs.remove(run)
