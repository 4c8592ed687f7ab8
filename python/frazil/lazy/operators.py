"""Every operator of Frazil's table for lazy arrays."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from .. import _frazil, trees
from .._frazil import OperatorInfo
from ..graph.operators import KINDS, Operators, Parameters, doc_of, least_outputs
from ..errors import Unsupported

MOST = 256  # limit for cached attributes of one operator
PLAIN = {int, str, bool}  # types whose equal values are interchangeable
INFOS = {info.full_name: info for info in _frazil.operators()}


def make(info: OperatorInfo, attributes: list[tuple[str, int | None, Any]], outputs: int) -> _frazil.LazyOperator:
    """Returns the operator with its attributes, as a function of its inputs."""
    numbers: dict[str, int] = {}
    variables = [numbers.setdefault(port.variable, len(numbers)) if port.variable else -1 for port in info.inputs]
    return _frazil.lazy_operator(info.full_name, attributes, outputs, variables)


@functools.lru_cache(1 << 12, typed=True)
def operator(name: str, outputs: int = 1, **attributes: Any) -> _frazil.LazyOperator:
    """Returns the operator of this name with these attributes."""
    info = INFOS[name]
    kinds = {field.name: KINDS.index(field.kind) for field in info.attributes}
    return make(info, [(key, kinds[key], value) for key, value in attributes.items()], outputs)


class LazyOperators(Operators):
    """The operators as functions of lazy arrays, with the names and attributes of Graph: ops.Softmax(x, axis=-1).

    Arrays and numbers become lazy arrays; a number takes the element type of the other arrays.
    """

    def __init__(self) -> None:
        for info in INFOS.values():
            if not info.domain and not info.bodies:
                self.__dict__[info.name] = _quick(self, info)

    def constant(self, value: Any, dtype: Any = None) -> Any:
        """Returns a value as an array.

        Parameters
        ----------
        value : array, number or list
            The elements.
        dtype : DType or str, optional
            The element type. Python's floats without it are float32, its integers int64.

        Returns
        -------
        LazyArray
            The array.
        """
        if dtype is None and isinstance(value, float):
            dtype = "float32"
        return _frazil.lazy_array(value, dtype, True, False)

    def _call(
        self,
        info: OperatorInfo,
        inputs: list[Any],
        bodies: list[Callable[..., Any]],
        attributes: list[tuple[str, int | None, Any]],
        outputs: int | None,
        name: str,
    ) -> Any:
        if name:
            raise TypeError(f"{info.name}: what lazy arrays record has the names of the program's lines")
        if bodies:
            raise Unsupported(f"{info.name} has bodies: use frazil.cond() or frazil.while_loop()")
        self._made = make(info, attributes, outputs or least_outputs(info))
        return self._made(*inputs)


def _key_of(keywords: dict[str, Any]) -> Any:
    """Returns a key for attributes; see trees.exact()."""
    kinds = tuple(map(type, keywords.values()))
    if PLAIN.issuperset(kinds):
        return (kinds, *keywords.items())
    return tuple((name, trees.exact(value)) for name, value in keywords.items())


def _quick(ops: LazyOperators, info: OperatorInfo) -> Callable[..., Any]:
    """Returns the operator's method, with a cache for attributes."""
    method = getattr(Operators, info.name).__get__(ops)
    free = {*Parameters(info).attributes, "outputs"}
    known: dict[Any, _frazil.LazyOperator] = {}

    @functools.wraps(method)
    def call(*inputs: Any, **keywords: Any) -> Any:
        key = _key_of(keywords)
        try:
            made = known[key]
        except (KeyError, TypeError):
            return remember(key, inputs, keywords)
        return made(*inputs)

    def remember(key: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        results = method(*inputs, **keywords)
        if keywords.keys() <= free and len(known) < MOST:
            try:
                known[key] = ops._made
            except TypeError:  # a list among the attributes
                pass
        return results

    signature = inspect.signature(method)
    kept = [parameter for name, parameter in signature.parameters.items() if name != "name"]
    call.__signature__ = signature.replace(parameters=kept, return_annotation="LazyArray")  # type: ignore[attr-defined]
    call.__doc__ = doc_of(info, "LazyArray")
    return call


ops = LazyOperators()
