"""Which exception a failed run raises. Runs cost nothing for it: it looks at the inputs only afterwards."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import numpy

from .. import _frazil
from ..errors import BadInput, Cancelled
from .errors import Fail, InvalidArgument, OnnxRuntimeError, of_run
from .ports import Ports, element_name

TERMINATED = "Exiting due to terminate flag being set to true."


def error_of_run(
    error: Exception, ports: Ports, names: Sequence[str] | None, feeds: Mapping[str, Any], terminated: bool
) -> OnnxRuntimeError:
    """Returns the exception for a run that failed.

    Parameters
    ----------
    error : Error
        The error of Frazil.
    ports : Ports
        The inputs and outputs of the model.
    names : list of str or None
        The wanted outputs.
    feeds : dict
        The inputs by name.
    terminated : bool
        Whether the run options ended the run.

    Returns
    -------
    OnnxRuntimeError
        An exception with ONNX Runtime's code, and the beginning of its text where programs depend on it.
    """
    if terminated and isinstance(error, Cancelled):
        return Fail.of(TERMINATED)
    if not isinstance(error, BadInput):
        return of_run(error)
    return _of_feeds(ports, feeds) or _of_outputs(ports, names) or of_run(error)


def _of_feeds(ports: Ports, feeds: Mapping[str, Any]) -> OnnxRuntimeError | None:
    for name, value in feeds.items():
        port = ports.by_name.get(name)
        if port is None:
            known = ", ".join(f"'{each}'" for each in ports.by_name)
            return InvalidArgument.of(f"Invalid input name: {name}; the model has {known or 'no inputs'}")
        wrong = _wrong_tensor(port, value)
        if wrong:
            return InvalidArgument.of(wrong)
    missing = [name for name in ports.by_name if name in ports.required and name not in feeds]
    return Fail.of(f"Missing Input: {missing[0]}") if missing else None


def _wrong_tensor(port: _frazil.Port, value: Any) -> str | None:
    if port.dtype is None or not isinstance(value, numpy.ndarray):
        return None
    try:
        given = _frazil.dtype(value.dtype)
    except (BadInput, TypeError):
        return f"Unexpected input data type for input: {port.name}: no tensor has NumPy's type {value.dtype}"
    if given != port.dtype:
        actual, expected = element_name(given), element_name(port.dtype)
        return (
            f"Unexpected input data type. Actual: (tensor({actual})) , expected: (tensor({expected}))"
            f" for input: {port.name}"
        )
    if port.shape is None:
        return None
    if len(port.shape) != value.ndim:
        return (
            f"Invalid rank for input: {port.name} got {value.ndim}, expected {len(port.shape)}:"
            f" the shape is {_text(value.shape)}, the model expects {_text(port.shape)}"
        )
    wrong = [axis for axis, dim in enumerate(port.extents) if dim not in (-1, value.shape[axis])]
    if wrong:
        return (
            f"Got invalid dimensions for input: {port.name} at axis {', '.join(map(str, wrong))}:"
            f" the shape is {_text(value.shape)}, the model expects {_text(port.shape)}"
        )
    return None


def _text(dims: Sequence[Any]) -> str:
    return f"[{','.join(map(str, dims))}]"


def _of_outputs(ports: Ports, names: Sequence[str] | None) -> OnnxRuntimeError | None:
    known = [arg.name for arg in ports.outputs]
    for name in names or ():
        if name not in known:
            listed = ", ".join(f"'{each}'" for each in known)
            return InvalidArgument.of(f"Invalid output name: {name}; the model has {listed}")
    return None
