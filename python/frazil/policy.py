"""Policies that decide which models may be loaded, edited and run."""

from __future__ import annotations

from .model import Model


class Policy:
    """Decides whether a model may be loaded, edited or run: load(path, policy=policy), Graph.build(policy=policy).

    Override the methods of interest. A returned text refuses the operation, and the call raises BadInput with it. An
    exception also refuses, and is the cause of the frazil.Error that the call raises. Edited models keep the policy;
    pickled models lose it. Methods are called on any thread that loads, edits or runs, and must not run the model that
    they check.
    """

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
