"""Files of weights: safetensors and PyTorch's zip files."""

import collections
import io
import json
import pickle
import subprocess
import sys
import zipfile

import frazil
import numpy as np
import pytest
from frazil import nn

try:
    import torch
except ImportError:
    torch = None
needs_torch = pytest.mark.skipif(torch is None, reason="python3-torch is not installed")


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def entry(begin=0, end=8, dtype="F32", shape=(2,)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def read(tmp_path, content, **options):
    path = tmp_path / "weights"
    path.write_bytes(content)
    return frazil.load_state_dict(path, **options)


def test_round_trip(tmp_path):
    state = {
        d.name: np.arange(6).astype(d.numpy).reshape(2, 3)
        for d in frazil.dtypes
        if d.name[0] in "iuf" and d.itemsize and not d.numpy.names and d.name not in ("int4", "uint4", "int2", "uint2")
    }
    state |= {"bool": np.array([True, False]), "scalar": np.float32(3), "empty": np.zeros((0, 3), np.float32)}
    state["bfloat16"] = np.array([0x3F80], np.uint16).view(frazil.bfloat16.numpy)
    state["turned"] = np.arange(6, dtype=np.float64).reshape(2, 3).T
    path = tmp_path / "a.safetensors"
    frazil.save_safetensors(state, path, {"format": "np"})
    found = frazil.load_state_dict(path)
    assert set(found) == set(state)
    for name, value in state.items():
        assert found[name].dtype == value.dtype and found[name].shape == value.shape
        assert found[name].tobytes() == value.tobytes() and not found[name].flags.writeable
    assert found["float64"].base is not None and [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_modules_borrow(tmp_path):
    path = tmp_path / "a.safetensors"
    module = nn.Linear(3, 2)
    frazil.save_safetensors(module.state_dict(), path)
    state = frazil.load_state_dict(path)
    other = nn.Linear(3, 2)
    other.load_state_dict(state)
    assert np.shares_memory(other.state_dict()["weight"], state["weight"])
    x = np.ones((2, 3), np.float32)
    assert other(x).tolist() == module(x).tolist()


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "empty"),
        (b"abc", "neither"),
        (b"\0" * 64, "neither"),
        (safetensors({"a": entry()}, length=1 << 40), "neither"),
        (safetensors(b"{" + b"x" * 20), "header is not valid"),
        (safetensors(b'{"a":' * 2000), "header is not valid"),
        (safetensors(b'{"a":{},"a":{}}'), "given twice"),
        (safetensors({"a": 1}), "'a': expected dtype, shape"),
        (safetensors({"a": entry()}, bytes(4)), "'a' ends at 8, but the file has 4"),
        (safetensors({"a": entry(dtype="F33")}, bytes(8)), "unknown element type 'F33'"),
        (safetensors({"a": entry(shape=(3,))}, bytes(8)), "8 bytes, but 12"),
        (safetensors({"a": entry(shape=(-2,))}, bytes(8)), "wrong shape"),
        (safetensors({"a": entry(shape=(True, 2))}, bytes(8)), "wrong shape"),
        (safetensors({"a": entry(shape=(1 << 61, 1 << 61))}, bytes(8)), "8 bytes, but"),
        (safetensors({"a": entry(8, 0)}, bytes(8)), "wrong data_offsets"),
        (safetensors({"a": entry(), "b": entry(4, 12)}, bytes(12)), "'a' and tensor 'b' overlap"),
        (safetensors({"a": entry(), "b": entry(12, 20)}, bytes(20)), "'a' and tensor 'b' have a hole"),
        (safetensors({"a": entry()}, bytes(9)), "1 bytes behind the last tensor"),
        (safetensors({"a": entry(0, 2, "BOOL")}, b"\1\2"), "a bool other than 0 and 1"),
        (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "PyTorch before 1.6"),
    ],
)
def test_damaged_safetensors(tmp_path, content, message):
    with pytest.raises((frazil.BadInput, frazil.Unsupported), match=message):
        read(tmp_path, content)


def test_errors(tmp_path):
    with pytest.raises(frazil.BadInput, match="No such file"):
        frazil.load_state_dict(tmp_path / "none")
    with pytest.raises(frazil.Unsupported, match="'a' of type string"):
        frazil.save_safetensors({"a": np.array(["x"])}, tmp_path / "a")
    with pytest.raises(frazil.BadInput, match="No such file"):
        frazil.save_safetensors({}, tmp_path / "none/a")
    with pytest.raises(frazil.BadInput, match="'key'"):
        read(tmp_path, safetensors({}), key="model")


# PyTorch's files, written without PyTorch: a pickler that names globals of torch.


class Global:
    """Pickled as the global of this name."""

    def __init__(self, name):
        self.name = name


class Call:
    """Pickled as a call of a global."""

    def __init__(self, name, *args):
        self.call = (Global(name), args)


class Pickler(pickle._Pickler):
    """Python's own, so that globals that do not exist can be written."""

    def persistent_id(self, value):
        return value[1] if isinstance(value, tuple) and len(value) == 2 and value[0] == "pid" else None

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, Global):
            module, _, name = obj.name.rpartition(".")
            return self.write(b"c" + module.encode() + b"\n" + name.encode() + b"\n")
        if isinstance(obj, Call):
            self.save(obj.call[0])
            self.save(obj.call[1])
            return self.write(b"R")
        return super().save(obj, save_persistent_id)


def storage(key="0", count=6, kind="torch.FloatStorage"):
    return ("pid", ("storage", Global(kind), key, "cpu", count))


def tensor(of=None, offset=0, size=(2, 3), stride=(3, 1)):
    return Call("torch._utils._rebuild_tensor_v2", of or storage(), offset, size, stride, False, {})


def archive(value, extra=(), compression=zipfile.ZIP_STORED):
    pickled = io.BytesIO()
    Pickler(pickled, 2).dump(value)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as file:
        file.writestr("archive/data.pkl", pickled.getvalue())
        file.writestr("archive/data/0", np.arange(6, dtype=np.float32).tobytes())
        for name, content in extra:
            file.writestr(name, content)
    return data.getvalue()


def test_torch_files(tmp_path):
    state = collections.OrderedDict(
        a=tensor(), t=tensor(size=(3, 2), stride=(1, 3)), b=tensor(offset=2, size=(2,), stride=(2,)),
        s=tensor(offset=5, size=(), stride=()), e=tensor(size=(0,), stride=(1,)),
        wide=tensor(size=(4, 2), stride=(0, 1)), p=Call("torch._utils._rebuild_parameter", tensor(), True, {}),
    )  # fmt: skip
    found = read(tmp_path, archive(state))
    whole = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = {"a": whole, "t": whole.T, "b": [2, 4], "s": 5, "e": [], "wide": [[0, 1]] * 4, "p": whole}
    assert {name: value.tolist() for name, value in found.items()} == {
        name: np.asarray(value).tolist() for name, value in expected.items()
    }
    assert np.shares_memory(found["a"], found["t"]) and not found["a"].flags.writeable
    nested = archive({"model": {"state": {"a": tensor()}}, "epoch": 3})
    assert list(read(tmp_path, nested, key="model.state")) == ["a"]
    with pytest.raises(frazil.BadInput, match="it has 'model', 'epoch'"):
        read(tmp_path, nested)
    with pytest.raises(frazil.BadInput, match="there is no 'ema'"):
        read(tmp_path, nested, key="ema")


@pytest.mark.parametrize(
    "value, message",
    [
        ({"a": Call("os.system", "touch pwned")}, "names 'os.system'"),
        ({"a": Call("builtins.eval", "1")}, "names 'builtins.eval'"),
        ({"a": Global("torch.nn.modules.linear.Linear")}, "names 'torch.nn.modules.linear.Linear'"),
        ({"a": Call("numpy.core.multiarray._reconstruct")}, "names 'numpy.core"),
        ({"a": tensor(size=(2, 4), stride=(3, 1))}, "reaches element 6"),
        ({"a": tensor(offset=7)}, "reaches element"),
        ({"a": tensor(offset=-1)}, "has offset -1"),
        ({"a": tensor(stride=(3, -1))}, "strides"),
        ({"a": tensor(size=(1 << 40, 1), stride=(0, 0))}, "repeats the 6 elements"),
        ({"a": tensor(size=(2,), stride=(3, 1))}, "strides"),
        ({"a": tensor(storage(count=7))}, "has 24 bytes in the archive, expected 28"),
        ({"a": tensor(storage(key="9"))}, "'9', has no entry"),
        ({"a": tensor(storage(key="../0"))}, "has no entry"),
        ({"a": tensor(storage(kind="torch.QInt8Storage"))}, "names 'torch.QInt8Storage'"),
        ({"a": tensor(storage(kind="torch.DoubleStorage"))}, "expected 48"),
        ({"a": tensor((1, 2, 3))}, "not described by a storage"),
        ({"a": ("pid", "x")}, "is described by"),
        ({1: tensor()}, "not a text"),
        (tensor(), "it is a ndarray"),
    ],
)
def test_what_is_refused(tmp_path, monkeypatch, value, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(frazil.BadInput, match=message):
        read(tmp_path, archive(value))
    assert not (tmp_path / "pwned").exists()


def test_damaged_archives(tmp_path):
    good = archive({"a": tensor()})
    for name in ("../x", "/x", "archive/../../x", "archive\\x"):
        with pytest.raises(frazil.BadInput, match="out of the archive"):
            read(tmp_path, archive({"a": tensor()}, [(name, b"")]))
    with pytest.raises(frazil.BadInput, match="not one of torch.save"):
        read(tmp_path, archive({"a": tensor()}, [("other/x", b"")]))
    with pytest.raises(frazil.Unsupported, match="compressed"):
        read(tmp_path, archive({"a": tensor()}, compression=zipfile.ZIP_DEFLATED))
    with pytest.raises(frazil.Unsupported, match="byte order"):
        read(tmp_path, archive({"a": tensor()}, [("archive/byteorder", b"big")]))
    for cut in range(4, len(good), 7):
        with pytest.raises(frazil.BadInput):
            read(tmp_path, good[:cut])
    random = np.random.default_rng(2)
    for _ in range(300):
        bad = bytearray(good)
        bad[random.integers(4, len(bad))] = random.integers(256)
        try:
            read(tmp_path, bytes(bad))
        except (frazil.BadInput, frazil.Unsupported):
            pass


@needs_torch
def test_files_of_torch(tmp_path):
    path = tmp_path / "a.pt"
    base = torch.arange(12.0).reshape(3, 4)
    state = {"base": base, "view": base.t()[1:], "half": base.half(), "flags": base > 3, "one": torch.tensor(7)}
    state |= {"brain": torch.ones(3, dtype=torch.bfloat16), "complex": base.to(torch.complex64)}
    torch.save(state, path)
    found = frazil.load_state_dict(path)
    assert np.shares_memory(found["base"], found["view"])
    for name in set(state) - {"brain"}:
        assert found[name].tolist() == state[name].tolist() and found[name].shape == tuple(state[name].shape)
    assert found["brain"].view(np.uint16).tolist() == [0x3F80] * 3
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    torch.save(module.state_dict(), path)
    ours = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    ours.load_state_dict(frazil.load_state_dict(path))
    torch.save(module, path)
    with pytest.raises(frazil.BadInput, match="names 'torch.nn.modules"):
        frazil.load_state_dict(path)
    torch.save(state, path, _use_new_zipfile_serialization=False)
    with pytest.raises(frazil.Unsupported, match="before 1.6"):
        frazil.load_state_dict(path)


def test_torch_is_not_imported(tmp_path):
    (tmp_path / "a.pt").write_bytes(archive({"a": tensor()}))
    program = "import sys, frazil; frazil.load_state_dict('a.pt'); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
