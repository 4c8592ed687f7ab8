"""What scripts/check_wheel_files.py refuses in a wheel: wheel_files_test.py CC"""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check_wheel_files.py"
BILL = "frazil-0.dist-info/sboms/frazil.cdx.json"


def bill(**licence):
    return json.dumps({"components": [{"name": "part", "licenses": [licence]}]})


# A library in the wheel, its bill of materials, and a part of the message; None: it is accepted.
CASES = [
    ("libfmt-0a1b2c3d.so.9", bill(license={"id": "MIT"}), None),
    ("libstdc++-0a1b2c3d.so.6", bill(expression="GPL-3.0-or-later WITH GCC-exception-3.1"), None),
    ("libjbig-0a1b2c3d.so.0", bill(license={"id": "MIT"}), "frazil/libs/libjbig-0a1b2c3d.so.0: libjbig is not in ALLOWED"),
    ("libfmtx.so", bill(license={"id": "MIT"}), "libfmtx is not in ALLOWED"),
    ("libfmt.so.9", bill(license={"id": "GPL-2.0-or-later"}), f"{BILL}: component part has the licence GPL-2.0-or-later"),
    ("libfmt.so.9", bill(license={"name": "GPL-2+"}), "the licence GPL-2+"),
    ("libfmt.so.9", bill(license={"id": "AGPL-3.0-only"}), "the licence AGPL-3.0-only"),
    ("libfmt.so.9", bill(expression="AGPL-3.0-only OR GPL-2.0-only"), "the licence AGPL-3.0-only OR GPL-2.0-only"),
    ("libzstd-0a1b2c3d.so.1", bill(expression="BSD-3-Clause OR GPL-2.0-only"), None),
    ("libfmt.so.9", bill(license={"id": "LGPL-2.1-or-later"}), None),
]


def check(folder, compiler, library, text):
    built = folder / library
    subprocess.run([compiler, "-shared", "-nostdlib", "-x", "c", "/dev/null", "-o", built], check=True)
    wheel = folder / "frazil-0-cp311-cp311-manylinux_2_36_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(built, f"frazil/libs/{library}")
        archive.writestr(BILL, text)
    return subprocess.run([sys.executable, SCRIPT, wheel], capture_output=True, text=True, check=False)


def main() -> int:
    wrong = 0
    for library, text, message in CASES:
        with tempfile.TemporaryDirectory() as folder:
            done = check(pathlib.Path(folder), sys.argv[1], library, text)
        if done.returncode != (1 if message else 0) or (message or "") not in done.stdout:
            print(f"{library}, {text}: expected {message!r}, got {done.stdout!r}, exit {done.returncode}\n{done.stderr}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
