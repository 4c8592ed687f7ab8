"""Builds the wheel: a PEP 517 back end on CMake and Python's standard library.

FRAZIL_BUILD names a build folder to use; by default build-wheel. The Python package in it is built or updated.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _version():
    return re.search(r"project\(frazil VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _built():
    """Builds the package and returns its folder."""
    build = pathlib.Path(os.environ.get("FRAZIL_BUILD", ROOT / "build-wheel")).resolve()
    if not (build / "CMakeCache.txt").is_file():
        options = ["TESTS=OFF", "BENCH=OFF", "EXAMPLES=OFF", "PYTHON=ON", "VIEW=OFF", "JIT=OFF"]
        configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
        configure += [f"-DPython_EXECUTABLE={sys.executable}", *(f"-DFRAZIL_{option}" for option in options)]
        subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", build, "--target", "frazil_python"], check=True)
    return build / "python/frazil"


def _metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {_version()}",
        f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}",
        *(f"Requires-Dist: {dependency}" for dependency in project["dependencies"]),
    ]
    for extra, dependencies in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {dependency}; extra == "{extra}"' for dependency in dependencies]
    return "\n".join(lines) + "\n"


def _write(wheel, files, info):
    record = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}")
        wheel.writestr(name, data)
    wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = _built()
    info = f"frazil-{_version()}.dist-info"
    about = f"Wheel-Version: 1.0\nGenerator: frazil\nRoot-Is-Purelib: false\nTag: {_tag()}\n"
    paths = sorted(path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = [(f"frazil/{path.relative_to(package)}", path.read_bytes()) for path in paths]
    files += [(f"{info}/METADATA", _metadata().encode()), (f"{info}/WHEEL", about.encode())]
    name = f"frazil-{_version()}-{_tag()}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        _write(wheel, files, info)
    return name
