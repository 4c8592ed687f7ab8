"""Assignment: functions that modify an array, which lazy arrays refuse, and x.at[...], which returns another array."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy

from ..lazy.array import LazyArray, values_of
from ..lazy.operators import operator
from .arrays import arange, asarray, astype
from .shapes import broadcast_to, expand_dims, ravel, reshape
from .ufuncs import divide, power

ADVICE = {
    "put": "write y = ravel(x).at[indices].set(values).reshape(x.shape)",
    "place": "write y = where(mask, value, x)",
    "putmask": "write y = where(mask, values, x)",
    "copyto": "write y = where(mask, source, x)",
    "fill_diagonal": "write y = where(eye(n, dtype=bool), value, x)",
    "put_along_axis": "write y = where(arange(n) == indices, values, x)",
}


ASSIGNING = """Changes a NumPy array, as numpy.{0}().

Parameters
----------
a : ndarray
    The array that is changed.
*args, **kwargs : any
    The other parameters of numpy.{0}(). Arrays may be lazy.

Raises
------
TypeError
    If `a` is a lazy array, which is immutable. The message has the expression that returns another one.
"""


def _assigning(name: str) -> Callable[..., Any]:
    """Wraps a NumPy function that modifies its first argument, which must be a NumPy array."""
    function = getattr(numpy, name)

    @functools.wraps(function)
    def call(a: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(a, LazyArray):
            raise TypeError(f"{name}(): lazy arrays are immutable: {ADVICE[name]}")
        function(a, *values_of(args), **values_of(kwargs))

    call.__doc__ = ASSIGNING.format(name)
    return call


put, place, putmask, copyto = _assigning("put"), _assigning("place"), _assigning("putmask"), _assigning("copyto")
fill_diagonal, put_along_axis = _assigning("fill_diagonal"), _assigning("put_along_axis")


class At:
    """The elements of an array selected by a key: x.at[key].set(values) is x with other elements there."""

    __slots__ = ("_array", "_key")

    def __init__(self, array: LazyArray, key: Any = None) -> None:
        self._array, self._key = array, key

    def __getitem__(self, key: Any) -> At:
        return At(self._array, key)

    def get(self) -> LazyArray:
        """Returns the elements."""
        return self._array[self._key]

    def _scattered(self, values: Any, reduction: str) -> LazyArray:
        x = self._array
        places = reshape(arange(x.size), x.shape)[self._key]
        row = ravel(broadcast_to(astype(values, x.dtype), places.shape))
        made = operator("ScatterND", reduction=reduction)(ravel(x), expand_dims(ravel(places), 1), row)
        return reshape(made, x.shape)

    def set(self, values: Any) -> LazyArray:
        """Returns the array with the elements replaced. If an element is selected several times, the last value wins.
        """
        return self._scattered(values, "none")

    def add(self, values: Any) -> LazyArray:
        """Returns the array with values added, once per selection of an element."""
        return self._scattered(values, "add")

    def multiply(self, values: Any) -> LazyArray:
        """Returns the array with elements multiplied by values, once per selection of an element."""
        return self._scattered(values, "mul")

    def min(self, values: Any) -> LazyArray:
        """Returns the array with the minimum of element and value."""
        return self._scattered(values, "min")

    def max(self, values: Any) -> LazyArray:
        """Returns the array with the maximum of element and value."""
        return self._scattered(values, "max")

    def subtract(self, values: Any) -> LazyArray:
        """Returns the array with values subtracted, once per selection of an element."""
        return self.add(-asarray(values, self._array.dtype))

    def divide(self, values: Any) -> LazyArray:
        """Returns the array with elements divided by values."""
        return self.set(divide(self.get(), values))

    def power(self, values: Any) -> LazyArray:
        """Returns the array with powers of its elements."""
        return self.set(power(self.get(), values))

    def apply(self, function: Callable[[LazyArray], Any]) -> LazyArray:
        """Returns the array with a function applied to the selected elements."""
        return self.set(function(self.get()))


