"""The names of the module `onnxruntime`, and of the modules below it."""

from __future__ import annotations

from typing import Any

from . import errors
from .binding import IOBinding
from .devices import OrtArenaCfg, OrtDevice, OrtEpDevice, OrtHardwareDevice, OrtMemoryInfo
from .enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, OrtAllocatorType, OrtMemType
from .enums import OrtExecutionProviderDevicePolicy, OrtHardwareDeviceType
from .environment import VERSION, create_and_register_allocator, create_and_register_allocator_v2
from .environment import disable_telemetry_events, enable_telemetry_events, get_all_providers
from .environment import get_available_providers, get_build_info, get_device, get_ep_devices, get_version_string
from .environment import has_collective_ops, preload_dlls, print_debug_info, register_execution_provider_library
from .environment import set_default_logger_severity, set_default_logger_verbosity, set_global_thread_pool_sizes
from .environment import set_seed, unregister_execution_provider_library
from .io_binding_helper import TypeHelper
from .options import RunOptions, SessionOptions
from .ports import ModelMetadata, NodeArg
from .session import InferenceSession, check_and_normalize_provider_args
from .values import OrtValue, SparseTensor

__version__ = VERSION

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtDevice",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "SparseTensor",
    "__version__",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "unregister_execution_provider_library",
]


def namespaces() -> dict[str, dict[str, Any]]:
    """Returns the names of each module, by the part of its path after "onnxruntime".

    Returns
    -------
    dict
        Names and values by module; "" is the package itself.
    """
    names: dict[str, Any] = {name: globals()[name] for name in __all__}
    state: dict[str, Any] = {**names, **{kind.__name__: kind for kind in errors.CLASSES}, "SessionIOBinding": IOBinding}
    collection: dict[str, Any] = {
        "InferenceSession": InferenceSession,
        "Session": InferenceSession,
        "IOBinding": IOBinding,
        "OrtDevice": OrtDevice,
        "OrtValue": OrtValue,
        "SparseTensor": SparseTensor,
        "check_and_normalize_provider_args": check_and_normalize_provider_args,
    }
    return {
        "": names,
        ".capi": {},
        ".capi._pybind_state": state,
        ".capi.onnxruntime_pybind11_state": state,
        ".capi.onnxruntime_inference_collection": collection,
        ".transformers": {},
        ".transformers.io_binding_helper": {"TypeHelper": TypeHelper},
    }
