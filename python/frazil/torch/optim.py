"""An empty module for programs that import optimizers. Frazil does not train."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    raise AttributeError(f"frazil.torch.optim has no '{name}': Frazil does not train: leave out optimizers")
