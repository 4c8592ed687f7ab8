"""Builds the wheel and the sdist: a PEP 517 back end on CMake and Python's standard library.

FRAZIL_BUILD names a build folder to use; by default build-wheel. The targets of the wheel in it are built or updated.
The wheel has the Python package, the command, the code generator if the build has one, and all libraries that they
need except glibc.
"""

import base64
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile

import wheel_libraries

ROOT = pathlib.Path(__file__).resolve().parent.parent


def _version():
    return re.search(r"project\(frazil VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]


def _run(*command, **options):
    """Runs a command without the environment by which pip hides the packages of this Python, such as NumPy."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(command, env=environment, **options)


def _built():
    """Builds the wheel's targets and returns the build folder."""
    if _run(sys.executable, "-c", "import numpy", capture_output=True).returncode != 0:
        raise SystemExit(f"{sys.executable} has no NumPy, which the build needs: use a Python that has it")
    build = pathlib.Path(os.environ.get("FRAZIL_BUILD", ROOT / "build-wheel")).resolve()
    if not (build / "CMakeCache.txt").is_file():
        options = ["TESTS=OFF", "BENCH=OFF", "EXAMPLES=OFF", "PYTHON=ON", "VIEW=OFF"]
        configure = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_UNITY_BUILD=ON"]
        configure += [f"-DPython_EXECUTABLE={sys.executable}", *(f"-DFRAZIL_{option}" for option in options)]
        _run(*configure, check=True)
    targets = ["frazil_python", "frazil_tool"]
    known = _run("cmake", "--build", build, "--target", "help", capture_output=True, text=True, check=True).stdout
    if "frazil_jit:" in known:
        targets.append("frazil_jit")
    _run("cmake", "--build", build, "--target", *targets, check=True)
    return build


def _gather(build, package):
    """Fills the folder of the package with everything that the wheel has."""
    shutil.copytree(build / "python/frazil", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "bin").mkdir()
    shutil.copy(build / "frazil", package / "bin/frazil")
    generator = build / "libfrazil_jit.so"
    if generator.is_file():
        shutil.copy(generator, package / generator.name)
    return wheel_libraries.bundle(package, package / "libs")


def _bill(build):
    """Returns the bill of materials, for dist-info/sboms; empty on a machine without Debian's packages or Ninja."""
    if shutil.which("dpkg-query") is None or not (build / "build.ninja").is_file():
        return []
    parts = ["command", "library", "python", *(["jit"] if (build / "libfrazil_jit.so").is_file() else [])]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "frazil.cdx.json"
        command = [sys.executable, ROOT / "scripts/make_sbom.py", build, "--name", "frazil", "--version", _version()]
        subprocess.run([*command, *(f"--part={part}" for part in parts), "--copied", "-o", out], check=True)
        return [("sboms/frazil.cdx.json", out.read_bytes())]


def _tag(package):
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    major, minor = wheel_libraries.oldest_glibc(package)
    return f"{python}-{python}-manylinux_{major}_{minor}_{sysconfig.get_platform().split('-')[-1]}"


def _metadata():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {project['name']}",
        f"Version: {_version()}",
        f"Summary: {project['description']}",
        f"License: {project['license']['text']}",
        "License-File: LICENSE",
        f"Requires-Python: {project['requires-python']}",
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        *(f"Requires-Dist: {dependency}" for dependency in project["dependencies"]),
    ]
    for extra, dependencies in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {dependency}; extra == "{extra}"' for dependency in dependencies]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / project["readme"]).read_text()]
    return "\n".join(lines)


def _entry(name, executable):
    """Returns an entry with a fixed time, so that the same files give the same wheel."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    return entry


def _write(wheel, files, info):
    record = []
    for name, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(data)}")
        wheel.writestr(_entry(name, name == "frazil/bin/frazil"), data)
    wheel.writestr(_entry(f"{info}/RECORD", False), "\n".join([*record, f"{info}/RECORD,,"]) + "\n")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes the metadata without a build; without this function pip builds twice."""
    info = f"frazil-{_version()}.dist-info"
    folder = pathlib.Path(metadata_directory) / info
    folder.mkdir()
    (folder / "METADATA").write_text(_metadata())
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = _built()
    info = f"frazil-{_version()}.dist-info"
    with tempfile.TemporaryDirectory() as folder:
        package = pathlib.Path(folder) / "frazil"
        _gather(build, package)
        tag = _tag(package)
        about = f"Wheel-Version: 1.0\nGenerator: frazil\nRoot-Is-Purelib: false\nTag: {tag}\n"
        files = [(f"frazil/{path.relative_to(package)}", path.read_bytes()) for path in sorted(package.rglob("*")) if path.is_file()]
    files += [
        ("frazil_command.py", (ROOT / "python/frazil_command.py").read_bytes()),
        (f"{info}/METADATA", _metadata().encode()),
        (f"{info}/WHEEL", about.encode()),
        (f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes()),
        (f"{info}/entry_points.txt", b"[console_scripts]\nfrazil = frazil_command:main\n"),
    ]
    files += [(f"{info}/{name}", data) for name, data in _bill(build)]
    name = f"frazil-{_version()}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w") as wheel:
        _write(wheel, files, info)
    return name


def _sources():
    """Returns the files of the sdist: the tracked ones, or in an unpacked sdist all."""
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    if tracked.returncode == 0:
        return [name for name in tracked.stdout.split("\0") if name and (ROOT / name).is_file()]
    files = (path.relative_to(ROOT) for path in sorted(ROOT.rglob("*")) if path.is_file())
    return [str(path) for path in files if not path.parts[0].startswith("build") and path.name != "PKG-INFO"]


def build_sdist(sdist_directory, config_settings=None):
    base = f"frazil-{_version()}"
    name = f"{base}.tar.gz"
    with tarfile.open(pathlib.Path(sdist_directory) / name, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for source in _sources():
            archive.add(ROOT / source, f"{base}/{source}")
        metadata = _metadata().encode()
        entry = tarfile.TarInfo(f"{base}/PKG-INFO")
        entry.size = len(metadata)
        archive.addfile(entry, io.BytesIO(metadata))
    return name
