"""Policies that decide which models may be loaded, edited and run."""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import _frazil
from .model import Model


@dataclass(frozen=True)
class FileOperator:
    """An operator that an ONNX file uses.

    Parameters
    ----------
    domain : str
        The domain; "" is ai.onnx.
    name : str
        The name.
    opset : int
        The opset of the domain that the file imports, or 0.
    nodes : int
        The number of nodes, in subgraphs and functions too.
    """

    domain: str
    name: str
    opset: int
    nodes: int


class FileFacts:
    """A file of a load, before its content has any effect.

    Parameters
    ----------
    kind : str
        "model" for an ONNX file, "external" for its external data, "package" for a file of `frazil compile`.
    path : str
        The path that was given to the load; of external data the path in the model's folder; "" for bytes.
    size : int
        The number of bytes.
    digest : str
        "sha256:" and 64 hexadecimal digits.
    operators : tuple of FileOperator
        Those of an ONNX file, before upgrades and type inference.
    """

    def __init__(self, kind: str, path: bytes, size: int, digest: str, operators: tuple[FileOperator, ...]):
        self.kind = kind
        self.path = os.fsdecode(path)
        self.size = size
        self.digest = digest
        self.operators = operators


@dataclass(frozen=True)
class Change:
    """A change of a model.

    Parameters
    ----------
    kind : str
        "edit", "publish" or "roll back".
    before, after : Model
        The model before and after the change.
    author, reason : str
        Those of the version; "" for an edit outside a LiveModel.
    """

    kind: str
    before: Model
    after: Model
    author: str
    reason: str


class Policy:
    """Decides whether a model may be loaded, edited or run: load(path, policy=policy), Graph.build(policy=policy).

    Override the methods of interest. A returned text refuses the operation, and the call raises BadInput with it. An
    exception also refuses, and is the cause of the frazil.Error that the call raises. Edited models keep the policy;
    pickled models lose it. Methods are called on any thread that loads, edits or runs, and must not run the model that
    they check.
    """

    def check_file(self, file: FileFacts) -> str | None:
        """Checks each file of a load before the model is read from it.

        Parameters
        ----------
        file : FileFacts
            The file.

        Returns
        -------
        str or None
            The reason for refusal, or None.
        """
        return None

    def check_load(self, model: Model) -> str | None:
        """Checks a model after it was read or built, and each edited one.

        Parameters
        ----------
        model : Model
            The model, which must not be run.

        Returns
        -------
        str or None
            The reason for refusal, or None.
        """
        return None

    def check_change(self, change: Change) -> str | None:
        """Checks an edit, a publication or a roll-back, after check_load(change.after). The default calls check_edit().

        Parameters
        ----------
        change : Change
            The change.

        Returns
        -------
        str or None
            The reason for refusal, or None.
        """
        return self.check_edit(change.before, change.after)

    def check_edit(self, before: Model, after: Model) -> str | None:
        """Checks an edit, after check_load(after).

        Parameters
        ----------
        before : Model
            The model that was edited.
        after : Model
            The edited one.

        Returns
        -------
        str or None
            The reason for refusal, or None.
        """
        return None

    def check_run(self, model: Model) -> str | None:
        """Checks each run before it begins, so it should be fast.

        Parameters
        ----------
        model : Model
            The model.

        Returns
        -------
        str or None
            The reason for refusal, or None.
        """
        return None

    def check_dispatch(self, name: str, version: int, model: Model) -> str | None:
        """Checks each call of another model by a node frazil.Call of a model with this policy.

        Parameters
        ----------
        name : str
            The name of the called model in the registry.
        version : int
            The version that runs.
        model : Model
            The model of that version.

        Returns
        -------
        str or None
            The reason for refusal, or None.
        """
        return None

    def check_operator(self, domain: str, name: str) -> str | None:
        """Checks a custom operator before it is registered.

        Parameters
        ----------
        domain, name : str
            The domain and the name.

        Returns
        -------
        str or None
            The reason for refusal, or None.
        """
        return None


def install_policy(policy: Policy) -> None:
    """Gives the process a policy.

    It is checked before the policy of a load, for each load, change, run and registration that begins later, also of
    models that were loaded before. It cannot be removed or replaced.

    Parameters
    ----------
    policy : Policy
        The policy.

    Raises
    ------
    BadInput
        If the process has a policy.
    """
    _frazil.install_policy(policy)
