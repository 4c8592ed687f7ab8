"""Inputs and outputs of every kind."""

import pickle
import types

import frazil
import numpy as np
import pytest

NATIVE = [d for d in frazil.dtypes if d.numpy.names is None and d != "string"]


def identity(type_text):
    return frazil.from_text(f"graph same(%x: {type_text}) {{ return y = %x }}")


def test_version_and_operators():
    assert frazil.__version__.count(".") == 2
    assert len(frazil.operators()) > 150


def test_ports(affine):
    x, s = affine.inputs
    assert (x.name, x.dtype, x.shape, x.type, x.kind, x.optional) == (
        "x",
        frazil.float32,
        ("N",),
        "f32[N]",
        "tensor",
        False,
    )
    assert (s.shape, s.optional) == ((), True)
    assert [p.name for p in affine.outputs] == ["y", "z"]
    assert repr(x) == "Port('x', 'f32[N]')"
    assert identity("f32[...]").inputs[0].shape is None
    assert identity("f32[2,N,N + 1]").inputs[0].shape == (2, "N", "N + 1")
    assert identity("seq<i64[...]>").inputs[0].kind == "sequence"
    assert identity("seq<i64[...]>").inputs[0].dtype is None
    assert repr(affine).startswith("<frazil.Model 'affine' (x: f32[N], s: f32[]) -> (y: f32[N]")


def test_run_and_call(affine):
    x = np.array([1, 2, 3], np.float32)
    out = affine.run({"x": x, "s": np.float32(1)})
    assert list(out) == ["y", "z"]
    assert out["z"].tolist() == [4, 9, 16]
    for y, z in (affine(x, 1), affine(x, s=1), affine(s=1, x=x), affine(x, np.float32(1))):
        assert (y.tolist(), z.tolist()) == ([2, 3, 4], [4, 9, 16])
    assert affine(x)[0].tolist() == affine(x, None)[0].tolist() == [1, 2, 3]


def test_any_mapping(affine):
    assert affine.run(types.MappingProxyType({"x": [1]}))["y"].tolist() == [1]


def test_one_output_is_the_array(square):
    assert square(np.float32(3)) == 9
    assert isinstance(square(np.float32(3)), np.ndarray)


@pytest.mark.parametrize("dtype", NATIVE, ids=str)
def test_native_types(dtype):
    x = np.array([[0, 1], [1, 0]]).astype(dtype.numpy)
    y = identity(f"{dtype.short_name}[A,B]")(x)
    assert y.dtype == dtype.numpy and np.array_equal(x, y)


EXTENSIONS = [d for d in frazil.dtypes if d not in NATIVE and d != "string"]


@pytest.mark.parametrize("dtype", EXTENSIONS, ids=str)
def test_extension_types(dtype):
    """As structures of the bits, with or without ml_dtypes."""
    bits = {2: np.uint16, 1: np.int8 if dtype.name in ("int4", "int2") else np.uint8}[dtype.itemsize]
    x = np.array([0, 1, 1], bits).view(np.dtype([(dtype.name, bits)]))
    y = identity(f"{dtype.short_name}[N]")(x)
    assert y.dtype == dtype.numpy and y.tobytes() == x.tobytes()


def test_bfloat16_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    model = frazil.from_text("graph g(%x: bf16[N]) { %y = Add(%x, %x) return y = %y }")
    x = np.array([1, 2.5], ml_dtypes.bfloat16)
    assert model(x).dtype == ml_dtypes.bfloat16 and model(x).astype(float).tolist() == [2, 5]
    assert model([1, 2.5]).astype(float).tolist() == [2, 5]


def test_numbers_and_lists_take_the_declared_type():
    cases = [
        ("f32[]", 2, np.float32, 2),
        ("f32[]", True, np.float32, 1),
        ("f16[N]", [1, 2.5], np.float16, [1, 2.5]),
        ("i64[]", 3, np.int64, 3),
        ("u8[N]", [0, 255], np.uint8, [0, 255]),
        ("bool[N]", [True, False], np.bool_, [True, False]),
        ("c64[]", 1 + 2j, np.complex64, 1 + 2j),
        ("f64[A,B]", [[1, 2]], np.float64, [[1, 2]]),
        ("i32[N]", [], np.int32, []),
    ]
    for type_text, value, dtype, expected in cases:
        y = identity(type_text)(value)
        assert (y.dtype, y.tolist()) == (dtype, expected), type_text


BAD = [
    ("f32[N]", np.zeros(2), "input 'x': expected f32[N], got f64[2]"),
    ("f32[N]", np.zeros((2, 2), np.float32), "input 'x': expected f32[N], got f32[2,2]"),
    ("f32[3]", np.zeros(2, np.float32), "input 'x'"),
    ("f32[]", np.float64(1), "input 'x': expected f32[], got f64[]"),
    ("i64[]", 1.5, "input 'x': float64 values do not fit int64"),
    ("u8[N]", [256], "input 'x': a value is out of the range of uint8"),
    ("u8[N]", [-1], "input 'x': a value is out of the range of uint8"),
    ("bool[]", 1, "input 'x': int64 values do not fit bool"),
    ("f32[]", "one", "input 'x'"),
    ("f32[A,B]", [[1], [1, 2]], "input 'x'"),
    ("f32[N]", np.array(["2020-01-01"], "datetime64[D]"), "input 'x': no element type"),
    ("f32[N]", object(), "input 'x'"),
    ("f32[N]", np.array([1.0, None], object), "input 'x': expected float32, got an array of object"),
    ("f32[N]", np.array(["a"]), "input 'x': expected float32, got an array of <U1"),
    ("f32[N]", None, "input 'x' is missing"),
    ("string[N]", [1], "input 'x': expected texts, got int"),
    ("seq<f32[...]>", 5, "input 'x': expected a list"),
    ("seq<f32[...]>", [np.zeros(1)], "input 'x'"),
    ("seq<f32[...]>", [[1, 2], "a"], "input 'x'[1]"),
    ("map<string,f32[]>", [1], "input 'x': expected a dict"),
    ("map<string,f32[]>", {"a": "b"}, "input 'x'['a']"),
]


@pytest.mark.parametrize("type_text, value, message", BAD)
def test_bad_inputs(type_text, value, message):
    model = identity(type_text)
    with pytest.raises(frazil.BadInput) as raised:
        model.run({"x": value})
    assert message in str(raised.value) and isinstance(raised.value, ValueError)


def test_bad_calls(affine):
    x = np.zeros(1, np.float32)
    for call, message in [
        (lambda: affine.run({"q": x}), "model 'affine' has no input 'q'; it has 'x', 's'"),
        (lambda: affine.run({1: x}), "no input 1"),
        (lambda: affine.run([x]), "run() takes a dict"),
        (lambda: affine(x, 1, 2), "model 'affine' has 2 inputs, got 3"),
        (lambda: affine(x, x=x), "input 'x' was given twice"),
        (lambda: affine.run({}), "input 'x' is missing"),
    ]:
        with pytest.raises(frazil.BadInput) as raised:
            call()
        assert message in str(raised.value)
    assert affine(x)[0].tolist() == [0], "usable after errors"


def test_an_error_has_the_node():
    model = frazil.from_text('graph g(%x: f32[N]) { %y = Reshape(%x, i64[1] [3]) "narrow" return y = %y }')
    with pytest.raises(frazil.BadInput) as raised:
        model(np.zeros(4, np.float32))
    assert raised.value.node == "node 'narrow' (Reshape)"
    assert str(raised.value).startswith(raised.value.node + ": ")
    with pytest.raises(frazil.BadInput) as raised:
        model(np.zeros((2, 2), np.float32))
    assert raised.value.node == "", "an input of the model is not a node's"


def test_strings():
    model = frazil.from_text("graph g(%x: string[N]) { %y = StringConcat(%x, %x) return y = %y }")
    for value in (["ä", "b"], np.array(["ä", "b"]), np.array(["ä", "b"], object), ["ä".encode(), b"b"]):
        y = model(value)
        assert y.dtype == object and y.tolist() == ["ää", "bb"]
    assert model([b"\xff"]).tolist() == ["\udcff\udcff"], "bytes that are no UTF-8 survive"


def test_sequences_maps_and_optionals():
    seq = identity("seq<f32[...]>")
    out = seq([[1, 2], np.ones((1, 1), np.float32), 3])
    assert isinstance(out, list) and [o.tolist() for o in out] == [[1, 2], [[1]], 3]
    assert seq(out)[0].tolist() == [1, 2] and seq(()) == []
    assert identity("map<string,f32[]>")({"a": 1, "b": 2.5}) == {"a": 1.0, "b": 2.5}
    assert identity("map<i64,f32[]>")({-3: 1}) == {-3: 1.0}
    maps = identity("seq<map<i64,f32[]>>")([{1: 2.0}, {}])
    assert maps == [{1: 2.0}, {}]
    assert identity("opt<f32[1]>")(None) is None
    assert identity("opt<f32[1]>")(np.ones(1, np.float32)).tolist() == [1]


def test_layouts(square):
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    for x in (base.T, base[:, ::2], base[::-1], base.astype(">f4"), np.asfortranarray(base), base[:0], base[1, 1]):
        assert np.array_equal(square(x), np.square(x))


def test_options(affine, endless):
    assert repr(affine.options) == "Options()" and "0 runs" in repr(affine.session())
    model = affine.with_options(threads=2, tier="ref", deadline_ms=1e4)
    assert (model.options.threads, model.options.tier, model.options.deadline_ms) == (2, "ref", 1e4)
    assert model([1])[0].tolist() == [1]
    with pytest.raises(frazil.LimitExceeded):
        endless.with_options(max_steps=1000)(0)
    with pytest.raises(frazil.LimitExceeded):
        endless.with_options(deadline_ms=20)(0)
    with pytest.raises(TypeError, match="unknown option 'thread'; options are tier, threads"):
        affine.session(thread=1)
    with pytest.raises(TypeError, match="option 'threads'"):
        affine.session(threads="many")
    with pytest.raises(frazil.BadInput, match="tier"):
        affine.session(tier="7")
    with pytest.raises(frazil.BadInput):
        affine.session(threads=5000)


def test_sessions(affine):
    session = affine.session(threads=1)
    x = np.ones(2, np.float32)
    assert session.run({"x": x})["y"].tolist() == session(x)[0].tolist() == [1, 1]
    assert session.counters.runs == 2 and "runs=2" in repr(session.counters)
    session.trim()
    assert session(x)[0].tolist() == [1, 1]
    session.cancel()  # between runs: no effect
    assert session(x)[0].tolist() == [1, 1]


def test_extents_of_a_file(tmp_path):
    made = frazil.from_text("graph g(%x: f32[N,2]) { %y: f32[N,2] = Neg(%x) return y = %y }")
    made.save(tmp_path / "m.onnx")
    assert made.inputs[0].declared is None
    for fixed, extents in [({}, (-1, 2)), ({"N": 3, "other": 1}, (3, 2))]:
        model = frazil.load(tmp_path / "m.onnx", extents=fixed)
        assert model.inputs[0].declared == ("N", 2) and model.inputs[0].extents == extents
    for wrong, kind in [({"N": -1}, frazil.BadInput), ({"N": "3"}, TypeError), (3, TypeError)]:
        with pytest.raises(kind):
            frazil.load(tmp_path / "m.onnx", extents=wrong)


def test_external_data_in_memory(tmp_path):
    weights = {"w": np.arange(40, dtype=np.float32)}
    text = "weight @w: f32[40]\ngraph g(%x: f32[]) { %y = Add(%x, @w) return y = %y }"
    frazil.from_text(text, weights).save(tmp_path / "m.onnx", external_bytes=1)
    model, data = (tmp_path / "m.onnx").read_bytes(), (tmp_path / "m.onnx.data").read_bytes()
    for given in (data, bytearray(data), np.frombuffer(data, np.uint8)):
        assert frazil.from_bytes(model, files={"m.onnx.data": given})(1).tolist() == list(range(1, 41))
    for wrong, kind in [({"other": data}, frazil.BadInput), ({"m.onnx.data": 3}, TypeError), ([data], TypeError)]:
        with pytest.raises(kind):
            frazil.from_bytes(model, files=wrong)


def test_files(tmp_path, affine):
    path = tmp_path / "affine.onnx"
    affine.save(path)
    for model in (frazil.load(path), frazil.load(str(path)), frazil.from_bytes(path.read_bytes())):
        assert model([1, 2], 1)[1].tolist() == [4, 9]
    assert len(frazil.load(path, fix_defaults=True).inputs) == 1
    again = frazil.from_text(affine.text(), affine.weights())
    assert again.text() == affine.text()
    assert pickle.loads(pickle.dumps(affine.with_options(threads=2))).options.threads == 2
    (tmp_path / "bad.onnx").write_bytes(b"\x08\xff")
    for call, kind in [
        (lambda: frazil.load(tmp_path / "none.onnx"), frazil.BadInput),
        (lambda: frazil.load(tmp_path / "bad.onnx"), frazil.BadModel),
        (lambda: frazil.from_text("graph"), frazil.BadModel),
        (lambda: frazil.load(path, max_nodes=1), frazil.LimitExceeded),
        (lambda: affine.save(tmp_path / "no" / "folder.onnx"), frazil.BadInput),
        (lambda: affine.save(path, opset=1), frazil.BadInput),
        (lambda: frazil.load(path, max_nodes="many"), TypeError),
        (lambda: frazil.from_bytes(memoryview(path.read_bytes())[::2]), BufferError),
    ]:
        with pytest.raises(kind) as raised:
            call()
        assert "\n" not in str(raised.value)


def test_dtypes():
    assert frazil.float32 == np.float32 == frazil.dtype("f4") and frazil.float32 != frazil.float64
    assert hash(frazil.float32) == hash(np.dtype("f4"))
    assert repr(frazil.bfloat16) == "frazil.bfloat16" and str(frazil.int4) == "int4"
    assert (frazil.float32.onnx, frazil.float32.itemsize) == (1, 4)
    assert pickle.loads(pickle.dumps(frazil.int8)) == frazil.int8
    with pytest.raises(frazil.BadInput):
        frazil.dtype("f3")
