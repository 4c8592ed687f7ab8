"""Events of runs, and times per node."""

from __future__ import annotations

import html
from typing import NamedTuple

import numpy


class NodeEvent(NamedTuple):
    """A node in an event.

    Parameters
    ----------
    name : str
        The name of the node.
    op : str
        Its operator.
    id : int
        Its number in the graph.
    """

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
        """Called before a node's kernel; fused nodes share one kernel.

        Parameters
        ----------
        node : NodeEvent
            The node.
        """

    def node_end(self, node: NodeEvent) -> None:
        """Called after a node's kernel.

        Parameters
        ----------
        node : NodeEvent
            The node.
        """

    def branch(self, node: NodeEvent, taken: bool) -> None:
        """Called when an If takes a branch, or a Loop decides whether to continue.

        Parameters
        ----------
        node : NodeEvent
            The If or Loop.
        taken : bool
            The branch, or whether the Loop continues.
        """

    def iteration(self, node: NodeEvent) -> None:
        """Called after an iteration of a loop.

        Parameters
        ----------
        node : NodeEvent
            The loop.
        """

    def shapes_changed(self) -> None:
        """Called when extents differ from the previous run."""

    def wanted(self) -> list[str]:
        """Returns the names of inner values to report. Called once, by Session.observe().

        Returns
        -------
        list of str
            The names; empty by default.
        """
        return []

    def value(self, name: str, value: numpy.ndarray, iterations: tuple[int, ...]) -> None:
        """Called with a wanted value.

        Parameters
        ----------
        name : str
            The name of the value.
        value : ndarray
            A view of the run's memory, which is valid during the call.
        iterations : tuple of int
            The iteration numbers of the enclosing loops, outermost first.
        """

    def without(self, name: str, why: str) -> bool:
        """Called if the passes removed a wanted value.

        Parameters
        ----------
        name : str
            The name of the value.
        why : str
            What happened to it.

        Returns
        -------
        bool
            True to run without it; False, the default, makes the run raise Unsupported.
        """
        return False


class Row(NamedTuple):
    """One node of a Profile."""

    name: str
    op: str
    calls: int
    seconds: float


class Profile:
    """The time per node, as a text, and as a table in notebooks.

    Parameters
    ----------
    model : str
        The name of the model.
    runs : int
        The number of runs.
    seconds : float
        The time of all runs. The attribute `seconds` is the mean time of a run.
    rows : list of tuple
        Name, operator, calls and seconds of each node. The attribute `rows` is sorted by time.
    trace : str, optional
        JSON text in the trace event format of Chrome and Perfetto; "" if no events were recorded.
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
