"""TypeHelper, which programs import from onnxruntime.transformers.io_binding_helper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from .session import InferenceSession

_NUMPY: dict[str, Any] = {
    "tensor(int64)": numpy.int64,
    "tensor(int32)": numpy.int32,
    "tensor(int16)": numpy.int16,
    "tensor(int8)": numpy.int8,
    "tensor(uint64)": numpy.uint64,
    "tensor(uint32)": numpy.uint32,
    "tensor(uint16)": numpy.uint16,
    "tensor(uint8)": numpy.uint8,
    "tensor(float)": numpy.float32,
    "tensor(double)": numpy.float64,
    "tensor(float16)": numpy.float16,
    "tensor(bool)": bool,
}
_TORCH = ("int64", "int32", "int16", "int8", "uint8", "float32", "float64", "float16", "bool")


def _found(kind: Any, table: Any) -> Any:
    try:
        return table[kind]
    except (KeyError, TypeError):
        raise ValueError(f"{kind} not found in map") from None


class TypeHelper:
    """Conversions between element types of ONNX Runtime, NumPy and PyTorch."""

    @staticmethod
    def get_input_type(ort_session: InferenceSession, name: str) -> str:
        """Returns the type of an input.

        Parameters
        ----------
        ort_session : InferenceSession
            The session.
        name : str
            The name of the input.

        Returns
        -------
        str
            Such as 'tensor(float)'.
        """
        return _type_of(ort_session.get_inputs(), "input", name)

    @staticmethod
    def get_output_type(ort_session: InferenceSession, name: str) -> str:
        """Returns the type of an output.

        Parameters
        ----------
        ort_session : InferenceSession
            The session.
        name : str
            The name of the output.

        Returns
        -------
        str
            Such as 'tensor(float)'.
        """
        return _type_of(ort_session.get_outputs(), "output", name)

    @staticmethod
    def ort_type_to_numpy_type(ort_type: str) -> Any:
        """Returns NumPy's type.

        Parameters
        ----------
        ort_type : str
            Such as 'tensor(float)'.

        Returns
        -------
        type
            Such as numpy.float32. A type without a counterpart raises ValueError.
        """
        return _found(ort_type, _NUMPY)

    @staticmethod
    def ort_type_to_torch_type(ort_type: str) -> Any:
        """Returns PyTorch's type.

        Parameters
        ----------
        ort_type : str
            Such as 'tensor(float)'.

        Returns
        -------
        torch.dtype
            Such as torch.float32. A type without a counterpart raises ValueError.
        """
        return TypeHelper.numpy_type_to_torch_type(_found(ort_type, _NUMPY))

    @staticmethod
    def numpy_type_to_torch_type(numpy_type: Any) -> Any:
        """Returns PyTorch's type.

        Parameters
        ----------
        numpy_type : type or dtype
            NumPy's type.

        Returns
        -------
        torch.dtype
            Such as torch.float32. A type without a counterpart raises ValueError.
        """
        import torch  # type: ignore[import]

        return _found(numpy.dtype(numpy_type).name, {name: getattr(torch, name) for name in _TORCH})

    @staticmethod
    def torch_type_to_numpy_type(torch_type: Any) -> Any:
        """Returns NumPy's type.

        Parameters
        ----------
        torch_type : torch.dtype
            PyTorch's type.

        Returns
        -------
        type
            Such as numpy.float32. A type without a counterpart raises ValueError.
        """
        name = str(torch_type).removeprefix("torch.")
        return _found(name, {each: bool if each == "bool" else numpy.dtype(each).type for each in _TORCH})

    @staticmethod
    def get_io_numpy_type_map(ort_session: InferenceSession) -> dict[str, Any]:
        """Returns NumPy's types of all inputs and outputs.

        Parameters
        ----------
        ort_session : InferenceSession
            The session.

        Returns
        -------
        dict
            Types by name.
        """
        ports = (*ort_session.get_inputs(), *ort_session.get_outputs())
        return {port.name: TypeHelper.ort_type_to_numpy_type(port.type) for port in ports}


def _type_of(ports: Any, what: str, name: str) -> str:
    for port in ports:
        if port.name == name:
            return str(port.type)
    raise ValueError(f"{what} name {name} not found")
