"""A debugger for runs, and the comparison of two runs."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

import numpy as np

from . import _frazil
from .model import Model


class Stop(NamedTuple):
    """The point at which a run has stopped: a value has just been computed, or the run has ended.

    Its truth is False after the end of the run: `while stop := debugger.next(): ...`.

    Parameters
    ----------
    why : str
        "step", "breakpoint" or "ended".
    value : str
        The name of the value, or NODE:1.
    node : str
        The node that computes it; "" for a parameter of a body.
    op : str
        The operator of the node.
    iterations : tuple of int
        The iterations of the enclosing loops, outermost first.
    around : list of str
        Enclosing bodies and functions, outermost first: "node 'Loop_3' (Loop), body".
    breakpoint : int
        The number of the breakpoint; 0 means none.
    """

    why: str  #: "step", "breakpoint" or "ended"
    value: str  #: its name, or NODE:1
    node: str  #: the node that computes it; "" for a parameter of a body
    op: str
    iterations: tuple[int, ...]  #: of the enclosing loops, outermost first
    around: list[str]  #: enclosing bodies and functions, outermost first: "node 'Loop_3' (Loop), body"
    breakpoint: int  #: its number; 0: none

    def __bool__(self) -> bool:
        """Returns False after the end of the run: `while stop := debugger.next(): ...`."""
        return self.why != "ended"


class Debugger:
    """Runs a model step by step, including the inside of fused kernels.

    The debugger computes a value inside a fused kernel with the kernel's bits. A value that the passes removed is
    computed by the reference executor. A breakpoint on it keeps the value in later runs. Use it on one thread, except
    for cancel().

    Parameters
    ----------
    model : Model
        The model.
    **options : any
        Options of runs, see frazil.Options. They default to those of the model.

    Examples
    --------
    debugger = frazil.Debugger(model)
    debugger.break_at("nan")
    stop = debugger.run({"x": x})
    while stop:
        print(stop.value, debugger[stop.value].shape)
        stop = debugger.next()
    """

    def __init__(self, model: Model, **options: Any) -> None:
        self._debugger = _frazil.Debugger(model._handle, model._options(options))

    def run(self, inputs: Mapping[str, Any] = {}) -> Stop:
        """Begins a run and continues to the next breakpoint or the end.

        After a failed run the values computed so far can be read.

        Parameters
        ----------
        inputs : dict
            Inputs by name, which are copied.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        Error
            The exceptions of Session.run().
        """
        return Stop(*self._debugger.begin(inputs, False))

    def start(self, inputs: Mapping[str, Any] = {}) -> Stop:
        """Begins a run and stops at the first node.

        Parameters
        ----------
        inputs : dict
            Inputs by name, which are copied.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        Error
            The exceptions of Session.run().
        """
        return Stop(*self._debugger.begin(inputs, True))

    def step(self) -> Stop:
        """Continues to the next node, also inside of bodies.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        BadInput
            If no run is stopped.
        Error
            The run's failure.
        """
        return Stop(*self._debugger.step())

    def next(self) -> Stop:
        """Continues to the next node of the same level, stepping over If, Loop and functions.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        BadInput
            If no run is stopped.
        Error
            The run's failure.
        """
        return Stop(*self._debugger.next())

    def into(self) -> Stop:
        """Continues into the next If, Loop or function, but at most to the end of the enclosing one.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        BadInput
            If no run is stopped.
        Error
            The run's failure.
        """
        return Stop(*self._debugger.into())

    def out(self) -> Stop:
        """Continues until the enclosing If, Loop or function has ended.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        BadInput
            If no run is stopped.
        Error
            The run's failure.
        """
        return Stop(*self._debugger.out())

    def resume(self) -> Stop:
        """Continues to the next breakpoint or the end.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        BadInput
            If no run is stopped.
        Error
            The run's failure.
        """
        return Stop(*self._debugger.resume())

    def break_at(self, what: str) -> int:
        """Adds a breakpoint.

        Parameters
        ----------
        what : str
            The name of a value, a node or an operator; "nan", "inf", "guard"; "NAME nan", "NAME > 3", "NAME < 3" or
            "NAME shape 1x64".

        Returns
        -------
        int
            The number of the breakpoint, for clear().

        Raises
        ------
        BadInput
            If the text is none of these.
        """
        return self._debugger.add_breakpoint(what)

    def clear(self, number: int) -> None:
        """Removes a breakpoint.

        Parameters
        ----------
        number : int
            What break_at() returned.

        Raises
        ------
        BadInput
            If the number is unknown.
        """
        self._debugger.remove_breakpoint(number)

    def __getitem__(self, name: str) -> Any:
        """Returns a copy of the latest value, or of the first output of a node.

        Raises BadInput for a name that is not in the model, and for a value that has not been computed.
        """
        return self._debugger.value(name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Calls set() and ignores the Stop."""
        self.set(name, value)

    def set(self, name: str, value: Any) -> Stop:
        """Replaces the latest value by another one of the same type.

        The run restarts with the same inputs and stops where the value is computed, so that dependent values are
        recomputed.

        Parameters
        ----------
        name : str
            The name of the value.
        value : array
            The new value.

        Returns
        -------
        Stop
            Where the run has stopped.

        Raises
        ------
        BadInput
            If the new value has another type.
        """
        return Stop(*self._debugger.set(name, value))

    def values(self) -> list[str]:
        """Returns the names of all values in the order of the model.

        Returns
        -------
        list of str
            The names.
        """
        return self._debugger.values()

    def why_missing(self, name: str) -> str:
        """Returns why the run never computes a value.

        Parameters
        ----------
        name : str
            The name of the value.

        Returns
        -------
        str
            The reason; "" if it is computed.
        """
        return self._debugger.why_missing(name)

    @property
    def results(self) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the outputs of the last completed run."""
        return self._debugger.results()

    def cancel(self) -> None:
        """Makes a run in progress raise Cancelled. May be called on any thread."""
        self._debugger.cancel()


class Comparison(NamedTuple):
    """The result of compare(). Its truth is True if nothing differs.

    Parameters
    ----------
    compared : int
        The number of values in both runs.
    differ : int
        The number of those that differ.
    value : str
        The name of the first different value; "" means none.
    node : str
        The node that computes it.
    what : str
        A description of the difference in one line.
    iterations : tuple of int
        The iterations of the enclosing loops, outermost first.
    """

    compared: int  #: values in both runs
    differ: int
    value: str  #: name of the first different value; "": none
    node: str
    what: str  #: description of the difference in one line
    iterations: tuple[int, ...]

    def __bool__(self) -> bool:
        """Returns True if nothing differs."""
        return self.differ == 0


def compare(
    a: Model,
    b: Model | None = None,
    inputs: Mapping[str, Any] = {},
    *,
    rtol: float = 1e-3,
    atol: float = 1e-7,
    of_largest: float = 1e-5,
    a_options: Mapping[str, Any] | None = None,
    b_options: Mapping[str, Any] | None = None,
) -> Comparison:
    """Runs two models, or one model in two ways, and compares the values with equal names.

    Values differ if they are further apart than `atol` plus `rtol` times the value plus `of_largest` times the tensor's
    largest magnitude.

    Parameters
    ----------
    a : Model
        The first model.
    b : Model, optional
        The second model. Without it, `a` is compared with itself on tier "ref".
    inputs : dict
        Inputs by name, of both.
    rtol : float, default 0.001
        Relative tolerance.
    atol : float, default 1e-07
        Absolute tolerance.
    of_largest : float, default 1e-05
        Tolerance as a share of the largest magnitude.
    a_options : dict, optional
        Options of the runs of `a`.
    b_options : dict, optional
        Options of the runs of `b`.

    Returns
    -------
    Comparison
        The first difference and the number of differences.

    Raises
    ------
    Error
        The exceptions of the runs.
    """
    other = b if b is not None else a
    b_given = dict(b_options if b_options is not None else {} if b is not None else {"tier": "ref"})
    found = _frazil.compare(
        a._handle,
        other._handle,
        dict(inputs),
        a._options(dict(a_options or {})),
        other._options(b_given),
        rtol,
        atol,
        of_largest,
    )
    return Comparison(*found)
