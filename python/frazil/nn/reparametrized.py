"""Reparametrised weights: weight_norm() and spectral_norm(), as in torch.nn.utils."""

from __future__ import annotations

from typing import Any, Callable, TypeVar

import numpy

from ..errors import BadInput
from . import ops
from .module import Module, Parameter

M = TypeVar("M", bound=Module)


def _derive(module: Module, name: str, compute: Callable[[Any], Any]) -> None:
    del module._parameters[name]
    module._derived[name] = compute
    module._touch()


def _norm_without(v: Any, dim: int | None) -> Any:
    axes = [axis for axis in range(v.ndim) if axis != dim]
    return ops.sqrt(ops.sum(ops.square(v), axes, True)) if dim is not None else ops.norm(v)


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replaces a weight by its direction name_v and its length name_g."""
    weight = module._parameters[name].array
    dim = dim % weight.ndim if dim is not None and dim != -1 else None
    axes = None if dim is None else tuple(axis for axis in range(weight.ndim) if axis != dim)
    length = numpy.sqrt(numpy.square(weight).sum(axes, keepdims=dim is not None))
    _derive(module, name, lambda m: ops.mul(_direction(getattr(m, f"{name}_v"), dim), getattr(m, f"{name}_g")))
    module.register_parameter(f"{name}_g", Parameter(length))
    module.register_parameter(f"{name}_v", Parameter(weight))
    return module


def _direction(v: Any, dim: int | None) -> Any:
    return ops.div(v, _norm_without(v, dim))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divides a weight by its largest singular value, estimated from the vectors name_u and name_v."""
    weight = module._parameters[name].array
    at = dim if dim is not None else 1 if type(module).__name__.startswith("ConvTranspose") else 0
    rows = numpy.moveaxis(weight, at, 0).reshape(weight.shape[at], -1)
    left, _, right = numpy.linalg.svd(rows, full_matrices=False)

    def compute(m: Any) -> Any:
        original = getattr(m, f"{name}_orig")
        matrix = ops.flatten(ops.movedim(original, at, 0), 1)
        sigma = ops.dot(getattr(m, f"{name}_u"), ops.mv(matrix, getattr(m, f"{name}_v")))
        return ops.div(original, sigma)

    _derive(module, name, compute)
    module.register_parameter(f"{name}_orig", Parameter(weight))
    module.register_buffer(f"{name}_u", left[:, 0])
    module.register_buffer(f"{name}_v", right[0])
    return module


def _removed(module: M, name: str, parts: tuple[str, ...]) -> M:
    if name not in module._derived:
        raise BadInput(f"{type(module).__name__}: '{name}' is not computed of other weights")
    value = module._derived.pop(name)(module)
    for part in parts:
        module._parameters.pop(f"{name}_{part}", None)
        module._buffers.pop(f"{name}_{part}", None)
    module.register_parameter(name, Parameter(value))
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Makes the weight a parameter again."""
    return _removed(module, name, ("g", "v"))


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Makes the weight a parameter again."""
    return _removed(module, name, ("orig", "u", "v"))
