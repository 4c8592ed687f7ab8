"""Detection and reversal of side effects in code that is recorded once."""

from __future__ import annotations

import collections
import contextlib
import os
import random
import sys
import sysconfig
import threading
import types
import warnings
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
LIBRARIES = (PACKAGE, sysconfig.get_path("stdlib"), "/usr/lib/python3/", "<frozen")
INSTALLED = ("site-packages", "dist-packages")
OUTSIDE = {"time", "datetime", "secrets", "uuid", "logging"}  # modules that read clocks, draw random bits or write logs
BUILTINS = {"input", "open"}
PLAIN = (bool, int, float, complex, str, bytes, type(None))
DEEPEST = 4
MOST_BYTES = 1 << 20  # limit for comparing an array
MOST_PARTS = 1 << 12  # limit for comparing the parts of a container; of larger ones only the length is


class NeedsValues(TypeError):
    """The error for code that a recorded graph cannot represent and that must run in each call."""


class SideEffects(NeedsValues):
    """The error for recorded code that drew random numbers, changed objects or printed."""


class Kept:
    """A snapshot of a value, including the parts of containers and objects."""

    def __init__(self, value: Any, depth: int = 0) -> None:
        self.value, self.depth = value, depth
        self.state = self._read()

    def _read(self) -> Any:
        value, deeper = self.value, self.depth + 1
        if isinstance(value, PLAIN) or deeper > DEEPEST:
            return None
        if isinstance(value, numpy.ndarray):
            return value.tobytes() if value.flags.writeable and value.nbytes <= MOST_BYTES else None
        if isinstance(value, (dict, list, tuple, collections.deque, set)) and len(value) > MOST_PARTS:
            return ("length", len(value))
        if isinstance(value, dict):
            return [(key, Kept(part, deeper)) for key, part in value.items()]
        if isinstance(value, (list, tuple, collections.deque, set)):
            return [(None, Kept(part, deeper)) for part in value]
        found = generator_state(value)
        if found is None and _is_record(value):
            return [(key, Kept(part, deeper)) for key, part in vars(value).items()]
        return found

    def same(self) -> bool:
        """Returns whether the value is unchanged."""
        now = Kept(self.value, self.depth).state
        if not isinstance(self.state, list):
            return bool(self.state == now)
        return len(self.state) == len(now) and all(
            key == other and kept.value is part.value and kept.same()
            for (key, kept), (other, part) in zip(self.state, now)
        )

    def restore(self) -> None:
        """Restores the value."""
        value, state = self.value, self.state
        if isinstance(state, list):
            for _, kept in state:
                kept.restore()
            if not self.same():
                _refill(value, state)
        elif isinstance(value, numpy.ndarray) and state is not None:
            if value.tobytes() != state:
                value[...] = numpy.frombuffer(state, value.dtype).reshape(value.shape)
        elif state is not None and generator_state(value) is not None:
            set_generator_state(value, state)


def _refill(value: Any, state: list[tuple[Any, Kept]]) -> None:
    if isinstance(value, tuple):
        return
    if isinstance(value, (list, collections.deque, set)):
        value.clear()
        parts = [kept.value for _, kept in state]
        value.update(parts) if isinstance(value, set) else value.extend(parts)
        return
    fields = value if isinstance(value, dict) else vars(value)
    fields.clear()
    fields.update((key, kept.value) for key, kept in state)


def _is_record(value: Any) -> bool:
    """Returns whether a value is an object of the program with attributes."""
    kind = type(value)
    if isinstance(value, (type, types.ModuleType, types.FunctionType, types.MethodType)):
        return False
    if not hasattr(value, "__dict__"):
        return False
    module = sys.modules.get(kind.__module__)
    return is_of_program(getattr(module, "__file__", None) or kind.__module__)


def is_of_program(path: str) -> bool:
    """Returns whether a source file belongs to the program rather than to a library or to Frazil."""
    return not path.startswith(LIBRARIES) and not any(part in path for part in INSTALLED) and path != "builtins"


def generator_state(value: Any) -> Any:
    """Returns the state of a random number generator as a comparable value, or None for other objects."""
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, numpy.random.Generator):
        return _comparable(value.bit_generator.state)
    return _comparable(value.get_state(legacy=False)) if isinstance(value, numpy.random.RandomState) else None


def set_generator_state(value: Any, state: Any) -> None:
    """Sets a generator to a state from generator_state()."""
    if isinstance(value, random.Random):
        value.setstate(state)
    elif isinstance(value, numpy.random.Generator):
        value.bit_generator.state = _filled(state)
    elif isinstance(value, numpy.random.RandomState):
        value.set_state(_filled(state))


def _comparable(state: Any) -> Any:
    if isinstance(state, Mapping):
        return ("dict", tuple((key, _comparable(part)) for key, part in state.items()))
    return ("array", state.dtype.str, state.tobytes()) if isinstance(state, numpy.ndarray) else state


def _filled(state: Any) -> Any:
    if isinstance(state, tuple) and state[0] == "dict":
        return {key: _filled(part) for key, part in state[1]}
    return numpy.frombuffer(state[2], state[1]) if isinstance(state, tuple) and state[0] == "array" else state


def _global_generators() -> list[Kept]:
    return [Kept(random._inst), Kept(numpy.random.mtrand._rand)]  # type: ignore[attr-defined]


class Place:
    """A named value: an attribute, a global or a variable of an enclosing function."""

    def __init__(self, label: str, read: Callable[[], Any], write: Callable[[Any], None]) -> None:
        self.label, self._read, self._write = label, read, write
        self.kept = Kept(read())

    def changed(self) -> bool:
        """Returns whether the name has another value, or the value has changed."""
        return self._read() is not self.kept.value or not self.kept.same()

    def restore(self) -> None:
        """Restores the value."""
        self.kept.restore()
        if self._read() is not self.kept.value:
            self._write(self.kept.value)


class Reach:
    """The names that functions of a program use, including functions that they call."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.outside: list[str] = []  #: names that read the environment of the process
        self._seen: set[Any] = set()

    def add(self, function: Any, owner: Any = None) -> None:
        """Adds a function or a method of `owner`."""
        function = getattr(function, "__func__", function)
        code = getattr(function, "__code__", None)
        if code is None or (code, id(owner)) in self._seen or not is_of_program(code.co_filename):
            return
        self._seen.add((code, id(owner)))
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            self._add_cell(name, cell)
        for name in _names(code):
            if name in function.__globals__:
                self._add_global(name, function.__globals__)
            elif name in BUILTINS and not hasattr(owner, name):
                self.outside.append(f"{name}()")
            elif owner is not None and isinstance(getattr(type(owner), name, None), types.FunctionType):
                self.add(getattr(type(owner), name), owner)

    def _add_value(self, name: str, value: Any) -> bool:
        """Handles functions and modules. Returns False for other values."""
        module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        if module in OUTSIDE or type(value).__module__ in OUTSIDE:
            self.outside.append(name)
        if isinstance(value, types.FunctionType):
            self.add(value)
        return isinstance(value, (types.FunctionType, types.ModuleType, type))

    def _add_global(self, name: str, space: dict[str, Any]) -> None:
        if not self._add_value(name, space[name]):
            key = (name, id(space))
            if key not in self._seen:
                self._seen.add(key)
                place = Place(f"global '{name}'", lambda: space.get(name), lambda v: space.update({name: v}))
                self.places.append(place)

    def _add_cell(self, name: str, cell: Any) -> None:
        try:
            value = cell.cell_contents
        except ValueError:
            return
        if not self._add_value(name, value):
            self.places.append(
                Place(f"variable '{name}'", lambda: cell.cell_contents, lambda v: setattr(cell, "cell_contents", v))
            )


def _names(code: types.CodeType) -> Iterator[str]:
    """Returns the names that a function looks up, including its nested functions."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from _names(part)


class _Written:
    """Replaces a stream while a thread records. Text from that thread is dropped and noted; other text is passed on."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._thread = stream, threading.get_ident()
        self.wrote = False

    def write(self, text: str) -> int:
        """Writes a text, or notes that it was written."""
        if threading.get_ident() != self._thread:
            return int(self._stream.write(text))
        self.wrote = True
        return len(text)

    def close_watch(self) -> None:
        """Ends the watch. All later text is passed on."""
        self._thread = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Watch:
    """Watches what recorded code may change: generators, attributes of objects, globals and output."""

    def __init__(self, functions: Sequence[tuple[Any, Any]], spaces: Sequence[tuple[str, dict[str, Any], Any]]) -> None:
        self._generators = _global_generators()
        self._reach = Reach()
        for function, owner in functions:
            self._reach.add(function, owner)
        self._spaces = [(label, space, Kept(_chosen(space, hidden)), hidden) for label, space, hidden in spaces]

    def effects(self) -> list[str]:
        """Returns the side effects so far as texts."""
        found = [] if all(kept.same() for kept in self._generators) else ["draws random numbers"]
        found += [f"uses {name}" for name in dict.fromkeys(self._reach.outside)]
        found += [f"changes {place.label}" for place in self._reach.places if place.changed()]
        for label, space, kept, hidden in self._spaces:
            now = _chosen(space, hidden)
            names = [key for key, old in kept.state if now.get(key, kept) is not old.value or not old.same()]
            found += [f"changes {label}.{name}" for name in [*names, *(key for key in now if key not in kept.value)]]
        return found

    def undo(self) -> None:
        """Reverts the changes."""
        for kept in self._generators:
            kept.restore()
        for place in self._reach.places:
            place.restore()
        for _, space, kept, hidden in self._spaces:
            kept.restore()
            for key in [key for key in space if key not in hidden and key not in kept.value]:
                del space[key]
            space.update(kept.value)


def _chosen(space: dict[str, Any], hidden: Any) -> dict[str, Any]:
    return {key: value for key, value in space.items() if key not in hidden}


@contextlib.contextmanager
def _streams() -> Iterator[list[_Written]]:
    written = [_Written(sys.stdout), _Written(sys.stderr)]
    sys.stdout, sys.stderr = written  # type: ignore[assignment]
    try:
        yield written
    finally:
        for stream, name in zip(written, ("stdout", "stderr")):
            stream.close_watch()
            if getattr(sys, name) is stream:
                setattr(sys, name, stream._stream)


@contextlib.contextmanager
def refused(what: str, watch: Watch) -> Iterator[None]:
    """Raises SideEffects if the block had any. They are reverted, also if the block raises."""
    try:
        with _streams() as written:
            yield
        found = watch.effects() + ["prints"] * any(stream.wrote for stream in written)
        if found:
            raise SideEffects(f"{what} {', '.join(found)}")
    except BaseException:
        watch.undo()
        raise


@contextlib.contextmanager
def warn_about_effects(what: str, watch: Watch) -> Iterator[None]:
    """Warns about side effects of the block, which runs of the model do not repeat."""
    yield
    found = watch.effects()
    if found:
        warnings.warn(
            f"{what} {', '.join(found)} while it is recorded: runs of the model do not; pass what differs as arguments",
            stacklevel=_users_level(),
        )


def _users_level() -> int:
    """Returns the number of frames up to the caller's code outside of the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
        level, frame = level + 1, frame.f_back
    return level
