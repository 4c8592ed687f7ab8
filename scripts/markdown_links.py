"""Links and headings of Markdown pages, for check_links.py and for the site (site_hooks.py)."""

from __future__ import annotations

import re
import unicodedata

LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"\s*(```+|~~~+)")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//")


def without_code(text: str) -> list[str]:
    """Returns the lines of a page, in which code is replaced by blanks of the same length."""
    lines, fence, in_block, after_blank = [], "", False, True
    for line in text.splitlines():
        opening = FENCE.match(line)
        if fence:
            if opening and opening[1].startswith(fence):
                fence = ""
            lines.append("")
            continue
        if opening:
            fence = opening[1]
            lines.append("")
            continue
        in_block = line.startswith("    ") and (in_block or after_blank) or (in_block and not line.strip())
        after_blank = not line.strip()
        lines.append("" if in_block else re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", lambda m: " " * len(m[0]), line))
    return lines


def links(text: str) -> list[tuple[int, str]]:
    """Returns line number and target of each link to a file or a heading."""
    found = []
    for number, line in enumerate(without_code(text), 1):
        found += [(number, m[2]) for m in LINK.finditer(line) if not ELSEWHERE.match(m[2])]
    return found


def headings(text: str) -> list[str]:
    """Returns the texts of the headings, without markup."""
    fenced = without_code(text)
    found = []
    for raw, line in zip(text.splitlines(), fenced):
        if line.startswith("#") and (m := re.match(r"#{1,6}\s+(.*?)\s*#*$", raw)):
            found.append(re.sub(r"[`*]", "", LINK.sub(lambda link: link[1], m[1])))
    return found


def numbered(slugs: list[str], separator: str) -> set[str]:
    """Makes slugs unique: a repeated one gets the separator and a number."""
    seen: dict[str, int] = {}
    made = set()
    for slug in slugs:
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        made.add(slug if count == 0 else f"{slug}{separator}{count}")
    return made


def repository_anchors(text: str) -> set[str]:
    """Returns the anchors of a page as the usual viewers of repositories make them."""
    slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings(text)]
    return numbered(slugs, "-")


def site_anchors(text: str) -> set[str]:
    """Returns the anchors of a page as MkDocs makes them."""
    plain = [unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode() for heading in headings(text)]
    slugs = [re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in plain]
    return numbered(slugs, "_")
