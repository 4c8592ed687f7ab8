"""The functions of frazil.nn.init."""

from ...nn.init import *  # noqa: F403
