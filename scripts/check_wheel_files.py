#!/usr/bin/env python3
"""Checks that a wheel is self-contained and may be distributed: check_wheel_files.py WHEEL

Each compiled file needs only libraries of the wheel, which it finds relative to itself, and glibc. No symbol needs a
newer glibc than the tag manylinux_MAJOR_MINOR of the wheel's name. Each library is in ALLOWED, and no component of the
bill of materials has a licence that would apply to the whole wheel.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

GLIBC = re.compile(r"(ld-linux[\w-]*|lib(c|m|dl|pthread|rt|resolv|util))\.so\.\d+$")
# Libraries that a wheel may contain, and their licences. Before you add one, read its licence and those of its parts:
# the wheel is Apache-2.0, and a library under the GPL without an exception would make all of it GPL.
ALLOWED = {
    "libboost_context": "BSL-1.0",
    "libcrypto": "Apache-2.0",
    "libfmt": "MIT",
    "libfrazil": "Apache-2.0",
    "libgcc_s": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libjpeg": "IJG AND BSD-3-Clause AND Zlib",
    "libnghttp2": "MIT",
    "libopenjp2": "BSD-2-Clause",
    "libpng16": "libpng-2.0",
    "libre2": "BSD-3-Clause",
    "libseccomp": "LGPL-2.1-only",
    "libsimdjson": "Apache-2.0",
    "libspdlog": "MIT",
    "libssl": "Apache-2.0",
    "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1",
    "libtbb": "Apache-2.0",
    "libwebp": "BSD-3-Clause",
    "libyaml-cpp": "MIT",
    "libz": "Zlib",
    "libzstd": "BSD-3-Clause OR GPL-2.0-only",
}
# The GPL and the AGPL, but not the LGPL and not the exceptions of compilers.
COPYLEFT = re.compile(r"(?i)\bA?GPL\b(?!.*\bexception)")
CHOICE = re.compile(r"(?i) or ")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def problems(file, root, floor):
    dynamic = output("readelf", "-W", "-d", file)
    path = re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", dynamic)
    folders = [os.path.normpath(p.replace("$ORIGIN", str(file.parent))) for p in "".join(path).split(":") if p]
    name = file.relative_to(root)
    yield from (f"{name}: searches {folder}" for folder in folders if not folder.startswith(f"{root}/"))
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic):
        if not GLIBC.match(needed) and not any((pathlib.Path(folder) / needed).is_file() for folder in folders):
            yield f"{name}: needs {needed}, which is not in the wheel"
    for version in set(re.findall(r"\(GLIBC_([\w.]+)\)", output("objdump", "-T", file))):
        if version == "PRIVATE" or tuple(map(int, version.split("."))) > floor:
            yield f"{name}: needs GLIBC_{version}, but the tag promises {floor[0]}.{floor[1]}"


def licence_problems(file, root):
    """Checks the name of a library in the folder of copies; _copy() in python/wheel_libraries.py writes it."""
    name = re.sub(r"(-[0-9a-f]{8})?\.so(\.[\d.]+)?$", "", file.name)
    if file.parent.name == "libs" and name not in ALLOWED:
        yield f"{file.relative_to(root)}: {name} is not in ALLOWED of {pathlib.Path(__file__).name}: check its licence, or do not link it"


def bill_problems(file, root):
    for component in json.loads(file.read_text()).get("components", []):
        licences = [one.get("expression") or one["license"].get("id") or one["license"].get("name") for one in component.get("licenses", [])]
        for licence in licences:
            if all(map(COPYLEFT.search, CHOICE.split(licence))):
                yield f"{file.relative_to(root)}: component {component['name']} has the licence {licence}, which a wheel must not contain"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wheel = pathlib.Path(sys.argv[1])
    tag = re.search(r"-manylinux_(\d+)_(\d+)_\w+\.whl$", wheel.name)
    if not tag:
        sys.exit(f"{wheel.name}: its tag is not manylinux_MAJOR_MINOR")
    found, count = [], 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root)
        files = [p for p in sorted(root.rglob("*")) if p.is_file() and p.open("rb").read(4) == b"\x7fELF"]
        for file in files:
            found += [*problems(file, root, (int(tag[1]), int(tag[2]))), *licence_problems(file, root)]
            count += 1
        for bill in sorted(root.rglob("sboms/*.json")):
            found += bill_problems(bill, root)
        size = sum(p.stat().st_size for p in root.rglob("*") if p.is_file())
        largest = sorted(files, key=lambda p: -p.stat().st_size)[:4]
        for file in largest:
            print(f"{file.stat().st_size / 1e6:8.1f} MB  {file.relative_to(root)}")
    print("\n".join(found), end="\n" if found else "")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {size / 1e6:.1f} MB unpacked; {count} compiled files, glibc {tag[1]}.{tag[2]}")
    sys.exit(1 if found or count == 0 else 0)


main()
