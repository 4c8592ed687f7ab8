"""The functions of frazil.nn.functional."""

from ...nn.functional import *  # noqa: F403
