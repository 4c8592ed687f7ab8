#!/usr/bin/env python3
"""Writes a source file with the examples in the comments of include/frazil/*.h: header_examples.py OUT

Lines of a comment that are indented by three spaces are an example. Each example becomes a function. Its parameters are
the objects that the examples of its header use without declaring them.
"""

import pathlib
import re
import sys

GIVEN = {
    "build.h": "const Model& model, Patch& patch",
    "debug.h": "const Model& model, Array x",
    "graph.h": "const Model& model",
    "host_operator.h": "GraphBuilder& graph, Term x",
    "lazy.h": "Array weights, LazyArray x, LazyArray b, LazyArray h, LazyArray u, std::vector<Tree> trees, "
    "const Model& model, std::vector<std::vector<Array>> requests",
    "live.h": "const Model& model, Array x",
    "native.h": "const Model& model, Array x",
    "profile.h": "Session& session, Array x",
    "registry.h": "const Model& model, GraphBuilder& graph, Term x",
    "session.h": "Session& session, Array x",
}

BLOCK = re.compile(r"(?:^ *///   .*\n)(?:^ *///(?:   .*)?\n)*", re.M)

HEAD = """#include <cstdio>
#include <span>
#include <vector>

#include <frazil/frazil.h>

#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"

namespace frazil::examples {

struct Tree {};
[[maybe_unused]] LazyArray score(const Tree&) { return {}; }
"""


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = [HEAD]
    for header in sorted((pathlib.Path(__file__).resolve().parent.parent / "include/frazil").glob("*.h")):
        for block in BLOCK.finditer(header.read_text()):
            code = re.sub(r"^ *///", "", block[0], flags=re.M)
            name = f"{header.stem}_{header.read_text().count(chr(10), 0, block.start()) + 1}"
            out.append(f"\nvoid {name}({GIVEN.get(header.name, '')}) {{\n  {{\n{code}  }}\n}}\n")
    out.append("\n}  // namespace frazil::examples\n")
    if len(out) < 5:
        sys.exit("header_examples.py: the headers have no examples any more?")
    pathlib.Path(sys.argv[1]).write_text("".join(out))


main()
