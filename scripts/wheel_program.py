"""Uses an installed wheel; scripts/check_wheel.sh and test_wheel.sh run it: wheel_program.py PREFIX FOLDER [JIT]

PREFIX is the environment that the package must come from. FOLDER is for files. With JIT, code must be generated.
"""

import ctypes
import os
import pathlib
import struct
import subprocess
import sys

prefix, folder, with_jit = sys.argv[1], pathlib.Path(sys.argv[2]), len(sys.argv) > 3
os.environ["FRAZIL_CODE_CACHE"] = str(folder / "code")
if with_jit:
    os.environ["FRAZIL_TIER"] = "1"  # fails without the code generator
try:
    ctypes.CDLL("libstdc++.so.6", ctypes.RTLD_GLOBAL)  # as another extension may have loaded it
except OSError:
    pass

import frazil
import numpy as np

assert frazil.__file__.startswith(prefix), frazil.__file__
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line and ".so" in line}
ours = [path for path in loaded if "/frazil/" in path]
assert any("libstdc++-" in path for path in ours), ours

g = frazil.Graph()
x = g.input("x", "float32", ("N",))
g.output("y", g.Exp(x * 2 + 1) if hasattr(g, "Exp") else x * 2 + 1)
model = g.build()
model.save(str(folder / "model.onnx"))
y = frazil.load(str(folder / "model.onnx"))(np.array([1, 2], np.float32))
assert np.allclose(y, np.exp(np.array([3, 5], np.float32)), rtol=1e-5) or y.tolist() == [3, 5], y
try:
    frazil.load("/no/such/model.onnx")
except frazil.Error as error:
    assert "/no/such/model.onnx" in str(error)
else:
    raise AssertionError("a missing file is no error")

# A TIFF of one pixel. The wheel has no libtiff: it reads TIFF where the system has one.
fields = [(256, 1), (257, 1), (258, 8), (259, 1), (262, 2), (273, 122), (277, 3), (278, 1), (279, 3)]
tiff = struct.pack("<2sHIH", b"II", 42, 8, len(fields))
tiff += b"".join(struct.pack("<HHII", tag, 3, 1, value) for tag, value in fields)
tiff = tiff.ljust(122, b"\0") + bytes([1, 2, 3]) * 3
g = frazil.Graph()
b = g.input("b", "uint8", ("N",))
g.output("y", g.ImageDecoder(b, pixel_format="RGB"))
decode = g.build()
try:
    ctypes.CDLL("libtiff.so.6")
except OSError:
    try:
        decode(np.frombuffer(tiff, np.uint8))
    except frazil.Error as error:
        assert "ImageDecoder" in str(error) and "install libtiff6" in str(error), error
        print(error)
    else:
        raise AssertionError("TIFF is read without libtiff")
else:
    pixels = decode(np.frombuffer(tiff, np.uint8))
    assert pixels.tolist() == [[[1, 2, 3]]], pixels

command = str(pathlib.Path(sys.executable).parent / "frazil")
version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
assert version.startswith(f"frazil {frazil.__version__}"), version
assert not with_jit or f"code generator: LLVM" in version and prefix in version, version
run = [command, "run", str(folder / "model.onnx"), "--input", "x=2", "--json"]
subprocess.run(run, capture_output=True, check=True)
refused = subprocess.run([command, "run", "/no/such"], capture_output=True, text=True)
assert refused.returncode == 2, refused
print(f"frazil {frazil.__version__} from its wheel:", version.splitlines()[-1])
