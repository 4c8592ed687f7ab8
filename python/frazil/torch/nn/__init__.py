"""The modules of frazil.nn."""

from __future__ import annotations

from ...nn import *  # noqa: F403
from ...nn import Module, Parameter
from . import functional, init, parameter, utils  # type: ignore[no-redef]
