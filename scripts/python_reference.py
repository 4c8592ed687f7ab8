#!/usr/bin/env python3
"""Writes pages from the docstrings of the Python package into a folder: python_reference.py FOLDER | --list

The package must be importable (PYTHONPATH=build/python). `make docs` adds the pages to the site. --list prints the
names of the public objects.
"""

import ast
import importlib
import inspect
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = {
    "python-objects": (
        "the package `frazil`: models, graphs, lazy arrays, edits, debugging, weights, imports from PyTorch",
        ["frazil", "frazil.lazy", "frazil.backend"],
    ),
    "python-numpy": (
        "`frazil.numpy`: NumPy's functions on lazy arrays",
        ["frazil.numpy", "frazil.numpy.linalg", "frazil.numpy.fft", "frazil.numpy.random"],
    ),
    "python-torch": (
        "`frazil.torch`: PyTorch's functions, which are also in `frazil.nn.ops`",
        [
            "frazil.nn.ops", "frazil.torch", "frazil.torch.linalg", "frazil.torch.distributions", "frazil.torch.cuda",
            "frazil.torch.jit", "frazil.torch.autograd", "frazil.torch.utils.data", "frazil.torch.utils.checkpoint",
            "frazil.torch.nn.utils", "frazil.torch.nn.utils.rnn",
        ],
    ),
    "python-nn": ("`frazil.nn`: modules as in torch.nn", ["frazil.nn", "frazil.nn.init"]),
    "python-onnxruntime": (
        "`frazil.onnxruntime`: sessions as in ONNX Runtime's Python package", ["frazil.onnxruntime"],
    ),
    "python-functional": ("`frazil.nn.functional`: functions as in torch.nn.functional", ["frazil.nn.functional"]),
}  # fmt: skip
GENERATED = "Operators"  # the class whose methods are operators; docs/reference/operators.md lists them


def is_ours(value):
    """Returns whether the package defines a value."""
    module = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
    return str(module).startswith("frazil")


def names_of(module):
    """Returns the public names of a module."""
    listed = getattr(module, "__all__", None)
    return sorted(listed) if listed else sorted(name for name in vars(module) if not name.startswith("_"))


def is_documented(value):
    """Returns whether a value of a module is an object of the reference: a class, a function or a ufunc."""
    if inspect.ismodule(value) or not callable(value) or not is_ours(value):
        return False
    return type(value).__module__ != "typing" and type(value).__name__ not in ("DType", "_UnionGenericAlias")


def public_classes():
    """Returns the classes that are public themselves."""
    modules = [importlib.import_module(path) for _, paths in PAGES.values() for path in paths]
    found = [getattr(module, name) for module in modules for name in names_of(module)]
    return {value for value in found if inspect.isclass(value) and is_ours(value)}


def members_of(kind, others):
    """Yields the public methods and properties of a class, and those of its bases that are not public."""
    known = set()
    for base in kind.__mro__:
        hidden = base.__name__ == GENERATED or (base is not kind and base in others)
        if hidden or not base.__module__.startswith("frazil"):
            continue
        for name, value in sorted(vars(base).items()):
            if name.startswith("_") or name in known or inspect.isclass(value):
                continue
            known.add(name)
            value = getattr(value, "__func__", value)
            if callable(value) or isinstance(value, (property, types.GetSetDescriptorType)):
                yield name, value


def public_objects():
    """Yields (page, module, name, object): each object once, under its first name."""
    seen, classes = set(), public_classes()
    for page, (_, modules) in PAGES.items():
        for path in modules:
            module = importlib.import_module(path)
            for name in names_of(module):
                value = getattr(module, name)
                if not is_documented(value) or id(value) in seen:
                    continue
                seen.add(id(value))
                yield page, path, name, value
                if inspect.isclass(value):
                    for member, of in members_of(value, classes):
                        if id(of) not in seen:
                            seen.add(id(of))
                            yield page, path, f"{name}.{member}", of


def default_of(value):
    """Returns a default as text that is the same in every process."""
    return getattr(value, "__name__", None) or repr(value)


def signature_of(value):
    """Returns the parameters of a callable as text."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (ValueError, TypeError):
        return "" if inspect.isclass(value) else "(...)"
    if inspect.isclass(value) and issubclass(value, BaseException) and "__init__" not in vars(value):
        return ""
    of_numpy = getattr(getattr(value, "__wrapped__", None), "__module__", "") or ""
    if of_numpy.startswith("numpy"):  # its parameters depend on NumPy's version
        return "(...)"
    parts, star = [], False
    for i, p in enumerate(parameters):
        if (i == 0 and p.name in ("self", "cls")) or p.name == "_stacklevel":
            continue
        if p.kind is p.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        text = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "") + p.name
        parts.append(text if p.default is p.empty else f"{text}={default_of(p.default)}")
    return f"({', '.join(parts)})"


def is_code(block):
    """Returns whether a paragraph is an example. Sentences are no Python."""
    try:
        return any(not isinstance(node, ast.Expr) or "(" in block for node in ast.parse(block).body)
    except SyntaxError:
        return False


def text_of(doc):
    """Returns a docstring as Markdown: sections as bold words, entries as list items, indented lines as code."""
    from frazil.docstrings import entries_of, sections_of

    text, sections = sections_of(doc)
    lines = []
    for block in text.split("\n\n"):
        rows = block.splitlines()
        code = rows[0].startswith("    ") or is_code(block)
        lines += ["", "```python", *rows, "```"] if code else ["", " ".join(rows)]
    for name, section in sections.items():
        if name in ("Notes", "Examples", "See Also"):
            rows = section.splitlines()
            lines += ["", f"**{name}**", "", *(["```python", *rows, "```"] if name == "Examples" else [" ".join(rows)])]
            continue
        lines += ["", f"**{name}**", ""]
        for row in entries_of(section).values():
            if row:
                head, _, rest = row.partition("\n")
                label, _, kind = head.partition(" : ")
                described = " ".join(rest.split())
                first = f"`{label}`" + (f" ({kind})" if kind else "")
                lines.append(f"- {first}" + (f": {described}" if described else ""))
    return "\n".join(lines[1:])


def entry_of(path, name, value):
    """Returns the lines of one object."""
    doc = inspect.getdoc(value) or ""
    if isinstance(value, (property, types.GetSetDescriptorType)):
        return [f"#### {name}", "", f"Property. {text_of(doc)}", ""]
    level = "####" if "." in name else "###"
    label = name if "." in name else f"{path}.{name}"
    return [f"{level} {label}{signature_of(value)}".replace("*", "\\*"), "", text_of(doc), ""]


def page_of(page, objects):
    """Returns the text of a page."""
    title, _ = PAGES[page]
    lines = [
        f"# Reference: {title}",
        "",
        "This page lists the public objects with their docstrings. `scripts/python_reference.py` generates it.",
        "[python.md](python.md) and [nn.md](nn.md) explain the package."
        + (" [operators.md](operators.md) lists the operators, methods of `Graph`." if page == "python-objects" else ""),
        "",
    ]
    before = None
    for path, name, value in objects:
        if path != before:
            lines += [f"## {path}", ""]
            before = path
        lines += entry_of(path, name, value)
    return "\n".join(lines).rstrip() + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    objects = list(public_objects())
    if sys.argv[1] == "--list":
        print("\n".join(f"{path}.{name}" for _, path, name, _ in objects))
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        text = page_of(page, [row[1:] for row in objects if row[0] == page])
        (folder / f"{page}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
