"""ONNX's own cases of operators, as they are and with one deviation each."""

import collections
import copy
import pathlib
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from records import Case

DEBIAN_CASES = pathlib.Path("/usr/include/onnx/backend/test/data/node")
CASES_PER_OPERATOR = 2
Inputs = dict[str, TensorProto]


def read_case(folder: pathlib.Path) -> tuple[ModelProto, Inputs] | None:
    """Reads a case and its first inputs, if all of them are tensors."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    inputs = {}
    for number, info in enumerate(model.graph.input):
        path = folder / "test_data_set_0" / f"input_{number}.pb"
        if not info.type.HasField("tensor_type") or not path.exists():
            return None
        tensor = TensorProto()
        tensor.ParseFromString(path.read_bytes())
        inputs[info.name] = tensor
    return model, inputs


# ---- deviations: each changes its arguments, and returns whether it applies ----

def all_constant(model: ModelProto, inputs: Inputs) -> bool:
    """All inputs but the first are initializers."""
    names = list(inputs)[1:]
    for name in names:
        tensor = model.graph.initializer.add()
        tensor.CopyFrom(inputs.pop(name))
        tensor.name = name
    keep = [info for info in model.graph.input if info.name not in names]
    del model.graph.input[:]
    model.graph.input.extend(keep)
    return bool(names)


def set_shape(model: ModelProto, name: str, shape: tuple[int, ...]) -> None:
    info = next(info for info in model.graph.input if info.name == name)
    info.CopyFrom(helper.make_tensor_value_info(name, info.type.tensor_type.elem_type, shape))


def reshape_input(model: ModelProto, inputs: Inputs, index: int, shape: tuple[int, ...]) -> None:
    name = list(inputs)[index]
    del inputs[name].dims[:]
    inputs[name].dims.extend(shape)
    set_shape(model, name, shape)


def scalar_as_vector(index: int):
    def change(model: ModelProto, inputs: Inputs) -> bool:
        values = list(inputs.values())
        if index >= len(values) or len(values[index].dims) != 0:
            return False
        reshape_input(model, inputs, index, (1,))
        return True
    return change


def vector_as_scalar(index: int):
    def change(model: ModelProto, inputs: Inputs) -> bool:
        values = list(inputs.values())
        if index >= len(values) or list(values[index].dims) != [1]:
            return False
        reshape_input(model, inputs, index, ())
        return True
    return change


def with_more_ranks(index: int):
    def change(model: ModelProto, inputs: Inputs) -> bool:
        values = list(inputs.values())
        if index >= len(values) or len(values[index].dims) != 1:
            return False
        reshape_input(model, inputs, index, (1, values[index].dims[0]))
        return True
    return change


def other_type(index: int, before: int, after: int):
    """Converts one input, from int64 to int32 for instance."""
    def change(model: ModelProto, inputs: Inputs) -> bool:
        names = list(inputs)
        if index >= len(names) or inputs[names[index]].data_type != before:
            return False
        array = numpy_helper.to_array(inputs[names[index]]).astype(helper.mapping.TENSOR_TYPE_TO_NP_TYPE[after])
        inputs[names[index]].CopyFrom(numpy_helper.from_array(array))
        set_shape(model, names[index], array.shape)
        info = next(info for info in model.graph.input if info.name == names[index])
        info.type.tensor_type.elem_type = after
        return True
    return change


def unknown_attribute(model: ModelProto, inputs: Inputs) -> bool:
    model.graph.node[0].attribute.append(helper.make_attribute("no_such_attribute", 1))
    return True


def consumed_inputs(model: ModelProto, inputs: Inputs) -> bool:
    model.graph.node[0].attribute.append(helper.make_attribute("consumed_inputs", [0, 0]))
    return True


def without_attribute(index: int):
    def change(model: ModelProto, inputs: Inputs) -> bool:
        attributes = model.graph.node[0].attribute
        if index >= len(attributes):
            return False
        del attributes[index]
        return True
    return change


def real_as_integer(model: ModelProto, inputs: Inputs) -> bool:
    """An attribute that is a float is given as an int."""
    for attribute in model.graph.node[0].attribute:
        if attribute.type == AttributeProto.FLOAT:
            name, value = attribute.name, int(attribute.f)
            attribute.CopyFrom(helper.make_attribute(name, value))
            return True
    return False


def integer_as_integers(model: ModelProto, inputs: Inputs) -> bool:
    for attribute in model.graph.node[0].attribute:
        if attribute.type == AttributeProto.INT:
            name, value = attribute.name, attribute.i
            attribute.CopyFrom(helper.make_attribute(name, [value]))
            return True
    return False


def untyped_attributes(model: ModelProto, inputs: Inputs) -> bool:
    """Attributes have no field `type`, as in files of IR version 1."""
    attributes = model.graph.node[0].attribute
    for attribute in attributes:
        attribute.ClearField("type")
    return len(attributes) > 0


def empty_inputs_after(model: ModelProto, inputs: Inputs) -> bool:
    model.graph.node[0].input.append("")
    return True


def empty_outputs_after(model: ModelProto, inputs: Inputs) -> bool:
    model.graph.node[0].output.extend(["", ""])
    return True


def without_last_input(model: ModelProto, inputs: Inputs) -> bool:
    node = model.graph.node[0]
    if len(node.input) < 2 or node.input[-1] not in inputs:
        return False
    inputs.pop(node.input[-1])
    keep = [info for info in model.graph.input if info.name != node.input[-1]]
    del model.graph.input[:]
    model.graph.input.extend(keep)
    del node.input[-1]
    return True


def outputs_without_shape(model: ModelProto, inputs: Inputs) -> bool:
    for info in model.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.ClearField("shape")
    return True


def outputs_without_type(model: ModelProto, inputs: Inputs) -> bool:
    for info in model.graph.output:
        info.ClearField("type")
    return True


def outputs_of_other_rank(model: ModelProto, inputs: Inputs) -> bool:
    for info in model.graph.output:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.shape.dim.add().dim_value = 1
    return True


def outputs_of_other_extent(model: ModelProto, inputs: Inputs) -> bool:
    for info in model.graph.output:
        if info.type.HasField("tensor_type") and len(info.type.tensor_type.shape.dim) > 0:
            info.type.tensor_type.shape.dim[0].dim_value = 77
    return True


def open_inputs(model: ModelProto, inputs: Inputs) -> bool:
    """Inputs have extents of one name each, and outputs have no shape."""
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            dim.dim_param = "N"
    return outputs_without_shape(model, inputs)


def inputs_without_shape(model: ModelProto, inputs: Inputs) -> bool:
    for info in model.graph.input:
        info.type.tensor_type.ClearField("shape")
    return outputs_without_shape(model, inputs)


def negative_extents(model: ModelProto, inputs: Inputs) -> bool:
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            dim.dim_value = -1
    return outputs_without_shape(model, inputs)


def empty_first_input(model: ModelProto, inputs: Inputs) -> bool:
    """The first extent of the first input is 0, and outputs have no shape."""
    name = next(iter(inputs), None)
    if name is None or not inputs[name].dims or inputs[name].data_type not in (TensorProto.FLOAT, TensorProto.INT64):
        return False
    array = numpy_helper.to_array(inputs[name])[:0]
    inputs[name].CopyFrom(numpy_helper.from_array(array))
    set_shape(model, name, array.shape)
    return outputs_without_shape(model, inputs)


def of_opset(version: int):
    def change(model: ModelProto, inputs: Inputs) -> bool:
        found = [entry for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
        if not found or found[0].version == version:
            return False
        found[0].version = version
        return True
    return change


def nan_values(model: ModelProto, inputs: Inputs) -> bool:
    for name, tensor in inputs.items():
        if tensor.data_type == TensorProto.FLOAT and np.prod(tensor.dims) > 0:
            array = numpy_helper.to_array(tensor).copy()
            array.flat[0] = np.nan
            inputs[name].CopyFrom(numpy_helper.from_array(array))
            return True
    return False


DEVIATIONS = {
    "constant": all_constant,
    **{f"scalar {i} as vector": scalar_as_vector(i) for i in range(6)},
    **{f"vector {i} as scalar": vector_as_scalar(i) for i in range(6)},
    **{f"vector {i} as matrix": with_more_ranks(i) for i in range(1, 6)},
    **{f"int32 for int64 {i}": other_type(i, TensorProto.INT64, TensorProto.INT32) for i in range(6)},
    **{f"int64 for int32 {i}": other_type(i, TensorProto.INT32, TensorProto.INT64) for i in range(6)},
    **{f"double for float {i}": other_type(i, TensorProto.FLOAT, TensorProto.DOUBLE) for i in range(3)},
    **{f"without attribute {i}": without_attribute(i) for i in range(5)},
    "unknown attribute": unknown_attribute,
    "consumed_inputs": consumed_inputs,
    "int for float": real_as_integer,
    "ints for int": integer_as_integers,
    "untyped attributes": untyped_attributes,
    "empty input after": empty_inputs_after,
    "empty outputs after": empty_outputs_after,
    "without last input": without_last_input,
    "no output shape": outputs_without_shape,
    "no output type": outputs_without_type,
    "other output rank": outputs_of_other_rank,
    "other output extent": outputs_of_other_extent,
    "open extents": open_inputs,
    "no input shape": inputs_without_shape,
    "negative extents": negative_extents,
    "empty input": empty_first_input,
    "nan": nan_values,
    **{f"opset {version}": of_opset(version) for version in (1, 6, 8, 9, 10, 11, 12, 13, 15, 18, 21, 24)},
}


def mutated(name: str, model: ModelProto, inputs: Inputs, times: collections.Counter) -> Iterator[Case]:
    """The case and its deviations. A deviation applies to few cases of an operator, counted in `times`."""
    yield Case(f"node/{name}", model, inputs)
    if len(model.graph.node) != 1:
        return
    for deviation, change in DEVIATIONS.items():
        kind = (model.graph.node[0].op_type, deviation)
        if times[kind] >= CASES_PER_OPERATOR:
            continue
        copied, given = ModelProto(), copy.deepcopy(inputs)
        copied.CopyFrom(model)
        if change(copied, given):
            times[kind] += 1
            yield Case(f"node/{name}/{deviation}", copied, dict(given))


def cases(shared: pathlib.Path) -> Iterator[Case]:
    folder = shared / "onnx-tests/node"
    times = collections.Counter()
    for path in sorted((folder if folder.exists() else DEBIAN_CASES).iterdir()):
        if (path / "model.onnx").exists() and (found := read_case(path)):
            yield from mutated(path.name.removeprefix("test_"), *found, times)
