#!/usr/bin/env python3
"""Makes a wheel of the NumPy that this Python has, for environments without a network: numpy_wheel.py FOLDER"""

import pathlib
import sys
import sysconfig
import zipfile

import numpy

package = pathlib.Path(numpy.__file__).parent
tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
tag = f"{tag}-{tag}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
info = f"numpy-{numpy.__version__}.dist-info"
with zipfile.ZipFile(pathlib.Path(sys.argv[1]) / f"numpy-{numpy.__version__}-{tag}.whl", "w") as wheel:
    names = []
    for path in sorted(package.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and "tests" not in path.parts:
            names.append(f"numpy/{path.relative_to(package)}")
            wheel.write(path, names[-1])
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: numpy\nVersion: {numpy.__version__}\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: frazil\nRoot-Is-Purelib: false\nTag: {tag}\n",
    }
    for name, text in texts.items():
        names.append(f"{info}/{name}")
        wheel.writestr(names[-1], text)
    wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in [*names, f"{info}/RECORD"]))
