"""Sums of products in Einstein's notation."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ..lazy.array import LazyArray
from ..lazy.operators import operator
from .arrays import asarray, astype
from .host import call, is_complex, known
from .outputs import with_out
from .reductions import widened
from .ufuncs import in_common

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _einsum(*arrays: numpy.ndarray, subscripts: str) -> Any:
    return numpy.einsum(subscripts, *arrays)


def _no_types(*given: Any, subscripts: str) -> list[Any]:
    raise TypeError("einsum() of complex numbers cannot be recorded in a function")


known("einsum", _einsum, _no_types)


def _letters(labels: Sequence[Any], known_labels: dict[Any, str]) -> str:
    """Converts a list of labels to a text."""
    text = ""
    for label in labels:
        text += "..." if label is Ellipsis else known_labels.setdefault(label, LETTERS[len(known_labels)])
    return text


def _of_lists(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Converts arrays that are each followed by a list of labels, and perhaps the result's labels, to a text and
    operands.
    """
    operands, lists = list(arguments[:-1:2]), list(arguments[1::2])
    result = arguments[-1] if len(arguments) % 2 else None
    labels = {label for each in [*lists, result or []] for label in each if label is not Ellipsis}
    names = {label: LETTERS[i] for i, label in enumerate(sorted(labels))}
    text = ",".join(_letters(each, names) for each in lists)
    return (text if result is None else f"{text}->{_letters(result, names)}"), operands


def _checked(subscripts: str, operands: Sequence[LazyArray]) -> str:
    """Returns the text without spaces. Raises ValueError if it does not match the operands' ranks."""
    text = subscripts.replace(" ", "")
    terms, arrow, result = text.partition("->")
    parts = terms.split(",")
    if len(parts) != len(operands):
        raise ValueError(f"einsum(): {len(parts)} terms in {subscripts!r} for {len(operands)} operands")
    for part, operand in zip(parts, operands):
        count = len(part.replace("...", ""))
        if count > operand.ndim or ("..." not in part and count != operand.ndim):
            raise ValueError(f"einsum(): the term {part!r} for an operand with {operand.ndim} axes")
    for letter in result.replace("...", ""):
        if letter not in terms or result.count(letter) > 1:
            raise ValueError(f"einsum(): the result of {subscripts!r} has {letter!r} twice, or no term has it")
    return text


@with_out
def einsum(*operands: Any, dtype: Any = None, casting: Any = "safe", optimize: Any = False) -> LazyArray:
    """Returns sums of products in Einstein's notation: einsum("ij,jk->ik", a, b), or einsum(a, [0, 1], b, [1, 2], [0,
    2]).

    `optimize` has no effect.
    """
    if isinstance(operands[0], str):
        subscripts, arrays = operands[0], list(operands[1:])
    else:
        subscripts, arrays = _of_lists(operands)
    made = [asarray(each) for each in arrays]
    text = _checked(subscripts, made)
    if any(map(is_complex, made)):
        return call("einsum", made, subscripts=text)  # type: ignore[no-any-return]
    made = list(in_common(*made)) if dtype is None else [astype(each, dtype) for each in made]
    kind = made[0].dtype
    return astype(operator("Einsum", equation=text)(*map(widened, made)), kind)
