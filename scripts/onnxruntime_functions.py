#!/usr/bin/env python3
"""Prints what each function of ONNX Runtime's C interface does in libonnxruntime.so.1, as Markdown, from functions.def."""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "compat/onnxruntime"
ROW = re.compile(r'^(WORKS|HINT|IGNORED|REFUSED)\((\w+)(?:, (\w+))??(?:, "(.*)")?\)$')
HEAD = """# Functions of ONNX Runtime's C interface

This page is for users of `libonnxruntime.so.1`. It lists what each function does there; [onnxruntime.md](../onnxruntime.md) says how to use the library. It is generated
by `scripts/onnxruntime_functions.py`, from the table that the library is made of.

| kind | functions | meaning |
|---|---:|---|
"""
MEANING = {
    "WORKS": ("works", "does what ONNX Runtime does"),
    "HINT": ("hint", "succeeds; the value is kept and returned when asked for"),
    "IGNORED": ("ignored", "succeeds, and is logged once at level INFO: it has no effect on results"),
    "REFUSED": ("refused", "fails with a status that names the function, because success would promise what is not there"),
}


def rows() -> list[tuple[str, str, str]]:
    """The kind, the name and the note of each function, in the order of the table."""
    found = []
    for line in (FOLDER / "functions.def").read_text().splitlines():
        if match := ROW.match(line):
            found.append((match[1], match[2], match[4] or ""))
    return found


def since() -> dict[str, int]:
    """The version of the interface that each function came with."""
    versions, version = {}, 0
    for line in (FOLDER / "include/onnxruntime_c_api.h").read_text().splitlines():
        if match := re.search(r"/\* since version (\d+) \*/", line):
            version = int(match[1])
        for name in re.findall(r"\(\*(\w+)\)\(", line)[:1]:
            versions.setdefault(name, version)
    return versions


def table(kind: str, title: str, column: str, functions: list[tuple[str, str, str]]) -> None:
    print(f"\n## {title}\n")
    by_note = collections.defaultdict(list)
    for of, name, note in functions:
        if of == kind:
            by_note[note].append(f"`{name}`")
    print(f"| functions | {column} |\n|---|---|")
    for note, names in by_note.items():
        print(f"| {', '.join(names)} | {note} |")


def main() -> None:
    functions, versions = rows(), since()
    counts = collections.Counter(kind for kind, _, _ in functions)
    print(HEAD, end="")
    for kind, (name, meaning) in MEANING.items():
        print(f"| {name} | {counts[kind]} | {meaning} |")
    print(f"| all | {len(functions)} | |")
    table("HINT", "Hints", "what becomes of the value", functions)
    table("IGNORED", "Ignored", "why", functions)
    table("REFUSED", "Refused", "reason and what to do", functions)
    print("\n## Work\n\n| since version | functions |\n|---:|---|")
    by_version = collections.defaultdict(list)
    for kind, name, _ in functions:
        if kind == "WORKS":
            by_version[versions[name]].append(f"`{name}`")
    for version, names in by_version.items():
        print(f"| {version} | {', '.join(names)} |")


if __name__ == "__main__":
    main()
