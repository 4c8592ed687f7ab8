"""Building graphs."""

import inspect

import frazil
import numpy as np
import pytest


@pytest.fixture
def g():
    return frazil.Graph("test")


def result(g, term, **inputs):
    g.output("result", term)
    return g.build().run(inputs)["result"]


X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
I = np.array([[7, -2, 3], [4, 5, 6]], np.int64)
B = X > 0

FLOAT_CASES = {
    "x + 1": lambda x: x + 1,
    "1 + x": lambda x: 1 + x,
    "x - x": lambda x: x - x,
    "2 - x": lambda x: 2 - x,
    "x * 2.5": lambda x: x * 2.5,
    "1 / x": lambda x: 1 / x,
    "x ** 2": lambda x: x**2,
    "-x": lambda x: -x,
    "abs(x)": lambda x: abs(x),
    "x + array": lambda x: x + X[0],
    "x < 1": lambda x: x < 1,
    "x <= 1": lambda x: x <= 1,
    "x > 1": lambda x: x > 1,
    "x >= 1": lambda x: x >= 1,
    "x @ w": lambda x: x @ X.T,
    "x.T": lambda x: x.T,
    "x.transpose(1, 0)": lambda x: x.transpose(1, 0),
    "x.reshape(3, -1)": lambda x: x.reshape(3, -1),
    "x[0]": lambda x: x[0],
    "x[-1, 1]": lambda x: x[-1, 1],
    "x[:, 1]": lambda x: x[:, 1],
    "x[1:]": lambda x: x[1:],
    "x[:, ::2]": lambda x: x[:, ::2],
    "x[:, ::-1]": lambda x: x[:, ::-1],
    "x[:, :-1]": lambda x: x[:, :-1],
    "x[..., 0]": lambda x: x[..., 0],
    "x[None]": lambda x: x[None],
    "x[:, None, 1:]": lambda x: x[:, None, 1:],
    "x[0, None]": lambda x: x[0, None],
    "x[..., None]": lambda x: x[..., None],
    "x[[1, 0]]": lambda x: x[[1, 0]],
    "x[:]": lambda x: x[:],
    "x[1:, ::2][0]": lambda x: x[1:, ::2][0],
}
INT_CASES = {
    "x & 3": lambda x: x & 3,
    "1 | x": lambda x: 1 | x,
    "x ^ x": lambda x: x ^ x,
    "~x": lambda x: ~x,
    "x % 4": lambda x: x % 4,
    "x + 1": lambda x: x + 1,
}
BOOL_CASES = {
    "x & x": lambda x: x & x,
    "x | True": lambda x: x | True,
    "x ^ True": lambda x: x ^ True,
    "~x": lambda x: ~x,
}
CASES = [
    pytest.param(value, function, id=f"{value.dtype}: {text}")
    for value, cases in ((X, FLOAT_CASES), (I, INT_CASES), (B, BOOL_CASES))
    for text, function in cases.items()
]


@pytest.mark.parametrize("value, function", CASES)
def test_operators_of_python(g, value, function):
    x = g.input("x", value.dtype, ("N", 3))
    y = result(g, function(x), x=value)
    expected = function(value)
    assert y.dtype == expected.dtype and y.shape == expected.shape
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_terms(g):
    x = g.input("x", frazil.float32, ("N", 3))
    assert (x.type, x.dtype, x.shape, x.ndim) == ("f32[N,3]", frazil.float32, ("N", 3), 2)
    assert repr(x) == "<frazil.Term f32[N,3]>"
    assert (x == x).type == (x != x + 0).type == "bool[N,3]" and len({x, x}) == 1
    assert result(g, x.eq(1), x=X).tolist() == (X == 1).tolist()
    assert x.ne(1).dtype == "bool" and x.astype("int32").dtype == np.int32
    for bad in (lambda: bool(x), lambda: list(x), lambda: x["a"], lambda: x[1.5]):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(IndexError):
        x[0, 0, 0]


def test_index_by_terms(g):
    x, i = g.input("x", "float32", ("N", 3)), g.input("i", "int64")
    g.output("row", x[i])
    g.output("head", x[:i])
    g.output("pick", x[0, g.constant([2, 0])])
    out = g.build().run({"x": X, "i": 1})
    assert out["row"].tolist() == X[1].tolist() and out["head"].tolist() == X[:1].tolist()
    assert out["pick"].tolist() == X[0, [2, 0]].tolist()


def test_generated_methods():
    conv = inspect.signature(frazil.Graph.Conv)
    assert list(conv.parameters)[:4] == ["self", "X", "W", "B"]
    assert conv.parameters["B"].default is None and conv.parameters["group"].default == 1
    assert conv.parameters["group"].kind is inspect.Parameter.KEYWORD_ONLY
    assert inspect.signature(frazil.Graph.Cast).parameters["to"].default is inspect.Parameter.empty
    doc = frazil.Graph.Conv.__doc__
    assert "Convolution" in doc and "float16" in doc and "auto_pad" in doc
    for info in frazil.operators():
        owner = getattr(frazil.Graph("x"), info.domain.replace(".", "_")) if info.domain else frazil.Graph
        method = getattr(owner, info.name)
        assert inspect.signature(method) and method.__doc__.startswith(info.doc)


def test_nodes(g):
    x = g.input("x", "float32", (2, 3))
    values, indices = g.TopK(x, [2], name="top")
    g.output("values", values)
    g.output("indices", indices)
    a, b = g.Split(x, num_outputs=2, axis=0, outputs=2)
    g.output("sum", g.Concat(a, b, a, axis=0))
    g.output("cast", g.Cast(x, to=np.int32))
    g.output("clip", g.Clip(x, None, 2))
    g.output("scaled", g.ai_onnx_ml.Scaler(x, offset=[1.0], scale=[2.0]))
    g.output("raw", g.op("ai.onnx.ml.Scaler", [x], {"offset": [1.0], "scale": [2.0]}))
    out = g.build().run({"x": X})
    assert out["values"].tolist() == [[3, 1], [5, 4]] and out["sum"].shape == (3, 3)
    assert out["cast"].dtype == np.int32 and out["clip"].max() == 2
    assert out["scaled"].tolist() == out["raw"].tolist() == ((X - 1) * 2).tolist()


def test_if(g):
    x = g.input("x", "float32", ("N",))
    y, z = g.if_(g.ReduceSum(x, keepdims=0) > 0, lambda: (x + 1, x), lambda: (x - 1, x * 2))
    g.output("y", y)
    g.output("z", z)
    g.output("w", g.If(x[0] > 0, then_branch=lambda: x, else_branch=lambda: -x))
    model = g.build()
    assert [v.tolist() for v in model([1, 2])] == [[2, 3], [1, 2], [1, 2]]
    assert [v.tolist() for v in model([-1, -2])] == [[-2, -3], [-2, -4], [1, 2]]


def test_loops(g):
    x = g.input("x", "float32")
    g.output("doubled", g.loop(5, None, x, lambda i, c, v: v * 2))
    last, all_ = g.loop(g.constant(3), True, x, lambda i, c, v: (c, v + 1, v), collected=1)
    g.output("last", last)
    g.output("all", all_)
    g.output("until", g.loop(None, True, x, lambda i, c, v: (v < 100, v * 3)))
    a, b = g.loop(4, None, (x, x), lambda i, c, a, b: (a + b, g.if_(a > 2, lambda: a * 2, lambda: b)))
    g.output("b", b)
    sums, steps = g.Scan(
        x, g.constant([1.0, 2, 3]), body=lambda s, v: (s + v, s), num_scan_inputs=1, outputs=2, name="scan"
    )
    g.output("sums", sums)
    g.output("steps", steps)
    out = g.build().run({"x": 1})
    assert {name: v.tolist() for name, v in out.items()} == {
        "doubled": 32, "last": 4, "all": [1, 2, 3], "until": 729, "b": 8, "sums": 7, "steps": [1, 2, 4],
    }  # fmt: skip


def test_constants(g):
    x = g.input("x", "float64", ("N",))
    assert (x + 1).dtype == "float64"
    for value, dtype in [
        (1, "int64"),
        (1.5, "float32"),
        (True, "bool"),
        ("a", "string"),
        (1j, "complex64"),
        (X, "float32"),
    ]:
        assert g.constant(value).dtype == dtype
    assert g.constant([1, 2], "float16").dtype == "float16"
    assert g.constant(np.array(["a", "b"])).shape == (2,)
    with pytest.raises(frazil.BadInput, match="constant 'c': expected float16, got float32"):
        g.constant(X, "float16", name="c")
    with pytest.raises(frazil.BadInput, match="do not fit int64"):
        g.Add(g.input("i", "int64"), 1.5)  # operators of Python cast, those of the graph do not


def test_errors_say_where(g):
    x = g.input("x", "float32", (2, 3))
    other = frazil.Graph().input("x", "float32")
    cases = [
        (lambda: g.MatMul(x, x, name="product"), frazil.BadModel, "product"),
        (lambda: g.Gemm(x, x, alpha="q"), frazil.BadInput, "attribute 'alpha'"),
        (lambda: g.input("x", "float32"), frazil.BadModel, "input 'x'"),
        (lambda: g.input("y", "float32", (1.5,)), frazil.BadInput, "input 'y'"),
        (lambda: g.input("y", "f99"), frazil.BadInput, "input 'y'"),
        (lambda: g.output("y", other), frazil.BadInput, "another graph"),
        (lambda: x + other, frazil.BadInput, "another graph"),
        (lambda: g.op("Nope", [x]), frazil.Unsupported, "'Nope'"),
        (lambda: g.op("Relu", [x], {"bogus": 1}), frazil.BadModel, "'bogus'"),
        (lambda: g.if_(x[0, 0] > 0, lambda: x, lambda: (x, x)), frazil.BadModel, ""),
    ]
    for call, kind, message in cases:
        with pytest.raises(kind) as raised:
            call()
        assert message in str(raised.value) and __file__ in str(raised.value), str(raised.value)
        assert raised.value.location[0] == __file__
    for call in (lambda: g.Relu(), lambda: g.Relu(x, bogus=1), lambda: g.Conv(x, x, x, x), lambda: g.Cast(x)):
        with pytest.raises(TypeError):
            call()
    assert result(g, x + 1, x=X).tolist() == (X + 1).tolist(), "failed calls leave nothing"


def test_an_error_in_a_body(g):
    x = g.input("x", "float32")

    def bad(i, condition, v):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        g.loop(3, None, x, bad)
    kept = []
    g.loop(3, None, x, lambda i, c, v: kept.append(v) or v)
    with pytest.raises(frazil.BadInput):
        g.output("y", kept[0])
    with pytest.raises(TypeError, match="fixed number"):
        g.Loop(g.constant(3), None, x, body=lambda *v: v)
    assert result(g, x + 1, x=1) == 2


def test_builds_are_independent(g):
    x = g.input("x", "float32")
    g.output("y", x)
    one = g.build(threads=2)
    g.output("z", x + 1)
    two = g.build()
    assert (len(one.outputs), len(two.outputs), one.options.threads) == (1, 2, 2)
