"""Graphs as pictures, by Graphviz's command where there is one."""

from __future__ import annotations

import html as escaping
import shutil
import subprocess

SECONDS = 10  # large graphs take Graphviz longer than anybody waits
MOST_BYTES = 400_000


def svg(dot: str) -> str | None:
    """The picture, or None without Graphviz or for a graph that is too large for it."""
    command = shutil.which("dot")
    if command is None or len(dot) > MOST_BYTES:
        return None
    try:
        made = subprocess.run(
            [command, "-Tsvg"], input=dot, capture_output=True, text=True, timeout=SECONDS, check=True
        )
    except (subprocess.SubprocessError, OSError):
        return None
    return made.stdout[max(made.stdout.find("<svg"), 0) :]


def html(dot: str, text: str) -> str:
    """The picture, else the text."""
    return svg(dot) or f"<pre>{escaping.escape(text)}</pre>"
