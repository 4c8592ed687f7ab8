"""Files that are odd: versions, encodings of tensors, external data, texts."""

from collections.abc import Iterator

import numpy as np
from onnx import ModelProto, StringStringEntryProto, TensorProto, helper

from building import counting, f32, graph, i64, info, initializer, model, node
from records import Case

X = counting(2, 3)
W = f32(1, 2, 3)
ELEMENTS = {"float": (1, "f4"), "uint8": (2, "u1"), "int8": (3, "i1"), "uint16": (4, "u2"), "int16": (5, "i2"),
            "int32": (6, "i4"), "int64": (7, "i8"), "bool": (9, "?"), "half": (10, "f2"), "double": (11, "f8"),
            "uint32": (12, "u4"), "uint64": (13, "u8")}


def with_weight(tensor: TensorProto, op: str = "Add") -> ModelProto:
    return model(graph([node(op, ["x", "w"], ["y"])], [info("x", X)], ["y"], [tensor]))


def returned(tensor: TensorProto) -> ModelProto:
    return model(graph([node("Identity", ["w"], ["y"])], [], ["y"], [tensor]))


def versions() -> Iterator[Case]:
    def plain() -> ModelProto:
        return model(graph([node("Relu", ["x"], ["y"])], [info("x", X)], ["y"]))

    for ir in (0, -1, *range(1, 16), 99):
        made = plain()
        made.ir_version = ir
        yield Case(f"ir {ir}", made, {"x": X})
    made = plain()
    made.ClearField("ir_version")
    yield Case("no ir", made, {"x": X})
    for opset in (-1, 0, 1, 5, 6, 7, *range(20, 32), 99):
        made = plain()
        made.opset_import[0].version = opset
        yield Case(f"opset {opset}", made, {"x": X})
    imports = {"none": [], "ai.onnx": [("ai.onnx", 17)], "both": [("", 17), ("ai.onnx", 17)],
               "both differ": [("", 17), ("ai.onnx", 13)],
               "twice": [("", 17), ("", 17)], "twice differ": [("", 13), ("", 17)], "other only": [("ai.onnx.ml", 2)],
               "unknown domain too": [("", 17), ("a.b", 7)], "newer ml": [("", 17), ("ai.onnx.ml", 9)],
               "newer microsoft": [("", 17), ("com.microsoft", 9)], "training": [("", 17), ("ai.onnx.training", 1)]}
    for kind, entries in imports.items():
        made = plain()
        del made.opset_import[:]
        made.opset_import.extend(helper.make_opsetid(d, v) for d, v in entries)
        yield Case(f"opset imports: {kind}", made, {"x": X})
    for ir in (1, 2, 3):
        made = plain()
        made.ir_version = ir
        del made.opset_import[:]
        yield Case(f"no opset imports, ir {ir}", made, {"x": X})
    gelu = model(graph([node("Gelu", ["x"], ["y"], domain="com.microsoft")], [info("x", X)], ["y"]))
    yield Case("domain com.microsoft not imported", gelu, {"x": X})
    scaler = model(graph([node("Scaler", ["x"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])], [info("x", X)],
                         ["y"]))
    yield Case("domain ai.onnx.ml not imported", scaler, {"x": X})
    made = plain()
    made.graph.node[0].domain = "ai.onnx"
    del made.opset_import[:]
    made.opset_import.extend([helper.make_opsetid("ai.onnx", 17)])
    yield Case("ai.onnx in import and node", made, {"x": X})
    data = plain().SerializeToString()
    yield Case("cut file", data[:-5], {"x": X})
    yield Case("empty file", b"", {"x": X})
    yield Case("bytes after the model", data + b"\x00\x00", {"x": X})
    yield Case("unknown fields", data + b"\xfa\x3e\x03abc", {"x": X})
    yield Case("text file", b"this is not a model", {"x": X})
    no_graph = ModelProto(ir_version=8)
    no_graph.opset_import.extend([helper.make_opsetid("", 17)])
    yield Case("no graph", no_graph, {})


def texts() -> Iterator[Case]:
    def plain() -> ModelProto:
        return model(graph([node("Relu", ["x"], ["y"], doc_string="text")], [info("x", X)], ["y"]))

    made = plain()
    made.metadata_props.extend(StringStringEntryProto(key="k", value=v) for v in "ab")
    made.doc_string, made.producer_name, made.domain = "a\nb", "p" * 300, "a domain"
    yield Case("texts: repeated metadata", made, {"x": X})
    made = plain()
    made.graph.doc_string = "d" * 100_000
    yield Case("texts: long", made, {"x": X})
    made = plain()
    made.graph.node[0].name = "n" * 70_000
    yield Case("texts: long node name", made, {"x": X})
    made = plain()
    made.graph.quantization_annotation.add().tensor_name = "nothing"
    yield Case("texts: quantization annotation of nothing", made, {"x": X})
    made = plain()
    made.graph.name = "\udcff".encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    yield Case("texts: odd graph name", made, {"x": X})
    data = plain().SerializeToString()
    yield Case("texts: bytes that are not UTF-8", data.replace(b"text", b"\xff\xfe\xfd\xfc"), {"x": X})


def tensors() -> Iterator[Case]:
    for name, (element, code) in ELEMENTS.items():
        array = np.array([1, 0, 0], code)
        typed = initializer("w", array)
        yield Case(f"raw {name}", returned(typed), {})
        listed = helper.make_tensor("w", element, [3], array.tolist())
        yield Case(f"typed {name}", returned(listed), {})
        longer, shorter, both = TensorProto(), TensorProto(), TensorProto()
        longer.CopyFrom(typed)
        longer.raw_data += b"\0" * 8
        yield Case(f"raw {name} too long", returned(longer), {})
        shorter.CopyFrom(typed)
        shorter.raw_data = typed.raw_data[:-1]
        yield Case(f"raw {name} too short", returned(shorter), {})
        both.CopyFrom(listed)
        both.raw_data = array[::-1].tobytes()
        yield Case(f"raw and typed {name}", returned(both), {})
        for kind, extent in {"too long": 2, "too short": 4}.items():
            odd = TensorProto()
            odd.CopyFrom(listed)
            odd.dims[0] = extent
            yield Case(f"typed {name} {kind}", returned(odd), {})
        nothing = TensorProto(name="w", data_type=element, dims=[0])
        yield Case(f"no elements {name}", returned(nothing), {})
        nothing = TensorProto(name="w", data_type=element, dims=[3])
        yield Case(f"no data {name}", returned(nothing), {})
    odd = TensorProto(name="w", data_type=TensorProto.UINT8, dims=[2], int32_data=[300, -1])
    yield Case("elements out of range uint8", returned(odd), {})
    odd = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[2], int32_data=[7, 0])
    yield Case("elements out of range bool", returned(odd), {})
    odd = TensorProto(name="w", data_type=TensorProto.BOOL, dims=[2], raw_data=b"\x07\x00")
    yield Case("raw bool out of range", returned(odd), {})
    odd = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2], int32_data=[1, 2])
    yield Case("float in int32_data", returned(odd), {})
    odd = TensorProto(name="w", data_type=TensorProto.INT64, dims=[2], int32_data=[1, 2])
    yield Case("int64 in int32_data", returned(odd), {})
    odd = TensorProto(name="w", data_type=TensorProto.INT32, dims=[2], int64_data=[1, 2])
    yield Case("int32 in int64_data", returned(odd), {})
    odd = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-1], float_data=[1, 2])
    yield Case("negative extent", returned(odd), {})
    odd = TensorProto(name="w", dims=[2], float_data=[1, 2])
    yield Case("no element type", returned(odd), {})
    odd = TensorProto(name="w", data_type=99, dims=[2], raw_data=b"ab")
    yield Case("unknown element type", returned(odd), {})
    yield Case("scalar with no dims", with_weight(initializer("w", np.array(2, np.float32))), {"x": X})
    text = helper.make_tensor("w", TensorProto.STRING, [2], [b"a", "é".encode()])
    yield Case("strings", returned(text), {})
    text.raw_data = b"ab"
    yield Case("strings and raw data", returned(text), {})
    unnamed = initializer("", W)
    yield Case("initializer without a name",
               model(graph([node("Relu", ["x"], ["y"])], [info("x", X)], ["y"], [unnamed])), {"x": X})
    segment = initializer("w", W)
    segment.segment.begin, segment.segment.end = 0, 3
    yield Case("segment", with_weight(segment), {"x": X})


def sparse(values, indices, shape, name: str = "w") -> ModelProto:
    made = model(graph([node("Add", ["x", "w"], ["y"])], [info("x", counting(5))], ["y"]))
    tensor = helper.make_sparse_tensor(initializer(name, values), initializer("i", indices), shape)
    made.graph.sparse_initializer.append(tensor)
    return made


def sparse_tensors() -> Iterator[Case]:
    x = {"x": counting(5)}
    yield Case("sparse", sparse(f32(5, 6), i64(1, 3), [5]), x)
    yield Case("sparse matrix of indices", sparse(f32(5, 6), i64(1, 3).reshape(2, 1), [5]), x)
    yield Case("sparse unsorted", sparse(f32(5, 6), i64(3, 1), [5]), x)
    yield Case("sparse repeated", sparse(f32(5, 6), i64(1, 1), [5]), x)
    yield Case("sparse out of range", sparse(f32(5, 6), i64(1, 5), [5]), x)
    yield Case("sparse nothing", sparse(np.zeros(0, np.float32), np.zeros(0, np.int64), [5]), x)
    yield Case("sparse int32 indices", sparse(f32(5, 6), np.array([1, 3], np.int32), [5]), x)


def external(**entries: str) -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.append(StringStringEntryProto(key=key, value=value))
    return tensor


def external_data() -> Iterator[Case]:
    content = W.tobytes()
    tables = {
        "location only": ({"location": "%"}, content),
        "location only, longer file": ({"location": "%"}, content * 2),
        "offset only": ({"location": "%", "offset": "4"}, b"abcd" + content),
        "length only": ({"location": "%", "length": "12"}, content + b"abcd"),
        "offset and length": ({"location": "%", "offset": "4", "length": "12"}, b"abcd" + content),
        "unaligned offset": ({"location": "%", "offset": "3", "length": "12"}, b"abc" + content),
        "length 0": ({"location": "%", "offset": "0", "length": "0"}, content),
        "length short": ({"location": "%", "length": "8"}, content),
        "length long": ({"location": "%", "length": "16"}, content * 2),
        "offset beyond": ({"location": "%", "offset": "400"}, content),
        "offset negative": ({"location": "%", "offset": "-4"}, content),
        "offset text": ({"location": "%", "offset": "4x"}, content * 2),
        "short file": ({"location": "%"}, content[:8]),
        "./": ({"location": "./%"}, content),
        "checksum": ({"location": "%", "checksum": "wrong"}, content),
        "unknown key": ({"location": "%", "odd": "1"}, content),
        "no location": ({}, content),
        "empty location": ({"location": ""}, content),
        "missing file": ({"location": "nothing.bin"}, content),
    }
    for number, (name, (entries, data)) in enumerate(tables.items()):
        file = f"external_{number}.bin"
        named = {key: value.replace("%", file) for key, value in entries.items()}
        yield Case(f"external/{name}", with_weight(external(**named)), {"x": X}, (), {file: data})
    both = external(location="external_raw.bin")
    both.raw_data = f32(7, 8, 9).tobytes()
    yield Case("external/and raw data", with_weight(both), {"x": X}, (), {"external_raw.bin": content})


def cases() -> Iterator[Case]:
    for table in (versions, texts, tensors, sparse_tensors, external_data):
        for case in table():
            case.name = f"file/{case.name}"
            yield case
