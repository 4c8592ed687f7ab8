"""Files of weights: safetensors, and PyTorch's zip files, which are read without executing pickled code."""

from __future__ import annotations

import json
import math
import os
from typing import Any, Mapping

import numpy

from .._frazil import dtype as dtype_of
from ..errors import BadInput, Unsupported
from ..nn.arrays import to_array
from . import torch_files
from .mapped import array_at, mapped

SAFE_TYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
MOST_HEADER_BYTES = 100_000_000  # as in the format's own reader


def load_state_dict(path: str | os.PathLike[str], *, key: str | None = None) -> dict[str, numpy.ndarray]:
    """Reads weights by name: a file in the format safetensors, or a zip file by torch.save().

    No pickled code runs: everything except tensors, numbers, texts, lists and dicts is refused by name. The file must
    not change while the arrays are in use.

    Parameters
    ----------
    path : str or path
        The file.
    key : str, optional
        Selects a dict if a file of PyTorch contains several ("model.state" for nested ones).

    Returns
    -------
    dict of ndarray
        Read-only views of the mapped file, without copies.

    Raises
    ------
    BadInput
        If the file is damaged, or has other contents.
    Unsupported
        If the format or an element type is unknown.
    """
    name = os.fspath(path)
    data = mapped(name)
    if data[:4].tobytes() == b"PK\x03\x04":
        return torch_files.read(name, data, key)
    if data[:2].tobytes() in (b"\x80\x02", b"\x80\x03", b"\x80\x04"):
        raise Unsupported(f"{name}: the format of PyTorch before 1.6: save it again, or as safetensors")
    if key is not None:
        raise BadInput(f"{name}: 'key' is for files of PyTorch")
    return _read_safetensors(name, data)


def _read_safetensors(name: str, data: numpy.ndarray) -> dict[str, numpy.ndarray]:
    header, start = _header(name, data)
    arrays, ranges = {}, []
    for tensor, entry in header.items():
        if tensor == "__metadata__":
            continue
        dtype, shape, begin, end = _entry(f"{name}: tensor '{tensor}'", entry)
        if end > len(data) - start:
            raise BadInput(
                f"{name}: tensor '{tensor}' ends at {end}, but the file has {len(data) - start} bytes of data"
            )
        ranges.append((begin, end, tensor))
        arrays[tensor] = array_at(data, start + begin, math.prod(shape), dtype).reshape(shape)
        if dtype == numpy.bool_ and arrays[tensor].size and arrays[tensor].view(numpy.uint8).max() > 1:
            raise BadInput(f"{name}: tensor '{tensor}' has a bool other than 0 and 1")
    at, before = 0, "the header"
    for begin, end, tensor in sorted(ranges):
        if begin != at:
            what = "overlap" if begin < at else "have a hole between them"
            raise BadInput(f"{name}: {before} and tensor '{tensor}' {what}")
        at, before = end, f"tensor '{tensor}'"
    if at != len(data) - start:
        raise BadInput(f"{name}: {len(data) - start - at} bytes behind the last tensor")
    return arrays


def _header(name: str, data: numpy.ndarray) -> tuple[dict[str, Any], int]:
    length = int.from_bytes(data[:8].tobytes(), "little")
    if len(data) < 8 or length > min(len(data) - 8, MOST_HEADER_BYTES) or data[8:9].tobytes() != b"{":
        raise BadInput(f"{name}: neither in the format safetensors nor a zip file of PyTorch")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            raise ValueError("a name is given twice")
        return made

    try:
        header = json.loads(data[8 : 8 + length].tobytes().decode("utf-8"), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{name}: the header is not valid: {error}") from None
    if not isinstance(header, dict):
        raise BadInput(f"{name}: the header is not an object")
    return header, 8 + length


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _entry(what: str, entry: Any) -> tuple[numpy.dtype[Any], tuple[int, ...], int, int]:
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= set(entry):
        raise BadInput(f"{what}: expected dtype, shape and data_offsets")
    if entry["dtype"] not in SAFE_TYPES:
        raise Unsupported(f"{what}: unknown element type {entry['dtype']!r}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not isinstance(shape, list) or not all(map(_is_count, shape)) or len(shape) > 32:
        raise BadInput(f"{what}: wrong shape {shape!r}")
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(map(_is_count, offsets))
        or offsets[0] > offsets[1]
    ):
        raise BadInput(f"{what}: wrong data_offsets {offsets!r}")
    dtype = dtype_of(SAFE_TYPES[entry["dtype"]]).numpy
    wanted = math.prod(shape) * dtype.itemsize
    if offsets[1] - offsets[0] != wanted:
        raise BadInput(f"{what}: {offsets[1] - offsets[0]} bytes, but {wanted} by type and shape")
    return dtype, tuple(shape), offsets[0], offsets[1]


def save_safetensors(
    state_dict: Mapping[str, Any], path: str | os.PathLike[str], metadata: Mapping[str, str] | None = None
) -> None:
    """Writes arrays by name in the format safetensors. An existing file is only replaced by a complete one.

    Parameters
    ----------
    state_dict : dict
        Arrays, Parameters or tensors of PyTorch by name.
    path : str or path
        The file.
    metadata : dict of str, optional
        Texts by name.

    Raises
    ------
    BadInput
        If a name is "__metadata__", metadata is not text, or the file cannot be written.
    Unsupported
        If the format lacks an element type.
    """
    codes = {dtype_of(name).name: code for code, name in SAFE_TYPES.items()}
    header: dict[str, Any] = {}
    if metadata:
        if not all(isinstance(part, str) for pair in metadata.items() for part in pair):
            raise BadInput("metadata: names and values are texts")
        header["__metadata__"] = dict(metadata)
    arrays, at = [], 0
    for name, value in sorted(
        state_dict.items(), key=lambda item: -to_array(item[1]).dtype.itemsize
    ):  # aligns all elements
        array = numpy.asarray(to_array(value), order="C")
        element = dtype_of(array.dtype).name
        if element not in codes or name == "__metadata__":
            kind = BadInput if name == "__metadata__" else Unsupported
            raise kind(f"tensor '{name}' of type {element} cannot be written in the format safetensors")
        header[name] = {"dtype": codes[element], "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        arrays.append(array)
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)
    temporary = f"{os.fspath(path)}.{os.getpid()}.tmp"
    try:
        with open(temporary, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for array in arrays:
                file.write(array.reshape(-1).view(numpy.uint8).data)
        os.replace(temporary, path)
    except OSError as error:
        raise BadInput(f"{os.fspath(path)}: {error.strerror or error}") from None
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)
