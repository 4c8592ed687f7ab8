"""Terms that behave like PyTorch's tensors."""

from __future__ import annotations

import inspect
from typing import Any, Callable

import numpy

from ..effects import NeedsValues
from ..errors import BadInput, Error, Unsupported
from ..graph import Builder, Term
from ..lazy.array import LazyArray
from . import functional as F
from . import indexing, names, ops
from .arrays import Size, to_array
from .devices import FORMATS, device as device_of, on_cpu
from .lazily import immediate
from .recording import Recording
from .views import Shared, is_flat

NUMBERS = (Term, LazyArray, bool, int, float, numpy.ndarray, numpy.generic)


def _operator(function: Callable[..., Any], reverse: bool = False) -> Callable[[Any, Any], Any]:
    function = inspect.unwrap(function)  # operators check their operands themselves
    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, NUMBERS) and not hasattr(other, "requires_grad_"):
            return NotImplemented
        return function(other, self) if reverse else function(self, other)

    return method


IN_PLACE = """Calls {}() and assigns the result to the Tensor.

Returns
-------
Tensor
    The Tensor itself.
"""


def _as_method(function: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a method in place the name, the parameters and the documentation of its function."""
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[first.replace(name="self"), *rest], return_annotation="Tensor"
    )
    name = function.__name__
    method.__name__ = method.__qualname__ = f"{name}_"
    method.__annotations__ = {"return": "Tensor"}
    method.__doc__ = IN_PLACE.format(name)
    return method


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return self.assign(function(self, *args, **kwargs))

    return _as_method(function, method)


def _becoming(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        self.become(function(self.clone(), *args, **kwargs))
        return self

    return _as_method(function, method)


def _casting(name: str, to: str) -> Callable[[Any], Any]:
    def method(self: Tensor) -> Any:
        return ops.cast(self, to)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Casts to {to}."
    method.__annotations__["return"] = "Tensor"
    return method


def _itself(self: Any, *_: Any, **__: Any) -> Any:
    """Returns the Tensor: there is one device, and there are no gradients."""
    return self


class Type(str):
    """The element type and the extents of a Tensor as text; x.type(dtype) casts, as in PyTorch."""

    of: Any

    def __call__(self, dtype: Any = None) -> Any:
        if dtype is None:
            return f"torch.{LEGACY[self.of.dtype.name]}"
        return self.of.to(LEGACY_TYPES.get(str(dtype).removeprefix("torch."), dtype))


LEGACY = {
    "float32": "FloatTensor", "float64": "DoubleTensor", "float16": "HalfTensor", "bfloat16": "BFloat16Tensor",
    "int64": "LongTensor", "int32": "IntTensor", "int16": "ShortTensor", "int8": "CharTensor", "uint8": "ByteTensor",
    "bool": "BoolTensor",
}  # fmt: skip
LEGACY_TYPES = {legacy: name for name, legacy in LEGACY.items()}


class Tensor(Shared):
    """A value with the methods and operators of PyTorch's tensors. It belongs to a graph recorded by forward, or has a
    value itself.

    Differences to a Term: `shape` and size() have scalar Tensors for extents known only in
    a run. transpose() swaps two dimensions. Operands of different element types are cast to the larger one. Functions
    whose names end in "_", and x[i] = y, modify it in place. Tensors of torch.tensor() etc. can be read: item(),
    numpy(), bool(), print().
    """

    __slots__ = ()
    __array_priority__ = 1000
    grad = grad_fn = None
    is_leaf = is_cuda = is_sparse = False
    requires_grad = property(lambda self: False, lambda self, value: None, doc="False, as there are no gradients.")
    layout = "torch.strided"

    def __init__(self, *data: Any) -> None:
        if len(data) == 2 and isinstance(data[0], Builder):
            super().__init__(*data)
            return
        graph, sizes = immediate(), bool(data) and all(isinstance(part, int) for part in data)
        array = numpy.zeros(data) if sizes else to_array(data[0] if data else [])
        super().__init__(graph, graph.constant(array.astype(numpy.float32))._raw)

    @property
    def type(self) -> Type:  # type: ignore[override]
        """The element type and extents as text; called with an element type, casts."""
        made = Type(self.graph._body.type(self._raw))
        made.of = self
        return made

    @property
    def shape(self) -> Size:  # type: ignore[override]
        """The extents as numbers, or scalar Tensors if they are known only in a run."""
        return ops.size(self)  # type: ignore[no-any-return]

    def as_extent(self) -> Any:
        """Returns the same scalar as a non-negative Extent."""
        return Extent(self.graph, self._raw)

    def __hash__(self) -> int:
        return id(self)

    def _read(self, what: str) -> numpy.ndarray:
        """Returns the elements. Raises NeedsValues while forward is recorded; `what` is the advice."""
        raw = self._raw
        if not getattr(self.graph, "readable", False) or raw._traced:
            raise NeedsValues(f"a Tensor has no value while forward is recorded: {what}")
        found: numpy.ndarray = raw.numpy()
        return found

    def __bool__(self) -> bool:
        return bool(self._read("use frazil.nn.functional.cond() or where()"))

    def __index__(self) -> int:
        fix = "use frazil.nn.functional.while_loop(), or fix the extent (`dynamic` of frazil.nn.compile())"
        return self._read(fix).item().__index__()  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def item(self) -> Any:
        """Reads the only element.

        Returns
        -------
        bool, int or float
            A Python number.

        Raises
        ------
        BadInput
            If the Tensor has more or fewer elements than one.
        NeedsValues
            While forward is recorded.
        """
        found = self._read("return the Tensor")
        if found.size != 1:
            raise BadInput(f"item(): a Tensor of type {self.type} has {found.size} elements, expected one")
        return found.item()

    def numpy(self, *, force: bool = False) -> numpy.ndarray:
        """Reads the elements.

        Returns
        -------
        ndarray
            A copy.

        Raises
        ------
        NeedsValues
            While forward is recorded.
        """
        return self._read("return the Tensor").copy()

    def tolist(self) -> Any:
        """Reads the elements.

        Returns
        -------
        list or number
            Nested lists; a number for a Tensor without dimensions.

        Raises
        ------
        NeedsValues
            While forward is recorded.
        """
        return self._read("return the Tensor").tolist()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the CPU's memory."""
        return 1, 0

    def __dlpack__(self, **_: Any) -> Any:
        """Returns a copy of the elements as a DLPack tensor."""
        return self.numpy().__dlpack__()

    def __iter__(self) -> Any:
        return iter(ops.unbind(self))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0].__index__()  # type: ignore[no-any-return]

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else str(self)

    def __repr__(self) -> str:
        if not getattr(self.graph, "readable", False):
            return super().__repr__()
        try:
            text = numpy.array2string(self._read(""), separator=", ", prefix="tensor(", precision=4)
        except Error as error:
            return f"<frazil Tensor: {error}>"
        plain = self.dtype.name in ("float32", "int64", "bool")  # type: ignore[union-attr]
        return f"tensor({text})" if plain else f"tensor({text}, dtype={self.dtype})"

    def __reduce__(self) -> Any:
        return _tensor_of, (self.numpy(),)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.clone()

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

    __iadd__, __isub__, __imul__ = _in_place(ops.add), _in_place(ops.sub), _in_place(ops.mul)
    __itruediv__, __ifloordiv__ = _in_place(ops.div), _in_place(ops.floor_divide)
    __imod__, __ipow__ = _in_place(ops.remainder), _in_place(ops.pow)
    __iand__, __ior__, __ixor__ = _in_place(ops.bitwise_and), _in_place(ops.bitwise_or), _in_place(ops.bitwise_xor)

    def __getitem__(self, key: Any) -> Term:
        return indexing.get(self, key)  # type: ignore[no-any-return]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.assign(indexing.put(self, key, ops.term_of(self, value)))

    def size(self, dim: int | None = None) -> Any:
        """Returns all extents, or one."""
        return ops.size(self, dim)

    def dim(self) -> int:
        """Returns the rank."""
        return self.ndim

    ndimension = dim

    def numel(self) -> Any:
        """Returns the number of elements."""
        return ops.numel(self)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Casts to an element type, or to that of a Term. Only the CPU is supported; formats are ignored."""
        for what in (*args, kwargs.get("dtype"), kwargs.get("device")):
            if isinstance(what, Term):
                return ops.cast(self, what.dtype)
            if what is None or isinstance(what, bool) or str(what) in FORMATS or on_cpu(what):
                continue
            return ops.cast(self, what)
        return self

    def cuda(self, *_: Any, **__: Any) -> None:
        """Refuses to move the Tensor, as only the CPU is supported.

        Raises
        ------
        Unsupported
            Always.
        """
        on_cpu("cuda")

    def backward(self, *_: Any, **__: Any) -> Any:
        """Refuses to compute gradients, as there are none.

        Raises
        ------
        Unsupported
            Always.
        """
        raise Unsupported("Frazil does not train: there are no gradients, backward() is not there")

    def type_as(self, other: Term) -> Term:
        """Casts to the element type of another Term."""
        return ops.cast(self, other.dtype)

    def float(self) -> Term:
        """Casts to float32."""
        return ops.cast(self, "float32")

    def double(self) -> Term:
        """Casts to float64."""
        return ops.cast(self, "float64")

    def half(self) -> Term:
        """Casts to float16."""
        return ops.cast(self, "float16")

    def long(self) -> Term:
        """Casts to int64."""
        return ops.cast(self, "int64")

    def int(self) -> Term:
        """Casts to int32."""
        return ops.cast(self, "int32")

    def bool(self) -> Term:
        """Casts to bool."""
        return ops.cast(self, "bool")

    def new_tensor(self, data: Any, dtype: Any = None, **_: Any) -> Term:
        """Creates a Tensor of this element type from numbers or an array."""
        return ops.tensor(data, dtype or self.dtype)  # type: ignore[no-any-return]

    def new_zeros(self, *size: Any, dtype: Any = None) -> Term:
        """Returns zeros of this element type."""
        return ops.zeros(*size, dtype=dtype or self.dtype)

    def new_ones(self, *size: Any, dtype: Any = None) -> Term:
        """Returns ones of this element type."""
        return ops.ones(*size, dtype=dtype or self.dtype)

    def new_full(self, size: Any, fill_value: Any, dtype: Any = None) -> Term:
        """Returns one number everywhere, of this element type."""
        return ops.full(size, fill_value, dtype=dtype or self.dtype)

    def is_floating_point(self) -> Any:
        """Returns whether elements are floating-point numbers."""
        return ops.kind_of(self.dtype) == 2

    astype = ops.cast  # type: ignore[assignment]
    device = device_of("cpu")
    H = property(lambda self: ops.t(self), doc="The transposed matrix.")
    nelement = numel
    short, char, byte = _casting("short", "int16"), _casting("char", "int8"), _casting("byte", "uint8")
    bfloat16 = _casting("bfloat16", "bfloat16")
    data = property(ops.detach, doc="The Tensor: there are no gradients to detach from.")
    T = property(  # type: ignore[assignment]
        lambda self: ops.permute(self, *reversed(range(self.ndim))), doc="The dimensions in reversed order."
    )
    mT = property(  # type: ignore[assignment]
        lambda self: ops.transpose(self, -2, -1), doc="The last two dimensions swapped."
    )
    is_contiguous, ravel = is_flat, ops.ravel  # type: ignore[assignment]
    detach, clone, contiguous = ops.detach, ops.clone, ops.contiguous
    cpu = requires_grad_ = detach_ = pin_memory = _itself
    view, reshape = ops.view, ops.reshape  # type: ignore[assignment]
    transpose = swapaxes = ops.transpose  # type: ignore[assignment]
    softmax, log_softmax = F.softmax, F.log_softmax

    abs, add, all, amax, amin = ops.abs, ops.add, ops.all, ops.amax, ops.amin
    any, argmax, argmin, argsort, bmm = ops.any, ops.argmax, ops.argmin, ops.argsort, ops.bmm
    broadcast_to, ceil, chunk, clamp, clip = ops.broadcast_to, ops.ceil, ops.chunk, ops.clamp, ops.clip
    cos, cumsum, diff, div = ops.cos, ops.cumsum, ops.diff, ops.div
    eq, flatten = ops.eq, ops.flatten  # type: ignore[assignment]
    erf, exp, expand, expand_as = ops.erf, ops.exp, ops.expand, ops.expand_as
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
        """Returns self where the condition is true, else other."""
        return ops.where(condition, self, other)  # type: ignore[no-any-return]

    def copy_(self, src: Any, non_blocking: Any = False) -> Any:
        """Copies the elements of another Tensor or array into this one."""
        return self.assign(ops.term_of(self, src))

    def fill_(self, value: Any) -> Any:
        """Fills with one number, in place."""
        return self.assign(ops.full_like(self, value))

    def zero_(self) -> Any:
        """Fills with 0, in place."""
        return self.fill_(0)

    def random_(self, low: Any = 0, high: Any = None) -> Any:
        """Fills with random integers from `low`, or 0, to `high`, excluding `high`, in place."""
        return self.assign(ops.randint_like(self, low, high, dtype="int64"))

    def reshape_as(self, other: Term) -> Term:
        """Returns the elements in the shape of another Term."""
        return ops.reshape(self, ops.size(other))  # type: ignore[no-any-return]

    def new_empty(self, *size: Any, dtype: Any = None) -> Term:
        """Returns zeros of this element type."""
        return self.new_zeros(*size, dtype=dtype)

    def index_put_(self, indices: Any, values: Any, accumulate: Any = False) -> Any:
        """Assigns x[indices] = values, or += values, in place."""
        self[tuple(indices)] = self[tuple(indices)] + values if accumulate else values
        return self

    def fill_diagonal_(self, fill_value: Any) -> Any:
        """Fills the diagonal with one number, in place."""
        return self.assign(ops.where(ops.on_diagonal(self, -2), fill_value, self))

    def exponential_(self, lambd: Any = 1.0) -> Any:
        """Fills with random numbers of the exponential distribution, in place."""
        return self.assign(ops.div(ops.neg(ops.log1p(ops.neg(ops.rand_like(self)))), lambd))

    def register_hook(self, hook: Any) -> Any:
        """Refuses to register a hook, as there are no gradients.

        Raises
        ------
        Unsupported
            Always.
        """
        raise Unsupported("Frazil does not train: there are no gradients to hook")

    def element_size(self) -> Any:
        """Returns the bytes of an element."""
        return self.dtype.itemsize  # type: ignore[union-attr]

    def get_device(self) -> Any:
        """Returns -1, which means the CPU."""
        return -1

    def uniform_(self, a: Any = 0.0, b: Any = 1.0) -> Any:
        """Fills with random numbers between a and b, in place."""
        return self.assign(ops.add(ops.mul(ops.rand_like(self), b - a), a))

    def normal_(self, mean: Any = 0.0, std: Any = 1.0) -> Any:
        """Fills with random numbers of a normal distribution, in place."""
        return self.assign(ops.add(ops.mul(ops.randn_like(self), std), mean))

    def bernoulli_(self, p: Any = 0.5) -> Any:
        """Fills with 1 with this probability, else 0, in place."""
        return self.assign(ops.bernoulli(ops.full_like(self, p, dtype="float32")))


def _tensor_of(array: numpy.ndarray) -> Tensor:
    """Returns a Tensor with a value."""
    return immediate().constant(array)  # type: ignore[return-value]


for _name in (
    "abs add bitwise_and bitwise_or ceil clamp clip cos cumsum div erf exp floor floor_divide index_add index_copy "
    "index_fill log logical_and logical_not logical_or masked_fill masked_scatter mul neg pow reciprocal relu "
    "remainder round rsqrt scatter scatter_add scatter_reduce sigmoid sign sin sqrt square sub tanh tril triu addmm "
    "lerp addcmul addcdiv eq ne lt le gt ge"
).split():  # fmt: skip
    setattr(Tensor, f"{_name}_", _in_place(getattr(ops, _name)))
for _name in (
    "acos addcdiv addcmul addmm allclose asin atan atan2 baddbmm bernoulli bitwise_and bitwise_not bitwise_or "
    "bitwise_xor cosh count_nonzero cross cumprod det diag diag_embed diagonal dot equal expm1 fmod frac hypot "
    "index_add index_copy index_fill inner isclose isfinite kthvalue lerp log10 log1p log2 logaddexp logical_xor "
    "masked_scatter median multinomial multiply mv nan_to_num outer positive scatter_add scatter_reduce sinh "
    "subtract take take_along_dim tan tensor_split trace true_divide trunc unique"
).split():  # fmt: skip
    setattr(Tensor, _name, getattr(ops, _name))
for _name in (*names.__all__, "stft"):
    if not hasattr(Tensor, _name):
        setattr(Tensor, _name, getattr(ops, _name))
for _name in (
    "acos acosh asin asinh atan atanh atan2 baddbmm bitwise_not bitwise_xor clamp_max clamp_min cosh cumprod erfc "
    "exp2 expm1 fix fmod frac greater greater_equal heaviside hypot less less_equal log10 log1p log2 logical_xor "
    "logit multiply nan_to_num negative not_equal sinc sinh subtract tan true_divide trunc xlogy"
).split():  # fmt: skip
    setattr(Tensor, f"{_name}_", _in_place(getattr(ops, _name)))
for _name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes"):
    setattr(Tensor, f"{_name}_", _becoming(getattr(ops, _name)))


class Extent(Tensor):
    """A scalar that is not negative."""

    __slots__ = ()

    def __floordiv__(self, other: Any) -> Any:  # type: ignore[override]
        if isinstance(other, Extent) or (isinstance(other, int) and other > 0):
            return self.graph.Div(self, other)  # integers round towards 0
        return ops.floor_divide(self, other)


Recording.term_type = Tensor
