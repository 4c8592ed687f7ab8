"""Generators with the interface and the numbers of NumPy."""

from __future__ import annotations

from typing import Any

import numpy

from ... import _frazil
from ...errors import Unsupported
from ...lazy.array import LazyArray, values_of
from ..arrays import asarray

# Methods of numpy.random.Generator that return arrays.
DRAWS = frozenset(
    "random integers choice permutation permuted beta binomial chisquare dirichlet exponential f gamma geometric "
    "gumbel hypergeometric laplace logistic lognormal logseries multinomial multivariate_hypergeometric "
    "multivariate_normal negative_binomial noncentral_chisquare noncentral_f normal pareto poisson power rayleigh "
    "standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform vonmises wald "
    "weibull zipf".split()
)


class Generator:
    """A generator with state: the methods and the numbers of numpy.random.Generator, as lazy arrays.

    Draws are made immediately, which reads array arguments. Recorded functions must draw by keys, as a recording would
    repeat the same numbers in every call.
    """

    def __init__(self, bit_generator: Any) -> None:
        self._own = numpy.random.Generator(bit_generator)

    @property
    def bit_generator(self) -> Any:
        """NumPy's source of random bits."""
        return self._own.bit_generator

    def spawn(self, n_children: int) -> list[Generator]:
        """Returns new generators that draw independent numbers."""
        bits = type(self.bit_generator)
        return [Generator(bits(seed)) for seed in self.bit_generator._seed_seq.spawn(n_children)]

    def bytes(self, length: int) -> bytes:
        """Returns random bytes."""
        return self._own.bytes(length)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Shuffles a NumPy array or a list in place. Raises TypeError for lazy arrays, which are immutable."""
        if isinstance(x, LazyArray):
            raise TypeError("shuffle(): lazy arrays are immutable: write y = rng.permutation(x)")
        self._own.shuffle(x, axis)

    def __getattr__(self, name: str) -> Any:
        if name not in DRAWS:
            raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")
        method = getattr(self._own, name)

        def draw(*args: Any, **kwargs: Any) -> Any:
            if _frazil.is_recording():
                raise Unsupported(f"rng.{name}() in a recorded function: pass it a key and use frazil.numpy.random")
            made = method(*values_of(args), **values_of(kwargs))
            return asarray(made) if isinstance(made, numpy.ndarray) else made

        draw.__name__, draw.__doc__ = name, method.__doc__
        return draw

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *DRAWS})

    def __repr__(self) -> str:
        return f"Generator({type(self.bit_generator).__name__})"


def default_rng(seed: Any = None) -> Generator:
    """Returns a generator with the numbers of numpy.random.default_rng(seed)."""
    if isinstance(seed, Generator):
        return seed
    made = numpy.random.default_rng(seed.numpy() if isinstance(seed, LazyArray) else seed)
    return Generator(made.bit_generator)
