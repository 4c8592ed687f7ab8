"""Models from PyTorch's modules, by torch.fx or torch.jit."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any, Callable, Iterator, Mapping

from .. import nn
from . import fx
from ..effects import NeedsValues, Watch, refused
from ..errors import BadInput, Unsupported
from ..nn.arrays import to_array
from .torch_scripts import Scripted


def from_torch(module: Any, inputs: Any = None, *, dynamic: Any = True, **options: Any) -> Any:
    """Returns a model of a torch.nn.Module in evaluation mode, or without inputs a module of frazil.nn.

    torch.fx traces the module. If its code depends on values or extents, torch.jit scripts it, and its branches and
    loops become those of the model. If it cannot be scripted, and dynamic=False, torch.jit traces it with the examples,
    unless the trace would fix data-dependent behaviour.

    Parameters
    ----------
    module : torch.nn.Module
        The module, whose mode is restored.
    inputs : array, tuple or dict, optional
        Examples or types, as for from_fx().
    dynamic : bool or dict, default True
        Which extents may differ in a run, as for frazil.nn.compile().
    **options : any
        Options of runs, see frazil.Options.

    Returns
    -------
    Model or frazil.nn.Module
        The model; without `inputs` the module.

    Raises
    ------
    Unsupported
        If no method works. The message has the reasons of each.
    """
    was_training = module.training
    reasons = []
    try:
        module.eval()
        for how, make in WAYS.items():
            try:
                made = make(module, inputs, dynamic)
                return made if inputs is None else fx.compiled(made, inputs, dynamic, options)
            except Exception as error:
                reasons.append(f"{how}: {_first_lines(error)}")
    finally:
        module.train(was_training)
    raise Unsupported(f"module {type(module).__name__} cannot be imported. " + "; ".join(reasons))


def _first_lines(error: Exception) -> str:
    text = " ".join(row.strip() for row in str(error).strip().splitlines()[:6] if row.strip())
    return f"{text[:4000] or type(error).__name__}"


def _by_fx(module: Any, inputs: Any, dynamic: Any) -> nn.Module:
    with _without_effects(module):
        graph = fx.tracer().trace(module)
    return fx.Imported(fx.Traced(graph, module.get_submodule, type(module).__name__))


OWN = {"_parameters", "_buffers", "_modules", "training", *(f"_tensor_constant{i}" for i in range(256))}


@contextlib.contextmanager
def _without_effects(module: Any) -> Iterator[None]:
    """A context manager for running forward.

    Raises NeedsValues for side effects, which a trace would fix, and reverts them.
    """
    import torch

    before = torch.get_rng_state()
    parts = [part for part in module.modules() if not type(part).__module__.startswith("torch.")]
    watch = Watch([(part.forward, part) for part in parts], [(type(part).__name__, vars(part), OWN) for part in parts])
    try:
        with refused("forward", watch):
            yield
        if not torch.equal(before, torch.get_rng_state()):
            raise NeedsValues("forward draws random numbers")
    finally:
        torch.set_rng_state(before)


def _by_script(module: Any, inputs: Any, dynamic: Any) -> nn.Module:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = module if isinstance(module, torch.jit.ScriptModule) else torch.jit.script(module)
        return Scripted(script, module)


def _by_trace(module: Any, inputs: Any, dynamic: Any) -> nn.Module:
    """Converts with torch.jit.trace(), unless it warns that values are fixed. It fixes extents without a warning."""
    import torch

    if dynamic is not False:
        raise NeedsValues("a trace holds for the extents of the examples: pass dynamic=False")
    examples = _examples(inputs)
    with _without_effects(module), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        script = torch.jit.trace(module, examples, check_trace=False)
    fixed = [str(one.message) for one in found if issubclass(one.category, torch.jit.TracerWarning)]
    if fixed:
        raise NeedsValues(f"a trace would fix values: {fixed[0].splitlines()[0]}")
    return Scripted(script, module)


def _examples(inputs: Any) -> tuple[Any, ...]:
    import torch

    if inputs is None or isinstance(inputs, Mapping):
        raise BadInput("examples by position are needed")
    given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    return tuple(x if isinstance(x, torch.Tensor) else torch.from_numpy(to_array(x).copy()) for x in given)


WAYS: dict[str, Callable[[Any, Any, Any], nn.Module]] = {
    "torch.fx": _by_fx, "torch.jit.script": _by_script, "torch.jit.trace": _by_trace,
}  # fmt: skip
