"""The functions of frazil.nn.init."""

from __future__ import annotations

from ...nn.init import *  # noqa: F403
