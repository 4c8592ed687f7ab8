"""Operators of torch.jit's graphs that have no function in Python, or have other parameters there."""

from __future__ import annotations

import inspect
import math
import operator
from typing import Any, Callable, Mapping, Sequence

from ..effects import NeedsValues
from ..errors import Unsupported
from ..nn import functional as F
from ..nn import ops
from ..nn.tensor import Tensor

SCALAR_TYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
    "complex128", "bool",
    "qint8", "quint8", "qint32", "bfloat16",
)  # fmt: skip
IGNORED = {
    "layout", "device", "pin_memory", "memory_format", "non_blocking", "copy", "implicit", "cudnn_enable",
    "cudnn_enabled", "train",
    "benchmark", "deterministic", "allow_tf32", "generator", "sparse", "scale_grad_by_freq", "stable", "path",
    "requires_grad",
}  # fmt: skip


def is_unknown(value: Any) -> bool:
    """Returns whether a value is known only in a run of the recorded graph."""
    return isinstance(value, Tensor) and (not getattr(value.graph, "readable", False) or value._raw._traced)


class Grown:
    """A list of Tensors of equal shape, to which a loop of the graph has appended some in each iteration."""

    def __init__(self, before: list[Any], appended: list[Any]) -> None:
        self.before = before
        self.appended = appended[0] if len(appended) == 1 else ops.flatten(ops.stack(appended, 1), 0, 1)

    def stacked(self, dim: int = 0) -> Any:
        """Stacks the Tensors along a new dimension."""
        whole = ops.cat([*(ops.unsqueeze(x, 0) for x in self.before), self.appended], 0)
        return ops.movedim(whole, 0, dim)

    def joined(self, dim: int = 0) -> Any:
        """Concatenates the Tensors along a dimension."""
        axis = ops.axis_of(self.appended, dim, -1)
        return ops.flatten(ops.movedim(self.stacked(), 0, axis), axis, axis + 1)


def _of_list(function: Callable[..., Any], grown: Callable[..., Any]) -> Callable[..., Any]:
    return lambda tensors, dim=0: (grown if isinstance(tensors, Grown) else function)(tensors, dim)


def type_of(number: Any) -> Any:
    """Returns the element type for torch.jit's number."""
    return SCALAR_TYPES[number] if isinstance(number, int) else number


def bound(
    function: Callable[..., Any], names: Sequence[str], args: Sequence[Any], defaults: Mapping[str, Any] | None = None
) -> Any:
    """Calls a function with arguments of other names: by name if the function has it, else by position.

    Raises Unsupported for an argument that the function lacks, unless it is None or the default.
    """
    fields = list(inspect.signature(function).parameters.values())
    known = {field.name for field in fields}
    positional = [field for field in fields if field.kind in (field.POSITIONAL_OR_KEYWORD, field.VAR_POSITIONAL)]
    front: list[Any] = []
    rest: dict[str, Any] = {}
    for i, (name, value) in enumerate(zip(names, args)):
        value = type_of(value) if name == "dtype" else value
        field = positional[i] if i < len(positional) else None
        if field is not None and field.kind is field.VAR_POSITIONAL and len(front) == i:
            front += list(value) if isinstance(value, (tuple, list)) else [value]
        elif name in known and name not in [positional[j].name for j in range(min(len(front), len(positional)))]:
            rest[name] = value
        elif field is not None and len(front) == i and field.name not in names:
            front.append(value)
        elif name not in IGNORED and value is not None and not ((defaults or {}).get(name, name) == value):
            raise Unsupported(f"its argument '{name}' is not supported")
    return function(*front, **rest)


def _dtype(x: Any) -> Any:
    return x.dtype.name


def _to(x: Any, *args: Any) -> Any:
    """Implements aten::to with a Tensor, an element type, or a device and an element type."""
    if args and isinstance(args[0], Tensor):
        return ops.cast(x, args[0].dtype)
    kinds = [value for value in args[:4] if isinstance(value, (int, str)) and not isinstance(value, bool)]
    kinds = [value for value in kinds if isinstance(value, int) or value in SCALAR_TYPES]
    return ops.cast(x, type_of(kinds[0])) if kinds else x


def _made(function: Callable[..., Any], dtype_at: int = 1) -> Callable[..., Any]:
    """Wraps a function of extents, or a Term, and an element type. Further arguments are ignored."""

    def call(*args: Any) -> Any:
        dtype = type_of(args[dtype_at]) if len(args) > dtype_at else None
        return function(*args[:dtype_at], dtype=dtype)

    return call


def _arange(*args: Any) -> Any:
    count = {5: 1, 6: 2, 7: 3}.get(len(args), len(args))
    return ops.arange(*args[:count], dtype=type_of(args[count]) if len(args) > count else None)


def _index(x: Any, indices: Sequence[Any]) -> Any:
    return x[tuple(slice(None) if index is None else index for index in indices)]


def _index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    key = tuple(slice(None) if index is None else index for index in indices)
    x[key] = x[key] + values if accumulate else values
    return x


def _slice(x: Any, *args: Any) -> Any:
    """Implements aten::slice of a Tensor along a dimension, or of a list."""
    if isinstance(x, (list, tuple, str)):
        start, end, step = (*args, None, None, None)[:3]
        return x[slice(start, None if end is not None and end >= 1 << 62 else end, step)]
    dim, start, end, step = (*args, None, None, None, None)[:4]
    end = None if isinstance(end, int) and end >= 1 << 62 else end
    return x[(*[slice(None)] * ops.axis_of(x, dim or 0), slice(start, end, 1 if step is None else step))]


def _length(values: Any) -> Any:
    if isinstance(values, Grown):
        values = values.stacked()
    return values.shape[0] if isinstance(values, Tensor) else len(values)


def _getitem(values: Any, key: Any) -> Any:
    return values.stacked()[key] if isinstance(values, Grown) else values[key]


def _append(values: list[Any], value: Any) -> list[Any]:
    if isinstance(values, Grown):
        raise NeedsValues("a list that a loop of the graph has made grows")
    values.append(value)
    return values


def _set_item(values: Any, key: Any, value: Any) -> Any:
    values[key] = value
    return values


def _batch_norm(
    x: Any, weight: Any, bias: Any, mean: Any, var: Any, training: bool, momentum: float, eps: float, *_: Any
) -> Any:
    return F.batch_norm(x, None if training else mean, None if training else var, weight, bias, eps=eps)


def _convolution(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, output_padding: Any,
    groups: int,
    *_: Any,
) -> Any:  # fmt: skip
    if transposed:
        return F.conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return F.conv2d(x, weight, bias, stride, padding, dilation, groups)


def _resized(mode: str, corners: bool) -> Callable[..., Any]:
    def call(x: Any, size: Any, *args: Any) -> Any:
        align = args[0] if corners else None
        scales = [part for part in args[corners:] if part is not None]
        if size is not None:
            return F.interpolate(x, size, mode=mode, align_corners=align)
        factors = scales[0] if isinstance(scales[0], (list, tuple)) else scales
        return F.interpolate(x, scale_factor=factors, mode=mode, align_corners=align)

    return call


def _tensor(value: Any, dtype: Any = None, *_: Any) -> Any:
    if isinstance(value, Tensor):
        made = value
    else:
        made = ops.stack([_tensor(part) for part in value]) if _has_tensors(value) else ops.tensor(value)
    return made if dtype is None else ops.cast(made, type_of(dtype))


def _has_tensors(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(part, Tensor) or _has_tensors(part) for part in value)


def _range_length(low: Any, high: Any, step: Any) -> Any:
    if not any(isinstance(part, Tensor) for part in (low, high, step)):
        return len(range(low, high, step))
    last = 1 if isinstance(step, Tensor) or step > 0 else -1
    return ops.clamp(ops.floor_divide(high - low + step - last, step), min=0)


def _read(kind: Callable[[Any], Any], dtype: str | None) -> Callable[[Any], Any]:
    """Returns a converter of a Tensor to a number. A value known only in a run stays a Tensor."""

    def call(value: Any, *_: Any) -> Any:
        if is_unknown(value):
            return value if dtype is None else ops.cast(value, dtype)
        return kind(value)

    return call


def _plain_item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _not(value: Any) -> Any:
    return ops.logical_not(ops.cast(value, "bool")) if is_unknown(value) else not value


def _logical(name: str, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Returns `and` or `or` for bools that may be known only in a run."""

    def call(a: Any, b: Any) -> Any:
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return getattr(ops, name)(a, b)
        return plain(a, b)

    return call


def _softmax(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, dim, dtype=None: function(x, dim, dtype=type_of(dtype))


def _sum(function: Callable[..., Any]) -> Callable[..., Any]:
    """Implements aten::sum and mean: of all elements with a dtype, or along dimensions."""

    def call(x: Any, *args: Any) -> Any:
        if len(args) == 1:
            return function(x, dtype=type_of(args[0]))
        dim, keepdim, dtype = (*args, None, None)[:3]
        return function(x, dim, bool(keepdim), dtype=type_of(dtype))

    return call


def _var(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(x: Any, *args: Any) -> Any:
        return function(x, unbiased=args[0]) if len(args) == 1 else function(x, *args)

    return call


def _max(a: Any, *rest: Any) -> Any:
    return ops.max(a, *rest) if isinstance(a, Tensor) else max(a, *rest)


def _min(a: Any, *rest: Any) -> Any:
    return ops.min(a, *rest) if isinstance(a, Tensor) else min(a, *rest)


def _embedding(weight: Any, indices: Any, *_: Any) -> Any:
    return F.embedding(indices, weight)


def _meshgrid(tensors: Any, indexing: str = "ij") -> Any:
    return ops.meshgrid(*tensors, indexing=indexing)


def _numbered(value: Any) -> Any:
    return ops.tensor(value) if not isinstance(value, Tensor) else value


def _where(*args: Any) -> Any:
    return list(ops.where(*args)) if len(args) == 1 else ops.where(*args)



SCALARS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv,
    "remainder": operator.mod, "neg": operator.neg, "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt, "ge": operator.ge, "pow": operator.pow, "abs": abs, "sqrt": math.sqrt, "ceil": math.ceil,
    "floor": math.floor,
    "log": math.log, "exp": math.exp, "round": round, "add_": operator.iadd, "list": list, "format": lambda text,
    *args: text.format(*args),
    "index": lambda values, value: values.index(value), "clear": lambda values: values.clear(),
    "copy": lambda values: values.copy(),
}  # fmt: skip
OPERATORS: dict[str, Callable[..., Any]] = {
    "stack": _of_list(ops.stack, Grown.stacked), "cat": _of_list(ops.cat, Grown.joined),
    "__getitem__": _getitem, "append": _append, "_set_item": _set_item,
    "len": lambda x: _length(x),
    "keys": lambda d: list(d.keys()), "values": lambda d: list(d.values()), "items": lambda d: list(d.items()),
    "__contains__": lambda values, key: key in values, "extend": lambda a, b: a.extend(b), "insert": lambda a, i,
    x: a.insert(i, x),
    "pop": lambda a, i=-1: a.pop(i), "__range_length": _range_length, "__derive_index": lambda i, start,
    step: start + i * step,
    "__is__": lambda a, b: a is b, "__isnot__": lambda a, b: a is not b, "__not__": _not,
    "__and__": _logical("logical_and", operator.and_), "__or__": _logical("logical_or", operator.or_),
    "Int": _read(int, "int64"), "Float": _read(float, "float32"), "Bool": _read(bool, "bool"),
    "IntImplicit": _read(int, "int64"),
    "FloatImplicit": _read(float, "float32"), "ScalarImplicit": _read(_plain_item, None),
    "item": _read(_plain_item, None),
    "NumToTensor": _numbered, "tensor": _tensor, "as_tensor": _tensor, "unchecked_cast": lambda x: x, "dtype": _dtype,
    "device": lambda x: "cpu",
    "data": lambda x: ops.detach(x), "is_cuda": lambda x: False, "requires_grad": lambda x: False,
    "warn": lambda *_: None, "Print": print,
    "dim": lambda x: x.ndim, "size": lambda x, *dim: list(ops.size(x)) if not dim else ops.size(x, *dim), "to": _to,
    "type_as": lambda x, y: ops.cast(x, y.dtype), "contiguous": lambda x, *_: ops.contiguous(x), "clone": lambda x,
    *_: ops.clone(x),
    "expand": lambda x, sizes, *_: ops.expand(x, *sizes), "zeros": _made(ops.zeros), "ones": _made(ops.ones),
    "empty": _made(ops.zeros),
    "full": _made(ops.full, 2), "zeros_like": _made(ops.zeros_like), "ones_like": _made(ops.ones_like),
    "full_like": _made(ops.full_like, 2),
    "empty_like": _made(ops.zeros_like), "rand": _made(ops.rand), "randn": _made(ops.randn),
    "rand_like": _made(ops.rand_like),
    "randn_like": _made(ops.randn_like), "new_zeros": lambda x, size, *_: ops.zeros(*size, dtype=x.dtype),
    "new_ones": lambda x, size, *_: ops.ones(*size, dtype=x.dtype), "new_full": lambda x, size, value,
    *_: ops.full(size, value, dtype=x.dtype),
    "eye": _made(ops.eye), "arange": _arange, "index": _index, "index_put_": _index_put,
    "index_put": lambda x, *args: _index_put(ops.clone(x), *args), "slice": _slice, "select": lambda x, dim,
    i: x[(*[slice(None)] * ops.axis_of(x, dim), i)],
    "batch_norm": _batch_norm, "_convolution": _convolution, "embedding": _embedding, "softmax": _softmax(F.softmax),
    "log_softmax": _softmax(F.log_softmax), "sum": _sum(ops.sum), "mean": _sum(ops.mean), "var": _var(ops.var),
    "std": _var(ops.std),
    "max": _max, "min": _min, "dropout": lambda x, *_: x, "feature_dropout": lambda x, *_: x, "meshgrid": _meshgrid,
    "where": _where,
    "upsample_nearest1d": _resized("nearest", False), "upsample_nearest2d": _resized("nearest", False),
    "upsample_bilinear2d": _resized("bilinear", True), "upsample_linear1d": _resized("linear", True),
    "upsample_bicubic2d": _resized("bicubic", True),
    "einsum": lambda equation, operands, *_: ops.einsum(equation, *operands), "view": lambda x,
    size: ops.view(x, *size) if isinstance(size, (list, tuple)) else ops.view(x, type_of(size)),
    "detach": lambda x: ops.detach(x), "numel": ops.numel, "is_floating_point": ops.is_floating_point,
    "sort": lambda x, *a: ops.sort(x, *a[-2:]),
}  # fmt: skip
