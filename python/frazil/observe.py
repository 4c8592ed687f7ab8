"""Events of runs, and times per node."""

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
    """Receives the events of a session: session.observe(observer). Override the methods of interest.

    Functions are called on the session's thread during a run. An exception stops the run and is raised by it.
    """

    def run_begin(self) -> None:
        """Called when a run begins."""

    def run_end(self) -> None:
        """Called when a run has ended."""

    def node_begin(self, node: NodeEvent) -> None:
        """Called before a node's kernel; fused nodes share one kernel."""

    def node_end(self, node: NodeEvent) -> None:
        """Called after a node's kernel."""

    def branch(self, node: NodeEvent, taken: bool) -> None:
        """Reports the branch that an If takes, or whether a Loop continues."""

    def iteration(self, node: NodeEvent) -> None:
        """Called after an iteration of a loop."""

    def shapes_changed(self) -> None:
        """Called when extents differ from the previous run."""

    def wanted(self) -> list[str]:
        """Returns the names of inner values to report. Called once, by Session.observe()."""
        return []

    def value(self, name: str, value: numpy.ndarray, iterations: tuple[int, ...]) -> None:
        """Receives a wanted value, with the iteration numbers of the enclosing loops, outermost first."""

    def without(self, name: str, why: str) -> bool:
        """Called if the passes removed a wanted value. Return True to run without it; False makes the run raise
        Unsupported.
        """
        return False


class Row(NamedTuple):
    """One node of a Profile."""

    name: str
    op: str
    calls: int
    seconds: float


class Profile:
    """The time per node. `rows` are sorted by time; `seconds` is the mean time of a run.

    `trace` is JSON text in the trace event format of Chrome and Perfetto, if events were recorded, else "".
    """

    def __init__(
        self, model: str, runs: int, seconds: float, rows: list[tuple[str, str, int, float]], trace: str = ""
    ) -> None:
        self.model = model
        self.runs = runs
        self.trace = trace
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
