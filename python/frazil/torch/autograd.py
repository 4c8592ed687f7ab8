"""Stand-ins for torch.autograd. There are no gradients."""

from __future__ import annotations

from typing import Any


def Variable(data: Any, *args: Any, **kwargs: Any) -> Any:
    """Returns the Tensor itself."""
    return data
