"""Terms with PyTorch's habits."""

from __future__ import annotations

from typing import Any, Callable

import numpy

from .._frazil import DType
from ..errors import BadInput
from ..graph import Term
from . import functional as F
from . import ops

NUMBERS = (Term, bool, int, float, numpy.ndarray, numpy.generic)


def _operator(function: Callable[..., Any], reverse: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, NUMBERS):
            return NotImplemented
        return function(other, self) if reverse else function(self, other)

    return method


class Tensor(Term):
    """A Term in the forward of a module: it has the methods and operators of PyTorch's tensors.

    What differs from a Term: == and != compare elements; `shape` and size() have scalar Tensors for extents that are known
    only in a run; transpose() exchanges two dimensions; operands of different element types are cast to the larger one.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[Any, ...]:  # type: ignore[override]
        """The extents: numbers, and scalar Tensors for those that are known only in a run."""
        return ops.size(self)

    def as_extent(self) -> Extent:
        """The same scalar, known not to be negative."""
        return Extent(self.graph, self._raw)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise TypeError("a Tensor has no value while forward is recorded: use frazil.nn.functional.cond() or where()")

    def __index__(self) -> int:
        raise TypeError(
            "a Tensor has no value while forward is recorded: use frazil.nn.functional.while_loop(), or fix the extent "
            "(`dynamic` of frazil.nn.compile())"
        )

    __int__ = __float__ = __index__  # type: ignore[assignment]

    def __iter__(self) -> Any:
        return iter(ops.unbind(self))

    def __len__(self) -> int:
        return self.shape[0].__index__()

    __add__, __radd__ = _operator(ops.add), _operator(ops.add, True)
    __sub__, __rsub__ = _operator(ops.sub), _operator(ops.sub, True)
    __mul__, __rmul__ = _operator(ops.mul), _operator(ops.mul, True)
    __truediv__, __rtruediv__ = _operator(ops.div), _operator(ops.div, True)
    __floordiv__, __rfloordiv__ = _operator(ops.floor_divide), _operator(ops.floor_divide, True)
    __mod__, __rmod__ = _operator(ops.remainder), _operator(ops.remainder, True)
    __pow__, __rpow__ = _operator(ops.pow), _operator(ops.pow, True)
    __matmul__, __rmatmul__ = _operator(ops.matmul), _operator(ops.matmul, True)
    __lt__, __le__ = _operator(ops.lt), _operator(ops.le)
    __gt__, __ge__ = _operator(ops.gt), _operator(ops.ge)
    __eq__, __ne__ = _operator(ops.eq), _operator(ops.ne)  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Term:
        parts = key if isinstance(key, tuple) else (key,)
        arrays = [part for part in parts if _is_array(part)]
        if any(isinstance(part, Term) and part.dtype == "bool" for part in arrays):
            return _masked(self, parts)
        if len(arrays) > 1:
            return _picked(self, parts)
        return super().__getitem__(key)

    def size(self, dim: int | None = None) -> Any:
        """All extents, or one."""
        return ops.size(self, dim)

    def dim(self) -> int:
        """The rank."""
        return self.ndim

    ndimension = dim

    def numel(self) -> Any:
        """The number of elements."""
        return ops.numel(self)

    def to(self, *args: Any, **kwargs: Any) -> Term:
        """Cast to an element type, or to that of a Term. Devices and formats are ignored."""
        for what in (*args, kwargs.get("dtype")):
            if isinstance(what, Term):
                return ops.cast(self, what.dtype)
            if what is not None and not isinstance(what, bool) and str(what) not in ("cpu", "torch.contiguous_format"):
                return ops.cast(self, what)
        return self

    def type_as(self, other: Term) -> Term:
        """Cast to the element type of another Term."""
        return ops.cast(self, other.dtype)

    def float(self) -> Term:
        """Cast to float32."""
        return ops.cast(self, "float32")

    def double(self) -> Term:
        """Cast to float64."""
        return ops.cast(self, "float64")

    def half(self) -> Term:
        """Cast to float16."""
        return ops.cast(self, "float16")

    def long(self) -> Term:
        """Cast to int64."""
        return ops.cast(self, "int64")

    def int(self) -> Term:
        """Cast to int32."""
        return ops.cast(self, "int32")

    def bool(self) -> Term:
        """Cast to bool."""
        return ops.cast(self, "bool")

    def new_zeros(self, *size: Any, dtype: Any = None) -> Term:
        """Zeros of this element type."""
        return ops.zeros(*size, dtype=dtype or self.dtype)

    def new_ones(self, *size: Any, dtype: Any = None) -> Term:
        """Ones of this element type."""
        return ops.ones(*size, dtype=dtype or self.dtype)

    def new_full(self, size: Any, fill_value: Any, dtype: Any = None) -> Term:
        """One number everywhere, of this element type."""
        return ops.full(size, fill_value, dtype=dtype or self.dtype)

    def is_floating_point(self) -> Any:
        """Whether elements are floating-point numbers."""
        return ops._kind(self.dtype) == 2

    def item(self) -> Any:
        """Refuses: a Tensor has no value yet."""
        return self.__index__()

    tolist = numpy = item
    astype = ops.cast  # type: ignore[assignment]
    device = "cpu"
    data = property(lambda self: self)
    T = property(lambda self: ops.permute(self, *reversed(range(self.ndim))))  # type: ignore[assignment]
    mT = property(lambda self: ops.transpose(self, -2, -1))
    is_contiguous = lambda self: True  # noqa: E731
    detach = clone = contiguous = cpu = requires_grad_ = ops.contiguous
    view = reshape = ops.reshape
    transpose = swapaxes = ops.transpose  # type: ignore[assignment]
    softmax, log_softmax = F.softmax, F.log_softmax

    abs, add, all, amax, amin = ops.abs, ops.add, ops.all, ops.amax, ops.amin
    any, argmax, argmin, argsort, bmm = ops.any, ops.argmax, ops.argmin, ops.argsort, ops.bmm
    broadcast_to, ceil, chunk, clamp, clip = ops.broadcast_to, ops.ceil, ops.chunk, ops.clamp, ops.clip
    cos, cumsum, diff, div = ops.cos, ops.cumsum, ops.diff, ops.div
    eq = ops.eq  # type: ignore[assignment]
    erf, exp, expand, expand_as, flatten = ops.erf, ops.exp, ops.expand, ops.expand_as, ops.flatten
    flip, floor, floor_divide, gather, ge = ops.flip, ops.floor, ops.floor_divide, ops.gather, ops.ge
    gt, index_select, isinf, isnan, le = ops.gt, ops.index_select, ops.isinf, ops.isnan, ops.le
    log, logical_and, logical_not, logical_or, logsumexp = (
        ops.log,
        ops.logical_and,
        ops.logical_not,
        ops.logical_or,
        ops.logsumexp,
    )
    lt, masked_fill, masked_select, matmul, max = ops.lt, ops.masked_fill, ops.masked_select, ops.matmul, ops.max
    maximum, mean, min, minimum, mm = ops.maximum, ops.mean, ops.min, ops.minimum, ops.mm
    movedim, mul, narrow, ne, neg = ops.movedim, ops.mul, ops.narrow, ops.ne, ops.neg
    nonzero, norm, permute, pow, prod = ops.nonzero, ops.norm, ops.permute, ops.pow, ops.prod
    reciprocal, relu, remainder, repeat, repeat_interleave = (
        ops.reciprocal,
        ops.relu,
        ops.remainder,
        ops.repeat,
        ops.repeat_interleave,
    )
    roll, round, rsqrt, scatter, select = ops.roll, ops.round, ops.rsqrt, ops.scatter, ops.select
    sigmoid, sign, sin, sort, split = ops.sigmoid, ops.sign, ops.sin, ops.sort, ops.split
    sqrt, square, squeeze, std, sub = ops.sqrt, ops.square, ops.squeeze, ops.std, ops.sub
    sum, t, tanh, tile, topk = ops.sum, ops.t, ops.tanh, ops.tile, ops.topk
    tril, triu, unbind, unflatten, unsqueeze = ops.tril, ops.triu, ops.unbind, ops.unflatten, ops.unsqueeze
    var, view_as = ops.var, ops.view_as

    def where(self, condition: Term, other: Any) -> Term:
        """self where the condition holds, else other."""
        return ops.where(condition, self, other)


class Extent(Tensor):
    """A scalar that is not negative."""

    __slots__ = ()

    def __floordiv__(self, other: Any) -> Any:  # type: ignore[override]
        if isinstance(other, Extent) or (isinstance(other, int) and other > 0):
            return self.graph.Div(self, other)  # integers round towards 0
        return ops.floor_divide(self, other)


def _is_array(part: Any) -> bool:
    if isinstance(part, Term):
        return part.ndim > 0
    return isinstance(part, (list, numpy.ndarray)) and numpy.ndim(part) > 0


def _masked(x: Tensor, parts: tuple[Any, ...]) -> Term:
    """x[mask] with a mask over the first dimensions."""
    mask = parts[0]
    if len(parts) > 1:
        raise BadInput("a mask is the only index of a Tensor: x[mask]")
    if mask.ndim > 1:
        x = ops.flatten(x, 0, mask.ndim - 1)  # type: ignore[assignment]
    return x.graph.Compress(x, ops.reshape(mask, -1), axis=0)


def _picked(x: Tensor, parts: tuple[Any, ...]) -> Term:
    """x[i, j] with arrays of indices for the first dimensions."""
    if not all(_is_array(part) or isinstance(part, (int, Term)) for part in parts):
        raise BadInput("several arrays of indices are for the first dimensions only: x[i, j]")
    terms = [part if isinstance(part, Term) else x.graph.constant(part, "int64") for part in parts]
    whole = terms[0]
    for term in terms[1:]:
        whole = ops.add(whole, ops.mul(term, 0))
    columns = [ops.unsqueeze(ops.add(term, ops.mul(whole, 0)), -1) for term in terms]
    return x.graph.GatherND(x, ops.cat(columns, -1))
