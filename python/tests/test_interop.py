"""Habits of NumPy, PyTorch and ONNX Runtime: results in the caller's memory, DLPack, exceptions of files."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def model():
    """Two outputs of different types, one of which is a view of a sum."""
    g = frazil.Graph("two")
    x = g.input("x", "float32", ("N", 3))
    s = g.input("s", "float64")
    g.output("y", g.Relu(x) * np.float32(1.7))
    g.output("z", g.ReduceSum(g.Cast(x, to="float64"), np.array([0]), keepdims=0) + s)
    return g.build(threads=1)


def feeds(rows=2):
    x = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
    return {"x": x, "s": 0.25}


def expected(given):
    return np.maximum(given["x"], 0) * np.float32(1.7), given["x"].astype(np.float64).sum(axis=0) + given["s"]


# ---- ONNX Runtime's habits ----


def runners(model):
    live = frazil.LiveModel(model)
    return [model.run, model.session().run, live.open().run]


def test_lists_of_results(model):
    given = feeds()
    y, z = expected(given)
    for run in runners(model):
        np.testing.assert_array_equal(run(None, given)[0], y)
        np.testing.assert_allclose(run(["z"], given)[0], z)
        both = run(("z", "y", "z"), given)
        assert len(both) == 3 and both[0] is both[2]
        np.testing.assert_array_equal(both[1], y)
        assert run([], given) == []
        np.testing.assert_array_equal(run(given)["y"], y)
        with pytest.raises(frazil.BadInput, match="model 'two' has no output 'q'; it has 'y', 'z'"):
            run(["q"], given)
        with pytest.raises(frazil.BadInput, match="a list of the names of outputs, or None"):
            run("y", given)
        with pytest.raises(frazil.BadInput, match="has no input 'q'"):
            run(None, {"q": 1})


def test_ports(model):
    assert model.input_names == ["x", "s"] and model.output_names == ["y", "z"]
    assert [(p.name, p.shape, p.type) for p in model.get_inputs()] == [("x", ("N", 3), "f32[N,3]"), ("s", (), "f64[]")]
    assert [p.name for p in model.get_outputs()] == ["y", "z"]


# ---- results in the caller's memory ----


def test_results_in_arrays(model):
    for tier in ("ref", "0", "1", "2"):
        for run in (model.with_options(tier=tier).run, model.session(tier=tier).run):
            for rows in (2, 5, 0):
                given = feeds(rows)
                y, z = np.full((rows, 3), -7, np.float32), np.full(3, -7.0)
                got = run(given, out={"y": y, "z": z})
                assert got["y"] is y and got["z"] is z
                np.testing.assert_array_equal(y, expected(given)[0])
                np.testing.assert_allclose(z, expected(given)[1])
                assert run(["z"], given, out={"y": y})[0] is not z
            kept = y.copy()
            run(feeds(3))
            np.testing.assert_array_equal(y, kept, "later runs are not bound")


def test_results_in_tensors(model):
    given = feeds()
    y = torch.zeros(2, 3)
    got = model.run(given, out={"y": y})
    assert got["y"] is y
    np.testing.assert_array_equal(y.numpy(), expected(given)[0])


def test_a_result_over_an_input(model):
    given = feeds()
    y = expected(given)[0]
    model.run(given, out={"y": given["x"]})
    np.testing.assert_array_equal(given["x"], y)


def test_a_part_of_an_array(model):
    given, whole = feeds(), np.full((4, 3), -7, np.float32)
    model.run(given, out={"y": whole[1:3]})
    np.testing.assert_array_equal(whole[1:3], expected(given)[0])
    assert (whole[[0, 3]] == -7).all()


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "out, message",
    [
        ({"y": np.zeros((2, 3))}, "output 'y'.*f32.*f64"),
        ({"y": np.zeros((3, 2), np.float32)}, r"out\['y'\]: the result has the shape \(2, 3\), the array \(3, 2\)"),
        ({"y": np.zeros(6, np.float32)}, r"out\['y'\]: the result has the shape \(2, 3\), the array \(6,\)"),
        ({"y": np.zeros((2, 2), np.float32)}, "output 'y'.* takes 24 bytes, its memory has 16"),
        ({"y": np.zeros((9, 3), np.float32)}, r"out\['y'\]: the result has the shape \(2, 3\), the array \(9, 3\)"),
        ({"y": np.zeros((3, 2), np.float32).T}, r"out\['y'\]: expected an array in row-major order"),
        ({"y": np.zeros((2, 6), np.float32)[:, ::2]}, r"out\['y'\]: expected an array in row-major order"),
        ({"y": np.zeros((2, 3), ">f4")}, "native byte order"),
        ({"y": read_only(np.zeros((2, 3), np.float32))}, r"out\['y'\]: the array cannot be written"),
        ({"q": np.zeros((2, 3), np.float32)}, "no output 'q'"),
        ({"y": [0.0]}, r"out\['y'\]: the object has no __dlpack__"),
        ([np.zeros((2, 3), np.float32)], "out: expected a dict"),
        ({"y": np.zeros((2, 3), "m8[s]")}, r"out\['y'\]: no element type"),
        ({"y": torch.zeros(3, 2).T}, r"out\['y'\]: expected an array in row-major order"),
    ],
)
def test_arrays_that_do_not_fit(model, out, message):
    given = feeds()
    for run in (model.run, model.session().run):
        with pytest.raises(frazil.BadInput, match=message):
            run(given, out=out)
        np.testing.assert_array_equal(run(given)["y"], expected(given)[0], "the session is as before")


def test_one_array_for_two_results():
    g = frazil.Graph("same")
    x = g.input("x", "float32", ("N",))
    g.output("y", -x)
    g.output("z", x + 1)
    same, memory = g.build(), np.zeros(3, np.float32)
    with pytest.raises(frazil.BadInput, match="bound|memory"):
        same.run({"x": [1.0, 2, 3]}, out={"y": memory, "z": memory})
    assert same.run({"x": [1.0, 2, 3]})["z"].tolist() == [2, 3, 4]


def test_results_in_arrays_of_threads(model):
    def one(seed):
        given = feeds(2 + seed % 5)
        y = np.zeros_like(given["x"])
        model.run(given, out={"y": y})
        return np.array_equal(y, expected(given)[0])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(200)))


# ---- results that can be written ----


def test_results_of_models_can_be_written(model):
    given = feeds()
    first = model.run(given)
    first["y"][:] = 99
    first["z"] += 1
    again = model.run(given)
    np.testing.assert_array_equal(again["y"], expected(given)[0])
    assert (first["y"] == 99).all()
    shared = torch.from_dlpack(again["y"])
    shared.mul_(2)
    np.testing.assert_array_equal(again["y"], expected(given)[0] * 2)


def test_constants_and_inputs_stay():
    g = frazil.Graph("constants")
    x = g.input("x", "float32", (40,))
    g.output("c", g.constant(np.arange(40, dtype=np.float32)))
    g.output("same", x)
    constant = g.build()
    given = np.ones(40, np.float32)
    for _ in range(3):
        got = constant.run({"x": given})
        np.testing.assert_array_equal(got["c"], np.arange(40))
        np.testing.assert_array_equal(got["same"], np.ones(40))
        for result in got.values():
            if result.flags.writeable:
                result[:] = -3


def test_values_of_lazy_arrays():
    """A temporary's can be written; an array that is held, a parameter and the user's own memory cannot."""
    x = fnp.array(np.arange(5, dtype=np.float32) + 0.5)
    for _ in range(3):
        y = (x * 3 - 1).numpy()
        assert y.flags.writeable
        kept = y.copy()
        y[2] = -8
        np.testing.assert_array_equal((x * 3 - 1).numpy(), kept)
        assert y[2] == -8
    z = x * 3 - 1
    assert not z.numpy().flags.writeable and not z.numpy().flags.writeable
    both = [z + 1, z + 2]
    assert not any(one.numpy().flags.writeable for one in both)
    given = np.arange(5, dtype=np.float32)
    assert not fnp.asarray(given).numpy().flags.writeable
    assert not frazil.parameter(given).numpy().flags.writeable
    alias = z.copy()
    del z
    assert not alias.numpy().flags.writeable
    np.testing.assert_array_equal(alias.numpy(), kept)


def test_a_temporary_that_others_use():
    """Its value is held by what was recorded from it, or is one of a block of values."""
    x = fnp.array(np.arange(6, dtype=np.float32))
    held = []

    def remembered(value):
        held.append(value + 1)
        return value

    first = remembered(x * 2).numpy()
    if first.flags.writeable:
        first[:] = -50
    np.testing.assert_array_equal(held[0].numpy(), np.arange(6) * 2 + 1)
    parts = fnp.split(fnp.array(np.arange(6, dtype=np.float32)), 2)
    one, two = parts[0].numpy(), parts[1].numpy()
    assert not one.flags.writeable and two.tolist() == [3, 4, 5]

    words = frazil.parameter(np.arange(8, dtype=np.float32).reshape(4, 2))
    doubled = frazil.function(lambda row: row * 2)
    for _ in range(3):
        row = doubled(words[3]).numpy()
        assert row.tolist() == [12, 14]
        if row.flags.writeable:
            row[:] = 0

    def value(k):
        return words[k] * np.float32(k + 1)

    made = frazil.batch(range(4), value)
    results = [m.numpy() for m in made]
    assert [r.tolist() for r in results] == [[0, 1], [4, 6], [12, 15], [24, 28]]


def test_dlpack_both_ways():
    x = fnp.array([1.0, 2.0], np.float32)
    made = torch.from_dlpack((x + 1).numpy())  # pytest would hold on to what stands in an assertion
    assert made.tolist() == [2, 3]
    tensor = torch.from_dlpack(x)
    tensor.add_(5)
    assert x.tolist() == [1, 2], "lazy arrays are immutable"
    shared = torch.arange(4, dtype=torch.float32)
    lazy = fnp.asarray(shared)
    assert np.shares_memory(lazy.numpy(), shared.numpy())
    y = (lazy * 2).numpy()
    assert torch.from_dlpack(y).data_ptr() == y.ctypes.data
    array = frazil.from_dlpack(shared)
    array[0] = 9
    assert shared[0] == 9


# ---- several lazy arrays ----


def test_eval():
    x = fnp.array(np.arange(4, dtype=np.float32))
    common = fnp.exp(x)
    a, b, c = common + 1, common * 2, fnp.tanh(x)
    assert frazil.eval(a, [b, {"c": c}], 3, None, np.ones(2)) is None
    assert a._there and b._there and c._there
    np.testing.assert_allclose(b.numpy(), np.exp(np.arange(4)) * 2, rtol=1e-6)
    frazil.eval(a, a)
    frazil.eval()
    frazil.eval(frazil.parameter(np.ones(2)), fnp.array(2))


def test_eval_runs_what_is_common_once():
    calls = []

    @frazil.host_operator("test.interop.Counted", replace=True, pure=False)
    def counted(x):
        calls.append(1)
        return x * 2

    x = fnp.array(np.arange(4, dtype=np.float32))
    y = frazil.lazy.ops.op("test.interop.Counted", [x]) if hasattr(frazil.lazy.ops, "op") else counted(x)
    a, b = y + 1, y - 1
    frazil.eval(a, b)
    assert len(calls) == 1
    assert a.tolist() == [1, 3, 5, 7] and b.tolist() == [-1, 1, 3, 5]


def test_eval_tells_what_reading_tells():
    @frazil.function
    def traced(x):
        frazil.eval(x)
        return x

    with pytest.raises(frazil.BadInput, match="a traced function reads a value"):
        traced(fnp.array([1.0]))


def test_eval_of_threads():
    weights = frazil.parameter(np.eye(8, dtype=np.float32) * 3)
    failed = []

    def work(seed):
        x = np.random.default_rng(seed).normal(size=(4, 8)).astype(np.float32)
        a = fnp.asarray(x) @ weights
        b, c = fnp.tanh(a), a.sum()
        frazil.eval(b, c)
        if not np.allclose(b.numpy(), np.tanh(x * 3), atol=1e-5) or not np.isclose(float(c), (x * 3).sum(), atol=1e-3):
            failed.append(seed)

    threads = [threading.Thread(target=lambda k=k: [work(k * 50 + i) for i in range(20)]) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# ---- files ----


def test_files_that_are_not_there(model, tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        frazil.load(tmp_path / "nothing.onnx")
    error = raised.value
    assert isinstance(error, frazil.BadInput) and isinstance(error, frazil.FileError) and isinstance(error, ValueError)
    assert str(error) == f"[Errno 2] No such file or directory: '{tmp_path / 'nothing.onnx'}'"
    assert error.filename == str(tmp_path / "nothing.onnx") and error.errno == 2
    with pytest.raises(IsADirectoryError):
        frazil.load(tmp_path)
    with pytest.raises(frazil.FileError, match="Not a directory"):
        (tmp_path / "file").write_bytes(b"")
        frazil.load(tmp_path / "file" / "model.onnx")
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "no folder" / "model.onnx")
    with pytest.raises(IsADirectoryError):
        model.save(tmp_path)
    with pytest.raises(frazil.BadModel):
        (tmp_path / "bad.onnx").write_bytes(b"\xff" * 100)
        frazil.load(tmp_path / "bad.onnx")
    with pytest.raises(frazil.BadInput, match="policy") as raised:
        model.save(tmp_path / "good.onnx")
        frazil.load(tmp_path / "good.onnx", policy=refusing())
    assert not isinstance(raised.value, OSError)


def refusing():
    class Refusing(frazil.Policy):
        def check_load(self, model):
            return "no"

    return Refusing()
