"""Modules and parameters."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from typing import Any, Callable, Iterator, Mapping, NamedTuple, TypeVar

import numpy
from numpy import ndarray

from .._frazil import DType, dtype as dtype_of, lazy_array
from ..effects import NeedsValues
from ..errors import BadInput, Unsupported
from ..graph import Term
from ..lazy.functions import parameter
from ..model import Model
from . import calls, running
from .arrays import Size, cast, is_integer, read_only, to_array
from .devices import FORMATS, on_cpu
from .lazily import immediate
from .recording import current_or_none

M = TypeVar("M", bound="Module")
GROUPS = ("_parameters", "_buffers", "_modules", "_tensors")


class Incompatible(NamedTuple):
    """The missing and unexpected names in load_state_dict()."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Parameter:
    """A weight.

    It has the methods and operators of Tensors. `data` is a Tensor; changing it in place changes the weight.
    """

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        array = to_array(data)
        if not hasattr(data, "dtype") and array.dtype == numpy.float64:
            array = array.astype(numpy.float32)
        self._data = read_only(array)
        self._lazy: Any = None
        self._version = 0

    @property
    def array(self) -> numpy.ndarray:
        """The values as a read-only array."""
        return self._data

    @property
    def data(self) -> Any:
        """The values as a Tensor. It may be assigned, or changed in place."""
        return self.tensor()

    @data.setter
    def data(self, value: Any) -> None:
        self._data = read_only(to_array(value))
        self._version += 1
        calls.changed()

    def tensor(self) -> Any:
        """Returns the weight as a Tensor with a value."""
        if self._lazy is None or self._lazy[0] is not self._data:
            self._lazy = (self._data, parameter(self._data))
        graph = immediate()
        made: Any = graph.term_type(graph, self._lazy[1])
        made._owner = self._take
        return made

    def _take(self, made: Any) -> None:
        self.data = made.numpy()

    @property
    def shape(self) -> Size:
        """The extents."""
        return Size(self._data.shape)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return dtype_of(self._data.dtype)

    def numpy(self) -> ndarray:
        """Returns the values as an array that cannot be written."""
        return self._data

    def requires_grad_(self, requires_grad: bool = True) -> Parameter:
        """Returns the parameter itself, as there are no gradients."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"a Parameter has no attribute '{name}'")
        return getattr(self.tensor(), name)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, key: Any) -> Any:
        return self.tensor()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor()[key] = value

    def __reduce__(self) -> Any:
        return Parameter, (self._data,)

    def __array__(self, dtype: Any = None) -> ndarray:
        return numpy.asarray(self._data, dtype)

    def __repr__(self) -> str:
        return f"Parameter({self._data!r})"


class Hook:
    """A registered function that a module calls until remove()."""

    def __init__(self, module: Module, group: str, function: Callable[..., Any]) -> None:
        self._hooks: list[Any] = getattr(module, group)
        self._module, self._function = module, function
        self._hooks.append(function)
        module._touch()

    def remove(self) -> None:
        """Unregisters the function."""
        if self._function in self._hooks:
            self._hooks.remove(self._function)
            self._module._touch()


def _delegate(name: str, in_place: bool = False) -> None:
    def method(self: Parameter, *args: Any) -> Any:
        made = getattr(self.tensor(), name)(*args)
        return self if in_place else made

    setattr(Parameter, name, method)


for _symbol in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    _delegate(f"__{_symbol}__")
    _delegate(f"__r{_symbol}__")
for _symbol in ("iadd", "isub", "imul", "itruediv"):
    _delegate(f"__{_symbol}__", True)
for _symbol in ("lt", "le", "gt", "ge", "neg", "abs", "float", "int", "bool", "iter", "dlpack", "dlpack_device"):
    _delegate(f"__{_symbol}__")


class Module:
    """A part of a network. Implement `forward` with Terms; call the module with arrays.

    A call records forward as a graph, once for each structure of the arguments (element types and ranks of arrays,
    values of numbers), and runs the model. Extents may differ between calls. Numbers, texts and None among the
    arguments become part of the recording, as do attributes other than parameters and buffers. Assigning an attribute
    causes a new recording; changing a list or dict in place does not.
    """

    training = False  # only inference is supported
    several = False  # whether a class of this package records many nodes, so that Tensors call it as one node

    def __init__(self) -> None:
        for name in ("_parameters", "_buffers", "_modules", "_tensors", "_compiled"):
            object.__setattr__(self, name, {})
        for name in ("_hooks", "_pre_hooks"):
            object.__setattr__(self, name, [])
        object.__setattr__(self, "_transient", set())
        object.__setattr__(self, "_derived", {})
        object.__setattr__(self, "_version", 0)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the results of the module on Terms. To be implemented by subclasses.

        Raises
        ------
        NotImplementedError
            If a subclass does not implement it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph = current_or_none()
        if graph is None or graph.readable:
            return running.run(self, args, kwargs)
        graph.enter(self)
        try:
            return self.hooked(args, kwargs)
        finally:
            graph.leave()

    def hooked(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls forward() with its hooks."""
        for before in self._pre_hooks:
            changed = before(self, args)
            args = args if changed is None else changed if isinstance(changed, tuple) else (changed,)
        made = self.forward(*args, **kwargs)
        for after in self._hooks:
            changed = after(self, args, made)
            made = made if changed is None else changed
        return made

    def graph(self, **inputs: Any) -> Model:
        """Returns a model of forward() with named inputs.

        Returns
        -------
        Model
            The model.

        Examples
        --------
        model = module.graph(x=("float32", ("N", 3)))
        """
        return calls.from_types(self, inputs)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if "_modules" not in own:
            raise AttributeError(f"{type(self).__name__}.__init__() must call super().__init__() first")
        if name in own["_modules"]:
            return own["_modules"][name]
        for group in ("_parameters", "_buffers", "_tensors"):
            if name in own[group]:
                return recorded(self, name, own[group][name])
        if name in own.get("_derived", ()):
            return own["_derived"][name](self)
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Term) and not getattr(value.graph, "readable", False):
            raise NeedsValues(f"{type(self).__name__}.{name}: a recorded forward cannot keep a Term; return it")
        own = self.__dict__
        if "_modules" not in own:
            raise AttributeError(f"{type(self).__name__}.__init__() must call super().__init__() first")
        kind = "_parameters" if isinstance(value, Parameter) else "_modules" if isinstance(value, Module) else None
        if kind is None:
            kind = next((k for k in ("_parameters", "_buffers", "_modules") if name in own[k]), None)
            kind = "_tensors" if kind is None and isinstance(value, Term) else kind
            if kind == "_parameters" and isinstance(value, Term) and own[kind][name] is not None:
                own[kind][name].data = value  # assigned by `module.weight += 1` in forward
                return
            if kind == "_buffers" and value is not None:
                value = read_only(to_array(value))
            elif kind in ("_parameters", "_modules") and value is not None:
                raise BadInput(
                    f"{type(self).__name__}.{name} must be a {kind[1:-1]} or None, got {type(value).__name__}"
                )
        if kind is None:
            own["_tensors"].pop(name, None)
            object.__setattr__(self, name, value)
        else:
            if kind == "_tensors" and value.root._owner is None:
                value.root._owner = calls.changed
            for other in GROUPS:
                own[other].pop(name, None) if other != kind else None
            own.pop(name, None)
            own[kind][name] = value
        self._touch()

    def __delattr__(self, name: str) -> None:
        groups = [self.__dict__[k] for k in GROUPS if name in self.__dict__[k]]
        if groups:
            del groups[0][name]
        else:
            object.__delattr__(self, name)
        self._touch()

    def _touch(self) -> None:
        object.__setattr__(self, "_version", self._version + 1)
        calls.changed()

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; None reserves the name."""
        self._parameters[name] = param
        self._touch()

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Adds an array that is not a parameter. It is part of the state unless persistent=False."""
        self._buffers[name] = None if tensor is None else read_only(to_array(tensor))
        (self._transient.discard if persistent else self._transient.add)(name)
        self._touch()

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a part."""
        self._modules[name] = module
        self._touch()

    register_module = add_module

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Returns the module and all its parts, each once, with paths."""
        seen: set[int] = set()
        for name, module in self._walk(prefix):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def _walk(self, prefix: str) -> Iterator[tuple[str, Module]]:
        yield prefix, self
        for name, part in self._modules.items():
            if part is not None:
                yield from part._walk(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        """Returns the module and all its parts, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Returns the parts, with names."""
        return ((name, part) for name, part in self._modules.items() if part is not None)

    def children(self) -> Iterator[Module]:
        """Returns the parts."""
        return (part for _, part in self.named_children())

    def get_submodule(self, target: str) -> Module:
        """Returns the part with this path.

        Raises
        ------
        AttributeError
            If there is none.
        """
        module: Module = self
        for name in target.split(".") if target else ():
            if module._modules.get(name) is None:
                raise AttributeError(f"{type(self).__name__} has no part '{target}'")
            module = module._modules[name]
        return module

    def _entries(self, kind: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any, Module, str]]:
        for path, module in self._walk(prefix) if recurse else [(prefix, self)]:
            for name, value in module.__dict__[kind].items():
                if value is not None:
                    yield (f"{path}.{name}" if path else name), value, module, name

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Returns the parameters, each once, with paths."""
        seen: set[int] = set()
        for name, value, _, _ in self._entries("_parameters", prefix, recurse):
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Returns the parameters, each once."""
        return (value for _, value in self.named_parameters("", recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, numpy.ndarray]]:
        """Returns the buffers, with paths."""
        return ((name, value) for name, value, _, _ in self._entries("_buffers", prefix, recurse))

    def buffers(self, recurse: bool = True) -> Iterator[numpy.ndarray]:
        """Returns the buffers."""
        return (value for _, value in self.named_buffers("", recurse))

    def state_dict(self, prefix: str = "", keep_vars: bool = False) -> OrderedDict[str, numpy.ndarray]:
        """Returns parameters and persistent buffers by path as read-only arrays, without copies."""
        state: OrderedDict[str, numpy.ndarray] = OrderedDict()
        for path, module in self._walk(prefix.rstrip(".")):
            head = f"{path}." if path else ""
            state.update((head + n, p.array) for n, p in module._parameters.items() if p is not None)
            buffers = module._buffers.items()
            state.update((head + n, b) for n, b in buffers if b is not None and n not in module._transient)
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Incompatible:
        """Loads parameters and buffers by path. Nothing is changed if an exception is raised.

        Read-only arrays, such as those of frazil.load_state_dict(), are borrowed; others are copied. They are cast to
        the element types of the module, unless `assign` is true.

        Returns
        -------
        Incompatible
            The names that are missing and unexpected.

        Raises
        ------
        BadInput
            If shapes differ, and with `strict` for missing and unexpected names.
        """
        found: dict[str, tuple[Module, str, numpy.ndarray]] = {}
        known, missing, wrong = set(), [], []
        for path, module in self._walk(""):
            for name, old in (*module._parameters.items(), *module._buffers.items()):
                key = f"{path}.{name}" if path else name
                if old is None or name in module._transient:
                    continue
                known.add(key)
                if key not in state_dict:
                    missing.append(key)
                    continue
                have = old.array if isinstance(old, Parameter) else old
                new = to_array(state_dict[key])
                if new.shape != have.shape:
                    wrong.append(f"{key}: expected shape {have.shape}, got {new.shape}")
                else:
                    found[key] = (module, name, new if assign else cast(new, have.dtype, key))
        unexpected = [key for key in state_dict if key not in known]
        if strict:
            wrong += [f"missing: {key}" for key in missing] + [f"unexpected: {key}" for key in unexpected]
        if wrong:
            raise BadInput(f"the state does not fit {type(self).__name__}: " + "; ".join(wrong))
        for module, name, array in found.values():
            own = array.copy() if array.flags.writeable else array
            if name in module._parameters:
                module._parameters[name].data = own
            else:
                module._buffers[name] = read_only(own)
                module._touch()
        return Incompatible(missing, unexpected)

    def apply(self: M, fn: Callable[[Module], None]) -> M:
        """Calls a function on each part, then on the module."""
        for part in self.children():
            part.apply(fn)
        fn(self)
        return self

    def eval(self: M) -> M:
        """Returns the module, as only inference is supported."""
        return self

    def to(self: M, *args: Any, **kwargs: Any) -> M:
        """Casts floating-point weights to an element type. Only the CPU is supported."""
        for what in (*args, kwargs.get("dtype"), kwargs.get("device")):
            if what is None or isinstance(what, bool) or str(what) in FORMATS or on_cpu(what):
                continue
            self._cast(dtype_of(getattr(what, "dtype", what)))
        return self

    def _cast(self, dtype: DType) -> None:
        to = dtype.numpy
        for name, parameter in self.named_parameters():
            if not is_integer(parameter.array):
                parameter.data = cast(parameter.array, to, name)
        for path, value, module, name in self._entries("_buffers", "", True):
            if not is_integer(value):
                module._buffers[name] = read_only(cast(value, to, path))
                module._touch()

    def half(self: M) -> M:
        """Casts floating-point weights to float16."""
        return self.to("float16")

    def bfloat16(self: M) -> M:
        """Casts floating-point weights to bfloat16."""
        return self.to("bfloat16")

    def float(self: M) -> M:
        """Casts floating-point weights to float32."""
        return self.to("float32")

    def double(self: M) -> M:
        """Casts floating-point weights to float64."""
        return self.to("float64")

    type = to

    def cpu(self: M) -> M:
        """Returns the module: there is the CPU only."""
        return self

    def cuda(self: M, device: Any = None) -> M:
        """Refuses to move the module, as only the CPU is supported.

        Parameters
        ----------
        device : any, optional
            Has no effect.

        Raises
        ------
        Unsupported
            Always.
        """
        return self.to("cuda")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Does nothing, as there are no gradients."""

    def register_forward_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(module, args, result) after each forward. A result other than None replaces the result."""
        return Hook(self, "_hooks", hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Calls hook(module, args) before each forward. A result other than None replaces the arguments."""
        return Hook(self, "_pre_hooks", hook)

    def get_parameter(self, target: str) -> Any:
        """Returns the parameter with this path.

        Returns
        -------
        Parameter
            The weight.

        Raises
        ------
        AttributeError
            If there is none.
        """
        return self._of_path("_parameters", target)

    def get_buffer(self, target: str) -> Any:
        """Returns the buffer with this path.

        Returns
        -------
        ndarray
            The buffer.

        Raises
        ------
        AttributeError
            If there is none.
        """
        return self._of_path("_buffers", target)

    def _of_path(self, group: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module.__dict__[group]:
            raise AttributeError(f"{type(self).__name__} has no {group[1:-1]} '{target}'")
        return getattr(module, name)

    def train(self: M, mode: bool = True) -> M:
        """Returns the module.

        Raises
        ------
        Unsupported
            If `mode` is true.
        """
        if mode:
            raise Unsupported("Frazil does not train: modules are always in evaluation mode")
        return self

    def requires_grad_(self: M, requires_grad: bool = True) -> M:
        """Returns the module, as there are no gradients."""
        return self

    def extra_repr(self) -> str:
        """Returns the constructor's arguments, which repr() shows in addition to the parts."""
        names = [name for name in inspect.signature(type(self).__init__).parameters if name not in ("self", "device")]
        return ", ".join(f"{n}={self.__dict__[n]!r}" for n in names if self.__dict__.get(n) is not None)

    def __repr__(self) -> str:
        parts = [f"({name}): {part!r}".replace("\n", "\n  ") for name, part in self.named_children()]
        if not parts:
            return f"{type(self).__name__}({self.extra_repr()})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(parts) + "\n)"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": {}}  # models are recorded again

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._modules, *self._tensors]


def recorded(module: Module, name: str, value: Any) -> Any:
    """Returns a weight of a module: a constant of the current graph, or a Tensor.

    Outside of forward it is the Parameter.
    """
    graph = current_or_none()
    if value is None or (graph is None and isinstance(value, Parameter)):
        return value
    if graph is None or graph.readable:
        if isinstance(value, numpy.ndarray):
            return _buffer(module, name, value)
        return value.tensor() if isinstance(value, Parameter) else value
    return graph.weight(value.array if isinstance(value, Parameter) else _frozen(module, name, value))


def _buffer(module: Module, name: str, array: numpy.ndarray) -> Any:
    """Returns a buffer as a Tensor. Changing it in place changes the buffer."""
    known = module._compiled.setdefault("buffers", {})
    changing: set[str] = module._compiled.setdefault("changing", set())
    if name not in known or known[name][0] is not array:
        known[name] = (array, lazy_array(array, None, False, name not in changing))
    graph = immediate()
    made: Any = graph.term_type(graph, known[name][1])

    def take(changed: Any) -> None:
        changing.add(name)  # makes it a plain array, which compiled code does not contain
        setattr(module, name, changed)

    made._owner = take
    return made


def _frozen(module: Module, name: str, value: Any) -> numpy.ndarray:
    """Returns a buffer, or the value of a Tensor attribute: the same array until it changes."""
    if isinstance(value, numpy.ndarray):
        return value
    known = module._compiled.setdefault("tensors", {})
    raw = value._raw
    if name not in known or known[name][0] is not raw:
        known[name] = (raw, read_only(raw.numpy()))
    array: numpy.ndarray = known[name][1]
    return array
