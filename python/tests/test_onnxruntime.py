"""frazil.onnxruntime: what sessions report, take, return and refuse. The expected facts are those of ONNX Runtime."""

import json
import pickle
import threading
import time

import frazil
import frazil.onnxruntime as ort
import numpy as np
import pytest
from frazil.onnxruntime import errors
from onnxruntime_models import AFFINE, DOUBLE, ENDLESS, LINEAR
from onnxruntime_models import bytes_of, described, model_of, node, rows, tensor_type, with_ir_version

F32, I64 = 1, 7


def session_of(text, options=None, **more):
    return ort.InferenceSession(bytes_of(text), options, **more)


@pytest.fixture(scope="module")
def double():
    return session_of(DOUBLE)


def failure(run):
    """Returns the class and the text of the exception that a call raises."""
    with pytest.raises(Exception) as caught:
        run()
    return type(caught.value), str(caught.value)


# ---- what sessions report ----

TYPES = [
    ("f32[2,3]", "tensor(float)"),
    ("f64[]", "tensor(double)"),
    ("f16[N]", "tensor(float16)"),
    ("bf16[N]", "tensor(bfloat16)"),
    ("bool[N]", "tensor(bool)"),
    ("i8[N]", "tensor(int8)"),
    ("u16[N]", "tensor(uint16)"),
    ("i64[N]", "tensor(int64)"),
    ("string[N]", "tensor(string)"),
    ("c64[N]", "tensor(complex64)"),
    ("f8e4m3fn[N]", "tensor(float8e4m3fn)"),
    ("seq<i64[N]>", "seq(tensor(int64))"),
    ("map<string, f32[]>", "map(string,tensor(float))"),
    ("map<i64, f32[]>", "map(int64,tensor(float))"),
    ("seq<map<i64, f32[]>>", "seq(map(int64,tensor(float)))"),
    ("opt<f32[2]>", "optional(tensor(float))"),
    ("opt<seq<i64[N]>>", "optional(seq(tensor(int64)))"),
]


@pytest.mark.parametrize("text, name", TYPES)
def test_names_of_types(text, name):
    (arg,) = session_of(f"graph g(%x: {text}) {{ %y = Identity(%x) return y = %y }}").get_inputs()
    assert arg.type == name
    assert name.startswith("tensor") or arg.shape == []


@pytest.mark.parametrize(
    "dims",
    [[], [2, 3], ["N", 3], ["past + seq", "?"], [None, "None", 4], ["2*N", "N"]],
)
def test_extents_are_those_of_the_file(dims):
    model = model_of([node("Neg", ["x"], ["y"])], [("x", tensor_type(F32, dims))], [("y", tensor_type(F32, dims))])
    session = ort.InferenceSession(model)
    assert session.get_inputs()[0].shape == dims and session.get_outputs()[0].shape == dims
    assert repr(session.get_inputs()[0]) == f"NodeArg(name='x', type='tensor(float)', shape={dims})"


def test_outputs_without_a_shape_show_the_inferred_one():
    inputs = [("x", tensor_type(F32, ["N", 1])), ("z", tensor_type(F32, [3]))]
    (arg,) = ort.InferenceSession(model_of([node("Add", ["x", "z"], ["y"])], inputs, [("y", b"")])).get_outputs()
    assert (arg.type, arg.shape) == ("tensor(float)", ["N", 3])


def test_unnamed_extents_of_inferred_outputs_are_none():
    model = model_of([node("Neg", ["x"], ["y"])], [("x", tensor_type(F32, [None, 2]))], [("y", b"")])
    assert ort.InferenceSession(model).get_outputs()[0].shape == [None, 2]


def test_the_description():
    meta = ort.InferenceSession(described(bytes_of(DOUBLE))).get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain) == ("maker", "double", "org.example")
    assert (meta.description, meta.graph_description, meta.version) == ("says", "", 7)
    assert meta.custom_metadata_map == {"character": "a\nb", "k": "v"}


def test_initializers_are_not_inputs_and_may_be_fed():
    session = session_of(LINEAR)
    names = lambda args: [(arg.name, arg.shape) for arg in args]
    for _ in range(2):  # before and after they are fed
        assert names(session.get_inputs()) == [("x", ["N", 2])]
        assert names(session.get_overridable_initializers()) == [("w", [2, 2]), ("b", [2])]
        assert session.run(None, {"x": rows([1, 2])})[0].tolist() == [[1, 2]]
        assert session.run(None, {"x": rows([1, 2]), "b": rows([5, 6])[0]})[0].tolist() == [[6, 8]]


def test_initializers_of_old_files_are_constants():
    session = ort.InferenceSession(with_ir_version(bytes_of(LINEAR), 3))
    assert session.get_overridable_initializers() == []
    kind, text = failure(lambda: session.run(None, {"x": rows([1, 2]), "b": rows([5, 6])[0]}))
    assert kind is errors.InvalidArgument and "Invalid input name: b" in text


def test_the_sources(tmp_path):
    data = bytes_of(DOUBLE)
    (tmp_path / "m.onnx").write_bytes(data)
    by_path = ort.InferenceSession(tmp_path / "m.onnx")
    assert by_path._model_path == str(tmp_path / "m.onnx") and by_path._model_bytes is None
    by_bytes = ort.InferenceSession(data)
    assert by_bytes._model_path is None and by_bytes._model_bytes == data
    for source in (data, bytearray(data), memoryview(data), str(tmp_path / "m.onnx")):
        assert ort.InferenceSession(source).run(None, {"x": rows([1, 2])})[0].tolist() == [[2, 4]]
    assert failure(lambda: ort.InferenceSession(3)) == (TypeError, "Unable to load from type '<class 'int'>'")


# ---- values ----

VALUES = [
    ("f32[N]", np.arange(4, dtype=np.float32)),
    ("f16[N]", np.array([0.5, -2], np.float16)),
    ("f64[N,M]", np.eye(2)),
    ("bool[N]", np.array([True, False])),
    ("i8[N]", np.array([-128, 127], np.int8)),
    ("u64[N]", np.array([2**64 - 1], np.uint64)),
    ("i64[]", np.array(7)),
    ("f32[N,2]", np.zeros((0, 2), np.float32)),
    ("f32[]", np.float32(1.5)),
    ("string[N]", np.array(["a", "\N{SNOWMAN}", ""], object)),
    ("string[N,M]", np.array([["ab", "c"]])),
    ("string[]", np.array("one", object)),
    ("f32[N,M]", np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))),
    ("f32[N]", np.arange(8, dtype=np.float32)[::-2]),
    ("f32[N]", np.arange(3, dtype=">f4")),
]


@pytest.mark.parametrize("text, value", VALUES)
def test_values_pass_through(text, value):
    (y,) = session_of(f"graph g(%x: {text}) {{ %y = Identity(%x) return y = %y }}").run(None, {"x": value})
    assert isinstance(y, np.ndarray) and y.shape == np.shape(value) and y.flags.writeable and y.flags.c_contiguous
    assert y.tolist() == np.asarray(value).tolist()
    assert y.dtype == (object if text.startswith("string") else value.dtype.newbyteorder("="))


def test_bytes_become_texts():
    session = session_of("graph g(%x: string[N]) { %y = Identity(%x) return y = %y }")
    given = [np.array([b"ab", b"c"]), np.array([b"ab", b"c"], object), ["ab", "c"]]
    assert [session.run(None, {"x": x})[0].tolist() for x in given] == [["ab", "c"]] * 3


def test_lists_become_tensors_of_the_declared_type(double):
    assert double.run(None, {"x": [[1, 2.5]]})[0].tolist() == [[2, 5]]


def test_sequences_and_maps():
    session = session_of("graph g(%x: seq<f32[N]>) { %y = Identity(%x) return y = %y }")
    (y,) = session.run(None, {"x": [rows([1, 2])[0], rows([3])[0]]})
    assert [item.tolist() for item in y] == [[1, 2], [3]] and session.run(None, {"x": []}) == [[]]
    labels = """graph g(%x: f32[N,2]) {
      %y = ai.onnx.ml::ZipMap(%x) {classlabels_strings = ["a", "b"]}
      return y = %y
    }"""
    session = ort.InferenceSession(bytes_of(labels))
    assert session.get_outputs()[0].type == "seq(map(string,tensor(float)))"
    assert session.run(None, {"x": rows([1, 2], [3, 4])})[0] == [{"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0}]


def test_optionals():
    session = session_of("graph g(%x: opt<f32[2]>) { %y = OptionalHasElement(%x) return y = %y }")
    assert session.run(None, {"x": None})[0].tolist() is False
    assert session.run(None, {"x": rows([1, 2])[0]})[0].tolist() is True
    assert session.run(None, {})[0].tolist() is False


VIEWS = [
    "Identity(%x)",
    "Reshape(%x, i64[1] [-1])",
    "Transpose(%x)",
    "Slice(%x, i64[1] [0], i64[1] [1], i64[1] [0])",
    "Unsqueeze(%x, i64[1] [0])",
    "Identity(f32[2] [1, 2])",
    "SequenceConstruct(%x, %x)",
]


@pytest.mark.parametrize("expression", VIEWS)
def test_outputs_never_share_memory(expression):
    """With an input, a constant, each other, or a later run."""
    session = session_of(f"graph g(%x: f32[2,3]) {{ %y = {expression} return y = %y, again = %y, x = %x }}")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    flat = lambda results: [a for r in results for a in (r if isinstance(r, list) else [r])]
    first, later = flat(session.run(None, {"x": x})), flat(session.run(None, {"x": x}))
    expected = [a.tolist() for a in later]
    for i, array in enumerate(first):
        others = [x, *first[:i], *first[i + 1 :], *later]
        assert not any(np.shares_memory(array, other) for other in others)
        array[...] = 99
    assert [a.tolist() for a in later] == expected and x[1, 2] == 5
    assert [a.tolist() for a in flat(session.run(None, {"x": x}))] == expected


def test_outputs_that_grow_an_input_do_not_share_its_memory():
    session = session_of("graph g(%k: f32[N], %x: f32[1]) { %y = Concat(%k, %x) {axis = 0} return y = %y }")
    cache = np.zeros(0, np.float32)
    for step in range(5):
        longer = session.run(None, {"k": cache, "x": rows([step])[0]})[0]
        assert not np.shares_memory(longer, cache) and longer.tolist() == list(range(step + 1))
        cache = longer


def test_an_output_that_is_named_twice_is_two_arrays(double):
    a, b = double.run(["y", "y"], {"x": rows([1, 2])})
    assert a.tolist() == b.tolist() and not np.shares_memory(a, b)


def test_names_of_outputs():
    session = session_of(AFFINE)
    feeds = {"x": rows([1, 2]), "z": np.array([5])}
    shapes = [[r.shape for r in session.run(names, feeds)] for names in (None, [], ["z"], ("z", "y"))]
    assert shapes == [[(1, 2), (1,)], [(1, 2), (1,)], [(1,)], [(1,), (1, 2)]]


# ---- errors ----

TYPE = "Unexpected input data type"
WRONG = [
    (None, {}, ValueError, "Required inputs (['x', 'z']) are missing from input feed ([])."),
    (None, {"y": 1, "z": 2}, ValueError, "Required inputs (['x']) are missing from input feed (['y', 'z'])."),
    (None, {"x": np.ones((2, 2))}, 2, f"{TYPE}. Actual: (tensor(double)) , expected: (tensor(float))"),
    (None, {"x": np.array([["a", "b"]])}, 2, f"{TYPE}. Actual: (tensor(string)) , expected: (tensor(float))"),
    (None, {"x": np.ones(2, np.float32)}, 2, "Invalid rank for input: x"),
    (None, {"x": np.ones((1, 3), np.float32)}, 2, "Got invalid dimensions for input: x"),
    (None, {"z": np.ones(2, np.int64)}, 2, "Got invalid dimensions for input: z"),
    (None, {"bad": 1}, 2, "Invalid input name: bad"),
    (["bad"], {}, 2, "Invalid output name: bad"),
    (["y", "bad"], {}, 2, "Invalid output name: bad"),
]


@pytest.mark.parametrize("names, feeds, code, begin", WRONG)
def test_wrong_runs(names, feeds, code, begin):
    session = session_of(AFFINE)
    if isinstance(code, int):
        feeds = {"x": np.ones((1, 2), np.float32), "z": np.zeros(1, np.int64), **feeds}
        code, begin = errors.InvalidArgument, f"[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : {begin}"
    kind, text = failure(lambda: session.run(names, feeds))
    assert kind is code and text.startswith(begin)


def test_an_index_out_of_range_names_the_node():
    session = session_of("graph g(%x: f32[3], %i: i64[1]) { %y = Gather(%x, %i) \"pick\" return y = %y }")
    kind, text = failure(lambda: session.run(None, {"x": np.ones(3, np.float32), "i": np.array([9])}))
    assert kind is errors.InvalidArgument and "'pick'" in text


def test_extents_of_one_name_may_differ():
    pair = [("x", tensor_type(F32, ["N", 2])), ("z", tensor_type(F32, ["N", 2]))]
    model = model_of([node("Concat", ["x", "z"], ["y"], axis=0)], pair, [("y", tensor_type(F32, ["M", 2]))])
    session = ort.InferenceSession(model)
    for rows_of_x, rows_of_z in [(2, 2), (2, 3), (0, 1), (4, 4)]:
        feeds = {"x": np.ones((rows_of_x, 2), np.float32), "z": np.zeros((rows_of_z, 2), np.float32)}
        assert session.run(None, feeds)[0].tolist() == [[1, 1]] * rows_of_x + [[0, 0]] * rows_of_z
    session.frazil.edit(lambda patch: patch.replace("y", patch.tap("y") * 2))
    feeds = {"x": np.ones((2, 2), np.float32), "z": np.zeros((1, 2), np.float32)}
    assert session.run(None, feeds)[0].tolist() == [[2, 2], [2, 2], [0, 0]]


def test_a_wrong_shape_of_an_output_is_no_error():
    declared = [("y", tensor_type(F32, [3, 4]))]
    session = ort.InferenceSession(model_of([node("Neg", ["x"], ["y"])], [("x", tensor_type(F32, [1]))], declared))
    assert session.run(None, {"x": np.ones(1, np.float32)})[0].tolist() == [-1]


NEG = [node("Neg", ["x"], ["y"])]
X, Y = [("x", tensor_type(F32, [1]))], [("y", tensor_type(F32, [1]))]
BAD_MODELS = [
    (b"", errors.InvalidProtobuf, "7 : INVALID_PROTOBUF"),
    (b"no model at all", errors.InvalidProtobuf, "7 : INVALID_PROTOBUF"),
    (model_of(NEG, X, Y)[:-3], errors.InvalidProtobuf, "7 : INVALID_PROTOBUF"),
    (model_of([node("Nag", ["x"], ["y"])], X, Y), errors.InvalidGraph, "10 : INVALID_GRAPH"),
    (model_of([node("Nag", ["x"], ["y"], "my")], X, Y, domains=["my"]), errors.Fail, "1 : FAIL"),
    (model_of(NEG, X, Y, opset=99), errors.Fail, "1 : FAIL"),
    (model_of([node("Neg", ["q"], ["y"])], X, Y), errors.InvalidGraph, "10 : INVALID_GRAPH"),
    (b"\x08\x00\x00\x00ORTM" + bytes(20), errors.NotImplemented, "9 : NOT_IMPLEMENTED"),
]


@pytest.mark.parametrize("data, kind, code", BAD_MODELS)
def test_wrong_models(data, kind, code):
    raised, text = failure(lambda: ort.InferenceSession(data))
    assert raised is kind and text.startswith(f"[ONNXRuntimeError] : {code} : Load model from model failed: ")


def test_wrong_files(tmp_path):
    missing = tmp_path / "missing.onnx"
    kind, text = failure(lambda: ort.InferenceSession(missing))
    assert kind is errors.NoSuchFile
    assert text.startswith(f"[ONNXRuntimeError] : 3 : NO_SUCHFILE : Load model from {missing} failed")
    assert failure(lambda: ort.InferenceSession(tmp_path))[0] is errors.InvalidArgument


def test_errors_keep_their_cause(double):
    with pytest.raises(errors.InvalidArgument) as caught:
        double.run(None, {"x": np.ones(2)})
    assert isinstance(caught.value.__cause__, frazil.BadInput)


# ---- options ----


def test_providers():
    data = bytes_of(DOUBLE)
    with pytest.warns(UserWarning, match="'CUDAExecutionProvider' is not in available provider names"):
        session = ort.InferenceSession(data, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(UserWarning):
        session = ort.InferenceSession(data, providers=[("TensorrtExecutionProvider", {"device_id": 1})])
    assert session.get_providers() == ["CPUExecutionProvider"]
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"], provider_options=[{"a": 1}])
    assert session.get_provider_options() == {"CPUExecutionProvider": {"a": "1"}}
    with pytest.warns(UserWarning):
        session.set_providers(["CUDAExecutionProvider"], [{}])
    assert (session._providers, session._provider_options) == (["CPUExecutionProvider"], {"CPUExecutionProvider": {}})
    for wrong in ("CPUExecutionProvider", [3], [("CPUExecutionProvider", 3)]):
        with pytest.raises(ValueError, match="providers"):
            ort.InferenceSession(data, providers=wrong)
    with pytest.raises(ValueError, match="1 providers, but 2"):
        ort.InferenceSession(data, providers=["CPUExecutionProvider"], provider_options=[{}, {}])


SETTINGS = {
    "enable_cpu_mem_arena": False,
    "enable_mem_pattern": False,
    "enable_mem_reuse": False,
    "enable_profiling": False,
    "execution_mode": ort.ExecutionMode.ORT_PARALLEL,
    "execution_order": ort.ExecutionOrder.PRIORITY_BASED,
    "graph_optimization_level": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "inter_op_num_threads": 3,
    "intra_op_num_threads": 5000,
    "log_severity_level": 4,
    "log_verbosity_level": 9,
    "logid": "mine",
    "profile_file_prefix": "p",
    "use_deterministic_compute": True,
    "use_per_session_threads": False,
}


def test_all_settings_are_kept():
    options = ort.SessionOptions()
    for name, value in SETTINGS.items():
        setattr(options, name, value)
    options.add_session_config_entry("session.any.key", "1")
    session = session_of(DOUBLE, options)
    assert session.get_session_options() is options and {name: getattr(options, name) for name in SETTINGS} == SETTINGS
    assert options.get_session_config_entry("session.any.key") == "1"
    assert session.run(None, {"x": rows([1, 2])})[0].tolist() == [[2, 4]]
    with pytest.raises(errors.NotFound):
        options.get_session_config_entry("other")
    for name, value, expected in [
        ("logid", 3, "str, got int 3"),
        ("intra_op_num_threads", 2.5, "int, got float 2.5"),
        ("graph_optimization_level", 7, "GraphOptimizationLevel, got int 7"),
        ("execution_mode", "parallel", "ExecutionMode, got str 'parallel'"),
    ]:
        with pytest.raises(TypeError, match=f"SessionOptions.{name}: expected {expected}"):
            setattr(options, name, value)
    options.intra_op_num_threads = np.int64(2)
    assert options.intra_op_num_threads == 2
    with pytest.raises(TypeError, match="expected a key and a value"):
        options.add_session_config_entry("key", 1)


@pytest.mark.parametrize("threads, of_runs", [(0, 0), (1, 1), (4, 4), (5000, 1024), (-1, 0)])
def test_threads_are_an_upper_limit(threads, of_runs, monkeypatch):
    monkeypatch.delenv("FRAZIL_THREADS", raising=False)
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    assert session_of(DOUBLE, options).frazil.current.model.options.threads == of_runs


def test_the_environment_has_the_default_of_threads(monkeypatch):
    monkeypatch.setenv("FRAZIL_THREADS", "1")
    assert session_of(DOUBLE).frazil.current.model.options.threads is None


def test_fixed_extents():
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 3)
    options.add_free_dimension_override_by_name("unknown", 4)
    session = session_of(DOUBLE, options)
    assert session.get_inputs()[0].shape == [3, 2] and session.get_outputs()[0].shape == [3, 2]
    kind, text = failure(lambda: session.run(None, {"x": rows([1, 2])}))
    assert kind is errors.InvalidArgument and "Got invalid dimensions for input: x" in text


def test_other_values_of_initializers():
    options = ort.SessionOptions()
    options.add_initializer("b", ort.OrtValue.ortvalue_from_numpy(rows([5, 6])[0]))
    options.add_external_initializers(["w"], [ort.OrtValue.ortvalue_from_numpy(rows([0, 1], [1, 0]))])
    assert session_of(LINEAR, options).run(None, {"x": rows([1, 2])})[0].tolist() == [[7, 7]]
    options.add_initializer("missing", ort.OrtValue.ortvalue_from_numpy(rows([5, 6])))
    kind, text = failure(lambda: session_of(LINEAR, options))
    assert kind is errors.InvalidArgument and "'missing'" in text


def test_external_data_beside_bytes(tmp_path):
    weights = np.arange(200, dtype=np.float32).reshape(2, 100)
    model = frazil.from_text(
        "weight @w: f32[2,100]\ngraph g(%x: f32[N,2]) { %y = MatMul(%x, @w) return y = %y }", {"w": weights}
    )
    model.save(tmp_path / "m.onnx", external_bytes=64)
    data = (tmp_path / "m.onnx").read_bytes()
    options = ort.SessionOptions()
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    x = rows([1, 0])
    for session in (ort.InferenceSession(tmp_path / "m.onnx"), ort.InferenceSession(data, options)):
        assert session.run(None, {"x": x})[0].tolist() == weights[:1].tolist()


def test_the_optimized_model_is_written(tmp_path):
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    session_of(DOUBLE, options)
    assert ort.InferenceSession(tmp_path / "optimized.onnx").run(None, {"x": rows([1, 2])})[0].tolist() == [[2, 4]]
    options.optimized_model_filepath = str(tmp_path / "no" / "folder.onnx")
    assert failure(lambda: session_of(DOUBLE, options))[0] is errors.Fail


def test_seeds():
    text = "graph g() { %y = RandomNormal() {shape = [4]} return y = %y }"
    drawn = []
    for seed in (1, 2, 1):
        ort.set_seed(seed)
        drawn.append(session_of(text).run(None, {})[0].tolist())
    ort.set_seed(0)
    assert drawn[0] == drawn[2] != drawn[1]


REFUSED = [
    (lambda: ort.SessionOptions().register_custom_ops_library("lib.so"), "frazil.host_operator"),
    (lambda: ort.RunOptions().add_active_adapter(object()), "LoRA"),
    (lambda: ort.register_execution_provider_library("name", "lib.so"), "'lib.so'"),
    (lambda: ort.SparseTensor(), "sparse"),
    (lambda: ort.OrtValue.ort_value_from_sparse_tensor(None), "sparse"),
]


@pytest.mark.parametrize("call, part", REFUSED)
def test_what_changes_results_is_refused(call, part):
    kind, text = failure(call)
    assert kind is errors.NotImplemented and part in text


def test_functions_of_the_process():
    assert ort.__version__ == ort.get_version_string() == "1.30.0" and "Frazil" in ort.get_build_info()
    assert ort.get_available_providers() == ["CPUExecutionProvider"] and ort.get_device() == "CPU"
    assert "CPUExecutionProvider" in ort.get_all_providers() and not ort.has_collective_ops()
    (device,) = ort.get_ep_devices()
    options = ort.SessionOptions()
    options.add_provider_for_devices([device], {})
    assert options.has_providers() and device.device.type == ort.OrtHardwareDeviceType.CPU
    for call in (ort.disable_telemetry_events, ort.enable_telemetry_events, ort.preload_dlls):
        assert call() is None
    with pytest.raises(errors.InvalidArgument, match="severity 9"):
        ort.set_default_logger_severity(9)


def test_the_severity_is_the_level_of_the_logger():
    import logging

    logger = logging.getLogger("frazil")
    before = logger.level
    try:
        ort.set_default_logger_severity(3)
        assert logger.level == logging.ERROR
    finally:
        logger.setLevel(before)


def test_enumerations_have_their_numbers():
    assert [int(level) for level in ort.GraphOptimizationLevel] == [0, 1, 2, 3, 99]
    assert ort.GraphOptimizationLevel(99) is ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert ort.ExecutionMode.ORT_PARALLEL.name == "ORT_PARALLEL" and ort.OrtMemType.CPU_INPUT == -2


# ---- runs ----


def test_terminate():
    session = session_of(ENDLESS)
    options = ort.RunOptions()
    ended = []

    def run():
        ended.append(failure(lambda: session.run(None, {"x": np.float32(0)}, options)))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    options.terminate = True
    for thread in threads:
        thread.join(30)
    text = "[ONNXRuntimeError] : 1 : FAIL : Exiting due to terminate flag being set to true."
    assert ended == [(errors.Fail, text)] * 2
    double, feeds = session_of(DOUBLE), {"x": rows([1, 2])}
    assert failure(lambda: double.run(None, feeds, options)) == (errors.Fail, text)
    options.terminate = False
    assert double.run(None, feeds, options)[0].tolist() == [[2, 4]] and options._runs == []


def test_run_async(double):
    got, done = [], threading.Event()

    def callback(*arguments):
        got.append(arguments)
        done.set()

    for feed, result, text in [(rows([1, 2]), [[2, 4]], ""), (rows([1]), None, "Got invalid dimensions for input: x")]:
        done.clear()
        double.run_async(["y"], {"x": feed}, callback, "data")
        assert done.wait(30)
        results, data, error = got.pop()
        assert data == "data" and text in error and bool(error) == bool(text)
        assert results == [] if text else results[0].tolist() == result
    with pytest.raises(ValueError, match="Required inputs"):
        double.run_async(["y"], {}, callback, None)


def test_threads_share_a_session(double):
    wrong, results = [], {}

    def run(number):
        for i in range(200):
            x = rows([number, i])
            (y,) = double.run(None, {"x": x})
            results[number] = y
            if y.tolist() != [[2 * number, 2 * i]]:
                wrong.append((number, i, y))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(results) == 8


def test_threads_with_new_extents_each_time(double):
    failed = []

    def run(seed):
        for size in np.random.default_rng(seed).integers(1, 50, 100):
            x = np.full((size, 2), seed, np.float32)
            y = double.run(["y"], {"x": x}, ort.RunOptions())[0]
            if y.shape != x.shape or (y != 2 * seed).any():
                failed.append(y)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


@pytest.mark.parametrize("prefix", ["", "given_"])
def test_profiles(prefix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ort.SessionOptions()
    options.enable_profiling = True
    if prefix:
        options.profile_file_prefix = prefix
    session = session_of(DOUBLE, options)
    assert session.get_profiling_start_time_ns() > 1e18
    for _ in range(3):
        session.run(None, {"x": rows([1, 2])})
    name = session.end_profiling()
    assert name.startswith(prefix or "onnxruntime_profile_") and name.endswith(".json")
    events = json.loads((tmp_path / name).read_text())
    nodes = [e for e in events if e["cat"] == "Node"]
    assert len(nodes) == 3 and len([e for e in events if e["cat"] == "Session"]) == 3
    assert {e["args"]["op_name"] for e in nodes} == {"Add"} and all(e["dur"] >= 0 and e["ph"] == "X" for e in events)
    assert session.run(None, {"x": rows([1, 2])})[0].tolist() == [[2, 4]] and session.end_profiling() == ""


def test_sessions_without_a_profile(double):
    assert double.end_profiling() == "" and double.get_profiling_start_time_ns() == 0


# ---- the live model ----


def test_edits_are_used_by_later_runs():
    session = session_of(DOUBLE)
    assert isinstance(session.frazil, frazil.LiveModel) and session.frazil is session.frazil
    x = rows([1, 2])
    with session.frazil.edit(author="ada", reason="clip") as patch:
        patch.replace("y", patch.Min(patch.tap("y"), 3.0))
    assert session.run(None, {"x": x})[0].tolist() == [[2, 3]]
    session.frazil.edit(lambda patch: patch.add_output("t", patch.tap("y") * 2))
    assert [arg.name for arg in session.get_outputs()] == ["y", "t"]
    assert session.run(["t"], {"x": x})[0].tolist() == [[4, 6]]
    session.frazil.roll_back(1)
    assert [arg.name for arg in session.get_outputs()] == ["y"]
    assert session.run(None, {"x": x})[0].tolist() == [[2, 4]]
    assert session.frazil.current.model.explain()


def test_initializers_of_an_edited_model():
    session, feeds = session_of(LINEAR), {"x": rows([1, 2]), "b": rows([5, 6])[0]}
    session.frazil
    assert session.run(None, feeds)[0].tolist() == [[6, 8]] and session.frazil.current.number == 2
    session = session_of(LINEAR)
    session.frazil.edit(lambda patch: patch.replace("y", patch.tap("y") * 10))
    kind, text = failure(lambda: session.run(None, feeds))
    assert kind is errors.Fail and "edited model" in text
    assert session.run(None, {"x": rows([1, 2])})[0].tolist() == [[10, 20]]


class Picklable(ort.InferenceSession):
    def __init__(self, path, **more):
        super().__init__(path, **more)
        self.path = path

    def __getstate__(self):
        return {"path": self.path}

    def __setstate__(self, state):
        self.__init__(state["path"])


def test_subclasses(tmp_path):
    (tmp_path / "m.onnx").write_bytes(bytes_of(DOUBLE))
    session = pickle.loads(pickle.dumps(Picklable(str(tmp_path / "m.onnx"), providers=["CPUExecutionProvider"])))
    assert session.run(None, {"x": rows([1, 2])})[0].tolist() == [[2, 4]]
