#!/usr/bin/env python3
"""Loads and runs models that break or only just keep ONNX's rules, with ONNX Runtime and with Frazil's library.

    run.py BUILD THEIRS [--only PATTERN] [--show CLASS] [--ours LIBRARY] [--shared DIR]

Cases are equal answers, cases that both refuse, and cases that ONNX Runtime alone refuses. A case that this library
alone refuses or answers differently fails, unless known.py has it with the reason. Exit code 1: there are such cases,
or known.py lists cases that are none.
"""

import argparse
import collections
import fnmatch
import os
import pathlib
import re
import sys
import tempfile

import constructs
import files
import known
import mutations
import operators
import records
import stored

HERE = pathlib.Path(__file__).resolve().parent
CLASSES = ["equal answers", "both refuse", "ours alone answers", "ours alone refuses", "answers differ", "ours crashes"]


def verdict(theirs: records.Answer, ours: records.Answer) -> tuple[str, str]:
    """Returns the class of a case, and the text that explains it."""
    if ours.outcome == records.ENDED:
        return "ours crashes", ours.text
    if theirs.outcome != records.RAN:
        if ours.outcome != records.RAN:
            return "both refuse", f"{theirs.text} / {ours.text}"
        return "ours alone answers", theirs.text
    if ours.outcome != records.RAN:
        return "ours alone refuses", ours.text
    for name, value in theirs.outputs.items():
        if text := records.difference(value, ours.outputs[name]):
            return "answers differ", f"output '{name}': {text}"
    return "equal answers", ""


def all_cases(shared: pathlib.Path) -> list[records.Case]:
    cases = [*operators.cases(), *constructs.cases(), *files.cases(), *stored.cases(shared), *mutations.cases(shared)]
    names = collections.Counter(case.name for case in cases)
    twice = [name for name, times in names.items() if times > 1]
    if twice:
        raise RuntimeError(f"two cases have the name {twice[0]}")
    return cases


def compare(cases: list[records.Case], driver, theirs, ours, parts: int) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, case in enumerate(cases):
            records.write_case(case, folder, number)
        both = [records.answers(driver, library, folder, len(cases), parts) for library in (theirs, ours)]
    return [verdict(a, b) for a, b in zip(*both)]


def reason(name: str) -> str:
    return next((why for pattern, why in known.DIFFERENCES.items() if fnmatch.fnmatchcase(name, pattern)), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("theirs", type=pathlib.Path)
    parser.add_argument("--ours", type=pathlib.Path, help="the default is that of the build")
    parser.add_argument("--only", default="", help="a pattern that the names of cases have")
    parser.add_argument("--show", default="", help="a class of cases to list")
    parser.add_argument("--shared", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("FRAZIL_SHARED") or HERE.parents[3] / "shared"))
    args = parser.parse_args()
    cases = [case for case in all_cases(args.shared) if re.search(args.only, case.name)]
    ours = args.ours or args.build / "compat/libonnxruntime.so.1"
    verdicts = compare(cases, args.build / "tests/frazil_leniency", args.theirs, ours, 2 * (os.cpu_count() or 1))
    counts, unexplained, explained = collections.Counter(), 0, set()
    for case, (kind, text) in zip(cases, verdicts):
        why = reason(case.name)
        counts[kind] += 1
        if kind in CLASSES[3:]:
            if why and kind != "ours crashes":
                explained.add(why)
            else:
                unexplained += 1
        if kind in (args.show, "ours crashes") or (kind in CLASSES[3:] and not why):
            print(f"{kind}: {case.name}: {text[:400]}", flush=True)
    for kind in CLASSES:
        print(f"{counts[kind]:>6} {kind}")
    stale = set() if args.only else set(known.DIFFERENCES.values()) - explained
    for why in sorted(stale):
        print(f"no case differs for the reason: {why}")
    return 1 if unexplained or stale else 0


if __name__ == "__main__":
    sys.exit(main())
