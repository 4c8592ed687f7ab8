#!/usr/bin/env python3
"""Tests scripts/check_links.py on small trees, each with one fault."""

import contextlib
import io
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from check_links import Checker

# DOCS stands for docs, so that the check of this repository does not look for these pages.
GOOD = {
    "mkdocs.yml": "nav:\n  - Overview: README.md\n",
    "README.md": "[docs](DOCS/README.md)\n",
    "DOCS/README.md": "# Docs\n\n[a](a.md#the-first-heading) [source](../main.cc)\n",
    "DOCS/a.md": "# A\n\n## The `first` heading\n\n    [code](none.md)\n\nA `[x](y)` in code.\n",
    "main.cc": "// see DOCS/a.md\nint x;\n",
}
# A file, its content instead, and a part of the message. An empty message: no error.
CASES = [
    ("README.md", GOOD["README.md"], ""),
    ("README.md", "[docs](DOCS/none.md)\n", "README.md:1: link 'DOCS/none.md': there is no such file"),
    ("README.md", "[docs](../elsewhere.md)\n", "there is no such file"),
    ("README.md", "[docs](DOCS/a.md#second)\n", "DOCS/a.md has no heading '#second'"),
    ("README.md", "[here](#none)\n", "README.md has no heading '#none'"),
    ("README.md", "[source](main.cc#x)\n", "only pages have headings"),
    ("README.md", "# A - b\n\n[here](#a---b)\n", "another anchor in the site"),
    ("README.md", "```\n[code](none.md)\n```\n", ""),
    ("README.md", "<!-- from main.cc -->\n```cpp\nint x;\n```\n", ""),
    ("README.md", "<!-- from main.cc -->\n```cpp\nint y;\n```\n", "the block differs from main.cc"),
    ("main.cc", 'throw "see DOCS/b.md";\n', "main.cc:1: there is no page 'DOCS/b.md'"),
    ("main.cc", "// DOCS/decisions/0001\n", "there is no page 'DOCS/decisions/0001'"),
    ("main.cc", "// https://example.org/DOCS/b.md\n", ""),
    ("mkdocs.yml", "nav:\n  - Overview: README.md\n  - B: b.md\n", "mkdocs.yml:3: there is no page 'DOCS/b.md'"),
    ("DOCS/README.md", "# Docs\n", "DOCS/a.md:1: no link leads here"),
]


def named(text: str) -> str:
    return text.replace("DOCS/", "docs/")


def errors_of(files: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, named(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(named(text))
        checker = Checker(pathlib.Path(folder))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            checker.run()
        return checker.errors


for name, text, message in CASES:
    errors = errors_of({**GOOD, name: text})
    expected = int(bool(message))
    assert len(errors) == expected and all(named(message) in error for error in errors), f"{name}, {text!r}: {errors}"
print(f"{len(CASES)} cases")
