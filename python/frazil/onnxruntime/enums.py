"""Enumerations with the names and numbers of ONNX Runtime."""

from __future__ import annotations

import enum
import inspect


class Choice(enum.IntEnum):
    """Base class of the enumerations.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    __signature__ = inspect.Signature([inspect.Parameter("value", inspect.Parameter.POSITIONAL_OR_KEYWORD)])


class GraphOptimizationLevel(Choice):
    """The optimization levels. Frazil keeps the value; its passes do not depend on it.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(Choice):
    """The execution modes. Frazil keeps the value.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(Choice):
    """The execution orders. Frazil keeps the value.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class OrtAllocatorType(Choice):
    """The kinds of allocators.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(Choice):
    """The kinds of memory.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    DEFAULT = 0
    CPU = -1


class OrtHardwareDeviceType(Choice):
    """The kinds of hardware devices.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    CPU = 0
    GPU = 1
    NPU = 2


class OrtExecutionProviderDevicePolicy(Choice):
    """The policies that choose a device. All choose the CPU.

    Parameters
    ----------
    value : int
        The number of a member.
    """

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6
