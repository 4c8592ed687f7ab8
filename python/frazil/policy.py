"""Policies: what may be loaded, edited and run."""

from __future__ import annotations

from .model import Model


class Policy:
    """Asked before a model is loaded, edited or run: load(path, policy=policy), Graph.build(policy=policy).

    Override what is of interest. A returned text is the reason for refusing; the call then raises BadInput with it. An
    exception refuses, too: it is the cause of the frazil.Error that the call raises. A model that an edit makes keeps
    the policy; one that is pickled loses it. Functions are called on any thread that loads, edits or runs, and must not
    run the model that they are asked about.
    """

    def check_load(self, model: Model) -> str | None:
        """Whether this model may exist: after it was read or built, and of every edited one."""
        return None

    def check_edit(self, before: Model, after: Model) -> str | None:
        """Whether an edit may take effect, after check_load(after): the model as it is, and as it would be."""
        return None

    def check_run(self, model: Model) -> str | None:
        """Whether a run may begin. Called by each, so it should be quick."""
        return None
