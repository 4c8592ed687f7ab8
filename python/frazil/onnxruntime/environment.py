"""Functions of the process: providers, versions, logging, seeds."""

from __future__ import annotations

import logging
import threading
from typing import Any, NoReturn, Sequence

from .. import _frazil
from .devices import OrtEpDevice
from .errors import InvalidArgument, NotImplemented

VERSION = "1.30.0"  #: the version of ONNX Runtime whose interface this package has
PROVIDER = "CPUExecutionProvider"
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


class _Process:
    """Settings that later sessions take."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.seed = 0
        self.threads = 0


process = _Process()


def get_available_providers() -> list[str]:
    """Returns the execution providers of this build.

    Returns
    -------
    list of str
        'CPUExecutionProvider' alone.
    """
    return [PROVIDER]


def get_all_providers() -> list[str]:
    """Returns the execution providers that this package knows.

    Returns
    -------
    list of str
        'CPUExecutionProvider' alone.
    """
    return [PROVIDER]


def get_ep_devices() -> Sequence[OrtEpDevice]:
    """Returns the devices of execution providers.

    Returns
    -------
    list of OrtEpDevice
        The CPU alone.
    """
    return [OrtEpDevice()]


def get_device() -> str:
    """Returns the kind of device that this build runs on.

    Returns
    -------
    str
        'CPU'.
    """
    return "CPU"


def get_version_string() -> str:
    """Returns the version of ONNX Runtime whose interface this package has.

    Returns
    -------
    str
        Three numbers.
    """
    return VERSION


def get_build_info() -> str:
    """Returns a description of the build, which names Frazil and its version.

    Returns
    -------
    str
        The description.
    """
    return f"ORT Build Info: Frazil {_frazil.__version__}, interface of ONNX Runtime {VERSION}, CPU"


def has_collective_ops() -> bool:
    """Returns whether the build has collective operators.

    Returns
    -------
    bool
        False.
    """
    return False


def set_default_logger_severity(severity: int) -> None:
    """Sets the least severity of messages: the level of Python's logger "frazil".

    Parameters
    ----------
    severity : int
        0 verbose, 1 info, 2 warning, 3 error, 4 fatal.

    Raises
    ------
    InvalidArgument
        If it is another number.
    """
    if severity not in range(len(_LEVELS)):
        raise InvalidArgument.of(f"severity {severity}: expected a number from 0 (verbose) to 4 (fatal)")
    logging.getLogger("frazil").setLevel(_LEVELS[severity])


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepts a verbosity. Messages of Frazil have none.

    Parameters
    ----------
    verbosity : int
        The verbosity.
    """


def set_seed(seed: int) -> None:
    """Sets the seed of random operators, for later sessions.

    Parameters
    ----------
    seed : int
        The seed.
    """
    process.seed = int(seed)


def set_global_thread_pool_sizes(intra_op_num_threads: int, inter_op_num_threads: int) -> None:
    """Sets the most threads of a run, for later sessions without `use_per_session_threads`.

    Parameters
    ----------
    intra_op_num_threads : int
        The most threads of one run; 0 is one per core.
    inter_op_num_threads : int
        Kept without an effect.
    """
    process.threads = int(intra_op_num_threads)


def disable_telemetry_events() -> None:
    """Does nothing: Frazil sends no telemetry."""


def enable_telemetry_events() -> None:
    """Does nothing: Frazil sends no telemetry."""


def create_and_register_allocator(mem_info: Any, arena_cfg: Any = None) -> None:
    """Accepts an allocator. Frazil has its own.

    Parameters
    ----------
    mem_info : OrtMemoryInfo
        The memory.
    arena_cfg : OrtArenaCfg, optional
        The configuration.
    """


def create_and_register_allocator_v2(
    provider_type: str, mem_info: Any, options: Any = None, arena_cfg: Any = None
) -> None:
    """Accepts an allocator. Frazil has its own.

    Parameters
    ----------
    provider_type : str
        The execution provider.
    mem_info : OrtMemoryInfo
        The memory.
    options : dict, optional
        Options of the provider.
    arena_cfg : OrtArenaCfg, optional
        The configuration.
    """


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Does nothing: Frazil needs no libraries of devices.

    Parameters
    ----------
    cuda : bool, default True
        Without an effect.
    cudnn : bool, default True
        Without an effect.
    msvc : bool, default True
        Without an effect.
    directory : str, optional
        Without an effect.
    """


def print_debug_info() -> None:
    """Prints a description of the build."""
    print(get_build_info())


def register_execution_provider_library(registration_name: str, library_path: str) -> NoReturn:
    """Refuses a library with an execution provider.

    Parameters
    ----------
    registration_name : str
        The name.
    library_path : str
        The path of the library.

    Raises
    ------
    NotImplemented
        Always.
    """
    raise NotImplemented.of(f"'{library_path}': libraries of execution providers cannot be loaded into Frazil")


def unregister_execution_provider_library(registration_name: str) -> NoReturn:
    """Refuses to remove a library, because none can be registered.

    Parameters
    ----------
    registration_name : str
        The name.

    Raises
    ------
    InvalidArgument
        Always.
    """
    raise InvalidArgument.of(f"no library of an execution provider is registered as '{registration_name}'")
