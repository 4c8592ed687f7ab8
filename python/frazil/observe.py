"""What runs tell: events, and times by node."""

from __future__ import annotations

import html
from typing import NamedTuple

import numpy


class NodeEvent(NamedTuple):
    """A node in an event."""

    name: str
    op: str
    id: int


class Observer:
    """Receives the events of a session: session.observe(observer). Override what is of interest.

    Functions are called on the session's thread during a run. An exception stops the run and is raised by it.
    """

    def run_begin(self) -> None:
        """A run begins."""

    def run_end(self) -> None:
        """A run has ended."""

    def node_begin(self, node: NodeEvent) -> None:
        """A node's kernel starts; fused nodes are one."""

    def node_end(self, node: NodeEvent) -> None:
        """A node's kernel has ended."""

    def branch(self, node: NodeEvent, taken: bool) -> None:
        """The branch that an If takes, or whether a Loop continues."""

    def iteration(self, node: NodeEvent) -> None:
        """An iteration of a loop has ended."""

    def shapes_changed(self) -> None:
        """Extents differ from those of the run before."""

    def wanted(self) -> list[str]:
        """The names of inner values to report; asked once, by Session.observe()."""
        return []

    def value(self, name: str, value: numpy.ndarray, iterations: tuple[int, ...]) -> None:
        """A wanted value has been computed; inside of loops with their iteration numbers, outermost first."""

    def without(self, name: str, why: str) -> bool:
        """A wanted value was removed by the passes. True: the run goes on without it; else it raises Unsupported."""
        return False


class Row(NamedTuple):
    """One node of a Profile."""

    name: str
    op: str
    calls: int
    seconds: float


class Profile:
    """Time by node. `rows` are sorted by time, `seconds` is that of a run on average."""

    def __init__(self, model: str, runs: int, seconds: float, rows: list[tuple[str, str, int, float]]) -> None:
        self.model = model
        self.runs = runs
        self.seconds = seconds / runs if runs else 0.0
        self.rows = sorted((Row(*row) for row in rows), key=lambda row: -row.seconds)

    def _lines(self) -> list[tuple[str, str, str, str, str]]:
        lines = [("node", "op", "calls/run", "us/run", "share")]
        for row in self.rows:
            share = row.seconds / self.runs / self.seconds if self.seconds else 0.0
            calls, micros = row.calls / self.runs, 1e6 * row.seconds / self.runs
            lines.append((row.name or "-", row.op, f"{calls:g}", f"{micros:.2f}", f"{100 * share:.1f} %"))
        return lines

    def __repr__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        text = [f"model {self.model!r}: {1e6 * self.seconds:.2f} us a run, {self.runs} runs"]
        for line in lines:
            cells = [cell.ljust(w) if i < 2 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))]
            text.append("  ".join(cells).rstrip())
        return "\n".join(text)

    def _repr_html_(self) -> str:
        head, *body = self._lines()
        row = lambda cells, tag: "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
        return "<table>" + row(head, "th") + "".join(row(line, "td") for line in body) + "</table>"
