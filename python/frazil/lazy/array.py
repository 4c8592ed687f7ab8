"""The class of lazy arrays."""

from __future__ import annotations

import inspect
import math
from typing import Any, Callable, Iterator, NoReturn

import numpy

from .. import _frazil, trees
from ..docstrings import entries_of, joined, sections_of
from ..errors import BadInput
from ..symbolic import Symbolic
from .operators import ops


_methods: list[Any] = []


def _method(name: str) -> Callable[..., Any]:
    """Returns a method that calls the function of frazil.numpy with this name on the array."""

    def method(self: LazyArray, *args: Any, **kwargs: Any) -> Any:
        return getattr(_functions(), name)(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As frazil.numpy.{name}(self, ...)."
    _methods.append(method)
    return method


def _operator(name: str, reverse: bool = False) -> Callable[[LazyArray, Any], Any]:
    def method(self: LazyArray, other: Any) -> Any:
        if isinstance(other, str) or other is None:
            return NotImplemented
        function = getattr(_functions(), name)
        return function(other, self) if reverse else function(self, other)

    return method


_namespace: list[Any] = []


def set_functions(module: Any) -> None:
    """Sets the module whose functions the methods of lazy arrays call. frazil.numpy registers itself."""
    _namespace[:] = [module]
    for method in _methods:
        _describe(method, getattr(module, method.__name__))


def _describe(method: Any, function: Callable[..., Any]) -> None:
    """Gives a method the parameters and the documentation of its function, except for the first parameter."""
    signature = inspect.signature(function)
    first, *rest = signature.parameters.values()
    method.__signature__ = signature.replace(parameters=[first.replace(name="self", annotation=first.empty), *rest])
    text, sections = sections_of(inspect.getdoc(function) or "")
    own = entries_of(sections.get("Parameters", ""))
    own.pop(first.name, None)
    sections["Parameters"] = "\n".join(own.values())
    method.__doc__ = joined(text, sections)


def _functions() -> Any:
    return _namespace[0]


class LazyArray(_frazil.LazyArray, Symbolic):  # type: ignore[misc]
    """An array that may not have been computed yet, with the operators and methods of NumPy's arrays.

    Operators on it are recorded. Reading it (numpy(), item(), bool(), float(), print()) runs exactly what it depends
    on. It is immutable: x[0] = 1 is refused, x.at[0].set(1) returns another array. frazil.numpy creates arrays and has
    the functions.
    """

    __slots__ = ("__weakref__",)
    __hash__ = None  # type: ignore[assignment]

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents. While a function is recorded, extents that differ between calls are arrays without axes."""
        extents = self._extents
        if None not in extents:
            return extents
        whole = ops.Shape(self)
        return tuple(whole[axis] if extent is None else extent for axis, extent in enumerate(extents))

    @property
    def size(self) -> Any:
        """The number of elements."""
        extents = [extent for extent in self._extents if extent is not None]
        return math.prod(extents) if len(extents) == self.ndim else ops.Size(self)

    @property
    def nbytes(self) -> Any:
        """The bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    @property
    def flat(self) -> LazyArray:
        """The elements along one axis."""
        return self.reshape(-1)

    @property
    def real(self) -> LazyArray:
        """The real parts: the array itself unless its elements are complex."""
        return _functions().real(self)  # type: ignore[no-any-return]

    @property
    def imag(self) -> LazyArray:
        """The imaginary parts: zeros unless elements are complex."""
        return _functions().imag(self)  # type: ignore[no-any-return]

    @property
    def at(self) -> Any:
        """Indexed updates: x.at[key].set(values) returns an array with other elements; also add, multiply, min, max."""
        return _functions().assigns.At(self)

    def copy(self) -> LazyArray:
        """Returns the array itself, which is immutable.

        Returns
        -------
        LazyArray
            The array.
        """
        return self

    @property
    def type(self) -> str:
        """The element type and the extents as text: 'f32[2,3]'."""
        extents = ("?" if extent is None else str(extent) for extent in self._extents)
        return f"{_frazil.dtype(self.dtype).short_name}[{','.join(extents)}]"

    @property
    def graph(self) -> Any:
        """The recorder for functions of frazil.nn: frazil.lazy.ops."""
        return ops

    def item(self, *index: int) -> Any:
        """Reads one element.

        Parameters
        ----------
        *index : int
            An index for each axis, or one of the flattened array. Without it the array must have one element.

        Returns
        -------
        bool, int, float or complex
            A Python number.

        Raises
        ------
        ValueError
            If there is no index, and the array has more or fewer elements than one.
        """
        return self.numpy().item(*index)

    def tolist(self) -> Any:
        """Reads the elements.

        Returns
        -------
        list or number
            Nested lists; a number for an array without axes.
        """
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        value = self.numpy()
        if dtype is not None and value.dtype != dtype:
            return value.astype(dtype)
        return value.copy() if copy else value

    @property
    def device(self) -> str:
        """The device: 'cpu'."""
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> LazyArray:
        """Returns the array itself.

        Parameters
        ----------
        device : str
            'cpu'.
        stream : any, optional
            Has no effect.

        Returns
        -------
        LazyArray
            The array.

        Raises
        ------
        ValueError
            If the device is another one than 'cpu'.
        """
        _functions().asarray(0, device=device)
        return self

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        """Returns frazil.numpy, which has the names of the Python array API standard 2022.12."""
        if api_version not in (None, "2021.12", "2022.12"):
            raise ValueError(f"the version of the array API is 2022.12, not {api_version}")
        return _functions()

    def __complex__(self) -> complex:
        return complex(self.item())

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the CPU's memory."""
        return 1, 0

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Returns the value as a DLPack tensor: a copy, as consumers may write to it. Raises BufferError for
        copy=False.
        """
        if copy is False or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("lazy arrays are immutable: consumers get copies in the CPU's memory")
        return self.numpy().copy().__dlpack__()

    # NumPy's functions on lazy arrays call frazil.numpy, or read the values if frazil.numpy lacks the function.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = getattr(_functions(), ufunc.__name__, None)
        called = getattr(function, method, None)
        if called is None:
            return getattr(ufunc, method)(*values_of(inputs), **values_of(kwargs))
        if kwargs.get("out") is not None and len(kwargs["out"]) == 1:
            kwargs["out"] = kwargs["out"][0]
        return called(*inputs, **kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        part = function.__module__.removeprefix("numpy").strip(".")
        own = getattr(getattr(_functions(), part, None) if part else _functions(), function.__name__, None)
        if own is not None and own is not function:
            return own(*args, **kwargs)
        return function(*values_of(args), **values_of(kwargs))

    def tobytes(self, order: str = "C") -> bytes:
        """Reads the bytes of the elements.

        Parameters
        ----------
        order : str, default 'C'
            As for numpy.ndarray.tobytes().

        Returns
        -------
        bytes
            The elements, one after the other.
        """
        return self.numpy().tobytes(order)  # type: ignore[arg-type]

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Writes the elements to a file, as numpy.ndarray.tofile().

        Parameters
        ----------
        fid : file, str or path
            The file.
        sep : str, default ''
            The text between elements; '' writes bytes.
        format : str, default '%s'
            The format of an element in a text.
        """
        self.numpy().tofile(fid, sep, format)

    def __iter__(self) -> Iterator[LazyArray]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(_functions().any(self == value))

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("lazy arrays are immutable: write y = x.at[key].set(value), or use frazil.numpy.where()")

    def __repr__(self) -> str:
        if self._there:
            return numpy.array_repr(self.numpy()).replace("array(", "LazyArray(", 1)
        try:
            return f"<frazil.LazyArray {self.type}, {'of a graph' if self._traced else 'not computed'}>"
        except BadInput:
            return "<frazil.LazyArray of a function that has been recorded>"

    def __str__(self) -> str:
        return repr(self) if self._traced else str(self.numpy())

    def __format__(self, spec: str) -> str:
        return format(self.item() if spec else str(self), spec)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a lazy array belongs to its process: pickle its value, array.numpy()")

    def __copy__(self) -> LazyArray:
        return self

    def __deepcopy__(self, memo: Any) -> LazyArray:
        return self

    def astype(self, dtype: Any, *, copy: bool = True) -> LazyArray:
        """Casts the elements to another type.

        Parameters
        ----------
        dtype : dtype
            The element type.
        copy : bool, default True
            Has no effect, as arrays are immutable.

        Returns
        -------
        LazyArray
            The array itself if it has the element type.
        """
        return _functions().astype(self, dtype)

    def reshape(self, *shape: Any, order: str = "C") -> LazyArray:
        """Returns the elements in another shape, as frazil.numpy.reshape().

        Parameters
        ----------
        *shape : int or sequence of int
            The extents, as several arguments or one sequence; one may be -1.
        order : str, default 'C'
            'C', or 'F' if the first axis varies fastest.

        Returns
        -------
        LazyArray
            The same elements.

        Raises
        ------
        ValueError
            If the order is unknown.
        """
        return _functions().reshape(self, shape[0] if len(shape) == 1 else shape, order)

    sum, mean, prod, max, min = (_method(name) for name in ("sum", "mean", "prod", "max", "min"))
    var, std, all, any = (_method(name) for name in ("var", "std", "all", "any"))
    argmax, argmin, cumsum = (_method(name) for name in ("argmax", "argmin", "cumsum"))
    argsort, take, squeeze, round = (_method(name) for name in ("argsort", "take", "squeeze", "round"))
    cumprod, diagonal, trace, repeat = (_method(name) for name in ("cumprod", "diagonal", "trace", "repeat"))
    ptp, searchsorted, compress, conj = (_method(name) for name in ("ptp", "searchsorted", "compress", "conj"))
    conjugate, choose, argpartition = (_method(name) for name in ("conjugate", "choose", "argpartition"))
    clip, dot, nonzero = (_method(name) for name in ("clip", "dot", "nonzero"))
    __lshift__, __rlshift__ = _operator("left_shift"), _operator("left_shift", True)
    __rshift__, __rrshift__ = _operator("right_shift"), _operator("right_shift", True)
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", True)
    __divmod__, __rdivmod__ = _operator("divmod"), _operator("divmod", True)
    __mod__, __rmod__ = _operator("remainder"), _operator("remainder", True)

    def __round__(self, digits: int = 0) -> LazyArray:
        return _functions().round(self, digits)


def eval(*arrays: Any) -> None:
    """Computes lazy arrays together. Shared dependencies are computed once, and reading one of them later runs nothing.

    Parameters
    ----------
    *arrays : any
        Lazy arrays, or lists, tuples and dicts of them. Other values are ignored.

    Raises
    ------
    Error
        The exceptions of reading.
    """
    leaves, _ = trees.flatten(arrays)
    _frazil.lazy_evaluate(*(leaf for leaf in leaves if isinstance(leaf, LazyArray)))


ASSIGNING = """Refuses to change the array, which is immutable.

Parameters
----------
*args, **kwargs : any
    The parameters of numpy.ndarray.{0}().

Raises
------
TypeError
    Always. The message has the expression that returns another array.
"""


def _assigning(name: str, advice: str) -> Callable[..., NoReturn]:
    """Returns a replacement for a NumPy method that modifies the array. It raises TypeError."""

    def method(self: LazyArray, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{name}(): lazy arrays are immutable: {advice}")

    method.__name__ = name
    method.__doc__ = ASSIGNING.format(name)
    return method


for _name, _advice in {
    "sort": "write y = frazil.numpy.sort(x)",
    "partition": "write y = frazil.numpy.partition(x, kth)",
    "fill": "write y = frazil.numpy.full_like(x, value)",
    "put": "write y = x.at[indices].set(values)",
    "resize": "write y = frazil.numpy.resize(x, shape)",
    "itemset": "write y = x.at[index].set(value)",
}.items():
    setattr(LazyArray, _name, _assigning(_name, _advice))


def values_of(arguments: Any) -> Any:
    """Reads the lazy arrays among the arguments and returns the arguments with their values."""
    leaves, structure = trees.flatten(arguments)
    return trees.unflatten(structure, [leaf.numpy() if isinstance(leaf, LazyArray) else leaf for leaf in leaves])


def _index(array: LazyArray, key: Any) -> LazyArray:
    return _functions().take_at(array, key)


def _named(name: str, *operands: Any) -> LazyArray:
    """Applies an operator to complex numbers."""
    return getattr(_functions(), name)(*operands)


_frazil.set_lazy_class(LazyArray, _index, _named)
