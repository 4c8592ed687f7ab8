"""Makes the models of the tables."""

from collections.abc import Iterator, Sequence

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from records import Case, data_type

IR_VERSION, OPSET = 8, 17
F32, F64, I32, I64, U8, I8, BOOL = np.float32, np.float64, np.int32, np.int64, np.uint8, np.int8, np.bool_


def f32(*values: float) -> np.ndarray:
    return np.array(values, F32)


def i64(*values: int) -> np.ndarray:
    return np.array(values, I64)


def i32(*values: int) -> np.ndarray:
    return np.array(values, I32)


def scalar(value, dtype=I64) -> np.ndarray:
    return np.array(value, dtype)


def counting(*shape: int, dtype=F32) -> np.ndarray:
    """1, 2, 3, ... of a shape."""
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


def info(name: str, like: np.ndarray | None = None, shape: Sequence | None = (),
         element: int | None = None) -> ValueInfoProto:
    """A value's type: that of an array, or an element type with a shape."""
    if like is not None:
        return helper.make_tensor_value_info(name, data_type(like), like.shape)
    return helper.make_tensor_value_info(name, TensorProto.FLOAT if element is None else element, shape)


def untyped(name: str) -> ValueInfoProto:
    return ValueInfoProto(name=name)


def initializer(name: str, array: np.ndarray) -> TensorProto:
    return numpy_helper.from_array(array, name)


def node(op: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", name: str = "",
         **attributes) -> NodeProto:
    return helper.make_node(op, list(inputs), list(outputs), name=name, domain=domain, **attributes)


def graph(nodes: Sequence[NodeProto], inputs=(), outputs=(), initializers=(), name: str = "g") -> GraphProto:
    """Inputs and outputs are infos, or names, which then have no type."""
    def as_info(port):
        return untyped(port) if isinstance(port, str) else port
    return helper.make_graph(list(nodes), name, [as_info(i) for i in inputs], [as_info(o) for o in outputs],
                             initializer=list(initializers))


def model(body: GraphProto, opset: int = OPSET, ir: int = IR_VERSION, domains: Sequence[str] = (),
          **fields) -> ModelProto:
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    made = helper.make_model(body, opset_imports=imports, **fields)
    made.ir_version = ir
    return made


def rows_of_one(name: str, op: str, arrays: Sequence[np.ndarray | None], *, outputs: int = 1, opset: int = OPSET,
                ir: int = IR_VERSION, domain: str = "", **attributes) -> Iterator[Case]:
    """One node in three models: its inputs are given, or constants but for the first, or have open extents."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(arrays)]
    given = {n: a for n, a in zip(names, arrays) if a is not None}
    outs = [f"y{i}" for i in range(outputs)]
    made = node(op, names, outs, domain=domain, name="the_node", **attributes)
    domains = [domain] if domain else []

    def case(kind: str, constants: Sequence[str], open_extents: bool) -> Case:
        inputs = {n: a for n, a in given.items() if n not in constants}
        infos = [info(n, shape=[f"{n}_{axis}" for axis in range(a.ndim)], element=data_type(a)) if open_extents
                 else info(n, a) for n, a in inputs.items()]
        body = graph([made], infos, outs, [initializer(n, given[n]) for n in constants])
        return Case(f"{op}/{name}/{kind}", model(body, opset, ir, domains), inputs)

    yield case("given", [], False)
    if len(given) > 1:
        yield case("constant", list(given)[1:], False)
    yield case("open", [], True)
