"""Models from torch.fx.GraphModules, and symbolic traces of torch.nn.Modules.

There is no list of operators. The callee of a node is looked up by name in frazil.nn: a module in its classes, a
function in frazil.nn.functional and frazil.nn.ops, a method in frazil.nn.Tensor. Functions of Python's `operator` are
called.
"""

from __future__ import annotations

import dis
import inspect
import sys
from typing import Any, Callable, Mapping, NamedTuple

from .. import nn
from ..effects import is_of_program
from ..errors import BadInput, Error, Unsupported
from ..model import Model
from ..nn import calls
from ..nn.tensor import Tensor
from .torch_names import function_named

PLAIN_MODULES = ("_operator", "operator", "builtins", "math")


def from_fx(graph_module: Any, inputs: Any, *, dynamic: Any = True, **options: Any) -> Model:
    """Returns a model of a torch.fx.GraphModule.

    Its inputs have the names of the placeholders, its output is "output".

    Parameters
    ----------
    graph_module : torch.fx.GraphModule
        The module.
    inputs : array, tuple or dict
        Examples: an array or tensor, a tuple of them or a dict by name, as for frazil.nn.compile(); or a dict from
        names to types: {"x": ("float32", ("N", 3))}.
    dynamic : bool or dict, default True
        Which extents may differ in a run, as for frazil.nn.compile().
    **options : any
        Options of runs, see frazil.Options.

    Returns
    -------
    Model
        The model.

    Raises
    ------
    Unsupported
        If Frazil lacks the callee of a node; the message names both.
    """
    return compiled(convert(graph_module), inputs, dynamic, options)


def compiled(module: nn.Module, inputs: Any, dynamic: Any, options: Mapping[str, Any]) -> Model:
    """Returns a model of a module; inputs as in from_fx()."""
    if isinstance(inputs, Mapping) and inputs and all(isinstance(calls._spec(v), calls.Spec) for v in inputs.values()):
        return calls.from_types(module, inputs, **options)
    return calls.compile(module, inputs, dynamic, **options)


class Traced(NamedTuple):
    """The used parts of a torch.fx.GraphModule, without its generated code."""

    graph: Any
    get_submodule: Callable[[str], Any]
    name: str


def tracer() -> Any:
    """Returns PyTorch's tracer. On Python 3.11, tracers before PyTorch 2 do not detect that `a, b = x` unpacks two
    values.
    """
    import torch
    from torch import fx

    class Unpacks:
        def __iter__(self: Any) -> Any:
            frame = sys._getframe(1)
            steps = (step for step in dis.get_instructions(frame.f_code) if step.offset == frame.f_lasti)
            step = next(steps, None)
            if step is None or step.opname != "UNPACK_SEQUENCE":
                return self.tracer.iter(self)
            return (self[i] for i in range(step.argval))

    class Attribute(Unpacks, fx.proxy.Attribute):  # type: ignore[misc, name-defined]
        """A lazy x.shape, which becomes a node only when it is used."""

    class Proxy(Unpacks, fx.Proxy):  # type: ignore[misc, name-defined]
        def __getattr__(self, name: str) -> Any:
            return Attribute(self, name)

    class Tracer(fx.Tracer):  # type: ignore[misc, name-defined]
        proxy_buffer_attributes = True  # allows indexing by extents
        record_stack_traces = True

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.path = [""]

        def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
            self.path.append(self.path_of_module(m))
            try:
                return super().call_module(m, forward, args, kwargs)
            finally:
                self.path.pop()

        def create_node(self, *args: Any, **kwargs: Any) -> Any:
            node = super().create_node(*args, **kwargs)
            node.meta["module_path"] = self.path[-1]
            return node

        def proxy(self, node: Any) -> Any:
            return Proxy(node, self)

    functional = torch.nn.functional
    wrapped = (torch.arange, torch.empty, torch.full, torch.ones, torch.zeros, functional.pad)
    made = Tracer(autowrap_functions=wrapped)
    made._autowrap_search += [torch, functional]  # they take extents, but do not check for proxies
    return made


STACKS: dict[str, Callable[[Any], Any]] = {
    "Sequential": lambda module: nn.Sequential({name: convert(part) for name, part in module._modules.items()}),
    "TransformerEncoder": lambda module: nn.TransformerEncoder(*_layers(module)),
    "TransformerDecoder": lambda module: nn.TransformerDecoder(*_layers(module)),
    "Transformer": lambda module: nn.Transformer(
        module.d_model, module.nhead, custom_encoder=convert(module.encoder), custom_decoder=convert(module.decoder),
        batch_first=module.batch_first,
    ),
}  # fmt: skip


def _layers(module: Any) -> tuple[Any, ...]:
    """Returns a layer, the number of layers, and the final norm."""
    return convert(module.layers[0]), len(module.layers), None if module.norm is None else convert(module.norm)


def is_known(module: Any) -> bool:
    """Returns whether frazil.nn has the class of a PyTorch module and of all its parts."""
    path, name = class_of(module)
    if not path.startswith("torch.nn.modules") or name in ("ModuleList", "ModuleDict"):
        return False
    found = getattr(nn, name, None)
    own = isinstance(found, type) and issubclass(found, nn.Module)
    return own and (name != "Sequential" or all(is_known(part) for part in module.children()))


def class_of(module: Any) -> tuple[str, str]:
    """Returns the path and the name of a module's class, including modules loaded from torch.jit files."""
    if hasattr(module, "original_name") and hasattr(module, "_c"):
        parts = module._c._type().qualified_name().split(".")
        path = [part for part in parts[1:-1] if not part.startswith("___torch_mangle")]
        return ".".join(path), module.original_name
    return type(module).__module__, type(module).__name__


def convert(module: Any) -> nn.Module:
    """Converts a module of torch.nn to frazil.nn, with its weights: a GraphModule, or a class that frazil.nn has."""
    graph = getattr(module, "__dict__", {}).get("_graph")
    if isinstance(module, Traced) or type(graph).__module__.startswith("torch.fx"):
        return Imported(module)
    path, name = class_of(module)
    if not is_known(module):
        raise Unsupported(f"module {path}.{name}: frazil.nn has no such class")
    cls = getattr(nn, name)
    made: nn.Module = STACKS[name](module) if name in STACKS else cls(**_arguments(module, cls))
    made.load_state_dict(_state(module, made), assign=True)
    return made


def _state(module: Any, made: nn.Module) -> Mapping[str, Any]:
    """Returns the weights. Weights that weight_norm() etc. compute before forward are computed."""
    for part in module.modules():
        hooks = [*getattr(part, "_forward_pre_hooks", {}).values()]
        others = [hook for hook in hooks if not type(hook).__module__.startswith("torch.nn.utils")]
        if others or getattr(part, "_forward_hooks", {}):
            name = type(part).__name__
            raise Unsupported(f"module {name} has hooks: remove them, or write the module with frazil.nn")
        for hook in hooks:
            hook(part, None)
    state = module.state_dict()
    if state.keys() == made.state_dict().keys():
        return state  # type: ignore[no-any-return]
    found = {}
    for path in made.state_dict():
        owner, _, name = path.rpartition(".")
        found[path] = getattr(module.get_submodule(owner), name)
    return found


def _arguments(module: Any, cls: type) -> dict[str, Any]:
    """Returns the constructor's arguments, which PyTorch's modules keep mostly as attributes of the same name."""
    if cls in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer):
        return _encoder_arguments(module)
    found = {}
    for name, parameter in list(inspect.signature(cls.__init__).parameters.items())[1:]:  # type: ignore[misc]
        if name in ("device", "dtype"):
            continue
        if name == "bias" and cls is nn.MultiheadAttention:
            found[name] = module.in_proj_bias is not None
        elif name == "bias":
            found[name] = module.bias if isinstance(module.bias, bool) else module.bias is not None
        elif name == "add_bias_kv":
            found[name] = module.bias_k is not None
        elif hasattr(module, name):
            found[name] = getattr(module, name)
        elif hasattr(module, f"_{name}"):
            found[name] = getattr(module, f"_{name}")
        elif parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            raise Unsupported(f"module {type(module).__name__} has no attribute '{name}'")
    return found


def _encoder_arguments(layer: Any) -> dict[str, Any]:
    attention = layer.self_attn
    return {
        "d_model": attention.embed_dim,
        "nhead": attention.num_heads,
        "dim_feedforward": layer.linear1.out_features,
        "activation": _function(layer.activation, layer.activation.__name__),
        "layer_norm_eps": layer.norm1.eps,
        "batch_first": attention.batch_first,
        "norm_first": layer.norm_first,
    }


def _function(target: Any, name: str) -> Callable[..., Any] | None:
    """Returns the counterpart of a PyTorch function, by name."""
    module = str(getattr(target, "__module__", ""))
    if module in PLAIN_MODULES:
        return target  # type: ignore[no-any-return]
    return function_named(name, "functional" if "nn" in module else "ops")


def _value(value: Any) -> Any:
    """Converts an argument from PyTorch's types: element types to names, sizes to tuples, devices to "cpu"."""
    kind = type(value)
    if not kind.__module__.startswith("torch"):
        return value
    if kind.__name__ == "dtype":
        return str(value).removeprefix("torch.")
    if kind.__name__ == "Size":
        return tuple(value)
    return "cpu" if kind.__name__ == "device" else value


class Imported(nn.Module):
    """A torch.fx.GraphModule as a module; forward() interprets its nodes."""

    def __init__(self, graph_module: Any) -> None:
        super().__init__()
        self.graph_name = graph_module.name if isinstance(graph_module, Traced) else type(graph_module).__name__
        self._nodes = list(graph_module.graph.nodes)
        self._constants: dict[str, str] = {}
        for node in self._nodes:
            if node.op == "call_module" and str(node.target).replace(".", "_") not in self._modules:
                with _naming(node):
                    self.add_module(
                        str(node.target).replace(".", "_"), convert(graph_module.get_submodule(node.target))
                    )
            if node.op == "get_attr":
                self._add_constant(graph_module, node)
        missing = [text for text in map(_missing, self._nodes) if text]
        if missing:
            raise Unsupported("; ".join(missing))
        object.__setattr__(self, "forward", self._forward())

    def _add_constant(self, graph_module: Any, node: Any) -> None:
        path, _, name = str(node.target).rpartition(".")
        value = getattr(graph_module.get_submodule(path), name)
        if not hasattr(value, "detach"):
            raise Unsupported(f"node '{node.name}' (get_attr {node.target}): a {type(value).__name__}, not a tensor")
        self._constants[str(node.target)] = "_constant_" + str(node.target).replace(".", "_")
        self.register_buffer(self._constants[str(node.target)], value)

    def _forward(self) -> Callable[..., Any]:
        """Returns forward() with the placeholders as its parameters."""
        P = inspect.Parameter
        fields = [
            P(str(node.target), P.POSITIONAL_OR_KEYWORD, default=node.args[0] if node.args else P.empty)
            for node in self._nodes
            if node.op == "placeholder" and not str(node.target).startswith("*")
        ]
        signature = inspect.Signature(fields)

        def forward(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return self._walk_nodes(bound.arguments)

        forward.__signature__ = signature  # type: ignore[attr-defined]
        return forward

    def _walk_nodes(self, given: Mapping[str, Any]) -> Any:
        values: dict[str, Any] = {}
        for node in self._nodes:
            if node.op == "output":
                return self._argument(node.args[0], values)
            with _naming(node):
                values[node.name] = self._computed(node, given, values)
        raise BadInput("the graph has no output")

    def _computed(self, node: Any, given: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        if node.op == "placeholder":
            return given[str(node.target)]
        if node.op == "get_attr":
            return getattr(self, self._constants[str(node.target)])
        args = [self._argument(value, values) for value in node.args]
        kwargs = {name: self._argument(value, values) for name, value in node.kwargs.items()}
        if kwargs.get("out", self) is None:
            del kwargs["out"]
        if node.op == "call_module":
            return self._modules[str(node.target).replace(".", "_")](*args, **kwargs)
        if node.op == "call_function":
            function = _function(node.target, getattr(node.target, "__name__", str(node.target)))
            return function(*args, **kwargs)  # type: ignore[misc]
        method = getattr(args[0], str(node.target), None)
        if method is None:
            raise Unsupported(f"a {type(args[0]).__name__} has no method of that name")
        return method(*args[1:], **kwargs)

    def _argument(self, value: Any, values: Mapping[str, Any]) -> Any:
        """Replaces nodes by their results, inside of tuples, lists, dicts and slices."""
        if type(value).__name__ == "Node" and hasattr(value, "name"):
            return values[value.name]
        if isinstance(value, slice):
            return slice(*(self._argument(part, values) for part in (value.start, value.stop, value.step)))
        if isinstance(value, Mapping):
            return {key: self._argument(part, values) for key, part in value.items()}
        if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
            parts = [self._argument(part, values) for part in value]
            return (
                type(value)(*parts)
                if hasattr(value, "_fields")
                else tuple(parts)
                if isinstance(value, tuple)
                else parts
            )
        return _value(value)


def _missing(node: Any) -> str | None:
    """Returns an error text with the place if Frazil lacks the callee of a node, else None."""
    if node.op == "call_function" and _function(node.target, getattr(node.target, "__name__", "")) is None:
        return f"{_description(node)}: Frazil has no function of that name"
    if node.op == "call_method" and not hasattr(Tensor, str(node.target)):
        return f"{_description(node)}: a Tensor has no method of that name"
    return None


def _description(node: Any) -> str:
    """Returns a text with the node, its callee and the line of the program."""
    target = node.target
    if callable(target):
        target = f"{getattr(target, '__module__', None) or 'torch'}.{getattr(target, '__name__', target)}"
    rows = [row.strip() for row in (getattr(node, "stack_trace", None) or "").splitlines() if row.startswith("  File ")]
    rows = [row for row in rows if is_of_program(row.split('"')[1])]
    path = node.meta.get("module_path") if hasattr(node, "meta") else None
    inside = f" in module '{path}'" if path else ""
    return f"node '{node.name}' ({node.op} {target}){inside}" + (f" at {_place(rows[0])}" if rows else "")


def _place(row: str) -> str:
    """Returns file, line and function of a row of a stack trace."""
    _, path, rest = row.split('"')
    line, function = rest.split("line ")[1].split(", in ")
    return f"{path}:{line} in {function}"


class _naming:
    """A context manager that adds the node and its target to errors."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None or getattr(error, "named", False):
            return
        text = f"{_description(self._node)}: {error}"
        if isinstance(error, Error):
            error.args = (text,)
            error.named = True  # type: ignore[attr-defined]
        elif isinstance(error, (TypeError, AttributeError, IndexError, ValueError)):
            made = Unsupported(text)
            made.named = True  # type: ignore[attr-defined]
            raise made from error
