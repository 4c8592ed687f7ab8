"""Modules from the graphs of torch.jit: scripted ones with their control flow, and traced ones.

Parts that frazil.nn has are replaced by these. Functions are looked up by name as in frazil.interop.fx. An If or a Loop that
depends on values known during recording is executed as in Python. Others become an If or a Loop of the graph.
"""

from __future__ import annotations

import inspect
import itertools
import re
from typing import Any, Callable, Iterable, NamedTuple, Sequence

from .. import nn, trees
from ..effects import NeedsValues
from ..errors import BadInput, Error, Unsupported
from ..nn import ops
from ..nn.control import cond
from ..nn.tensor import Tensor
from .fx import convert, is_known
from .scripted_ops import OPERATORS, SCALARS, Grown, bound, is_unknown
from .torch_names import function_named

MOST_ITERATIONS = 1 << 14  # limit for loops that are unrolled


class Part(nn.Module):
    """The weights and parts of a module whose code is a graph of torch.jit."""


class Reference(NamedTuple):
    """A module in a graph: Frazil's and torch.jit's."""

    module: nn.Module
    script: Any


class Function(NamedTuple):
    """A function in a graph."""

    name: str
    qualified: str


class Scripted(nn.Module):
    """A module of torch.jit; forward() interprets its graph."""

    def __init__(self, script: Any, original: Any) -> None:
        super().__init__()
        self.graph_name = type(original).__name__
        self.root = mirrored(original)
        self._script = script
        object.__setattr__(self, "forward", self._forward())

    def _forward(self) -> Callable[..., Any]:
        """Returns forward() with the parameters of the graph."""
        P = inspect.Parameter
        schema = self._script.forward.schema if hasattr(self._script.forward, "schema") else None
        names = [value.debugName().split(".")[0] for value in itertools.islice(self._script.graph.inputs(), 1, None)]
        defaults = [P.empty] * len(names)
        if schema is not None:
            names = [argument.name for argument in schema.arguments[1:]]
            defaults = [a.default_value if a.has_default_value() else P.empty for a in schema.arguments[1:]]
        fields = [P(name, P.POSITIONAL_OR_KEYWORD, default=default) for name, default in zip(names, defaults)]
        signature = inspect.Signature(fields)

        def forward(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            made = method(Reference(self.root, self._script), "forward", list(given.arguments.values()))
            if any(isinstance(leaf, Grown) for leaf in trees.flatten(made)[0]):
                raise NeedsValues("forward returns a list whose length is known only in a run: stack() it")
            return made

        forward.__signature__ = signature  # type: ignore[attr-defined]
        return forward


def mirrored(original: Any) -> nn.Module:
    """Returns the module of frazil.nn if there is one, else a Part."""
    if is_known(original):
        return convert(original)
    made = Part()
    for name, parameter in original._parameters.items():
        made.register_parameter(name, None if parameter is None else nn.Parameter(parameter))
    for name, buffer in original._buffers.items():
        made.register_buffer(name, buffer)
    for name, part in original._modules.items():
        made.add_module(name, None if part is None else mirrored(part))
    return made


def method(owner: Reference, name: str, args: Sequence[Any]) -> Any:
    """Returns the result of a method of a module."""
    if not isinstance(owner.module, Part):
        if not re.fullmatch(r"forward(__)?\d*", name):  # names of overloads and of calls in a trace have numbers
            raise Unsupported(f"its method '{name}' of {type(owner.module).__name__}")
        return owner.module(*args)
    code = owner.script if name == "forward" else getattr(owner.script, name)
    return run_graph(code.graph, [owner, *args])


def run_graph(graph: Any, inputs: Iterable[Any]) -> Any:
    """Returns the result of a graph."""
    values = {value.debugName(): given for value, given in zip(graph.inputs(), inputs)}
    results = run_block(graph, values)
    return results[0] if len(results) == 1 else tuple(results)


def run_block(block: Any, values: dict[str, Any]) -> list[Any]:
    """Returns the results of a block. `values` has the enclosing values."""
    for node in block.nodes():
        made = located(node, lambda: run_node(node, values))
        names = [value.debugName() for value in node.outputs()]
        values.update(zip(names, [made] if len(names) == 1 else made if names else []))
    returned = block.returnNode().inputs() if hasattr(block, "returnNode") else block.outputs()
    return [values[value.debugName()] for value in returned]


def located(node: Any, call: Callable[[], Any]) -> Any:
    """Calls a function and adds the node and its line to errors."""
    try:
        return call()
    except (Error, TypeError, AttributeError, IndexError, ValueError, KeyError) as error:
        if getattr(error, "named", False):
            raise
        text = f"node '{node.kind()}' at {place_of(node)}: {error}"
        if isinstance(error, (Error, NeedsValues)):
            error.args, error.named = (text,), True  # type: ignore[union-attr]
            raise
        made = Unsupported(text)
        made.named = True  # type: ignore[attr-defined]
        raise made from error


def place_of(node: Any) -> str:
    """Returns file, line and text of the source of a node."""
    rows = [row.strip() for row in node.sourceRange().splitlines() if row.strip()]
    if rows and rows[0].startswith("File "):
        _, path, rest = rows[0].split('"')
        marked = next((i for i, row in enumerate(rows) if "~~" in row or "<---" in row), 0)
        return f"{path}:{rest.split('line ')[-1]}" + (f" ({rows[marked - 1]})" if marked > 1 else "")
    return rows[0] if rows else "an unknown place"


def run_node(node: Any, values: dict[str, Any]) -> Any:
    """Returns the result of a node: one value, or a sequence."""
    kind = node.kind()
    special = NODES.get(kind)
    if special is not None:
        return special(node, values)
    args = [values[value.debugName()] for value in node.inputs()]
    return operated(node, kind.partition("::")[2], args)


def operated(node: Any, name: str, args: list[Any]) -> Any:
    """Returns the result of the operator of this name."""
    if name.endswith("_") and not name.endswith("__") and isinstance(args[0], Tensor):
        base = name[:-1]
        if base in OPERATORS or function_named(base, first="ops") is not None:
            return args[0].assign(operated(node, base, args))
    own = OPERATORS.get(name)
    if own is not None:
        return own(*args)
    plain = SCALARS.get(name)
    if plain is not None and not any("Tensor" in str(value.type()) for value in node.inputs()):
        return plain(*args)
    return called(node, name, args)


def called(node: Any, name: str, args: list[Any]) -> Any:
    """Returns the result of an operator by name, from frazil.nn or a method of Tensor."""
    function = function_named(name, first="ops") or getattr(Tensor, name, None)
    if function is None:
        raise Unsupported("Frazil has no function of that name")
    names, defaults = _parameters(node, len(args))
    return bound(function, names, args, defaults)


def _parameters(node: Any, count: int) -> tuple[list[str], dict[str, Any]]:
    """Returns the names of an operator's arguments, and their defaults."""
    import torch

    if node.schema() == "(no schema)":
        return [f"argument{i}" for i in range(count)], {}
    arguments = torch._C.parse_schema(node.schema()).arguments
    return [a.name for a in arguments], {a.name: a.default_value for a in arguments if a.has_default_value()}


def constant(node: Any, values: dict[str, Any]) -> Any:
    """Implements prim::Constant: a value, or a function."""
    output = node.output()
    if output.type().kind() == "FunctionType":
        return Function(node.s("name"), output.type().annotation_str)
    value = output.toIValue()
    if hasattr(value, "detach"):
        return ops.tensor(value.numpy())
    return value


def attribute(node: Any, values: dict[str, Any]) -> Any:
    """Implements prim::GetAttr: a part, a weight or another attribute."""
    owner, name = values[node.input().debugName()], node.s("name")
    if name in owner.module._modules:
        return Reference(owner.module._modules[name], getattr(owner.script, name))
    if any(name in owner.module.__dict__[group] for group in ("_parameters", "_buffers")):
        return getattr(owner.module, name)
    found = getattr(owner.script, name)
    if hasattr(found, "detach"):  # a tensor attribute
        owner.module.register_buffer(name, found, persistent=False)
        return getattr(owner.module, name)
    return found


def assigned(node: Any, values: dict[str, Any]) -> Any:
    """Refuses prim::SetAttr, which a graph cannot represent."""
    raise NeedsValues(f"forward assigns the attribute '{node.s('name')}': return the value")


def call_method(node: Any, values: dict[str, Any]) -> Any:
    """Implements prim::CallMethod."""
    owner, *args = [values[value.debugName()] for value in node.inputs()]
    return method(owner, node.s("name"), args)


def call_function(node: Any, values: dict[str, Any]) -> Any:
    """Implements prim::CallFunction: a function of frazil.nn, or the graph of the program's function."""
    import torch

    function, *args = [values[value.debugName()] for value in node.inputs()]
    theirs = function.qualified.startswith("__torch__.torch.")
    own = function_named(function.name, first="functional") if theirs else None
    if own is not None:
        known = getattr(torch.nn.functional, function.name, None) or getattr(torch, function.name, None)
        fields: Any = inspect.signature(known).parameters if inspect.isfunction(known) else {}
        defaults = {name: field.default for name, field in fields.items() if field.default is not field.empty}
        return bound(own, list(fields) or [f"argument{i}" for i in range(len(args))], args, defaults)
    script = torch.jit._state._python_cu.find_function(function.qualified)
    return run_graph(script.graph, args)


def _raises(block: Any) -> bool:
    return any(node.kind() == "prim::RaiseException" for node in block.nodes())


def if_node(node: Any, values: dict[str, Any]) -> Any:
    """Implements prim::If. If the condition is unknown, branches that only raise are omitted."""
    condition = values[node.input().debugName()]
    then, otherwise = node.blocks()
    if not is_unknown(condition):
        return _one_or_all(run_block(then if bool(condition) else otherwise, values))
    if _raises(then) or _raises(otherwise):
        return _one_or_all(run_block(otherwise if _raises(then) else then, values))
    made = cond(condition, lambda: run_block(then, dict(values)), lambda: run_block(otherwise, dict(values)))
    return _one_or_all(made)


def _one_or_all(results: list[Any]) -> Any:
    return results[0] if len(results) == 1 else results


def loop_node(node: Any, values: dict[str, Any]) -> Any:
    """Implements prim::Loop: unrolled if the number of iterations is known, else as a Loop of the graph."""
    trips, condition, *carried = [values[value.debugName()] for value in node.inputs()]
    (body,) = node.blocks()
    names = [value.debugName() for value in body.inputs()]

    def step(i: Any, parts: Sequence[Any], around: dict[str, Any]) -> list[Any]:
        around.update(zip(names, [i, *parts]))
        return run_block(body, around)

    if is_unknown(trips):
        return _one_or_all(_graph_loop(node, step, trips, condition, carried, values))
    count = 0
    while count < trips and not is_unknown(condition) and bool(condition):
        if count >= MOST_ITERATIONS:
            raise Unsupported(f"a loop of more than {MOST_ITERATIONS} iterations")
        before = list(carried)
        condition, *carried = step(count, carried, values)
        if is_unknown(condition):  # the recorded iteration is discarded
            return _one_or_all(_graph_loop(node, step, trips - count, True, before, values, count))
        count += 1
    if is_unknown(condition):
        return _one_or_all(_graph_loop(node, step, trips, condition, carried, values))
    return _one_or_all(carried)


def _graph_loop(
    loop: Any, step: Callable[..., Any], trips: Any, condition: Any, carried: list[Any], values: dict[str, Any],
    first: int = 0,
) -> list[Any]:  # fmt: skip
    """Records a Loop of the graph, starting at iteration `first`. Lists that grow in it become collected values."""
    for value in carried:
        if not isinstance(value, (Tensor, bool, int, float)):
            raise NeedsValues(
                f"a loop whose number of iterations is known only in a run carries a {type(value).__name__}: "
                "fix the extent (`dynamic`), or keep a Tensor"
            )
    growing = _growing(loop)

    def body(i: Any, runs: Any, *parts: Any) -> Any:
        around = {**values, **{name: [] for name in growing}}
        runs, *made = step(ops.add(i, first), parts, around)
        return (_condition(runs), *made, *(x for name in growing for x in around[name]))

    endless = not is_unknown(trips) and trips >= 1 << 60
    graph = ops.current()
    terms = [value if isinstance(value, Tensor) else graph.constant(value) for value in carried]
    made = graph.loop(None if endless else trips, _condition(condition), terms, body, collected=sum(growing.values()))
    results = list(made) if isinstance(made, tuple) else [made]
    rest = iter(results[len(carried) :])
    for name, count in growing.items():
        values[name] = Grown(values[name], [next(rest) for _ in range(count)])
    return results[: len(carried)]


def _condition(value: Any) -> Any:
    """Converts a value to a scalar bool."""
    if not isinstance(value, Tensor):
        return ops.tensor(bool(value))
    return ops.reshape(ops.cast(value, "bool"), ()) if value.ndim or value.dtype != "bool" else value


def _growing(loop: Any) -> dict[str, int]:
    """Returns the outer lists that the body of a loop appends to, and how many items per iteration."""
    (body,) = loop.blocks()
    own = {value.debugName() for node in body.nodes() for value in node.outputs()}
    found: dict[str, int] = {}
    for node in body.nodes():
        names = [value.debugName() for value in node.inputs()]
        if node.kind() == "aten::append" and names[0] not in own:
            found[names[0]] = found.get(names[0], 0) + 1
        for block in node.blocks():
            if any(part.kind() == "aten::append" for part in block.nodes()):
                raise NeedsValues("a list grows in a branch of a loop whose number of iterations only a run tells")
    return found


def _listed(node: Any, values: dict[str, Any]) -> Any:
    return [values[value.debugName()] for value in node.inputs()]


def _unpacked(node: Any, values: dict[str, Any]) -> Any:
    made = list(values[node.input().debugName()])
    count = len(list(node.outputs()))
    if len(made) != count:
        raise BadInput(f"{len(made)} values to unpack, expected {count}")
    return made[0] if count == 1 else made


def _dict(node: Any, values: dict[str, Any]) -> Any:
    parts = _listed(node, values)
    return dict(zip(parts[::2], parts[1::2]))


def _raised(node: Any, values: dict[str, Any]) -> Any:
    raise BadInput(f"the module raises {_listed(node, values)[0]}")


NODES: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "prim::Constant": constant, "prim::GetAttr": attribute, "prim::SetAttr": assigned, "prim::CallMethod": call_method,
    "prim::CallFunction": call_function, "prim::If": if_node, "prim::Loop": loop_node, "prim::ListConstruct": _listed,
    "prim::TupleConstruct": lambda node, values: tuple(_listed(node, values)), "prim::ListUnpack": _unpacked,
    "prim::TupleUnpack": _unpacked, "prim::DictConstruct": _dict, "prim::RaiseException": _raised,
    "prim::Uninitialized": lambda node, values: None,
}  # fmt: skip
