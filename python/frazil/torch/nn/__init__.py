"""The modules of frazil.nn."""

from ...nn import *  # noqa: F403
from ...nn import Module, Parameter
from . import functional, init, utils  # type: ignore[no-redef]
