"""OrtValue: a value in the form of ONNX Runtime's Python package."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn, Sequence

import numpy
from numpy import ndarray

from .. import _frazil
from .devices import CPU, check_device
from .errors import InvalidArgument, NotImplemented
from .ports import element_name


def numpy_type(element_type: Any) -> numpy.dtype[Any]:
    """Returns NumPy's type for an element type.

    Parameters
    ----------
    element_type : any
        NumPy's type, or ONNX's number of the type.

    Returns
    -------
    dtype
        The type.

    Raises
    ------
    InvalidArgument
        If there is none.
    """
    if isinstance(element_type, int) and not isinstance(element_type, bool):
        for each in _frazil.dtypes:
            if each.onnx == element_type:
                return each.numpy
        raise InvalidArgument.of(f"{element_type} is not ONNX's number of an element type")
    try:
        return _frazil.dtype(element_type).numpy
    except (ValueError, TypeError) as error:
        raise InvalidArgument.of(f"{element_type!r} is not an element type") from error


def array_at(pointer: int, element_type: Any, shape: Sequence[int]) -> numpy.ndarray:
    """Returns an array over memory of the program.

    Parameters
    ----------
    pointer : int
        The address of the first element.
    element_type : any
        NumPy's type, or ONNX's number of the type.
    shape : sequence of int
        The extents.

    Returns
    -------
    ndarray
        A view of the memory, which must outlive it.

    Raises
    ------
    InvalidArgument
        If the address is 0, an extent is negative, or the elements are texts.
    """
    dtype = numpy_type(element_type)
    extents = tuple(int(extent) for extent in shape)
    if dtype.hasobject or any(extent < 0 for extent in extents):
        raise InvalidArgument.of(f"memory of type {dtype} and shape {list(extents)} cannot be bound by its address")
    count = int(numpy.prod(extents, dtype=numpy.int64))
    if count == 0:
        return numpy.empty(extents, dtype)
    if not pointer:
        raise InvalidArgument.of("the address of the memory is 0")
    memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(int(pointer))
    return numpy.frombuffer(memory, dtype).reshape(extents)


def value_type(value: Any) -> str:
    """Returns ONNX Runtime's name of the type of a value.

    Parameters
    ----------
    value : any
        An array, a list, a dict or None.

    Returns
    -------
    str
        Such as 'tensor(float)'.
    """
    if isinstance(value, numpy.ndarray):
        return f"tensor({element_name(_frazil.dtype(value.dtype))})"
    if isinstance(value, list):
        return f"seq({value_type(value[0]) if value else 'tensor(float)'})"
    if isinstance(value, dict):
        key, item = next(iter(value.items()), (0, 0.0))
        return f"map({'string' if isinstance(key, str) else 'int64'},{value_type(numpy.asarray(item))})"
    return "none"


def _row_major(data: Any) -> numpy.ndarray:
    array = numpy.asarray(data)
    return array if array.flags.c_contiguous else numpy.ascontiguousarray(array)


class OrtValue:
    """A tensor, a sequence, a map, or no value. Class methods make it; it is a view of the array it was made from.

    Parameters
    ----------
    ortvalue : any
        An OrtValue to share, or the value: an array, a list, a dict or None.
    numpy_obj : ndarray, optional
        Kept, as in ONNX Runtime.
    """

    def __init__(self, ortvalue: Any, numpy_obj: Any = None) -> None:
        self._value: Any = ortvalue._value if isinstance(ortvalue, OrtValue) else ortvalue

    @staticmethod
    def ortvalue_from_numpy(
        numpy_obj: numpy.ndarray, device_type: str = CPU, device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """Returns a tensor over an array.

        Parameters
        ----------
        numpy_obj : ndarray
            The array. Its memory is used if it is in row-major order; otherwise, it is copied.
        device_type : str, default 'cpu'
            Only 'cpu' is available.
        device_id : int, default 0
            The number of the device.
        vendor_id : int, default -1
            The vendor of the device, without an effect.

        Returns
        -------
        OrtValue
            The tensor.

        Raises
        ------
        InvalidArgument
            If NumPy's type has no counterpart, or the device is not available.
        """
        check_device(device_type)
        array = _row_major(numpy_obj)
        numpy_type(array.dtype)
        return OrtValue(array)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: numpy.ndarray, onnx_element_type: int) -> OrtValue:
        """Returns a tensor over the bits of an array, with an element type that NumPy may lack.

        Parameters
        ----------
        data : ndarray
            The array, in row-major order.
        onnx_element_type : int
            ONNX's number of a type of the same size.

        Returns
        -------
        OrtValue
            The tensor.

        Raises
        ------
        InvalidArgument
            If the sizes of the types differ.
        """
        dtype, array = numpy_type(int(onnx_element_type)), _row_major(data)
        if dtype.itemsize != array.dtype.itemsize or dtype.hasobject:
            raise InvalidArgument.of(f"elements of {array.dtype} cannot be those of {dtype}: their sizes differ")
        return OrtValue(array.view(dtype))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int],
        element_type: Any = numpy.float32,
        device_type: str = CPU,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Returns a tensor of zeros.

        Parameters
        ----------
        shape : sequence of int
            The extents.
        element_type : any
            NumPy's type, or ONNX's number of the type.
        device_type : str, default 'cpu'
            Only 'cpu' is available.
        device_id : int, default 0
            The number of the device.
        vendor_id : int, default -1
            The vendor of the device, without an effect.

        Returns
        -------
        OrtValue
            The tensor.

        Raises
        ------
        InvalidArgument
            If the type is unknown, or the device is not available.
        """
        check_device(device_type)
        return OrtValue(numpy.zeros(tuple(shape), numpy_type(element_type)))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: Any) -> NoReturn:
        """Refuses a sparse tensor.

        Parameters
        ----------
        sparse_tensor : SparseTensor
            The tensor.

        Raises
        ------
        NotImplemented
            Always.
        """
        raise NotImplemented.of("sparse tensors are not available; pass a dense array")

    @classmethod
    def from_dlpack(cls, data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """Returns a tensor over the memory of a DLPack tensor.

        Parameters
        ----------
        data : any
            An object with __dlpack__() in the CPU's memory.
        is_bool_tensor : bool, default False
            Whether elements of 8 bits are booleans.

        Returns
        -------
        OrtValue
            The tensor.
        """
        array = _frazil.from_dlpack(data)
        return cls(array.view(numpy.bool_) if is_bool_tensor else array)

    def _tensor(self) -> numpy.ndarray:
        if not isinstance(self._value, numpy.ndarray):
            raise InvalidArgument.of(f"expected an OrtValue with a tensor, got one of type {self.data_type()}")
        return self._value

    def __dlpack__(self, *args: Any, **options: Any) -> Any:
        return self._tensor().__dlpack__(*args, **options)

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def to_dlpack(self) -> Any:
        """Returns a DLPack capsule over the tensor's memory.

        Returns
        -------
        capsule
            The capsule.
        """
        return self.__dlpack__()

    def data_ptr(self) -> int:
        """Returns the address of the first element.

        Returns
        -------
        int
            The address.
        """
        return int(self._tensor().ctypes.data)

    def device_name(self) -> str:
        """Returns the name of the device.

        Returns
        -------
        str
            'cpu'.
        """
        return CPU

    def shape(self) -> list[int]:
        """Returns the extents of the tensor.

        Returns
        -------
        list of int
            The extents.
        """
        return list(self._tensor().shape)

    def data_type(self) -> str:
        """Returns the type.

        Returns
        -------
        str
            Such as 'tensor(float)'.
        """
        return value_type(self._value)

    def element_type(self) -> int:
        """Returns ONNX's number of the element type.

        Returns
        -------
        int
            Such as 1 for float.
        """
        return int(_frazil.dtype(self._tensor().dtype).onnx)

    def tensor_size_in_bytes(self) -> int:
        """Returns the size of the tensor's elements.

        Returns
        -------
        int
            Bytes.
        """
        return int(self._tensor().nbytes)

    def has_value(self) -> bool:
        """Returns whether there is a value: an optional may have none.

        Returns
        -------
        bool
            Whether there is one.
        """
        return self._value is not None

    def is_tensor(self) -> bool:
        """Returns whether the value is a dense tensor.

        Returns
        -------
        bool
            Whether it is one.
        """
        return isinstance(self._value, numpy.ndarray)

    def is_sparse_tensor(self) -> bool:
        """Returns whether the value is a sparse tensor.

        Returns
        -------
        bool
            False.
        """
        return False

    def is_tensor_sequence(self) -> bool:
        """Returns whether the value is a sequence of tensors.

        Returns
        -------
        bool
            Whether it is one.
        """
        return isinstance(self._value, list) and all(isinstance(item, numpy.ndarray) for item in self._value)

    def numpy(self) -> ndarray:
        """Returns a copy of the tensor.

        Returns
        -------
        ndarray
            The copy.
        """
        return self._tensor().copy()

    def update_inplace(self, np_arr: ndarray) -> None:
        """Writes other elements into the tensor's memory.

        Parameters
        ----------
        np_arr : ndarray
            An array of the same type and shape.

        Raises
        ------
        InvalidArgument
            If the type or the shape differs, or the memory cannot be written.
        """
        array = numpy.asarray(np_arr)
        own = self._tensor()
        if array.dtype != own.dtype or array.shape != own.shape:
            raise InvalidArgument.of(
                f"update_inplace(): expected {own.dtype}{list(own.shape)}, got {array.dtype}{list(array.shape)}"
            )
        if not own.flags.writeable:
            raise InvalidArgument.of("update_inplace(): the array of the OrtValue is read-only")
        own[...] = array


class SparseTensor:
    """Sparse tensors are not available: creating one raises NotImplemented.

    Parameters
    ----------
    *args : any
        The parts of the tensor.
    **kwargs : any
        Further parts.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplemented.of("sparse tensors are not available; pass a dense array")

    @staticmethod
    def sparse_coo_from_numpy(*args: Any, **kwargs: Any) -> NoReturn:
        """Refuses a sparse tensor.

        Parameters
        ----------
        *args : any
            The parts of the tensor.
        **kwargs : any
            Further parts.

        Raises
        ------
        NotImplemented
            Always.
        """
        raise NotImplemented.of("sparse tensors are not available; pass a dense array")

    sparse_csr_from_numpy = sparse_coo_from_numpy
