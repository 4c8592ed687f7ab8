"""Settings of other devices, which have no effect."""

from __future__ import annotations


class _Backend:
    """An unavailable device."""

    enabled = benchmark = deterministic = allow_tf32 = False

    @staticmethod
    def is_available() -> bool:
        """Returns False."""
        return False


cuda, cudnn, mps = _Backend(), _Backend(), _Backend()
