"""Functions on Terms with the names, parameters and results of those in PyTorch's module `torch`.

Each records operators in the graph of its Terms. A negative `dim` counts from the end. Numbers take the element type of
the other Terms. Terms of different types are cast to the larger type, as in PyTorch.
"""

from __future__ import annotations

from . import basic, creation, names, pairs, parts, scatters, shapes, signals
from .basic import *  # noqa: F403
from .basic import Dims, axes_of, axis_of, cast, counting, extent, floating, kind_of, promoted, rank_of, size, sizes_of
from .basic import unary, unsupported, vector
from .creation import *  # noqa: F403
from .creation import arange_of, filled, term_of
from .indexing import put
from .lazily import current
from .names import *  # noqa: F403
from .pairs import *  # noqa: F403
from .pairs import on_diagonal
from .parts import *  # noqa: F403
from .scatters import *  # noqa: F403
from .shapes import *  # noqa: F403
from .signals import *  # noqa: F403

__all__ = sorted(
    {
        *basic.__all__,
        *creation.__all__,
        *names.__all__,
        *pairs.__all__,
        *parts.__all__,
        *scatters.__all__,
        *shapes.__all__,
        *signals.__all__,
    }
)
