#!/usr/bin/env python3
"""Checks that no two files of a program define a type of the same name: neither compiler nor linker reports it.

Names in unnamed namespaces and in functions are ignored. Specialisations with different arguments are different types.
With a folder as the argument, it checks all sources below it as one program.
"""

import collections
import pathlib
import re
import sys

PRODUCT = ("include", "src", "server", "compat", "tool", "python/src")
SUFFIXES = (".h", ".cc", ".inc")

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                        # comments
    |R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"      # raw strings
    |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'      # strings, characters
    |(?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)      # preprocessor
    |(?P<word>[A-Za-z_]\w*)|\d[\w.']*|(?P<sign>::|\S)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
TYPES = ("class", "struct", "union", "enum")


def tokens_of(text):
    return [m["word"] or m["sign"] for m in TOKEN.finditer(text) if m["word"] or m["sign"]]


def skip_attributes(tokens, i):
    """Returns the index after [[...]] and alignas(...)."""
    while i < len(tokens) and (tokens[i] == "[" or tokens[i] == "alignas"):
        opening = {"[": "]", "(": ")"}
        i += tokens[i] == "alignas"
        depth, close = 0, opening[tokens[i]]
        open_ = tokens[i]
        while i < len(tokens):
            depth += (tokens[i] == open_) - (tokens[i] == close)
            i += 1
            if depth == 0:
                break
    return i


def name_at(tokens, i):
    """Returns the name of a type and its end. The name of a specialisation includes its arguments."""
    name = ""
    while i < len(tokens) and (tokens[i] == "::" or re.match(r"[A-Za-z_]", tokens[i])):
        if name and tokens[i] != "::" and not name.endswith("::"):
            break  # final, or a macro
        name += tokens[i]
        i += 1
        if i < len(tokens) and tokens[i] == "<":
            depth = 0
            while i < len(tokens):
                depth += (tokens[i] == "<") - (tokens[i] == ">")
                name += tokens[i]
                i += 1
                if depth == 0:
                    break
    return name, i


def opens_body(tokens, i):
    """Returns whether the body of a type follows its name, and the index where it begins."""
    if i < len(tokens) and tokens[i] == "final":
        i += 1
    if i < len(tokens) and tokens[i] == ":":
        while i < len(tokens) and tokens[i] not in "{;":
            i += 1
    return i < len(tokens) and tokens[i] == "{", i


def definitions(text):
    """Returns the qualified names of the types that a file defines."""
    tokens = tokens_of(text)
    scopes = []  # names; None: the names inside are not visible outside the file
    found = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        if token == "namespace" and tokens[i - 1] != "using":
            j = skip_attributes(tokens, i + 1)
            name, j = name_at(tokens, j)
            if j < len(tokens) and tokens[j] == "{":
                scopes.append(name or None)
                i = j + 1
                continue
        elif token in TYPES and not (token != "enum" and i > 0 and tokens[i - 1] in ("<", ",", "enum")):
            j = i + 1 + (token == "enum" and tokens[i + 1] in ("class", "struct"))
            name, j = name_at(tokens, skip_attributes(tokens, j))
            body, j = opens_body(tokens, j)
            if body:
                visible = None not in scopes and name
                if visible:
                    found.append("::".join(filter(None, [*scopes, name])))
                scopes.append(name if visible else None)
                i = j + 1
                continue
        elif token == "{":
            scopes.append(None)
        elif token == "}" and scopes:
            scopes.pop()
        elif token == "extern" and tokens[i + 1 : i + 2] == ["{"]:  # tokens_of() drops the string "C"
            scopes.append("")
            i += 2
            continue
        i += 1
    return found


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path


def complaints(root, folders, known):
    places = collections.defaultdict(set)
    for path in sources(root, folders):
        if path not in known:
            known[path] = definitions(path.read_text(errors="replace"))
        for name in known[path]:
            places[name].add(path.relative_to(root))
    for name, files in sorted(places.items()):
        if len(files) > 1:
            yield f"{name} is defined in {', '.join(map(str, sorted(files)))}"


def programs(root):
    """Yields the folders of each program."""
    yield PRODUCT
    for folder in sorted((root / "tests").iterdir()):
        if folder.is_dir():
            yield (*PRODUCT, f"tests/{folder.name}")
    yield (*PRODUCT, "bench")


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else __file__).resolve()
    root = root if arguments else root.parent.parent
    known = {}
    all_programs = [["."]] if arguments else list(programs(root))
    found = sorted({line for folders in all_programs for line in complaints(root, folders, known)})
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
