"""There is no CUDA here."""

from __future__ import annotations


def is_available() -> bool:
    """Never."""
    return False


def device_count() -> int:
    """None."""
    return 0


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no device."""


manual_seed = manual_seed_all


def empty_cache() -> None:
    """Nothing: there is no device."""
