"""Governed processes: rules of a policy file, trusted signatures, and an audit log."""

from __future__ import annotations

import atexit
import logging
import os
import weakref

from . import _frazil

_log = logging.getLogger("frazil")


def _path(path: str | os.PathLike[str] | None) -> str:
    return "" if path is None else os.fspath(path)


def _close(governor: weakref.ref[Governor]) -> None:
    live = governor()
    if live is not None:
        live.close()


class Governor(_frazil.Governor):
    """Asks the rules of a policy file, as `frazil serve --policy` does: load(path, policy=governor).

    Loads, edits and refusals are recorded in the audit log. A load or an edit that cannot be recorded is refused. Edits
    of a model keep the governor. It may be used by several threads.

    Parameters
    ----------
    policy : str or path
        A file of rules; docs/how-to/policies.md describes the language.
    trust : str or path, optional
        A file of persons whose signatures of model folders are valid.
    audit : str or path, optional
        The folder of the audit log; needs `key`. Only one process may write to it.
    key : str or path, optional
        The private Ed25519 key in PEM that signs the log.
    origin : str
        The name of the log, such as "example.org/models".

    Raises
    ------
    BadInput
        If a file cannot be read, the policy is not valid or has expired, or another process writes to the log.
    """

    def __init__(
        self,
        policy: str | os.PathLike[str],
        trust: str | os.PathLike[str] | None = None,
        audit: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        origin: str = "frazil.invalid/python",
    ):
        super().__init__(os.fspath(policy), _path(trust), _path(audit), _path(key), origin, _log.warning)
        if audit is not None:
            atexit.register(_close, weakref.ref(self))

    def install(self) -> None:
        """Gives the process this governor, for all models. It cannot be removed or replaced.

        Raises
        ------
        BadInput
            If the process has a policy.
        """
        super().install()

    def replace(self, policy: str | os.PathLike[str]) -> None:
        """Replaces the rules by those of another file with the same name and a higher serial.

        Parameters
        ----------
        policy : str or path
            The file.

        Raises
        ------
        BadInput
            If the file is not valid; the old rules stay.
        """
        super().replace(os.fspath(policy))

    def close(self) -> None:
        """Closes the audit log in order; the end of the program does so, too. Later loads and edits are refused."""
        super().close()

    def __enter__(self) -> Governor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def govern(
    policy: str | os.PathLike[str],
    trust: str | os.PathLike[str] | None = None,
    audit: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    origin: str = "frazil.invalid/python",
) -> Governor:
    """Governs all models of the process, also those that were loaded before. It cannot be undone.

    Parameters
    ----------
    policy, trust, audit, key, origin
        As for Governor.

    Returns
    -------
    Governor
        The governor of the process.

    Raises
    ------
    BadInput
        As for Governor, and if the process has a policy.
    """
    governor = Governor(policy, trust, audit, key, origin)
    governor.install()
    return governor
