"""The functions of frazil.nn.functional."""

from __future__ import annotations

from ...nn.functional import *  # noqa: F403
