"""ONNX's backend interface, and its tests of operators."""

import importlib.util
import pathlib

import frazil
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="python3-onnx is not installed")
from frazil import backend  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/onnx_backend.py"


def add():
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "xyz"]
    return helper.make_model(
        helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "add", ports[:2], ports[2:])
    )


def test_prepare_and_run():
    x = np.array([1, 2], np.float32)
    made = backend.prepare(add(), threads=1)
    assert made.model.options.threads == 1
    for inputs in ([x, x], {"y": x, "x": x}):
        result = made.run(inputs)
        assert result.z.tolist() == result[0].tolist() == [2, 4]
    assert backend.run_model(add(), [x, x])[0].tolist() == [2, 4]
    with pytest.raises(frazil.BadInput, match="3 inputs"):
        made.run([x, x, x])
    with pytest.raises(frazil.BadInput, match="'CUDA:0'"):
        backend.prepare(add(), "CUDA:0")
    assert backend.supports_device("CPU") and not backend.supports_device("CUDA")


def test_run_node():
    node = helper.make_node("Split", ["x"], ["a", "b"], axis=0)
    a, b = backend.run_node(node, [np.arange(4, dtype=np.float32)], opset_version=13)
    assert a.tolist() == [0, 1] and b.tolist() == [2, 3]
    assert backend.run_node(helper.make_node("Neg", ["x"], ["y"]), {"x": np.float32(1)}).y == -1


def test_onnx_backend_tests():
    """A part of scripts/onnx_backend.py, which runs all."""
    spec = importlib.util.spec_from_file_location("onnx_backend", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    result, reasons = script.run(
        r"^test_(add|cast|conv|gru|if|loop|lstm|softmax|sequence|split|string|reduce_sum|Linear)"
    )
    wrong = [test.id() for test, _ in (*result.failures, *result.errors)]
    assert wrong == [] and len(result.passed) > 100
    assert any("CUDA" in why for why in reasons)
