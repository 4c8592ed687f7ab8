"""The functions of `ops` that create Terms, from numbers or at random."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy

from ..effects import NeedsValues
from ..graph import Builder, Term, Value
from . import basic
from .accepting import open_functions
from .arrays import numpy_type, to_array
from .lazily import current, graph_of
from .recording import TERMS

__all__ = [
    "arange", "as_tensor", "bernoulli", "empty", "empty_like", "eye", "from_numpy", "full",
    "full_like",
    "linspace", "logspace", "manual_seed", "multinomial", "normal", "ones", "ones_like", "rand", "rand_like", "randint",
    "randint_like", "randn", "randn_like", "randperm", "scalar_tensor", "tensor", "zeros", "zeros_like",
]  # fmt: skip

_random = [numpy.random.default_rng(0)]


def manual_seed(seed: int) -> None:
    """Restarts the random numbers of Frazil. They differ from PyTorch's."""
    _random[0] = numpy.random.default_rng(seed)


def generator() -> numpy.random.Generator:
    """Returns the random number generator. Raises NeedsValues while forward is recorded, as the graph would repeat its
    numbers.
    """
    if not getattr(current(), "readable", False):
        raise NeedsValues("a recorded graph does not draw random numbers: pass them as an argument")
    return _random[0]


def term_of(like: Any, value: Any) -> Any:
    """Converts an array, a Parameter, a tensor of PyTorch or a number to a Term in the graph of another one."""
    if isinstance(value, TERMS) or isinstance(value, (bool, int, float)):
        return value
    return like.graph.constant(to_array(value))


def _elements(data: Any, dtype: Any) -> Any:
    """Converts numbers, arrays and Tensors in lists to an array. Python's floats become float32."""
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], (*TERMS, list, tuple)):
        data = [_elements(part, None) for part in data]
    array = to_array(data) if not isinstance(data, (bool, int, float)) else numpy.asarray(data)
    if dtype is None and not hasattr(data, "dtype") and array.dtype == numpy.float64:
        return array.astype(numpy.float32)
    return array


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Any:
    """Creates a Term from numbers, lists or an array. Numbers are float32, int64 or bool unless `dtype` is given."""
    if isinstance(data, TERMS):
        return basic.cast(basic.clone(data), dtype or data.dtype)
    made = current().constant(_elements(data, dtype))
    return made if dtype is None else basic.cast(made, dtype)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """Converts like tensor(), but returns a Term unchanged."""
    return basic.cast(data, dtype or data.dtype) if isinstance(data, TERMS) else tensor(data, dtype)


def from_numpy(array: numpy.ndarray) -> Any:
    """Creates a Term with a copy of an array."""
    return tensor(array)


scalar_tensor = tensor


def arange(start: Value, end: Value | None = None, step: Value = 1, *, dtype: Any = None, device: Any = None) -> Term:
    """Returns the numbers from `start`, or 0, to `end`, excluding `end`."""
    graph = graph_of(start, end, step)
    parts = [0, start, step] if end is None else [start, end, step]
    real = any(isinstance(part, float) or (isinstance(part, TERMS) and basic.kind_of(part.dtype) == 2) for part in parts)
    to = dtype if dtype is not None else "float32" if real else "int64"
    terms = [basic.cast(p, to) if isinstance(p, TERMS) else graph.constant(p, to) for p in parts]
    return graph.Range(*terms)


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Term:
    """Returns a Term of this shape, given by numbers and scalar Terms, filled with one number."""
    parts = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    return _filled(graph_of(parts), basic.vector(graph_of(parts), parts), fill_value, dtype)


def _filled(graph: Builder, shape: Any, value: Any, dtype: Any) -> Term:
    if not isinstance(value, TERMS):
        kind = numpy_type(dtype).type if dtype is not None else type(value)
        value = graph.constant(kind(value) if issubclass(kind, (bool, numpy.bool_)) else value, dtype)
    return graph.Expand(value, shape)


def filled(like: Term, size: Sequence[Any], value: Any) -> Term:
    """Returns a filled Term in the graph and of the element type of another Term."""
    return _filled(like.graph, basic.vector(like.graph, size), value, like.dtype)


def zeros(*size: Any, dtype: Any = None, device: Any = None) -> Term:
    """Returns a Term of zeros, by default float32."""
    return full(basic.sizes_of(size), 0, dtype=dtype or "float32")


def ones(*size: Any, dtype: Any = None, device: Any = None) -> Term:
    """Returns a Term of ones, by default float32."""
    return full(basic.sizes_of(size), 1, dtype=dtype or "float32")


empty = zeros


def full_like(input: Term, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Term:
    """Returns a filled Term of the shape and, by default, the type of another one."""
    return _filled(input.graph, input.graph.Shape(input), fill_value, dtype or input.dtype)


def zeros_like(input: Term, *, dtype: Any = None, device: Any = None) -> Term:
    """Returns full_like() with zeros."""
    return full_like(input, 0, dtype=dtype)


def ones_like(input: Term, *, dtype: Any = None, device: Any = None) -> Term:
    """Returns full_like() with ones."""
    return full_like(input, 1, dtype=dtype)


empty_like = zeros_like


def arange_of(like: Term) -> Any:
    """Returns 0, 1, 2, ... with one number for each element of a Term, in one dimension."""
    graph = like.graph
    return graph.Range(graph.constant(0, "int64"), graph.Size(like), graph.constant(1, "int64"))


def linspace(start: float, end: float, steps: int, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns equally spaced numbers from `start` to `end`."""
    return tensor(numpy.linspace(start, end, steps, dtype=numpy.float32), dtype)


def logspace(start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns powers of `base` with the exponents of linspace()."""
    return tensor(numpy.logspace(start, end, steps, base=base).astype(numpy.float32), dtype)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns a matrix with 1 on the diagonal and 0 elsewhere."""
    return tensor(numpy.eye(n, m, dtype=numpy.float32), dtype)


def _drawn(draw: Callable[[Any], Any], dtype: Any, default: str = "float32") -> Any:
    return tensor(numpy.asarray(draw(generator()))).to(dtype or default)


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(int(part) for part in basic.sizes_of(size))


def rand(*size: Any, dtype: Any = None, device: Any = None, generator: Any = None, **_: Any) -> Any:
    """Returns random numbers between 0 and 1."""
    return _drawn(lambda random: random.random(_shape(size)), dtype)


def randn(*size: Any, dtype: Any = None, device: Any = None, generator: Any = None, **_: Any) -> Any:
    """Returns random numbers of the normal distribution."""
    return _drawn(lambda random: random.standard_normal(_shape(size)), dtype)


def randint(low: int, high: Any, size: Any = None, *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
    """Returns random integers from `low`, or 0, to `high`, excluding `high`."""
    first, last, shape = (0, low, high) if size is None else (low, high, size)
    return _drawn(lambda random: random.integers(first, last, _shape((shape,))), dtype, "int64")


def randperm(n: int, *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
    """Returns the numbers from 0 to n - 1 in random order."""
    return _drawn(lambda random: random.permutation(n), dtype, "int64")


def rand_like(input: Term, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns rand() in the shape of a Term."""
    return _drawn(lambda random: random.random(_shape(basic.size(input))), dtype or input.dtype)


def randn_like(input: Term, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns randn() in the shape of a Term."""
    return _drawn(lambda random: random.standard_normal(_shape(basic.size(input))), dtype or input.dtype)


def randint_like(input: Term, low: int, high: int | None = None, *, dtype: Any = None, device: Any = None) -> Any:
    """Returns randint() in the shape of a Term."""
    first, last = (0, low) if high is None else (low, high)
    return _drawn(lambda random: random.integers(first, last, _shape(basic.size(input))), dtype or input.dtype)


def normal(mean: Any, std: Any = 1.0, size: Any = None, **_: Any) -> Any:
    """Returns random numbers of normal distributions."""
    like = mean if isinstance(mean, TERMS) else std
    noise = randn_like(like) if isinstance(like, TERMS) else randn(size)
    return basic.add(basic.mul(noise, std), mean)


def bernoulli(input: Term, p: float | None = None, **_: Any) -> Any:
    """Returns 1 with the probabilities of the input, else 0."""
    return basic.cast(basic.lt(rand_like(input), input if p is None else p), input.dtype)


def multinomial(input: Term, num_samples: int, replacement: bool = False, **_: Any) -> Any:
    """Returns random indices along the last dimension, with the input as weights."""
    weights = input._read("multinomial() draws from values")  # type: ignore[attr-defined]
    rows = weights.reshape(-1, weights.shape[-1]).astype(numpy.float64)
    draw = generator()
    chosen = [draw.choice(len(row), num_samples, replacement, row / row.sum()) for row in rows]
    return tensor(numpy.array(chosen, numpy.int64).reshape(*weights.shape[:-1], num_samples))


open_functions(globals())
