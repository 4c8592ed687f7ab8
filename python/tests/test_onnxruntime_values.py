"""OrtValue and IOBinding of frazil.onnxruntime."""

import frazil.onnxruntime as ort
import numpy as np
import pytest
from frazil.onnxruntime import errors
from frazil.onnxruntime.io_binding_helper import TypeHelper
from onnxruntime_models import AFFINE, DOUBLE, LINEAR, bytes_of, rows

OrtValue = ort.OrtValue


@pytest.fixture(scope="module")
def double():
    return ort.InferenceSession(bytes_of(DOUBLE))


def values_of(session, binding):
    session.run_with_iobinding(binding)
    return [value.numpy().tolist() for value in binding.get_outputs()]


# ---- values ----

TENSORS = [
    (np.arange(6, dtype=np.float32).reshape(2, 3), "tensor(float)", 1),
    (np.zeros((0, 2)), "tensor(double)", 11),
    (np.array(True), "tensor(bool)", 9),
    (np.array([1, 2], np.float16), "tensor(float16)", 10),
    (np.array(["a", "b"], object), "tensor(string)", 8),
    (np.array([1], np.uint8), "tensor(uint8)", 2),
]


@pytest.mark.parametrize("array, name, number", TENSORS)
def test_tensors(array, name, number):
    value = OrtValue.ortvalue_from_numpy(array)
    assert (value.data_type(), value.element_type(), value.shape()) == (name, number, list(array.shape))
    assert value.is_tensor() and value.has_value() and not value.is_sparse_tensor() and not value.is_tensor_sequence()
    assert value.device_name() == "cpu" and value.tensor_size_in_bytes() == array.nbytes
    copy = value.numpy()
    assert copy.dtype == array.dtype and copy.tolist() == array.tolist() and not np.shares_memory(copy, array)


def test_a_value_is_a_view_of_its_array():
    array = rows([1, 2])
    value = OrtValue.ortvalue_from_numpy(array, "cpu", 0)
    assert value.data_ptr() == array.ctypes.data
    value.update_inplace(rows([3, 4]))
    assert array.tolist() == [[3, 4]]
    for wrong in (np.ones((1, 2)), rows([1, 2, 3])):
        with pytest.raises(errors.InvalidArgument, match="update_inplace"):
            value.update_inplace(wrong)
    array.flags.writeable = False
    with pytest.raises(errors.InvalidArgument, match="read-only"):
        value.update_inplace(rows([3, 4]))


@pytest.mark.parametrize("element", [np.int64, "int64", 7, np.dtype(np.int64)])
def test_values_by_shape(element):
    value = OrtValue.ortvalue_from_shape_and_type([2, 3], element, "cpu")
    assert value.numpy().tolist() == [[0] * 3] * 2 and value.data_type() == "tensor(int64)"


def test_values_by_number():
    value = OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), 16)
    assert value.data_type() == "tensor(bfloat16)" and value.shape() == [1]
    with pytest.raises(errors.InvalidArgument, match="sizes differ"):
        OrtValue.ortvalue_from_numpy_with_onnx_type(np.zeros(1, np.uint8), 16)


WRONG = [
    (lambda: OrtValue.ortvalue_from_numpy(rows([1]), "cuda", 0), "device 'cuda' is not available"),
    (lambda: OrtValue.ortvalue_from_shape_and_type([1], np.float32, "cuda"), "device 'cuda'"),
    (lambda: OrtValue.ortvalue_from_shape_and_type([1], 99), "99 is not ONNX's number"),
    (lambda: OrtValue.ortvalue_from_shape_and_type([1], "word"), "'word' is not an element type"),
    (lambda: OrtValue.ortvalue_from_numpy(np.zeros(1, "M8[s]")), "is not an element type"),
    (lambda: ort.OrtDevice.make("cuda", 0), "device 'cuda'"),
    (lambda: OrtValue([rows([1])]).numpy(), "expected an OrtValue with a tensor, got one of type seq(tensor(float))"),
]


@pytest.mark.parametrize("call, text", WRONG)
def test_wrong_values(call, text):
    with pytest.raises(errors.InvalidArgument) as caught:
        call()
    assert text in str(caught.value)


def test_dlpack():
    array = rows([1, 2])
    value = OrtValue.from_dlpack(array)
    assert value.data_ptr() == array.ctypes.data and value.data_type() == "tensor(float)"
    assert np.shares_memory(np.from_dlpack(value), array)
    flags = OrtValue.from_dlpack(np.array([1, 0], np.uint8), is_bool_tensor=True)
    assert flags.data_type() == "tensor(bool)" and flags.numpy().tolist() == [True, False]


def test_devices():
    device = ort.OrtDevice.make("cpu", 0)
    assert (device.device_type(), device.device_id(), ort.OrtDevice.cpu()) == (0, 0, 0)
    assert ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT).name == "Cpu"


def test_runs_with_values(double):
    x = OrtValue.ortvalue_from_numpy(rows([1, 2]))
    (y,) = double.run_with_ort_values(["y"], {"x": x})
    assert isinstance(y, OrtValue) and y.numpy().tolist() == [[2, 4]]
    assert double.run(None, {"x": x})[0].tolist() == [[2, 4]]
    with pytest.raises(ValueError, match="Required inputs"):
        double.run_with_ort_values(None, {})


def test_values_that_are_not_tensors():
    session = ort.InferenceSession(bytes_of("graph g(%x: f32[N]) { %y = SequenceConstruct(%x) return y = %y }"))
    (y,) = session.run_with_ort_values(None, {"x": OrtValue.ortvalue_from_numpy(rows([1, 2])[0])})
    assert y.is_tensor_sequence() and y.data_type() == "seq(tensor(float))" and not y.is_tensor()
    assert not OrtValue(None).has_value()


# ---- bindings ----


def test_outputs_that_runs_allocate(double):
    binding = double.io_binding()
    binding.bind_cpu_input("x", rows([1, 2]))
    binding.bind_output("y")
    assert values_of(double, binding) == [[[2, 4]]]
    first = binding.get_outputs()[0]
    binding.bind_cpu_input("x", rows([3, 4], [5, 6]))
    assert values_of(double, binding) == [[[6, 8], [10, 12]]] and first.numpy().tolist() == [[2, 4]]
    (array,) = binding.copy_outputs_to_cpu()
    assert array.tolist() == [[6, 8], [10, 12]]
    binding.synchronize_inputs(), binding.synchronize_outputs()


def test_memory_of_the_program(double):
    x, y = rows([1, 2], [3, 4]), np.zeros((2, 2), np.float32)
    binding = ort.IOBinding(double)
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, (2, 2), y.ctypes.data)
    double.run_with_iobinding(binding, ort.RunOptions())
    assert y.tolist() == [[2, 4], [6, 8]] and binding.get_outputs()[0].data_ptr() == y.ctypes.data
    x[...] = 1  # the next run reads the same memory
    double.run_with_iobinding(binding)
    assert y.tolist() == [[2, 2], [2, 2]]


def test_values_as_outputs(double):
    given = OrtValue.ortvalue_from_shape_and_type([1, 2], np.float32)
    address = given.data_ptr()
    binding = double.io_binding()
    binding.bind_ortvalue_input("x", OrtValue.ortvalue_from_numpy(rows([1, 2])))
    binding.bind_ortvalue_output("y", given)
    double.run_with_iobinding(binding)
    assert given.numpy().tolist() == [[2, 4]] and given.data_ptr() == address


def test_an_output_in_the_memory_of_an_input():
    text = "graph g(%x: f32[4]) { %y: f32[4] = Gather(%x, i64[4] [3, 2, 1, 0]) return y = %y }"
    session, x = ort.InferenceSession(bytes_of(text)), np.arange(4, dtype=np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_ortvalue_output("y", OrtValue.ortvalue_from_numpy(x))
    session.run_with_iobinding(binding)
    assert x.tolist() == [3, 2, 1, 0]


def test_the_order_of_outputs_is_that_of_the_bindings():
    session = ort.InferenceSession(bytes_of(AFFINE))
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows([1, 2]))
    binding.bind_cpu_input("z", np.array([5]))
    binding.bind_output("z")
    binding.bind_output("y", "cpu")
    assert values_of(session, binding) == [[5], [[2, 3]]]
    binding.clear_binding_outputs()
    assert binding.get_outputs() == []
    binding.bind_output("y")
    assert values_of(session, binding) == [[[2, 3]]]


def test_initializers_may_be_bound():
    session = ort.InferenceSession(bytes_of(LINEAR))
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows([1, 2]))
    binding.bind_cpu_input("b", rows([5, 6])[0])
    binding.bind_output("y")
    assert values_of(session, binding) == [[[6, 8]]]


def bound_to(output):
    """Returns what binds y to an array and runs."""

    def call(session):
        binding = session.io_binding()
        binding.bind_cpu_input("x", rows([1, 2]))
        binding.bind_ortvalue_output("y", OrtValue(output))
        session.run_with_iobinding(binding)

    return call


READ_ONLY = np.zeros((1, 2), np.float32)
READ_ONLY.flags.writeable = False
WRONG_BINDINGS = [
    (lambda s: s.io_binding().bind_cpu_input("bad", rows([1])), "Invalid input name: bad"),
    (lambda s: s.io_binding().bind_output("bad"), "Invalid output name: bad"),
    (lambda s: s.io_binding().bind_output("y", "cuda", 0), "device 'cuda'"),
    (lambda s: s.io_binding().bind_input("x", "cuda", 0, np.float32, [1, 2], 8), "device 'cuda'"),
    (lambda s: s.io_binding().bind_input("x", "cpu", 0, np.float32, [1, 2], 0), "address of the memory is 0"),
    (lambda s: s.io_binding().bind_input("x", "cpu", 0, np.float32, [-1, 2], 8), "shape [-1, 2]"),
    (lambda s: s.io_binding().bind_input("x", "cpu", 0, object, [1], 8), "cannot be bound by its address"),
    (lambda s: s.run_with_iobinding(s.io_binding()), "At least one output"),
    (bound_to(np.zeros((2, 2), np.float32)), "the result has the shape (1, 2), the array (2, 2)"),
    (bound_to(np.zeros((1, 2))), "y"),
    (bound_to(np.zeros((2, 2), np.float32).T), "the bound value is float32[2, 2], the result is float32[1, 2]"),
    (bound_to(READ_ONLY), "read-only"),
]


@pytest.mark.parametrize("call, text", WRONG_BINDINGS)
def test_wrong_bindings(double, call, text):
    with pytest.raises(errors.InvalidArgument) as caught:
        call(double)
    assert text in str(caught.value)


def test_a_missing_input_fails_in_the_run(double):
    binding = double.io_binding()
    binding.bind_output("y")
    with pytest.raises(errors.Fail, match="Missing Input: x"):
        double.run_with_iobinding(binding)
    binding.bind_cpu_input("x", rows([1, 2]))
    assert values_of(double, binding) == [[[2, 4]]]
    binding.clear_binding_inputs()
    with pytest.raises(errors.Fail, match="Missing Input: x"):
        double.run_with_iobinding(binding)


# ---- types ----


def test_types_of_numpy(double):
    assert TypeHelper.get_input_type(double, "x") == TypeHelper.get_output_type(double, "y") == "tensor(float)"
    assert TypeHelper.get_io_numpy_type_map(double) == {"x": np.float32, "y": np.float32}
    assert TypeHelper.ort_type_to_numpy_type("tensor(bool)") is bool
    assert TypeHelper.ort_type_to_numpy_type("tensor(float16)") is np.float16
    for wrong in (
        lambda: TypeHelper.ort_type_to_numpy_type("tensor(string)"),
        lambda: TypeHelper.get_output_type(double, "bad"),
    ):
        with pytest.raises(ValueError, match="not found"):
            wrong()


def test_types_of_torch():
    torch = pytest.importorskip("torch")
    assert TypeHelper.ort_type_to_torch_type("tensor(int64)") is torch.int64
    assert TypeHelper.torch_type_to_numpy_type(torch.float16) is np.float16
    assert TypeHelper.numpy_type_to_torch_type(np.float32) is torch.float32
    assert TypeHelper.torch_type_to_numpy_type(torch.bool) is bool
