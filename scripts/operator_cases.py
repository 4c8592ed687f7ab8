#!/usr/bin/env python3
"""Adds a column to the table of operators on stdin: the number of cases that contain each operator.

    frazil ops --markdown | operator_cases.py            counts of ONNX's node cases from the file, Frazil's counted now
    operator_cases.py --count NODE_CASES > tests/onnx/node_cases.txt
"""

import collections
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
COUNTS = TESTS / "onnx" / "node_cases.txt"


def fields(data):
    """Yields (number, bytes) of each length-delimited field of a message."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            varint()
        elif kind == 2:
            size = varint()
            yield key >> 3, data[at : at + size]
            at += size
        else:
            at += 8 if kind == 1 else 4


def operators_of_nodes(owner, tag):
    """Yields full names of the operators of a graph (nodes in field 1) or function (field 7), including subgraphs."""
    for number, node in fields(owner):
        if number != tag:
            continue
        parts = list(fields(node))
        name = "".join(value.decode() for number, value in parts if number == 4)
        domain = "".join(value.decode() for number, value in parts if number == 7)
        yield name if domain in ("", "ai.onnx") else f"{domain}.{name}"
        for number, attribute in parts:
            if number == 5:
                for number, graph in fields(attribute):
                    if number == 6:
                        yield from operators_of_nodes(graph, 1)


def operators_of_model(path):
    found = set()
    for number, value in fields(path.read_bytes()):
        if number == 7:
            found |= set(operators_of_nodes(value, 1))
        if number == 25:
            found |= set(operators_of_nodes(value, 7))
    return found


def count_models(folder):
    counts = collections.Counter()
    for model in sorted(pathlib.Path(folder).glob("*/model.onnx")):
        counts.update(operators_of_model(model))
    return counts


def count_own():
    counts = collections.Counter()
    for path in sorted(TESTS.glob("*/*.frz")):
        for case in re.split(r"^; case: ", path.read_text(), flags=re.M)[1:]:
            text = re.sub(r"^;.*$", "", case, flags=re.M)
            found = set(re.findall(r"=\s*((?:[\w.]+::)?[A-Z]\w*)\(", text))
            counts.update(name.replace("::", ".") for name in found)
    for line in (TESTS / "onnx" / "opsets.txt").read_text().splitlines():
        if line[:1].isalpha():
            name = line
        elif line.startswith("  ") and not line.lstrip().startswith("=>"):
            counts[name] += len(line.split(":")[0].split())
    return counts


def main():
    if sys.argv[1:2] == ["--count"]:
        for name, count in sorted(count_models(sys.argv[2]).items()):
            print(name, count)
        return
    onnx = {}
    for line in COUNTS.read_text().splitlines():
        name, count = line.split()
        onnx[name] = int(count)
    own = count_own()
    for number, line in enumerate(sys.stdin):
        name = line.split("|")[1].strip()
        cell = ["ONNX's cases | own cases", "---|---"][number] if number < 2 else f"{onnx.get(name, 0)} | {own[name]}"
        blank = "" if number == 1 else " "
        print(f"{line.rstrip()}{blank}{cell}{blank}|")


main()
