"""Makes `import onnxruntime` import this package, with the modules below it and its metadata."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import pathlib
import re
import sys
import threading
import types
from typing import Any, Iterator, Sequence

from . import public

NAME = "onnxruntime"
_HERE = os.path.dirname(os.path.abspath(__file__))
_ADVICE = {
    ".quantization": "install the package onnxruntime beside Frazil, which then uses its pure Python modules",
    ".tools": "install the package onnxruntime beside Frazil, which then uses its pure Python modules",
    ".transformers": "install the package onnxruntime beside Frazil, which then uses its pure Python modules",
    ".training": "Frazil runs inference only; train with another package",
}
"""What to do if a module is missing, by the part of its path after "onnxruntime"."""

METADATA = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {public.VERSION}
Summary: The interface of ONNX Runtime on Frazil
"""


class _Distribution(importlib.metadata.Distribution):
    """The metadata of an installed package."""

    def read_text(self, filename: str) -> str | None:
        return {"METADATA": METADATA, "top_level.txt": f"{NAME}\n"}.get(filename)

    def locate_file(self, path: Any) -> Any:
        return pathlib.Path(_HERE) / path


class _Namespace(importlib.abc.Loader):
    """Loads a module whose names are given."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(self._names)


class _Missing(importlib.abc.Loader):
    """Refuses to load a module that Frazil lacks."""

    def __init__(self, advice: str) -> None:
        self._advice = advice

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        raise ModuleNotFoundError(f"{spec.name} is not part of Frazil: {self._advice}", name=spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        raise AssertionError


class _Finder(importlib.abc.MetaPathFinder):
    """Finds this package under the name of ONNX Runtime.

    Parameters
    ----------
    genuine : list of str
        The folders of the genuine package, whose pure Python modules are used.
    """

    def __init__(self, genuine: Sequence[str]) -> None:
        self._genuine = list(genuine)
        self._names = public.namespaces()
        if any(os.path.isdir(os.path.join(folder, "transformers")) for folder in genuine):
            self._names = {part: names for part, names in self._names.items() if not part.startswith(".transformers")}

    @property
    def modules(self) -> list[str]:
        return [NAME + part for part in self._names]

    def find_spec(
        self, fullname: str, path: Any = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        part = fullname[len(NAME) :]
        names = self._names.get(part)
        if names is None:
            return self._missing(fullname, part)
        package = any(other.startswith(f"{part}.") for other in self._names)
        spec = importlib.machinery.ModuleSpec(fullname, _Namespace(names), is_package=package)
        spec.origin, spec.has_location = os.path.join(_HERE, "__init__.py"), True
        if package:  # without the genuine package, a folder that does not exist
            spec.submodule_search_locations = self._genuine if not part else []
            spec.submodule_search_locations = spec.submodule_search_locations or [os.path.join(_HERE, "genuine")]
        return spec

    def _missing(self, fullname: str, part: str) -> importlib.machinery.ModuleSpec | None:
        advice = [text for top, text in _ADVICE.items() if f"{part}.".startswith(f"{top}.")]
        if self._genuine or not advice:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Missing(advice[0]))

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context = importlib.metadata.DistributionFinder.Context()
    ) -> Iterator[importlib.metadata.Distribution]:
        if context.name is None or re.sub(r"[-_.]+", "-", context.name).lower() == NAME:
            yield _Distribution()


class _Installation:
    """What install() changed."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.finder: _Finder | None = None
        self.replaced: dict[str, types.ModuleType] = {}


_state = _Installation()


def _take_modules() -> dict[str, types.ModuleType]:
    """Removes the modules of the name from those that are imported, and returns them."""
    names = [name for name in sys.modules if name == NAME or name.startswith(f"{NAME}.")]
    return {name: sys.modules.pop(name) for name in names}


def _genuine_folders() -> list[str]:
    """Returns the folders of the genuine package, without importing it."""
    spec = importlib.machinery.PathFinder.find_spec(NAME)
    return list(spec.submodule_search_locations or []) if spec else []


def install() -> None:
    """Makes `import onnxruntime` import this package, in this process.

    Modules that are imported as `onnxruntime` later, `importlib.util.find_spec` and `importlib.metadata.version` find
    this package. If the genuine one is installed, its pure Python modules, such as onnxruntime.quantization, are used.
    A module that has imported the genuine package already keeps it. A second call does nothing.
    """
    with _state.lock:
        if _state.finder is not None:
            return
        finder = _Finder(_genuine_folders())
        _state.replaced = _take_modules()
        _state.finder = finder
        sys.meta_path.insert(0, finder)
        importlib.invalidate_caches()
        for name in finder.modules:
            importlib.import_module(name)


def uninstall() -> None:
    """Undoes install(): `import onnxruntime` imports the genuine package, or fails if there is none."""
    with _state.lock:
        if _state.finder is None:
            return
        sys.meta_path.remove(_state.finder)
        _state.finder = None
        _take_modules()
        sys.modules.update(_state.replaced)
        _state.replaced = {}
        importlib.invalidate_caches()


def is_installed() -> bool:
    """Returns whether `import onnxruntime` imports this package.

    Returns
    -------
    bool
        Whether it does.
    """
    return _state.finder is not None
