#!/usr/bin/env python3
"""Checks the links of all Markdown pages, and the pages that sources name: check_links.py [ROOT]

- A relative link names an existing file or folder, and an existing heading of it.
- A page that a source or a message names, as in "see docs/reference/limits.md", exists.
- A block after the line "<!-- from FILE -->" is a part of that file.
- mkdocs.yml names existing pages, from which links lead to each page of docs/.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys

from markdown_links import links, repository_anchors, site_anchors

SKIPPED = re.compile(r"(build|\.|node_modules|__pycache__|shared$)")
SOURCES = {".h", ".cc", ".c", ".py", ".js", ".sh", ".cmake", ".txt", ".toml", ".yml", ".yaml", ".service", ".cfg", ".md"}
QUOTE = re.compile(r"^<!-- from (\S+) -->\n```\w*\n(.*?)^```$", re.M | re.S)
NAMED = re.compile(r"(?<![\w./-])docs/(?:[\w-]+/)*(?:[\w.-]+\.md(?:#[\w-]+)?|\d{4}\b)")


def files_of(root: pathlib.Path) -> list[pathlib.Path]:
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not SKIPPED.match(name))
        found += [pathlib.Path(folder, name) for name in sorted(names)]
    return found


class Checker:
    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.docs = root / "docs"
        self.files = files_of(root)
        self.texts = {path: path.read_text(encoding="utf-8") for path in self.files if path.suffix == ".md"}
        self.errors: list[str] = []

    def complain(self, path: pathlib.Path, line: int, text: str) -> None:
        self.errors.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def resolve(self, page: pathlib.Path, target: str) -> pathlib.Path:
        """Returns the file or folder of a link. A folder with a README.md stands for it."""
        path = target.partition("#")[0]
        found = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
        return found / "README.md" if (found / "README.md") in self.texts else found

    def check_anchor(self, page: pathlib.Path, line: int, found: pathlib.Path, target: str) -> None:
        anchor = target.partition("#")[2]
        if not anchor:
            return
        if found not in self.texts:
            self.complain(page, line, f"link '{target}': only pages have headings")
        elif anchor not in repository_anchors(self.texts[found]):
            self.complain(page, line, f"link '{target}': {found.relative_to(self.root)} has no heading '#{anchor}'")
        elif anchor not in site_anchors(self.texts[found]):
            self.complain(page, line, f"link '{target}': the heading has another anchor in the site; rename it")

    def check_page(self, page: pathlib.Path) -> None:
        for line, target in links(self.texts[page]):
            found = self.resolve(page, target)
            if not found.exists() or not found.is_relative_to(self.root):
                self.complain(page, line, f"link '{target}': there is no such file")
            else:
                self.check_anchor(page, line, found, target)

    def check_named(self, path: pathlib.Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return
        for number, line in enumerate(text.splitlines(), 1):
            for match in NAMED.finditer(line):
                if path.suffix != ".md" or not line[: match.start()].endswith("]("):  # check_page() has checked links
                    self.check_name(path, number, match[0])

    def check_name(self, path: pathlib.Path, line: int, name: str) -> None:
        file, _, anchor = name.partition("#")
        found = self.root / file
        if found in self.texts:
            self.check_anchor(path, line, found, name)
        elif found.suffix == ".md" or not list(found.parent.glob(f"{found.name}-*.md")):
            self.complain(path, line, f"there is no page '{file}'")

    def check_quotes(self, page: pathlib.Path) -> None:
        for match in QUOTE.finditer(self.texts[page]):
            source = self.root / match[1]
            line = self.texts[page].count("\n", 0, match.start()) + 1
            if not source.is_file():
                self.complain(page, line, f"there is no file '{match[1]}'")
            elif match[2] not in source.read_text(encoding="utf-8"):
                self.complain(page, line, f"the block differs from {match[1]}")

    def check_navigation(self) -> None:
        listed = []
        config = self.root / "mkdocs.yml"
        for number, line in enumerate(config.read_text(encoding="utf-8").splitlines(), 1):
            if m := re.match(r"\s+- (?:.*: )?([\w./-]+\.md)$", line):
                listed.append(self.docs / m[1])
                if listed[-1] not in self.texts:
                    self.complain(config, number, f"there is no page 'docs/{m[1]}'")
        reached, waiting = set(), [page for page in listed if page in self.texts]
        while waiting:
            page = waiting.pop()
            if page not in reached:
                reached.add(page)
                waiting += [found for _, to in links(self.texts[page]) if (found := self.resolve(page, to)) in self.texts]
        for page in sorted(self.texts):
            if page.is_relative_to(self.docs) and page not in reached:
                self.complain(page, 1, "no link leads here from the navigation in mkdocs.yml")

    def run(self) -> int:
        for page in self.texts:
            self.check_page(page)
            self.check_quotes(page)
        for path in self.files:
            if path.suffix in SOURCES or path.name in ("Makefile", "Containerfile"):
                self.check_named(path)
        self.check_navigation()
        print("\n".join(self.errors), file=sys.stderr, end="\n" if self.errors else "")
        print(f"{len(self.texts)} pages, {len(self.errors)} errors")
        return 1 if self.errors else 0


if __name__ == "__main__":
    default = pathlib.Path(__file__).resolve().parents[1]
    sys.exit(Checker(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else default).run())
