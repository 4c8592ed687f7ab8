"""The records of driver.cc, and what two libraries answered."""

import dataclasses
import pathlib
import struct
import subprocess
import tempfile

import numpy as np
import onnx

TENSOR, SEQUENCE, MAP = 1, 2, 3
STRING = onnx.TensorProto.STRING
DTYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8",
          14: "c8", 15: "c16"}
INTERFACE_TYPES = {24: 26, 25: 24, 26: 25}  # where ONNX Runtime's numbers are not ONNX's: float8e8m0, uint2, int2
RAN, LOAD_REFUSED, RUN_REFUSED, ENDED = range(4)


@dataclasses.dataclass
class Case:
    """A model with the inputs of one run, and the outputs to fetch. No names of outputs: all."""

    name: str
    model: onnx.ModelProto | bytes
    inputs: dict[str, np.ndarray | onnx.TensorProto]
    fetch: tuple[str, ...] = ()
    files: dict[str, bytes] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Answer:
    """What a library did with a case."""

    outcome: int
    text: str
    outputs: dict[str, object]


# ---- what the driver reads ----

def text_record(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def data_type(array: np.ndarray | onnx.TensorProto) -> int:
    if isinstance(array, onnx.TensorProto):
        return array.data_type
    if array.dtype.kind in "OUS":
        return STRING
    return next(key for key, code in DTYPES.items() if np.dtype(code) == array.dtype)


def raw_bytes(tensor: onnx.TensorProto) -> bytes:
    """The elements in memory. Types that NumPy lacks are stored as they are."""
    if tensor.HasField("raw_data"):
        return tensor.raw_data
    if tensor.data_type in DTYPES:
        return onnx.numpy_helper.to_array(tensor).tobytes()
    wide = tensor.data_type == onnx.TensorProto.BFLOAT16
    return np.array(tensor.int32_data, dtype="u2" if wide else "u1").tobytes()


def tensor_record(array: np.ndarray | onnx.TensorProto) -> bytes:
    kind = data_type(array)
    is_proto = isinstance(array, onnx.TensorProto)
    shape = tuple(array.dims) if is_proto else array.shape
    head = struct.pack(f"<II{len(shape)}q", INTERFACE_TYPES.get(kind, kind), len(shape), *shape)
    if kind == STRING:
        items = list(array.string_data) if is_proto else list(array.flatten())
        return head + struct.pack("<Q", len(items)) + b"".join(text_record(item) for item in items)
    return head + text_record(raw_bytes(array) if is_proto else np.ascontiguousarray(array).tobytes())


def write_case(case: Case, folder: pathlib.Path, number: int) -> None:
    data = case.model if isinstance(case.model, bytes) else case.model.SerializeToString()
    (folder / f"{number}.onnx").write_bytes(data)
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    record = struct.pack("<I", len(case.inputs))
    for name, array in case.inputs.items():
        record += text_record(name) + tensor_record(array)
    record += struct.pack("<I", len(case.fetch)) + b"".join(text_record(name) for name in case.fetch)
    (folder / f"{number}.in").write_bytes(record)


# ---- what the driver writes ----

class Cursor:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size:self.at]

    def numbers(self, codes: str) -> tuple:
        return struct.unpack("<" + codes, self.take(struct.calcsize("<" + codes)))

    def blob(self) -> bytes:
        return self.take(self.numbers("Q")[0])

    def value(self):
        (kind,) = self.numbers("I")
        if kind == TENSOR:
            return self.tensor()
        if kind in (SEQUENCE, MAP):
            return [kind] + [self.value() for _ in range(self.numbers("I")[0])]
        return ("none", kind)

    def tensor(self):
        element, rank = self.numbers("II")
        shape = self.numbers(f"{rank}q")
        if element == STRING:
            return element, shape, [self.blob() for _ in range(self.numbers("Q")[0])]
        data = self.blob()
        return element, shape, np.frombuffer(data, DTYPES.get(element, "u1"))

    def answer(self) -> Answer:
        (outcome,) = self.numbers("I")
        text = self.blob().decode(errors="replace")
        outputs = {}
        if outcome == RAN:
            for _ in range(self.numbers("I")[0]):
                name = self.blob().decode(errors="replace")
                outputs[name] = self.value()
        return Answer(outcome, text, outputs)


def answers(driver: pathlib.Path, library: pathlib.Path, folder: pathlib.Path, count: int, parts: int) -> list[Answer]:
    """Runs cases 0 to `count` - 1 in as many processes as `parts`."""
    bounds = [count * part // parts for part in range(parts + 1)]
    outputs = [tempfile.TemporaryFile() for _ in range(parts)]
    jobs = [subprocess.Popen([driver, library, folder, str(begin), str(end)], stdout=output, stdin=subprocess.DEVNULL)
            for begin, end, output in zip(bounds, bounds[1:], outputs)]
    found = []
    for job, output in zip(jobs, outputs):
        if job.wait() != 0:
            raise RuntimeError(f"{driver} ended with code {job.returncode}")
        output.seek(0)
        cursor = Cursor(output.read())
        while cursor.at < len(cursor.data):
            found.append(Cursor(cursor.blob()).answer())
    return found


# ---- comparison ----

def difference(theirs, ours) -> str:
    """Returns how two values differ, or "". Floats may differ as far as the order of sums affects them, which
    depends on the largest."""
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        return next((text for a, b in zip(theirs[1:], ours[1:]) if (text := difference(a, b))), "")
    if not (isinstance(theirs, tuple) and isinstance(ours, tuple) and len(theirs) == 3 and len(ours) == 3):
        return "" if theirs == ours else f"{str(theirs)[:80]} / {str(ours)[:80]}"
    if theirs[:2] != ours[:2]:
        return f"type and shape {theirs[:2]} / {ours[:2]}"
    a, b = theirs[2], ours[2]
    if isinstance(a, list) or a.dtype.kind not in "fc":
        same = list(a) == list(b)
    else:
        tolerance = 1e-2 if a.dtype.itemsize == 2 else 1e-4
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=1.0)
        with np.errstate(all="ignore"):
            same = np.allclose(a, b, rtol=tolerance, atol=tolerance / 10 * largest, equal_nan=True)
    return "" if same else f"{str(np.array(a))[:120]} / {str(np.array(b))[:120]}".replace("\n", " ")
