"""Runs that stop where values are made, and the first value that differs between two runs."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

import numpy as np

from . import _frazil
from .model import Model


class Stop(NamedTuple):
    """Where a run has stopped: a value has just been made, or the run has ended."""

    why: str  #: "step", "breakpoint" or "ended"
    value: str  #: its name, or NODE:1
    node: str  #: that makes it; "" for a parameter of a body
    op: str
    iterations: tuple[int, ...]  #: of the loops around it, outermost first
    around: list[str]  #: bodies and functions, outermost first: "node 'Loop_3' (Loop), body"
    breakpoint: int  #: its number; 0: none

    def __bool__(self) -> bool:
        """False once the run has ended: `while stop := debugger.next(): ...`."""
        return self.why != "ended"


class Debugger:
    """Runs a model step by step, fused kernels and all.

    debugger = frazil.Debugger(model)
    debugger.break_at("nan")
    stop = debugger.run({"x": x})
    while stop:
        print(stop.value, debugger[stop.value].shape)
        stop = debugger.next()

    A value inside a fused kernel is computed with the kernel's bits. One that passes removed is computed by the
    reference executor; a breakpoint on it keeps it from the next run on. Options are those of frazil.Options; those not
    given are the model's. For one thread, except cancel().
    """

    def __init__(self, model: Model, **options: Any) -> None:
        self._debugger = _frazil.Debugger(model._handle, model._options(options))

    def run(self, inputs: Mapping[str, Any] = {}) -> Stop:
        """Begins a run, which goes on to the next breakpoint or to the end. The inputs are copied.

        Raises what Session.run() raises, also when the run itself fails; what it made can then be read.
        """
        return Stop(*self._debugger.begin(inputs, False))

    def start(self, inputs: Mapping[str, Any] = {}) -> Stop:
        """Begins a run, which stops at the first node."""
        return Stop(*self._debugger.begin(inputs, True))

    def step(self) -> Stop:
        """On to the next node, wherever it is. Raises BadInput when no run is stopped, and what the run fails with."""
        return Stop(*self._debugger.step())

    def next(self) -> Stop:
        """On to the next node that is not inside of what follows: over If, Loop and functions."""
        return Stop(*self._debugger.next())

    def into(self) -> Stop:
        """Into the next If, Loop or function; no further than to the end of the one around."""
        return Stop(*self._debugger.into())

    def out(self) -> Stop:
        """Out of the If, Loop or function around."""
        return Stop(*self._debugger.out())

    def resume(self) -> Stop:
        """On to the next breakpoint or to the end."""
        return Stop(*self._debugger.resume())

    def break_at(self, what: str) -> int:
        """Stops there from now on; returns a number for clear().

        `what` is the name of a value, a node or an operator; "nan", "inf", "guard"; "NAME nan", "NAME > 3", "NAME < 3"
        or "NAME shape 1x64". Raises BadInput for anything else.
        """
        return self._debugger.add_breakpoint(what)

    def clear(self, number: int) -> None:
        """Removes a breakpoint. Raises BadInput where there is none of this number."""
        self._debugger.remove_breakpoint(number)

    def __getitem__(self, name: str) -> Any:
        """A copy of a value, or of the first output of a node, as it was last made or set.

        Raises BadInput for names that the model does not have, and for a value that has not been made.
        """
        return self._debugger.value(name)

    def __setitem__(self, name: str, value: Any) -> None:
        """As set(), without the Stop."""
        self.set(name, value)

    def set(self, name: str, value: Any) -> Stop:
        """Puts a value of the same type in the place of the last one made.

        The run begins anew with the same inputs, and stops where the value is made: what was computed from the old one is
        computed again. Raises BadInput for another type.
        """
        return Stop(*self._debugger.set(name, value))

    def values(self) -> list[str]:
        """The names of all values in the order of the model."""
        return self._debugger.values()

    def why_missing(self, name: str) -> str:
        """Why nothing in the run makes a value; "": it is made when the run comes to it."""
        return self._debugger.why_missing(name)

    @property
    def results(self) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the outputs of the last run that ended."""
        return self._debugger.results()

    def cancel(self) -> None:
        """Makes a run in progress raise Cancelled soon; from any thread."""
        self._debugger.cancel()


class Comparison(NamedTuple):
    """What compare() found."""

    compared: int  #: values that both runs made
    differ: int
    value: str  #: the first that differs, by name; "": none
    node: str
    what: str  #: one line
    iterations: tuple[int, ...]

    def __bool__(self) -> bool:
        """True where nothing differs."""
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
    """Runs two models, or one in two ways, and compares the values of the same name.

    Without `b`, `a` is compared with itself on tier "ref". A difference is more than `rtol` of the value plus `atol` plus
    `of_largest` of the tensor's largest magnitude. Raises what a run raises.
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
