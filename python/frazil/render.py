"""Pictures of graphs, if Graphviz's command is installed."""

from __future__ import annotations

import html as escaping
import shutil
import subprocess

SECONDS = 10  # time limit, as large graphs take Graphviz very long
MOST_BYTES = 400_000


def svg(dot: str) -> str | None:
    """Returns the picture, or None without Graphviz or for a too large graph."""
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
    """Returns the picture, or the text if there is none."""
    return svg(dot) or f"<pre>{escaping.escape(text)}</pre>"
