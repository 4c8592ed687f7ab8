"""Settings of other devices, which change nothing."""

from __future__ import annotations


class _Backend:
    """A device that is not there."""

    enabled = benchmark = deterministic = allow_tf32 = False

    @staticmethod
    def is_available() -> bool:
        """Never."""
        return False


cuda, cudnn, mps = _Backend(), _Backend(), _Backend()
