"""The modules of frazil.nn."""

from ...nn import *  # noqa: F403
from ...nn import Module, Parameter
from . import functional, init, parameter, utils  # type: ignore[no-redef]
