"""Writes the model y = x + x on f32[N,2] as ONNX: double_model.py FILE"""

import sys

def field(number, content):
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content

shape = field(1, field(2, b"N")) + field(1, field(1, 2))
type_of = field(1, field(1, 1) + field(2, shape))
node = field(1, b"x") + field(1, b"x") + field(2, b"y") + field(4, b"Add")
port = lambda name: field(1, name) + field(2, type_of)
graph = field(1, node) + field(2, b"g") + field(11, port(b"x")) + field(12, port(b"y"))
open(sys.argv[1], "wb").write(field(1, 8) + field(7, graph) + field(8, field(2, 17)))
