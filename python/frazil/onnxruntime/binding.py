"""IOBinding: the inputs and outputs of runs, bound beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy

from .devices import CPU, check_device
from .errors import InvalidArgument
from .values import OrtValue, array_at

if TYPE_CHECKING:
    from .session import InferenceSession


def _is_direct(array: numpy.ndarray, feeds: Mapping[str, Any]) -> bool:
    """Returns whether a run may write into an array: it is in row-major order, and no input uses its memory."""
    if array.dtype.hasobject or not (array.flags.c_contiguous and array.flags.writeable and array.dtype.isnative):
        return False
    return not any(isinstance(v, numpy.ndarray) and numpy.may_share_memory(array, v) for v in feeds.values())


class IOBinding:
    """The bound inputs and outputs of a session. One thread at a time.

    Parameters
    ----------
    session : InferenceSession
        The session.
    """

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._feeds: dict[str, Any] = {}
        self._outputs: dict[str, numpy.ndarray | None] = {}
        self._results: list[OrtValue] = []

    @property
    def _iobinding(self) -> IOBinding:
        return self

    def _check_input(self, name: str) -> None:
        known = [arg.name for arg in (*self._session.get_inputs(), *self._session.get_overridable_initializers())]
        if name not in known:
            raise InvalidArgument.of(f"Invalid input name: {name}; the model has {', '.join(map(repr, known))}")

    def _check_output(self, name: str) -> None:
        known = [arg.name for arg in self._session.get_outputs()]
        if name not in known:
            raise InvalidArgument.of(f"Invalid output name: {name}; the model has {', '.join(map(repr, known))}")

    def bind_cpu_input(self, name: str, arr_on_cpu: numpy.ndarray) -> None:
        """Binds an array as an input.

        Parameters
        ----------
        name : str
            The name of the input.
        arr_on_cpu : ndarray
            The array. Runs read its memory.

        Raises
        ------
        InvalidArgument
            If there is no such input.
        """
        self._check_input(name)
        self._feeds[name] = arr_on_cpu

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds memory as an input.

        Parameters
        ----------
        name : str
            The name of the input.
        device_type : str
            Only 'cpu' is available.
        device_id : int
            The number of the device.
        element_type : any
            NumPy's type, or ONNX's number of the type.
        shape : sequence of int
            The extents.
        buffer_ptr : int
            The address of the first element, in row-major order. The memory must outlive the binding.

        Raises
        ------
        InvalidArgument
            If there is no such input or device, or the memory cannot be used.
        """
        check_device(device_type)
        self._check_input(name)
        self._feeds[name] = array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds a value as an input.

        Parameters
        ----------
        name : str
            The name of the input.
        ortvalue : OrtValue
            The value. Runs read its memory.

        Raises
        ------
        InvalidArgument
            If there is no such input.
        """
        self._check_input(name)
        self._feeds[name] = ortvalue._value

    def bind_output(
        self,
        name: str,
        device_type: str = CPU,
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Binds an output, to memory of the program or to memory that each run allocates.

        Parameters
        ----------
        name : str
            The name of the output.
        device_type : str, default 'cpu'
            Only 'cpu' is available.
        device_id : int, default 0
            The number of the device.
        element_type : any, optional
            NumPy's type, or ONNX's number of the type.
        shape : sequence of int, optional
            The extents.
        buffer_ptr : int, optional
            The address of the first element, in row-major order. Without it, runs allocate the output.

        Raises
        ------
        InvalidArgument
            If there is no such output or device, or the memory cannot be used.
        """
        check_device(device_type)
        self._check_output(name)
        given = None
        if buffer_ptr is not None and element_type is not None and shape is not None:
            given = array_at(buffer_ptr, element_type, shape)
        self._outputs[name] = given

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an output to a value, whose memory runs write.

        Parameters
        ----------
        name : str
            The name of the output.
        ortvalue : OrtValue
            A tensor of the type and shape of the output.

        Raises
        ------
        InvalidArgument
            If there is no such output, or the value is not a tensor.
        """
        self._check_output(name)
        self._outputs[name] = ortvalue._tensor()

    def synchronize_inputs(self) -> None:
        """Does nothing: values are in the CPU's memory."""

    def synchronize_outputs(self) -> None:
        """Does nothing: values are in the CPU's memory."""

    def get_outputs(self) -> list[OrtValue]:
        """Returns the results of the last run.

        Returns
        -------
        list of OrtValue
            A value for each bound output, in the order of the bindings.
        """
        return list(self._results)

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        """Returns the results of the last run.

        Returns
        -------
        list of OrtValue
            The result of get_outputs().
        """
        return self.get_outputs()

    def copy_outputs_to_cpu(self) -> list[Any]:
        """Returns copies of the results of the last run.

        Returns
        -------
        list
            Arrays, or lists and dicts, in the order of the bindings.
        """
        return [value.numpy() if value.is_tensor() else value._value for value in self._results]

    def clear_binding_inputs(self) -> None:
        """Removes all bound inputs."""
        self._feeds.clear()

    def clear_binding_outputs(self) -> None:
        """Removes all bound outputs and their results."""
        self._outputs.clear()
        self._results = []

    def _run(self, engine: Any, options: Any) -> None:
        names = list(self._outputs)
        if not names:
            raise InvalidArgument.of("At least one output should be requested: bind_output() was not called")
        given = {name: array for name, array in self._outputs.items() if array is not None}
        direct = {name: array for name, array in given.items() if _is_direct(array, self._feeds)}
        results = engine.run(names, self._feeds, options, direct or None)
        for i, name in enumerate(names):
            if name in given and name not in direct:
                results[i] = _written(name, given[name], results[i])
        self._results = [OrtValue(value) for value in results]


def _written(name: str, to: numpy.ndarray, result: Any) -> numpy.ndarray:
    """Copies a result into the bound array of an output."""
    if not isinstance(result, numpy.ndarray) or result.shape != to.shape or result.dtype != to.dtype:
        got = f"{result.dtype}{list(result.shape)}" if isinstance(result, numpy.ndarray) else type(result).__name__
        raise InvalidArgument.of(f"output '{name}': the bound value is {to.dtype}{list(to.shape)}, the result is {got}")
    if not to.flags.writeable:
        raise InvalidArgument.of(f"output '{name}': the bound array is read-only")
    to[...] = result
    return to
