"""Models that are edited while requests run, and the differences of two models."""

from __future__ import annotations

import datetime
import threading
from typing import Any, Callable, ContextManager, Iterator, MutableMapping, NamedTuple, overload

from . import _frazil, render
from ._frazil import LiveSession
from .errors import BadInput
from .graph.patch import Patch
from .model import Model


class Version(NamedTuple):
    """One version of a LiveModel.

    Parameters
    ----------
    number : int
        Counts from 1 and is never reused.
    parent : int or None
        The previous current version; None for the first one.
    author : str
        Who made it.
    reason : str
        Why.
    made : datetime
        When, in UTC.
    change : str
        What: "patch 'clip': 1 new node (Min); ...", "rolled back to 3", "published".
    model : Model
        The model.
    """

    number: int  #: from 1; never reused
    parent: int | None  #: the previous current version; None: the first one
    author: str
    reason: str
    made: datetime.datetime
    change: str  #: "patch 'clip': 1 new node (Min); ...", "rolled back to 3", "published"
    model: Model

    def __repr__(self) -> str:
        return f"<frazil.Version {self.number} by {self.author!r}: {self.change}>"


class LiveModel:
    """A model that is edited while requests run. Each edit creates a version. Threads may share it.

    Running requests finish on their version; later requests use the new one. Edits wait for each other, but requests
    never wait for an edit. Versions share equal planned parts, packed weights and constants. The models of all versions
    have the options of the first one.

    Parameters
    ----------
    model : Model
        The model of the first version.
    author : str, default ''
        Who made it.
    reason : str, default ''
        Why.
    most_versions : int, default 256
        Each new version beyond this number drops the oldest one.

    Examples
    --------
    live = frazil.LiveModel(model)
    session = live.open()
    with live.edit(author="ada", reason="outliers") as patch:
        patch.replace("y", patch.Min(patch.tap("y"), 6.0))
    session(x)                        # of version 2
    live.roll_back(1, author="ada", reason="too low")
    """

    def __init__(self, model: Model, *, author: str = "", reason: str = "", most_versions: int = 256) -> None:
        self._options = model.options
        self._most = most_versions
        self._live = _frazil.LiveModel(model._handle, author, reason, most_versions)
        self._models: dict[int, Model] = {}  # requested versions, which have sessions for calls
        self._edits = threading.RLock()  # held by a `with` block; waiting can be interrupted by Ctrl-C

    @property
    def current(self) -> Version:
        """The version that the next run will use."""
        return self._version(self._live.current())

    def history(self) -> list[Version]:
        """Returns all kept versions, oldest first.

        Returns
        -------
        list of Version
            The versions.
        """
        return [self._version(row) for row in self._live.history()]

    def version(self, number: int) -> Version:
        """Returns the version with this number.

        Parameters
        ----------
        number : int
            The number.

        Returns
        -------
        Version
            The version.

        Raises
        ------
        BadInput
            If there is none.
        """
        return self._version(self._live.version(number))

    @overload
    def edit(self, change: None = None, *, author: str = "", reason: str = "") -> ContextManager[LivePatch]:
        ...

    @overload
    def edit(self, change: Callable[[LivePatch], Any], *, author: str = "", reason: str = "") -> Version:
        ...

    def edit(self, change: Any = None, *, author: str = "", reason: str = "") -> Any:
        """Edits the current version: in a `with` block, or with a function that receives the LivePatch.

        At the end the policy checks the edited model, it is planned, and it becomes the current version. If the block
        or the function raises, or the edit is invalid, the current version stays. A nested edit makes the outer one
        fail.

        Parameters
        ----------
        change : callable, optional
            Called with the LivePatch. Without it, the result is for a `with` block.
        author : str, default ''
            Who edits.
        reason : str, default ''
            Why.

        Returns
        -------
        context manager, or Version
            The block's value is the LivePatch, whose `version` is the new one; with `change` it is the new Version.

        Raises
        ------
        BadModel
            If the edited model is not valid.
        BadInput
            If the policy refuses it, or names are unknown.
        """
        block = _Edit(self, author, reason)
        if change is None:
            return block
        with block as patch:
            change(patch)
        return patch.version

    def publish(self, model: Model, *, author: str = "", reason: str = "") -> Version:
        """Makes another model the current version.

        It is planned, and checked by the policy as an edit is. It keeps its policy and gets those of the
        current version.

        Parameters
        ----------
        model : Model
            The model.
        author : str, default ''
            Who publishes.
        reason : str, default ''
            Why.

        Returns
        -------
        Version
            The new version.

        Raises
        ------
        BadInput
            If the policy refuses it.
        """
        with self._edits:
            return self._version(self._live.publish(model._handle, author, reason))

    def roll_back(self, number: int, *, author: str = "", reason: str = "") -> Version:
        """Creates a version with the model of an older one.

        Parameters
        ----------
        number : int
            The older version.
        author : str, default ''
            Who rolls back.
        reason : str, default ''
            Why.

        Returns
        -------
        Version
            The new version.

        Raises
        ------
        BadInput
            If there is no such version.
        """
        with self._edits:
            return self._version(self._live.roll_back(number, author, reason))

    def forget(self, number: int) -> None:
        """Drops a version. Its memory is freed when no session uses it.

        Parameters
        ----------
        number : int
            The version.

        Raises
        ------
        BadInput
            If it is the current one, or there is none.
        """
        self._live.forget(number)
        self._models.pop(number, None)

    def open(self, **options: Any) -> LiveSession:
        """Opens a session for one thread, which follows the current version.

        Parameters
        ----------
        **options : any
            Options of runs, see frazil.Options. They default to those of the first model.

        Returns
        -------
        LiveSession
            The session.
        """
        return self._live.open(self.current.model._options(options))

    def _version(self, row: tuple[Any, ...]) -> Version:
        number, parent, author, reason, seconds, change, handle = row
        made = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        model = self._models.get(number) or self._models.setdefault(number, Model(handle, self._options))
        if len(self._models) > self._most:
            kept = {row[0] for row in self._live.history()}
            for old in [each for each in list(self._models) if each not in kept and each != number]:
                self._models.pop(old, None)
        return Version(number, parent, author, reason, made, change, model)

    def __repr__(self) -> str:
        return f"<frazil.LiveModel of {self.current!r}>"

    def _repr_svg_(self) -> str | None:
        return self.current.model._repr_svg_()

    def _repr_html_(self) -> str:
        return self.current.model._repr_html_()


class LivePatch(Patch):
    """A Patch of a LiveModel's current version, created by LiveModel.edit(). Its end creates a version.

    Parameters
    ----------
    live : LiveModel
        The model to edit.
    author : str
        Who edits.
    reason : str
        Why.
    """

    def __init__(self, live: LiveModel, author: str, reason: str) -> None:
        super().__init__(live.current.model, reason or "edit")
        self._live = live
        self._note = (author, reason)
        self._version: Version | None = None

    def _commit(self) -> Model:
        self._version = self._live._version(self._live._live.commit(self._raw, *self._note))
        return self._version.model

    @property
    def version(self) -> Version:
        """The created version. Raises BadInput before the end of the `with` block, or if it raised."""
        if self._version is None:
            raise BadInput(f"patch '{self.name}' has not been committed")
        return self._version


class _Edit(ContextManager[LivePatch]):
    """A context manager for a patch that holds the lock for edits."""

    def __init__(self, live: LiveModel, author: str, reason: str) -> None:
        self._live = live
        self._note = (author, reason)

    def __enter__(self) -> LivePatch:
        self._live._edits.acquire()
        try:
            self._patch = LivePatch(self._live, *self._note)
        except BaseException:
            self._live._edits.release()
            raise
        return self._patch

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self._patch.__exit__(kind, error, trace)
        finally:
            self._live._edits.release()


class Registry(MutableMapping[str, LiveModel]):
    """The models that graphs call by name: `frazil.registry`, one per process. Threads may share it.

    frazil.registry["head"] = frazil.LiveModel(model)
    g.op("frazil.Call", [x], {"model": "head", "takes": ["f32[N,64]"], "gives": ["f32[N,10]"]})

    A call runs the current version, or the one in the node's attribute `version`. `takes` and `gives` are its contract:
    a type for each input and output. It is checked when the graph is built, loaded or edited, and in each call.
    """

    def __init__(self) -> None:
        self._models: dict[str, LiveModel] = {}

    def __setitem__(self, name: str, model: LiveModel) -> None:
        """Registers a model for subsequent calls."""
        _frazil.registry_put(name, model._live)
        self._models[name] = model

    def __getitem__(self, name: str) -> LiveModel:
        return self._models[name]

    def __delitem__(self, name: str) -> None:
        del self._models[name]
        _frazil.registry_remove(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._models))

    def __len__(self) -> int:
        return len(self._models)


registry = Registry()


class Diff(str):
    """The differences of two models: a text, and a picture in notebooks.

    Parameters
    ----------
    object : str
        The text.
    """

    _models: tuple[Model, Model]

    @property
    def dot(self) -> str:
        """The result of diff_dot()."""
        return diff_dot(*self._models)

    def _repr_svg_(self) -> str | None:
        return render.svg(self.dot)

    def _repr_html_(self) -> str:
        return render.html(self.dot, self)


def diff(before: Model, after: Model) -> Diff:
    """Compares two models as lines of their text form.

    The order of nodes does not matter.

    Parameters
    ----------
    before : Model
        The first model.
    after : Model
        The second model.

    Returns
    -------
    Diff
        Lines that only `before` has start with "- ", lines that only `after` has with "+ ", in the order of the graphs;
        '' if there are none. Notebooks show diff_dot() as a picture.
    """
    made = Diff(_frazil.diff(before._handle, after._handle))
    made._models = (before, after)
    return made


def diff_dot(before: Model, after: Model) -> str:
    """Draws two models as one picture.

    Parameters
    ----------
    before : Model
        The first model.
    after : Model
        The second model.

    Returns
    -------
    str
        `after` as input for Graphviz: new nodes in green, changed ones in amber, removed ones in red.
    """
    return _frazil.diff_dot(before._handle, after._handle)
