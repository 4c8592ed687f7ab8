"""Devices and memory formats by name. Only the CPU and one format are supported."""

from __future__ import annotations

from typing import Any

from ..errors import Unsupported

FORMATS = ("torch.contiguous_format", "torch.preserve_format", "torch.channels_last", "torch.strided")
OTHERS = ("cuda", "mps", "xpu", "meta", "hip", "xla")


class device(str):
    """A device by name, and its number. Frazil computes on the CPU."""

    __slots__ = ()

    def __new__(cls, type: Any, index: int | None = None) -> device:
        return super().__new__(cls, type if index is None else f"{type}:{index}")

    @property
    def type(self) -> str:
        """The kind of device."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """The number of the device; None if it has none."""
        number = self.partition(":")[2]
        return int(number) if number else None

    def __repr__(self) -> str:
        return f"device({str(self)!r})"


def on_cpu(what: Any) -> bool:
    """Returns True for the CPU. Raises Unsupported for other devices. Returns False for other values than devices."""
    if not isinstance(what, (str, int)) and type(what).__name__ != "device":
        return False
    name = str(what).partition(":")[0]
    if isinstance(what, int) or name in OTHERS:
        raise Unsupported(f"device '{what}': Frazil computes on the CPU; use torch.device('cpu')")
    return name == "cpu"
