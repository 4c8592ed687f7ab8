"""Code of other sources has another version: code_version_test.py CMAKE COMPILER."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).parents[2] / "src"

# What is changed, in which file, a text and what takes its place, and whether generated code depends on it.
CASES = [
    (
        "the order of fields that generated code reads",
        "code/abi/abi.h",
        r"(std::byte\* const\* in = nullptr;)\n(\s*std::byte\* const\* out = nullptr;)",
        r"\2\n\1",
        True,
    ),
    ("a field more", "code/abi/abi.h", r"(unsigned number = 0;)", r"\1 unsigned node = 0;", True),
    ("the frame of plan code", "code/native/native_plan.h", r"(struct NativeFrame \{)", r"\1 int first = 0;", True),
    ("numbers of operations on extents", "sym/dim.h", r"\{ constant, add, sub,", "{ constant, sub, add,", True),
    ("the largest extent", "sym/dim.h", r"kMax =", "kMax = -1 +", True),
    ("places of storages", "plan/model/plan.h", r"(enum class Place : std::uint8_t \{)", r"\1 nowhere,", True),
    ("a function that is written into code", "kernel/simd/math_lanes.h", r"$", "\n// other", True),
    ("the code generator", "jit/row_product.cc", r"$", "\n// other", True),
    ("how its functions are compiled", "jit/CMakeLists.txt", r"-O2", "-O1", True),
    ("the interpreter", "exec/run/interpreter.cc", r"$", "\n// other", False),
    ("an operator", "ops/nn/norm.cc", r"$", "\n// other", False),
]


def version(cmake: str, compiler: str, sources: pathlib.Path, identity: str = "one") -> str:
    header = sources.parent / "code_version.h"
    command = [cmake, f"-DCOMPILER={compiler}", f"-DROOT={sources}", f"-DIDENTITY={identity}", f"-DHEADER={header}"]
    subprocess.run([*command, "-P", SOURCES / "code/code_version.cmake"], check=True, capture_output=True)
    return re.findall(r'FRAZIL_CODE_VERSION "(\w{64})"', header.read_text())[0]


def main(cmake: str, compiler: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "a folder", "src")
        shutil.copytree(SOURCES, copy)
        before = version(cmake, compiler, copy)
        wrong = [] if version(cmake, compiler, copy) == before else ["equal sources have other versions"]
        if version(cmake, compiler, copy, "two") == before:
            wrong.append("another compiler: the version stays")
        for what, file, text, by, depends in CASES:
            whole = (copy / file).read_text()
            changed = re.sub(text, by, whole, count=1)
            if changed == whole:
                wrong.append(f"{what}: {file} has no {text!r}")
                continue
            (copy / file).write_text(changed)
            if (version(cmake, compiler, copy) != before) != depends:
                wrong.append(f"{what} ({file}): the version {'stays' if depends else 'changes'}")
            (copy / file).write_text(whole)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
