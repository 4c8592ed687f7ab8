"""Loads models with the options of a session."""

from __future__ import annotations

import os
from typing import Any, Mapping

import numpy

from .. import errors
from ..model import Model, from_bytes, load
from .environment import process
from .errors import InvalidArgument, NoSuchFile, NotImplemented, of_load
from .options import SessionOptions
from .ports import Ports

MOST_THREADS = 1024
EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


def run_options_of(options: SessionOptions) -> dict[str, Any]:
    """Returns Frazil's options of runs for a session.

    Parameters
    ----------
    options : SessionOptions
        The options of the session.

    Returns
    -------
    dict
        Keywords of frazil.load().
    """
    threads = options.intra_op_num_threads if options.use_per_session_threads else process.threads
    made: dict[str, Any] = {"seed": process.seed}
    if threads > 0 or "FRAZIL_THREADS" not in os.environ:
        made["threads"] = max(0, min(threads, MOST_THREADS))
    return made


def load_options_of(options: SessionOptions) -> dict[str, Any]:
    """Returns Frazil's options of loading for a session.

    Parameters
    ----------
    options : SessionOptions
        The options of the session.

    Returns
    -------
    dict
        Keywords of frazil.load().
    """
    made: dict[str, Any] = {
        "lenient": True,
        "extents": dict(options._extents),
        "denoted_extents": dict(options._denotations),
    }
    folder = options._config.all().get(EXTERNAL_FOLDER)
    if folder:
        made["files"] = _files_in(folder)
    return made


def _files_in(folder: str) -> dict[str, Any]:
    """Maps the files of a folder, by name."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_file() and entry.stat().st_size > 0)
        return {name: numpy.memmap(os.path.join(folder, name), numpy.uint8, "r") for name in names}
    except OSError as error:
        raise NoSuchFile.of(f"session config entry '{EXTERNAL_FOLDER}': {error}") from error


class Source:
    """A model file or its bytes, which may be loaded several times.

    Parameters
    ----------
    of : str, path, or bytes
        The path or the bytes.
    options : SessionOptions
        The options of the session.
    """

    def __init__(self, of: str | bytes, options: SessionOptions) -> None:
        self._of = of
        self._check_format(options)
        self._initializers = {name: value._tensor() for name, value in options._initializers.items()}
        self._keywords = {**run_options_of(options), **load_options_of(options)}

    @property
    def name(self) -> str:
        """The path, or "model"."""
        return self._of if isinstance(self._of, str) else "model"

    def _check_format(self, options: SessionOptions) -> None:
        wanted = options._config.all().get("session.load_model_format", "").upper()
        if wanted == "ORT" or self._magic() == b"ORTM":
            raise NotImplemented.of(f"Load model from {self.name} failed: ORT files are not read; pass the ONNX file")

    def _magic(self) -> bytes:
        try:
            if not isinstance(self._of, str):
                return bytes(self._of[4:8])
            with open(self._of, "rb") as file:
                return file.read(8)[4:]
        except OSError:
            return b""

    def load(self, **more: Any) -> Model:
        """Loads the model, and replaces initializers that the options name.

        Parameters
        ----------
        **more : any
            Further options of loading.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        OnnxRuntimeError
            If the model cannot be loaded.
        """
        keywords = {**self._keywords, **more}
        try:
            model = load(self._of, **keywords) if isinstance(self._of, str) else from_bytes(self._of, **keywords)
        except (errors.Error, MemoryError) as error:
            raise of_load(error, self.name) from error
        return with_initializers(model, self._initializers) if self._initializers else model


def with_initializers(model: Model, values: Mapping[str, numpy.ndarray]) -> Model:
    """Returns a model with other values of initializers.

    Parameters
    ----------
    model : Model
        The model.
    values : dict
        Arrays by the name of the initializer.

    Returns
    -------
    Model
        The edited model.

    Raises
    ------
    InvalidArgument
        If a name is unknown, or a value has another type.
    """
    try:
        with model.edit("initializers") as patch:
            for name, value in values.items():
                patch.replace(name, patch.constant(value))
    except errors.Error as error:
        raise InvalidArgument.of(f"add_initializer(): {error}") from error
    return patch.model


class Opened:
    """A loaded model, with its initializers that may be fed.

    Parameters
    ----------
    source : Source
        Where it is loaded from.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        whole = source.load()
        self.overridable = Ports(whole, {}).initializers
        # Constants are faster than inputs: initializers become inputs when the first run feeds one.
        self.model = source.load(fix_defaults=True) if self.overridable else whole

    def with_inputs(self) -> Model:
        """Loads the model with its initializers as inputs.

        Returns
        -------
        Model
            Another model of the same file.
        """
        return self.source.load()
