"""Small ONNX files for the tests of frazil.onnxruntime, made without the package onnx."""

import pathlib
import tempfile

import frazil
import numpy as np

AFFINE = "graph affine(%x: f32[N,2], %z: i64[1]) { %y: f32[N,2] = Add(%x, f32[1] [1]) return y = %y, z = %z }"
#: y = 2 x
DOUBLE = "graph double(%x: f32[N,2]) { %y: f32[N,2] = Add(%x, %x) return y = %y }"
#: y = x w + b, with constants that a run may replace
LINEAR = """graph linear(%x: f32[N,2], %w: f32[2,2] = [1, 0, 0, 1], %b: f32[2] = [0, 0]) {
  %t: f32[N,2] = MatMul(%x, %w)
  %y: f32[N,2] = Add(%t, %b)
  return y = %y
}"""
#: counts down for ever
ENDLESS = """graph endless(%x: f32[]) {
  %y = Loop(_, bool[] true, %x) body(%i, %go, %v) { %n = Add(%v, f32[] 1) yield %go, %n }
  return y = %y
}"""


def bytes_of(text, weights=None):
    """Returns the ONNX file of a graph in the text form."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        frazil.from_text(text, weights).save(path)
        return path.read_bytes()


def varint(number):
    """Returns a number in protobuf's form."""
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def field(number, value):
    """Returns a protobuf field: a number, or bytes and texts. Of equal fields, the last one counts."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def described(model):
    """Returns the file with a description and custom metadata."""
    entries = b"".join(field(14, field(1, key) + field(2, value)) for key, value in (("character", "a\nb"), ("k", "v")))
    return (
        model + field(2, "maker") + field(3, "9.1") + field(4, "org.example") + field(5, 7) + field(6, "says") + entries
    )


def with_ir_version(model, version):
    """Returns the file with another version of ONNX's format."""
    return model + field(1, version)


def tensor_type(element, dims):
    """Returns a TypeProto: dims are numbers, texts or None."""
    shape = b"".join(
        field(1, b"" if d is None else field(1, d) if isinstance(d, int) else field(2, d)) for d in dims
    )
    return field(1, field(1, element) + field(2, shape))


def node(op, inputs, outputs, domain="", **attributes):
    """Returns a NodeProto. Attributes are integers."""
    ports = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs)
    given = b"".join(field(5, field(1, name) + field(3, value) + field(20, 2)) for name, value in attributes.items())
    return field(1, ports + field(4, op) + given + (field(7, domain) if domain else b""))


def model_of(nodes, inputs, outputs, opset=17, domains=()):
    """Returns an ONNX file: nodes of node(); inputs and outputs are pairs of a name and a TypeProto."""
    graph = b"".join(nodes) + field(2, "made")
    graph += b"".join(field(11, field(1, name) + field(2, kind)) for name, kind in inputs)
    graph += b"".join(field(12, field(1, name) + (field(2, kind) if kind else b"")) for name, kind in outputs)
    imports = field(8, field(2, opset)) + b"".join(field(8, field(1, name) + field(2, 1)) for name in domains)
    return field(1, 8) + field(7, graph) + imports


def rows(*values):
    """Returns a float32 matrix."""
    return np.array(values, np.float32)
