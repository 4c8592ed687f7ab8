"""Stand-ins for torch.cuda. There is no CUDA."""

from __future__ import annotations


def is_available() -> bool:
    """Returns False."""
    return False


def device_count() -> int:
    """Returns 0."""
    return 0


def manual_seed_all(seed: int) -> None:
    """Does nothing, as there is no device."""


manual_seed = manual_seed_all


def empty_cache() -> None:
    """Does nothing, as there is no device."""
