#!/usr/bin/env python3
"""Checks that #include lines follow the order of the layers, that only one folder uses LLVM, and that the names of a
layer are in its namespace."""

import pathlib
import re
import sys

# A layer may include layers of the groups before its own; layers of one group do not include each other.
ORDER = [
    ["base"],
    ["sym", "tensor", "kernel"],
    ["ir"],
    ["ops"],
    ["ref", "onnx"],
    ["pass"],
    ["plan"],
    ["code"],
    ["jit", "exec"],
    ["lazy", "debug", "profile"],
    ["api"],
    ["govern"],
    ["server", "compat"],
    ["tool", "python"],
]
# Layers that stand on the public API: they include it and themselves only.
ON_PUBLIC_API = ("compat", "govern")
# The same for the folders of a layer. Sources beside them include all of them.
ROOMS = {
    "govern": [
        ["base"],
        ["policy", "audit", "sign", "report"],
        ["bom", "replay", "gate"],
    ],
    "server": [
        ["core"],
        ["config"],
        ["net", "access"],
        ["request"],
        ["batch", "state"],
        ["model"],
        ["pipeline"],
        ["host"],
        ["replay"],
        ["service"],
        ["web"],
        ["http", "grpc"],
    ],
}
PUBLIC = "frazil"  # include/frazil: a part of the layer api that includes only itself
LLVM_FOLDER = "jit"

# Layers that declare their names in namespace frazil: the vocabulary of all later layers. See docs/decisions/0170.
VOCABULARY = ["base", "sym", "tensor", "ir", "plan"]
# Sources of other layers that do the same: the entry function of a layer, whose result is a type of the vocabulary.
ENTRIES = ["onnx/import/import", "ops/core/registry", "ref/ref"]

# Includes of internal headers that remain in tool/, with the reason. The list can only shrink: an entry without such an
# include is an error.
TOOL_ALLOWED = ("frazil", "tool", "server", "govern")
TOOL_INTERNAL = {
    "bits_environment.cc": (
        "names what decides the bits of results: the instruction set and the table of costs",
        {"kernel/simd/isa.h", "kernel/tuning/tuning_file.h"},
    ),
    "cmd_serve.cc": ("reads a key file within a limit", {"base/os/io.h"}),
    "cmd_tune.cc": (
        "measures kernels, not models",
        {"kernel/tuning/measure_tuning.h", "kernel/tuning/tuning_file.h"},
    ),
    "compare_ways.cc": (
        "measures compilation and the code cache, not models",
        {"exec/native/code_cache.h", "exec/native/code_maker.h"},
    ),
    "guard.cc": ("macros of sanitizers", {"base/os/sanitizers.h"}),
    "machine.cc": ("measures kernels, not models", {"kernel/simd/isa.h"}),
    "main.cc": ("edit distance of words", {"base/value/text.h"}),
    "op_facts.cc": (
        "derives facts for the documentation from definitions, passes and the kernel table",
        {"ir/edit/builder.h", "ir/op/op.h", "pass/engine/expand.h", "plan/lower/bind.h"},
    ),
    "spec.cc": ("the hash that selects random numbers", {"base/value/hash.h"}),
    "view_graph.cc": (
        "steps of the plan by node, enclosing functions",
        {"ir/op/op.h", "plan/analyse/cost.h", "profile/labels.h"},
    ),
    "view_graph.h": ("steps of the plan by node, enclosing functions", {"debug/sites.h", "plan/model/plan.h"}),
    "view_run.cc": ("times of steps by node", {"plan/analyse/cost.h"}),
    "view_run.h": ("times of steps by node", {"api/open.h", "profile/recorder.h"}),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*["<](\w+)/')
ROOM_INCLUDE = re.compile(r'^\s*#\s*include\s*"(\w+)/([^"]+)"')
FULL_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
QUOTED = re.compile(r'^\s*#\s*include\s*"')
FORWARD = re.compile(r"(?:\s*(?:struct|class|enum class) \w+(?: : [\w:]+)?;)*\s*")
OUTER = re.compile(r"^namespace frazil \{$(.*?)^\}", re.M | re.S)
LLVM = re.compile(r'\bllvm(::|-c/|/)')

RANK = {layer: rank for rank, group in enumerate(ORDER) for layer in group}
RANK[PUBLIC] = RANK["api"]
ROOM_RANK = {
    layer: {room: rank for rank, group in enumerate(order) for room in group} for layer, order in ROOMS.items()
}


def may_include(layer, other):
    if layer == other or (layer == "api" and other == PUBLIC):
        return True
    return layer != PUBLIC and RANK[other] < RANK[layer]


def fault(layer, line):
    """Returns the reason why a line is not allowed in a layer, or None."""
    if layer != LLVM_FOLDER and LLVM.search(line.split("//")[0]):
        return f"only {LLVM_FOLDER}/ may name LLVM"
    include = INCLUDE.match(line)
    if not include:
        return None
    other = include[1]
    if other not in RANK:
        return f"{other}/ is not a layer" if QUOTED.match(line) else None
    if layer in ON_PUBLIC_API and other not in (layer, PUBLIC):
        return f"{layer} stands on the public API; it may not include {other}"
    return None if may_include(layer, other) else f"{layer} may not include {other}"


def room_fault(layer, room, line):
    """Returns the reason why a line is not allowed in a folder of a layer, or None."""
    include = ROOM_INCLUDE.match(line)
    if not include or room is None or include[1] != layer:
        return None
    rank = ROOM_RANK[layer]
    other = include[2].split("/")[0] if "/" in include[2] else None
    if other == room or (other in rank and rank[other] < rank[room]):
        return None
    return f"{layer}/{room} may not include {layer}/{include[2]}"


def tool_faults(root):
    """Yields the includes of internal headers in tool/ that are not listed, and the listed ones that do not exist."""
    unused = {(name, header) for name, (_, headers) in TOOL_INTERNAL.items() for header in headers}
    for path in sorted((root / "tool").glob("*.*")):
        if path.suffix not in (".h", ".cc"):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            include = FULL_INCLUDE.match(line)
            if not include or include[1].split("/")[0] in TOOL_ALLOWED:
                continue
            if include[1] not in TOOL_INTERNAL.get(path.name, ("", ()))[1]:
                yield f"tool/{path.name}:{number}: the command uses the public API; it may not include {include[1]}"
            unused.discard((path.name, include[1]))
    for name, header in sorted(unused):
        yield f"tool/{name}:1: it does not include {header}: remove the entry of TOOL_INTERNAL"


def declares_outside(layer, path, text):
    """Returns whether a layer with its own namespace defines names in frazil. Forward declarations are allowed."""
    is_entry = any(path.with_suffix("").as_posix().endswith(f"/{entry}") for entry in ENTRIES)
    if is_entry or layer in (*VOCABULARY, PUBLIC):
        return False
    return any(not FORWARD.fullmatch(block[1]) for block in OUTER.finditer(text))


def room_of(path):
    """Returns the folder of a source of a layer with ordered folders; None for the others and those beside them."""
    return path.parts[1] if path.parts[0] in ROOMS and len(path.parts) > 2 else None


def sources(root):
    """Yields every source with its layer."""
    for top in ("include", "src", "tool", "python", "server", "compat", "govern"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cc", ".inc"):
                yield path, path.relative_to(root).parts[0 if top not in ("include", "src") else 1]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    faults = 0
    for path, layer in sources(root):
        if layer not in RANK:
            print(f"{path.relative_to(root)}:1: {layer} is not a layer")
            faults += 1
            continue
        text = path.read_text()
        if declares_outside(layer, path, text):
            print(f"{path.relative_to(root)}:1: its names belong in namespace frazil::{layer}")
            faults += 1
        room = room_of(path.relative_to(root))
        for number, line in enumerate(text.splitlines(), 1):
            if reason := fault(layer, line) or room_fault(layer, room, line):
                print(f"{path.relative_to(root)}:{number}: {reason}")
                faults += 1
    for reason in tool_faults(root):
        print(reason)
        faults += 1
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
