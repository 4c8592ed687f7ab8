"""Addresses, lifetimes, DLPack."""

import ctypes
import gc
import sys
import weakref

import frazil
import numpy as np
import pytest


def address(array):
    return array.__array_interface__["data"][0]


class Array(np.ndarray):
    """NumPy arrays with weak references."""


def make(*shape):
    return np.ones(shape, np.float32).view(Array)


def test_inputs_are_not_copied():
    """An input that is passed on inside a sequence comes back at its address."""
    same = frazil.from_text("graph g(%x: seq<f32[...]>) { return y = %x }")
    x = np.ones((3, 5), np.float32)
    (y,) = same([x])
    assert address(y) == address(x) and np.shares_memory(x, y)
    assert not y.flags.writeable, "it is the caller's"


def test_results_are_not_copied(square):
    y = square(np.ones(1000, np.float32))
    assert not y.flags.owndata and type(y.base).__name__ == "PyCapsule"
    assert y.flags.writeable and y.flags.c_contiguous and address(y) % 64 == 0
    y += 1
    assert square(np.ones(1000, np.float32)).max() == 1


def test_results_outlive_everything():
    model = frazil.from_text("graph g(%x: f32[N]) { %y = Add(%x, %x) return y = %y }")
    y = model(np.arange(100, dtype=np.float32))
    del model
    gc.collect()
    assert y[99] == 198


def test_constants_are_read_only():
    g = frazil.Graph()
    x = g.input("x", "float32", (2,))
    g.output("w", g.constant(np.ones(2, np.float32)))
    g.output("y", x + 1)
    model = g.build()
    w, _ = model([1, 2])
    if w.flags.writeable:
        w[:] = 7
    assert model([1, 2])[0].tolist() == [1, 1]


def test_runs_let_go_of_inputs(square):
    session = square.session()
    for run in (square.run, session.run, lambda inputs: square(inputs["x"])):
        x = make(64)
        before = sys.getrefcount(x)
        run({"x": x})
        assert sys.getrefcount(x) == before
        with pytest.raises(frazil.BadInput):
            run({"x": [x, "a"]})
        alive = weakref.ref(x)
        del x
        gc.collect()
        assert alive() is None


def test_failed_runs_let_go_of_inputs(affine):
    x, s = make(4), make(3)
    with pytest.raises(frazil.BadInput):
        affine(x, s)
    alive = weakref.ref(x)
    del x
    assert alive() is None


def test_sequences_let_go_of_items():
    same = frazil.from_text("graph g(%x: seq<f32[...]>) { return y = %x }")
    x = make(4)
    alive = weakref.ref(x)
    y = same([x])
    del x
    gc.collect()
    assert y[0].tolist() == [1, 1, 1, 1], "the result keeps it"
    del y
    gc.collect()
    assert alive() is None


def test_results_are_freed(square):
    y = square(make(16))
    base = weakref.ref(y)
    del y
    assert base() is None


def test_models_and_terms_are_freed():
    def build():
        g = frazil.Graph()
        x = g.input("x", "float32", ("N",))
        g.output("y", g.if_(g.ReduceSum(x, keepdims=0) > 0, lambda: x + 1, lambda: x))
        g.build()([1.0])
        return weakref.ref(x)

    alive = build()
    gc.collect()
    assert alive() is None


def test_constants_are_copied_unless_borrowed():
    value = np.ones(3, np.float32)
    for copy, expected in ((True, 1), (False, 5)):
        value[:] = 1
        g = frazil.Graph()
        x = g.input("x", "float32", (3,))
        g.output("y", x + g.constant(value, copy=copy))
        model = g.build()
        value[:] = 5
        assert model([0, 0, 0]).tolist() == [expected] * 3


def test_weights_of_texts_are_copied():
    value = np.ones(3, np.float32)
    model = frazil.from_text("weight @w: f32[3] graph g(%x: f32[3]) { %y = Add(%x, @w) return y = %y }", {"w": value})
    value[:] = 5
    assert model([0, 0, 0]).tolist() == [1, 1, 1]


def test_many_runs_do_not_grow(square):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    x = np.ones(100_000, np.float32)
    for _ in range(20):
        square(x)
    before = resident()
    for _ in range(300):
        square(x)
    assert resident() - before < 20 << 20


def test_carried_values_are_not_copied():
    """A cache that grows: the result goes back as it came, and has a capacity."""
    model = frazil.from_text(
        """graph g(%past: f32[2,T,4], %new: f32[2,1,4]) {
             %now: f32[2,T + 1,4] = Concat(%past, %new) {axis = 1}
             return now = %now
           }"""
    )
    session = model.session()
    cache = np.zeros((2, 0, 4), np.float32)
    seen, addresses = [], []
    for i in range(40):
        cache = session(cache, np.full((2, 1, 4), i, np.float32))
        addresses.append(address(cache))
        seen.append(cache)
    assert cache.shape == (2, 40, 4) and cache[1, :, 2].tolist() == list(range(40))
    assert all(kept[0, :, 0].tolist() == list(range(n + 1)) for n, kept in enumerate(seen))
    assert len(set(addresses)) < 20, "most runs append in place"


class Foreign:
    """A DLPack tensor that is not an array."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.device


def test_dlpack():
    same = frazil.from_text("graph g(%x: seq<f32[...]>) { return y = %x }")
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (y,) = same([Foreign(x)])
    assert address(y) == address(x) and y.tolist() == x.tolist()
    (y,) = same([Foreign(x.T)])
    assert y.tolist() == x.T.tolist()
    square = frazil.from_text("graph g(%x: f32[...]) { %y = Mul(%x, %x) return y = %y }")
    assert square(Foreign(x)).tolist() == (x * x).tolist()
    assert np.from_dlpack(square(x)).tolist() == (x * x).tolist(), "results are DLPack tensors, too"
    a = frazil.from_dlpack(Foreign(x))
    assert address(a) == address(x)
    alive = weakref.ref(a)
    del a
    assert alive() is None
    for bad, message in [(Foreign(x, (2, 0)), "not in the CPU's memory"), (5, "no __dlpack__")]:
        with pytest.raises(frazil.BadInput, match=message):
            frazil.from_dlpack(bad)
    with pytest.raises(frazil.BadInput, match="input 'x'.*not in the CPU's memory"):
        square(Foreign(x, (2, 0)))


class Managed(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
    ]


class Made:
    """A tensor of two elements with any of DLPack's element types."""

    def __init__(self, code, bits, offset=0):
        self.memory = (ctypes.c_uint16 * 8)(*range(0x3F80, 0x3F88))
        self.shape = (ctypes.c_int64 * 1)(2)
        self.deleted = 0
        self.managed = Managed(
            ctypes.addressof(self.memory),
            (1, 0),
            1,
            code,
            bits,
            1,
            self.shape,
            None,
            offset,
            None,
            Managed.DELETER(self.delete),
        )

    def delete(self, _):
        self.deleted += 1

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


def test_dlpack_types():
    same = frazil.from_text("graph g(%x: seq<bf16[...]>) { return y = %x }")
    tensor = Made(4, 16, offset=2)
    (y,) = same([tensor])
    assert y.tobytes() == b"\x81\x3f\x82\x3f" and address(y) == ctypes.addressof(tensor.memory) + 2
    assert tensor.deleted == 0, "the result uses its memory"
    del y
    assert tensor.deleted == 1
    for code, bits, dtype in [
        (0, 16, "int16"),
        (1, 8, "uint8"),
        (2, 16, "float16"),
        (6, 8, "bool"),
        (12, 8, "float8_e5m2"),
    ]:
        tensor = Made(code, bits)
        a = frazil.from_dlpack(tensor)
        assert frazil.dtype(a.dtype) == dtype and a.shape == (2,)
        del a
        assert tensor.deleted == 1
    tensor = Made(3, 64)
    with pytest.raises(frazil.BadInput, match="DLPack's code 3"):
        frazil.from_dlpack(tensor)


def test_torch():
    torch = pytest.importorskip("torch")
    square = frazil.from_text("graph g(%x: f32[...]) { %y = Mul(%x, %x) return y = %y }")
    assert torch.from_dlpack(square(torch.arange(3.0))).tolist() == [0, 1, 4]
    bf = frazil.from_text("graph g(%x: bf16[...]) { return y = %x }")
    assert bf(torch.ones(2, dtype=torch.bfloat16)).tobytes() == b"\x80\x3f" * 2
