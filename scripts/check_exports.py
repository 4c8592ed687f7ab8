#!/usr/bin/env python3
"""Imports and exports ONNX's cases, and validates the result with ONNX's own checker.

    check_exports.py TOOL [CASES] [--report FILE]

CASES contains folders with a model.onnx each. The default is ONNX's node cases, in the shared folder or Debian's.
Models are skipped if their opset, before or after the export, is newer than the checker's, or if the checker rejects
the original. Without a Python that has the onnx package, or without cases, nothing is checked: the script prints the
reason, the exit status is 77, and FILE is a JUnit report of the skipped test.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.sax.saxutils

# Models that the checker rejects incorrectly.
EXPECTED = {
    "test_loop16_seq_none": "a loop that takes no turn gives the optional that came in; the checker wants a sequence",
}

PYTHONS = [sys.executable, "/usr/bin/python3"]
FOLDERS = [
    pathlib.Path(os.environ.get("FRAZIL_SHARED", pathlib.Path(__file__).resolve().parents[2] / "shared"))
    / "onnx-tests/node",
    pathlib.Path("/usr/share/libonnx-testdata/data/node"),
]


SKIPPED = 77  # for ctest: SKIP_RETURN_CODE


def skip(reason, report):
    print(f"check_exports.py: nothing was checked: {reason}")
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        message = xml.sax.saxutils.quoteattr(f"exported models are not checked: {reason}")
        report.write_text(
            f'<testsuite name="check_exports"><testcase name="Exports"><skipped message={message}/></testcase></testsuite>\n'
        )
    sys.exit(SKIPPED)


def with_onnx(report):
    """Imports onnx, or restarts the script in a Python that has it."""
    try:
        import onnx.defs  # `import onnx` also finds a folder of Debian's test data without code

        return onnx
    except ImportError:
        pass
    for python in PYTHONS:
        known = subprocess.run([python, "-c", "import onnx.defs"], capture_output=True, check=False).returncode == 0
        if known and python != sys.executable:
            os.execv(python, [python, *sys.argv])
    skip("python3-onnx is not installed", report)


def newest_opsets(onnx):
    newest = {}
    for schema in onnx.defs.get_all_schemas():
        newest[schema.domain] = max(newest.get(schema.domain, 1), schema.since_version)
    newest[""] = onnx.defs.onnx_opset_version()
    return newest


def knows(newest, model):
    return all(i.version <= newest.get(i.domain, 0) for i in model.opset_import)


def complaint(onnx, model):
    try:
        onnx.checker.check_model(model, full_check=True)
        return None
    except Exception as error:  # the checker, type inference and protobuf raise different types
        return str(error).strip().splitlines()[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("cases", nargs="?", type=pathlib.Path)
    parser.add_argument("--report", type=pathlib.Path)
    given = parser.parse_args()
    onnx = with_onnx(given.report)
    cases = [given.cases] if given.cases is not None else [f for f in FOLDERS if f.is_dir()]
    if not cases:
        skip("ONNX's node cases are not here; set FRAZIL_SHARED", given.report)
    newest = newest_opsets(onnx)
    checked = left_out = 0
    bad, newer = [], []
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.onnx")
        for path in sorted(cases[0].glob("*/model.onnx")):
            model = onnx.load(str(path))
            if path.parent.name in EXPECTED or not knows(newest, model) or complaint(onnx, model) is not None:
                left_out += 1
                continue
            made = subprocess.run([given.tool, "convert", str(path), out], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                bad.append((path.parent.name, made.stderr.strip()))
                continue
            exported = onnx.load(out)
            if not knows(newest, exported):
                newer.append(path.parent.name)
                continue
            checked += 1
            what = complaint(onnx, exported)
            if what is not None:
                bad.append((path.parent.name, what))
    for name, what in bad:
        print(f"{name}: {what}")
    if newer:
        print(f"exported in a newer opset: {' '.join(newer)}")
    print(
        f"{checked} exported models checked, {len(bad)} refused, {left_out + len(newer)} left out; "
        f"the checker knows ai.onnx {newest['']}"
    )
    sys.exit(1 if bad or checked == 0 else 0)


main()
