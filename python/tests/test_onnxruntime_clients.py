"""The calls that known clients of ONNX Runtime make, replayed: OCR, faces, speech, encoders and decoders."""

import importlib.util
import os

import frazil.onnxruntime
import numpy as np
import pytest
from onnxruntime_models import bytes_of, described, model_of, node, rows, tensor_type


@pytest.fixture(autouse=True)
def installed():
    frazil.onnxruntime.install()
    yield
    frazil.onnxruntime.uninstall()


def file_of(folder, text, more=lambda model: model):
    path = folder / "model.onnx"
    path.write_bytes(more(bytes_of(text)))
    return str(path)


def test_text_recognition(tmp_path):
    """As RapidOCR: a list of characters in the metadata, five settings, providers by availability."""
    from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
    from onnxruntime import get_available_providers, get_device

    text = """graph recognise(%x: f32[N,3,48,W]) {
      %m: f32[N,3,1,W] = ReduceMean(%x, i64[1] [2])
      %s: f32[N,3,W] = Squeeze(%m, i64[1] [2])
      %t: f32[N,W,3] = Transpose(%s) {perm = [0, 2, 1]}
      %y: f32[N,W,3] = Softmax(%t) {axis = 2}
      return y = %y
    }"""
    path = file_of(tmp_path, text, described)
    options = SessionOptions()
    options.log_severity_level = 4
    options.enable_cpu_mem_arena = False
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
    if 1 <= 2 <= (os.cpu_count() or 1):
        options.intra_op_num_threads = 2
    options.inter_op_num_threads = 1
    providers = [("CPUExecutionProvider", {"arena_extend_strategy": "kSameAsRequested"})]
    if get_device() == "GPU" and "CUDAExecutionProvider" in get_available_providers():
        providers.insert(0, ("CUDAExecutionProvider", {"device_id": 0}))
    session = InferenceSession(path, sess_options=options, providers=providers)
    assert session.get_providers()[0] == "CPUExecutionProvider" and isinstance(session, InferenceSession)
    assert session.get_modelmeta().custom_metadata_map["character"].splitlines() == ["a", "b"]
    names = [v.name for v in session.get_inputs()], [v.name for v in session.get_outputs()]
    for width in (7, 9):
        x = np.random.default_rng(0).random((2, 3, 48, width), np.float32)
        y = session.run(names[1], dict(zip(names[0], [x])))[0]
        assert y.shape == (2, width, 3) and np.allclose(y.sum(2), 1)


def test_faces(tmp_path):
    """As insightface: a subclass that is pickled, unavailable providers by default, shapes decide the kind of model."""
    import onnxruntime

    class PickableInferenceSession(onnxruntime.InferenceSession):
        def __init__(self, model_path, **kwargs):
            super().__init__(model_path, **kwargs)
            self.model_path = model_path

        def __getstate__(self):
            return {"model_path": self.model_path}

        def __setstate__(self, values):
            self.__init__(values["model_path"])

    onnxruntime.set_default_logger_severity(3)
    text = "graph g(%x: f32[N,3,112,112]) { %y: f32[N,3] = ReduceMean(%x, i64[2] [2, 3]) {keepdims = 0} return y = %y }"
    path = file_of(tmp_path, text)
    wanted = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    with pytest.warns(UserWarning):
        session = PickableInferenceSession(path, providers=wanted, provider_options=None)
    assert (session._providers, session._provider_options) == (["CPUExecutionProvider"], {"CPUExecutionProvider": {}})
    session.set_providers(["CPUExecutionProvider"])
    (shape,) = [arg.shape for arg in session.get_inputs()]
    assert shape == ["N", 3, 112, 112] and tuple(shape[2:4][::-1]) == (112, 112)
    copy = PickableInferenceSession.__new__(PickableInferenceSession)
    copy.__setstate__(session.__getstate__())
    x = np.ones((1, 3, 112, 112), np.float32)
    assert copy.run([copy.get_outputs()[0].name], {copy.get_inputs()[0].name: x})[0].tolist() == [[1, 1, 1]]


#: present = past and new rows; the file names an extent by a sum
DECODER = model_of(
    [node("Neg", ["new"], ["rows"]), node("Concat", ["past", "rows"], ["present"], axis=1)],
    [("new", tensor_type(1, ["batch", "seq", 2])), ("past", tensor_type(1, ["batch", "past_len", 2]))],
    [("rows", tensor_type(1, ["batch", "seq", 2])), ("present", tensor_type(1, ["batch", "past_len + seq", 2]))],
)


def test_encoders_and_decoders(tmp_path):
    """As Optimum: the module is searched, shapes are evaluated, outputs are bound to buffers by names and types."""
    assert importlib.util.find_spec("onnxruntime") is not None
    import onnxruntime
    from onnxruntime.transformers.io_binding_helper import TypeHelper

    assert tuple(map(int, onnxruntime.__version__.split("."))) >= (1, 4, 0) and onnxruntime.__path__[0]
    options = onnxruntime.SessionOptions()
    (tmp_path / "model.onnx").write_bytes(DECODER)
    session = onnxruntime.InferenceSession(
        str(tmp_path / "model.onnx"), sess_options=options, providers=["CPUExecutionProvider"], provider_options=[{}]
    )
    assert os.path.exists(session._model_path)
    assert session.get_provider_options() == {"CPUExecutionProvider": {}}
    assert {arg.name: arg.shape for arg in session.get_inputs()}["past"] == ["batch", "past_len", 2]
    assert TypeHelper.ort_type_to_numpy_type(session.get_inputs()[0].type) is np.float32
    new, past = np.full((1, 2, 2), -0.5, np.float32), np.zeros((1, 0, 2), np.float32)
    for step in range(3):
        extents = {"batch": 1, "seq": 2, "past_len": 2 * step}
        shapes = {
            arg.name: [eval(d, {}, extents) if isinstance(d, str) else d for d in arg.shape]
            for arg in session.get_outputs()
        }
        assert shapes == {"rows": [1, 2, 2], "present": [1, 2 * step + 2, 2]}
        binding = onnxruntime.IOBinding(session)
        for name, array in (("new", new), ("past", past)):
            binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        buffers = {}
        for name, shape in shapes.items():
            kind = TypeHelper.ort_type_to_numpy_type(TypeHelper.get_output_type(session, name))
            buffers[name] = np.empty(int(np.prod(shape)), kind)
            binding.bind_output(name, "cpu", 0, kind, shape, buffers[name].ctypes.data)
        binding.synchronize_inputs()
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        past = buffers["present"].reshape(shapes["present"])
        binding.clear_binding_outputs()
    assert past.tolist() == [[[0.5, 0.5]] * 6]
    with pytest.raises(ImportError):
        import onnxruntime.quantization  # noqa: F401


def test_speech(tmp_path):
    """As silero-vad: one thread, a state that runs pass on, a rate as an array of rank 0."""
    import onnxruntime

    text = """graph vad(%input: f32[N,T], %state: f32[2,N,4], %sr: i64[]) {
      %m: f32[N,1] = ReduceMean(%input, i64[1] [1])
      %s: f32[2,N,4] = Add(%state, %m)
      %p: f32[N,1] = Sigmoid(%m)
      return output = %p, stateN = %s
    }"""
    options = onnxruntime.SessionOptions()
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = 1
    if "CPUExecutionProvider" in onnxruntime.get_available_providers():
        session = onnxruntime.InferenceSession(
            file_of(tmp_path, text), providers=["CPUExecutionProvider"], sess_options=options
        )
    state = np.zeros((2, 1, 4), dtype="float32")
    for _ in range(4):
        feeds = {"input": np.full((1, 512), 0.5, np.float32), "state": state, "sr": np.array(16000, dtype="int64")}
        out, state = session.run(None, feeds)
    assert np.allclose(out, 1 / (1 + np.exp(-0.5))) and state.tolist() == [[[2.0] * 4]] * 2


def test_errors_by_class():
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    session = onnxruntime.InferenceSession(bytes_of("graph g(%x: f32[N,2]) { return y = %x }"))
    with pytest.raises(state.InvalidArgument, match=r"\[ONNXRuntimeError\] : 2 : INVALID_ARGUMENT : Invalid rank"):
        session.run(None, {"x": rows([1])[0]})
    with pytest.raises(state.NoSuchFile):
        onnxruntime.InferenceSession("nothing.onnx")
    names = "Fail InvalidArgument NoSuchFile NoModel EngineError RuntimeException InvalidProtobuf ModelLoaded"
    codes = [getattr(state, name).code for name in f"{names} NotImplemented InvalidGraph EPFail".split()]
    assert codes == list(range(1, 12))
