"""PyTorch's zip files of tensors. Their pickled data is read by an unpickler that only supports tensors."""

from __future__ import annotations

import collections
import io
import math
import pickle
import struct
import zipfile
from typing import Any, NamedTuple

import numpy

from .._frazil import dtype as dtype_of
from ..errors import BadInput, Unsupported
from .mapped import array_at

STORAGES = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
    "BoolStorage": "bool", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
}  # fmt: skip
TYPES = {
    "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64",
    "bool", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
}  # fmt: skip
MOST_PICKLE_BYTES = 1 << 28
MOST_EXPANDED = 1 << 20  # limit for the elements of a tensor that exceeds its storage


class ElementType(NamedTuple):
    """torch.float32 etc., and types of storages; None: bytes."""

    name: str | None


class Storage(NamedTuple):
    """The elements of a storage, which tensors may share."""

    key: str
    elements: numpy.ndarray


class Archive:
    """The entries of a zip file. They are not compressed and are used in place."""

    def __init__(self, name: str, data: numpy.ndarray) -> None:
        self.name, self.data = name, data
        try:
            with zipfile.ZipFile(io.BufferedReader(_Bytes(data))) as file:
                entries = file.infolist()
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError, struct.error) as error:
            raise BadInput(f"{name}: a damaged zip file: {error}") from None
        self.entries: dict[str, tuple[int, int]] = {}
        for entry in entries:
            self._add(entry)
        roots = {path.split("/", 1)[0] for path in self.entries}
        if len(roots) != 1 or f"{min(roots)}/data.pkl" not in self.entries:
            raise BadInput(f"{name}: a zip file, but not one of torch.save()")
        self.root = min(roots)

    def _add(self, entry: zipfile.ZipInfo) -> None:
        path, what = entry.filename, f"{self.name}: entry '{entry.filename}'"
        if path.startswith("/") or "\\" in path or ".." in path.split("/") or "\0" in path:
            raise BadInput(f"{what}: a path out of the archive")
        if path in self.entries:
            raise BadInput(f"{what}: twice in the archive")
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or entry.flag_bits & 1:
            raise Unsupported(f"{what}: compressed or encrypted; torch.save() stores entries as they are")
        head = self.data[entry.header_offset : entry.header_offset + 30].tobytes()
        if len(head) < 30 or head[:4] != b"PK\x03\x04":
            raise BadInput(f"{what}: its header is damaged")
        begin = entry.header_offset + 30 + sum(struct.unpack("<HH", head[26:30]))
        if begin + entry.file_size > len(self.data):
            raise BadInput(f"{what}: ends behind the file")
        self.entries[path] = (begin, entry.file_size)

    def find(self, path: str) -> tuple[int, int] | None:
        """Returns the offset and size of an entry."""
        return self.entries.get(f"{self.root}/{path}")

    def bytes_of(self, path: str) -> bytes:
        """Returns the bytes of an entry; empty if it is missing."""
        begin, size = self.find(path) or (0, 0)
        return self.data[begin : begin + size].tobytes()


class _Bytes(io.RawIOBase):
    """A file object over bytes."""

    def __init__(self, data: numpy.ndarray) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        at = offset + (0, self._at, len(self._data))[whence]
        if at < 0:
            raise ValueError("a position in front of the file")
        self._at = at
        return at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        part = self._data[self._at : self._at + len(buffer)]
        buffer[: len(part)] = part.tobytes()
        self._at += len(part)
        return len(part)


class TensorUnpickler(pickle.Unpickler):
    """Creates tensors, numbers, texts, lists and dicts. Every other global is refused by name before any call."""

    def __init__(self, archive: Archive) -> None:
        super().__init__(io.BytesIO(archive.bytes_of("data.pkl")), encoding="utf-8")
        self._archive = archive
        self._storages: dict[tuple[str, str | None], Storage] = {}
        self._globals: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch", "Size"): tuple,
            ("torch._utils", "_rebuild_tensor"): self._tensor,
            ("torch._utils", "_rebuild_tensor_v2"): self._tensor,
            ("torch._utils", "_rebuild_tensor_v3"): self._typed_tensor,
            ("torch._utils", "_rebuild_parameter"): self._parameter,
            ("torch.storage", "UntypedStorage"): ElementType(None),
        }
        self._globals |= {("torch", name): ElementType(of) for name, of in STORAGES.items()}
        self._globals |= {("torch", name): ElementType(name) for name in TYPES}

    def find_class(self, module: str, name: str) -> Any:
        """Returns one of the few globals that tensors need."""
        found = self._globals.get((module, name))
        if found is None:
            raise BadInput(
                f"{self._archive.name}: the pickled data names '{module}.{name}', which is not loaded: tensors only"
            )
        return found

    def persistent_load(self, pid: Any) -> Storage:
        """Returns the elements in an entry of the archive."""
        what = f"{self._archive.name}: a storage"
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage" or not isinstance(pid[1], ElementType):
            raise BadInput(f"{what} is described by {str(pid)[:100]!r}")
        _, kind, key, _, count = pid
        if not isinstance(key, str) or not isinstance(count, int) or count < 0:
            raise BadInput(f"{what} is described by {str(pid)[:100]!r}")
        known = self._storages.get((key, kind.name))
        if known is None:
            found = self._archive.find(f"data/{key}")
            dtype = numpy.dtype(numpy.uint8) if kind.name is None else dtype_of(kind.name).numpy
            if found is None or found[1] != count * dtype.itemsize:
                have = "no entry" if found is None else f"{found[1]} bytes"
                raise BadInput(f"{what}, '{key}', has {have} in the archive, expected {count * dtype.itemsize} bytes")
            known = Storage(key, array_at(self._archive.data, found[0], count, dtype))
            self._storages[key, kind.name] = known
        return known

    def _tensor(self, storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> numpy.ndarray:
        what = f"{self._archive.name}: a tensor"
        if not isinstance(storage, Storage) or not isinstance(size, tuple) or not isinstance(stride, tuple):
            raise BadInput(f"{what} is not described by a storage, a size and strides")
        numbers = (offset, *size, *stride)
        if len(size) != len(stride) or len(size) > 32 or not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers):
            raise BadInput(f"{what} has offset {offset!r}, size {size!r} and strides {stride!r}")
        elements, count = storage.elements, math.prod(size)
        last = offset + sum((n - 1) * step for n, step in zip(size, stride)) if count else offset - 1
        if last >= len(elements) or offset > len(elements):
            raise BadInput(
                f"{what} of size {size} reaches element {last} of storage '{storage.key}' with {len(elements)}"
            )
        if count > max(len(elements), MOST_EXPANDED):
            raise BadInput(f"{what} of size {size} repeats the {len(elements)} elements of storage '{storage.key}'")
        strides = tuple(step * elements.itemsize for step in stride)
        return numpy.lib.stride_tricks.as_strided(elements[offset:], size, strides, writeable=False)

    def _typed_tensor(
        self, storage: Any, offset: Any, size: Any, stride: Any, grad: Any, hooks: Any, dtype: Any, *_: Any
    ) -> numpy.ndarray:
        if not isinstance(storage, Storage) or not isinstance(dtype, ElementType) or dtype.name is None:
            raise BadInput(f"{self._archive.name}: a tensor is not described by a storage and a type")
        to = dtype_of(dtype.name).numpy
        if storage.elements.nbytes % to.itemsize:
            raise BadInput(
                f"{self._archive.name}: storage '{storage.key}' has no whole number of elements of {dtype.name}"
            )
        return self._tensor(Storage(storage.key, storage.elements.view(to)), offset, size, stride)

    def _parameter(self, data: Any, *_: Any) -> Any:
        if not isinstance(data, numpy.ndarray):
            raise BadInput(f"{self._archive.name}: a parameter is not described by a tensor")
        return data


def read(name: str, data: numpy.ndarray, key: str | None) -> dict[str, numpy.ndarray]:
    """Returns the tensors of a file by name; see frazil.load_state_dict()."""
    archive = Archive(name, data)
    if archive.bytes_of("byteorder") not in (b"", b"little"):
        raise Unsupported(f"{name}: written on a machine with another byte order")
    if (archive.find("data.pkl") or (0, 0))[1] > MOST_PICKLE_BYTES:
        raise BadInput(f"{name}: more than {MOST_PICKLE_BYTES} bytes of pickled data")
    try:
        value = TensorUnpickler(archive).load()
    except (BadInput, Unsupported):
        raise
    except Exception as error:  # damaged data may raise anything
        raise BadInput(f"{name}: the pickled data is damaged: {type(error).__name__}: {error}") from None
    for part in key.split(".") if key else ():
        if not isinstance(value, dict) or part not in value:
            raise BadInput(f"{name}: there is no {key!r}: {_names(value)}")
        value = value[part]
    if not isinstance(value, dict) or not all(isinstance(x, numpy.ndarray) for x in value.values()):
        raise BadInput(f"{name}: not a dict of tensors: {_names(value)}; 'key' names one inside")
    if not all(isinstance(tensor, str) for tensor in value):
        raise BadInput(f"{name}: a tensor has a name that is not a text")
    return dict(value)


def _names(value: Any) -> str:
    if not isinstance(value, dict):
        return f"it is a {type(value).__name__}"
    return "it has " + ", ".join(repr(part)[:60] for part in list(value)[:10])
