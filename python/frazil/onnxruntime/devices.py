"""Devices: the CPU."""

from __future__ import annotations

from typing import Any

from .enums import OrtAllocatorType, OrtHardwareDeviceType, OrtMemType
from .errors import InvalidArgument

CPU = "cpu"


def check_device(name: str) -> None:
    """Checks the name of a device.

    Parameters
    ----------
    name : str
        Such as 'cpu' or 'cuda'.

    Raises
    ------
    InvalidArgument
        If it is not the CPU.
    """
    if name.lower() != CPU:
        raise InvalidArgument.of(f"device '{name}' is not available: values of this build are in the CPU's memory")


class OrtDevice:
    """A device with memory. There is one, the CPU.

    Parameters
    ----------
    name : str, default 'cpu'
        The name of the device.
    device_id : int, default 0
        Its number.
    """

    def __init__(self, name: str = CPU, device_id: int = 0) -> None:
        check_device(name)
        self._id = device_id

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """Returns a device by name.

        Parameters
        ----------
        ort_device_name : str
            Only 'cpu' is available.
        device_id : int
            The number of the device.
        vendor_id : int, default -1
            Kept without an effect.

        Returns
        -------
        OrtDevice
            The device.
        """
        return OrtDevice(ort_device_name, device_id)

    @staticmethod
    def cpu() -> int:
        """Returns the number of the kind of device that the CPU is.

        Returns
        -------
        int
            0.
        """
        return 0

    @staticmethod
    def default_memory() -> int:
        """Returns the number of the default kind of memory.

        Returns
        -------
        int
            0.
        """
        return 0

    def device_id(self) -> int:
        """Returns the number of the device.

        Returns
        -------
        int
            The number.
        """
        return self._id

    def device_type(self) -> int:
        """Returns the number of the kind of device.

        Returns
        -------
        int
            0, the result of cpu().
        """
        return 0

    def device_mem_type(self) -> int:
        """Returns the kind of the memory.

        Returns
        -------
        int
            0, the default kind.
        """
        return 0

    def device_vendor_id(self) -> int:
        """Returns the vendor of the device.

        Returns
        -------
        int
            0, which is none.
        """
        return 0


class OrtMemoryInfo:
    """A description of memory.

    Parameters
    ----------
    name : str
        Such as 'Cpu'.
    alloc_type : OrtAllocatorType
        The kind of allocator.
    id : int, default 0
        The number of the device.
    mem_type : OrtMemType, default OrtMemType.DEFAULT
        The kind of memory.
    """

    def __init__(
        self,
        name: str = "Cpu",
        alloc_type: OrtAllocatorType = OrtAllocatorType.ORT_ARENA_ALLOCATOR,
        id: int = 0,
        mem_type: OrtMemType = OrtMemType.DEFAULT,
    ) -> None:
        check_device(name)
        self.name, self.alloc_type, self.id, self.mem_type = name, alloc_type, id, mem_type


class OrtArenaCfg:
    """The configuration of an arena. It is kept without an effect.

    Parameters
    ----------
    *args : int
        The numbers of the configuration.
    """

    def __init__(self, *args: Any) -> None:
        self.args = args


class OrtHardwareDevice:
    """A hardware device: the CPU."""

    type = OrtHardwareDeviceType.CPU
    vendor = ""
    vendor_id = 0
    device_id = 0

    @property
    def metadata(self) -> dict[str, str]:
        """Further facts, texts by key."""
        return {}


class OrtEpDevice:
    """An execution provider for a device: Frazil on the CPU."""

    ep_name = "CPUExecutionProvider"
    ep_vendor = "Frazil"

    @property
    def ep_metadata(self) -> dict[str, str]:
        """Further facts, texts by key."""
        return {}

    @property
    def ep_options(self) -> dict[str, str]:
        """Options of the provider, texts by key."""
        return {}

    @property
    def device(self) -> OrtHardwareDevice:
        """The device."""
        return OrtHardwareDevice()
