"""Hooks of MkDocs: pages and files outside of docs/ that a page of the site links to become part of the site."""

from __future__ import annotations

import os
import pathlib
import re
import sys

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from markdown_links import ELSEWHERE, LINK, links, without_code

ROOT = pathlib.Path(__file__).resolve().parents[1]
OUTSIDE = "repository"  # the folder of the site for files outside of docs/


def resolve(page: str, target: str) -> str:
    """Returns the path in the repository of a link's target; a folder stands for its README.md."""
    path = os.path.normpath(os.path.join(os.path.dirname(page), target.partition("#")[0] or os.path.basename(page)))
    return f"{path}/README.md" if (ROOT / path / "README.md").exists() else path


def place(path: str) -> str:
    """Returns the path in the site of a file of the repository."""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{OUTSIDE}/{path}"


def source(path: str) -> str:
    """Returns the path in the repository of a file of the site."""
    return path.removeprefix(f"{OUTSIDE}/") if path.startswith(f"{OUTSIDE}/") else f"docs/{path}"


def with_bars(row: str) -> str:
    """Returns a table's row with its escaped bars as MkDocs reads them: bars in code need no escape there."""
    parts = re.split(r"(`[^`]*`)", row)
    return "".join(part.replace(r"\|", "|" if part.startswith("`") else "&#124;") for part in parts)


def generated(config: dict) -> pathlib.Path:
    """Returns the folder of the pages that scripts/python_reference.py writes; it is empty without the package."""
    return pathlib.Path(config["site_dir"] + ".generated")


def on_config(config: dict) -> dict:
    pages = sorted(path.name for path in generated(config).glob("reference/*.md"))
    if pages:
        reference = next(entry["Reference"] for entry in config["nav"] if "Reference" in entry)
        reference.append({"Python objects": [f"reference/{name}" for name in pages]})
    return config


def on_files(files: Files, config: dict) -> Files:
    added = pathlib.Path(config["site_dir"] + ".outside")  # MkDocs takes files by folder and name
    waiting = [source(file.src_uri) for file in files.documentation_pages()]
    seen = set(waiting)
    while waiting:
        page = waiting.pop()
        for _, target in links((ROOT / page).read_text(encoding="utf-8")):
            path = resolve(page, target)
            if path in seen or not (ROOT / path).is_file():
                continue
            seen.add(path)
            if path.startswith("docs/"):
                continue
            copy = added / place(path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((ROOT / path).read_bytes())
            files.append(File(place(path), str(added), config["site_dir"], config["use_directory_urls"]))
            if path.endswith(".md"):
                waiting.append(path)
    made = generated(config)
    for page in sorted(made.glob("reference/*.md")):
        path = page.relative_to(made).as_posix()
        files.append(File(path, str(made), config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_markdown(markdown: str, page, **_) -> str:
    """Adapts links to the places of files in the site. The name of a folder without a page is no link."""
    here = source(page.file.src_uri)

    def adapt(match):
        target = match[2]
        if ELSEWHERE.match(target) or target.startswith("#"):
            return match[0]
        path = resolve(here, target)
        if not (ROOT / path).is_file():
            return match[1] if (ROOT / path).is_dir() else match[0]
        anchor = target.partition("#")[2]
        to = os.path.relpath(place(path), os.path.dirname(page.file.src_uri))
        return f"[{match[1]}]({to}{'#' + anchor if anchor else ''})"

    lines = markdown.splitlines()
    for number, plain in enumerate(without_code(markdown)):
        # Links in which a part is code have other lengths; lines without a link in prose are left alone.
        if LINK.search(plain):
            lines[number] = LINK.sub(adapt, lines[number])
        if plain.startswith("|"):
            lines[number] = with_bars(lines[number])
    return "\n".join(lines) + "\n"
