#!/usr/bin/env python3
"""Checks the lengths of files and functions, the number of files in a folder, and the number of methods of a class.

With --report, prints the longest files and functions and the classes with most methods, and does not fail."""

import collections
import pathlib
import re
import statistics
import sys

MAX_FILE = 800
MAX_FUNCTION = 80
MAX_IN_FOLDER = 45  # files in a folder of src
MAX_METHODS = 25  # without constructors, destructors and operators
FOLDERS = ("src", "include", "server", "govern", "compat", "tool", "python")

# Classes over MAX_METHODS that may stay as large as they are, and not grow.
LARGE_CLASSES = {
    "Array": 29,  # public API
    "Compiler": 29,  # of rules: a method for each form of an expression
    "Governor": 32,  # nine hooks, and the records of what they decide
    "GrpcSession": 26,
    "HttpConnection": 29,
    "OrtApi": 53,  # a table of pointers, given by ONNX Runtime
    "PipelineReader": 26,
}

# Ignored when scanning for braces: comments, strings, characters, preprocessor lines.
OPAQUE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.S | re.M,
)
CONTROL = re.compile(r"\b(if|for|while|switch|catch)\b[^;]*$")
# Text before a brace that ends like a signature: a parameter list, then qualifiers or a result type.
SIGNATURE = re.compile(
    r"\)\s*(?:(?:const|mutable|noexcept|override|final|try)\b\s*|&&?\s*)*(?:->[^;]*)?(?:requires\b[^;]*)?$"
)
LAMBDA = re.compile(r"\[[^\]]*\]\s*$")
MEMBER_INIT = re.compile(r"\)[\w\s]*(?<!:):(?!:).*[\w>]\s*$", re.S)  # a constructor's `: a_(1), b_`
NAME = re.compile(r"(operator\s*[^\s\w]+|\b(?!requires\b|noexcept\b|decltype\b)[\w:~]+|\[[^\]]*\])\s*\(")


def function_name(head):
    match = NAME.search(re.sub(r"<[^<>()]*>", "", head))
    return "lambda" if not match or match[1].startswith("[") else match[1]


def functions(text):
    """Yields (name, first line, lines) of each outermost function or lambda, found by a scan for braces."""
    text = OPAQUE.sub(lambda m: " " + "\n" * m[0].count("\n"), text)
    stack = []  # (kind, head, line)
    head, line, head_line, inside = "", 1, 1, 0
    for char in text:
        if char == "\n":
            line += 1
        if char == "{":
            kind = "other"
            if not inside and (SIGNATURE.search(head) or LAMBDA.search(head)) and not CONTROL.search(head):
                kind = "function"
            elif not inside and MEMBER_INIT.search(head):
                kind = "init"
            inside += kind == "function"
            stack.append((kind, head, head_line))
            head = ""
        elif char == "}" and stack:
            kind, opened, start = stack.pop()
            head = ""
            if kind == "function":
                inside -= 1
                yield function_name(opened), start, line - start + 1
            elif kind == "init":
                head, head_line = opened + "()", start
        elif char == ";":
            head = ""
        elif head or not char.isspace():
            if not head:
                head_line = line
            head += char


CLASS = re.compile(r"\b(?:class|struct)\s+(?:FRAZIL_\w+\s+)?([\w:]+)(?:\s+final)?(?:\s*:[^;{]*)?$")
# The declaration of a method with its name, and the starts of other declarations with parentheses.
METHOD = re.compile(
    r"^[^()=]*?(~?\w+)\s*\(.*\)\s*(?:const|noexcept|override|final|&&?|->[^;]*|=\s*0|\s)*(?:requires\b.*)?(?::.*)?$",
    re.S,
)
OTHER = (",", "friend", "using", "typedef", "static_assert", "FRAZIL_")


def is_method(head, owner):
    match = METHOD.match(head)
    if not match or head.startswith(OTHER) or re.search(r"\boperator\b", head[: match.end(1)]):
        return False
    return match[1].lstrip("~") != owner.split("::")[-1]


def methods(text):
    """Yields (class, methods) of each class with a body: the functions that are declared directly in it."""
    text = OPAQUE.sub(" ", text)
    stack, head = [], ""  # open bodies: [class or None, its methods]
    for char in text:
        if char not in "{};" or head.count("(") > head.count(")"):  # in parentheses: a default argument, a lambda
            head += char
            continue
        head = re.sub(r"^(?:\s*(?:public|protected|private)\s*:)+", "", head).strip()
        inside = bool(stack) and stack[-1][0] is not None
        if char != "}" and inside and is_method(head, stack[-1][0]):
            stack[-1][1] += 1
        if char == "{":
            name = CLASS.search(head) if not head.startswith("enum") else None
            stack.append([name and name[1], 0])
        elif char == "}" and stack:
            closed = stack.pop()
            if closed[0]:
                yield tuple(closed)
        head = ""


def measure(root):
    """Returns lists of (lines, path) of files, (lines, name, path, first line) of functions, (methods, class, path)."""
    files, bodies, classes = [], [], []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc", ".inc"):
                text = path.read_text()
                where = path.relative_to(root)
                files.append((text.count("\n"), where))
                bodies += [(lines, name, where, start) for name, start, lines in functions(text)]
                classes += [(count, name, where) for name, count in methods(text)]
    return files, bodies, classes


def report(files, bodies, classes):
    per_folder = collections.Counter()
    for lines, path in files:
        per_folder["/".join(path.parts[:2] if path.parts[0] == "src" else path.parts[:1])] += lines
    print("Lines by folder")
    for folder, lines in sorted(per_folder.items()):
        print(f"{lines:8}  {folder}")
    print(f"{sum(per_folder.values()):8}  in all\n\nLongest files")
    for lines, path in sorted(files, reverse=True)[:10]:
        print(f"{lines:8}  {path}")
    print("\nLongest functions")
    for lines, name, path, start in sorted(bodies, reverse=True)[:20]:
        print(f"{lines:8}  {name}  {path}:{start}")
    print("\nClasses with most methods")
    for count, name, path in sorted(classes, reverse=True)[:20]:
        print(f"{count:8}  {name}  {path}")
    if bodies:
        print(f"\n{len(bodies)} functions, median {statistics.median(body[0] for body in bodies):g} lines")


def check_methods(classes):
    """Returns faults of classes with too many methods, and of exceptions that are no longer needed."""
    faults, largest = [], collections.Counter()
    for count, name, path in classes:
        largest[name] = max(largest[name], count)
        allowed = LARGE_CLASSES.get(name, MAX_METHODS)
        if count > allowed:
            faults.append(f"{path}:1: class {name} has {count} methods, over {allowed}")
    faults += [
        f"scripts/check_sizes.py:1: {name} in LARGE_CLASSES has {largest[name]} methods: remove it"
        for name in LARGE_CLASSES
        if largest[name] <= MAX_METHODS
    ]
    return faults


def check(files, bodies, classes):
    in_folder = collections.Counter(path.parent for _, path in files if path.parts[0] == "src")
    full = [(folder, count) for folder, count in in_folder.items() if count > MAX_IN_FOLDER]
    faults = [f"{folder}: {count} files, over {MAX_IN_FOLDER}" for folder, count in full]
    faults += [f"{path}:1: {lines} lines, over {MAX_FILE}" for lines, path in files if lines > MAX_FILE]
    faults += [
        f"{path}:{start}: {name} has {lines} lines, over {MAX_FUNCTION}"
        for lines, name, path, start in bodies
        if lines > MAX_FUNCTION
    ]
    faults += check_methods(classes)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


def main():
    files, bodies, classes = measure(pathlib.Path(__file__).resolve().parent.parent)
    if sys.argv[1:] == ["--report"]:
        return report(files, bodies, classes)
    return check(files, bodies, classes)


if __name__ == "__main__":
    sys.exit(main())
