"""Editing models."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from .. import _frazil
from ..errors import BadInput
from ..model import Model
from .builder import Builder, located
from .terms import Extent, Term, Value


class Patch(Builder):
    """Edits a model. All changes take effect together at the end of the `with` block, unless it raises.

    Parameters
    ----------
    model : Model
        The model to edit, which stays as it is.
    name : str, default 'edit'
        The name of the edit in messages.

    Examples
    --------
    with model.edit("clip") as p:
        x = p.tap("relu_out")
        p.replace("relu_out", p.Min(x, 6.0))
    clipped = p.model
    """

    _raw: _frazil.PatchBuilder

    def __init__(self, model: Model, name: str = "edit") -> None:
        super().__init__(_frazil.PatchBuilder(model._handle, name))
        self.name = name
        self._of = model
        self._made: Model | None = None

    def __enter__(self) -> Patch:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None and self._made is None:
            self.commit()

    @located
    def tap(self, value: str) -> Term:
        """Returns the value with this name, as before the patch.

        Parameters
        ----------
        value : str
            The name of a value or of a node's first result.

        Returns
        -------
        Term
            The value, for use in new nodes.

        Raises
        ------
        BadInput
            If there is none.
        """
        return self.term_type(self, self._raw.tap(value))

    @located
    def input(self, name: str, dtype: Any, shape: Sequence[Extent] = ()) -> Term:
        """Adds an input of the model, which may replace a value.

        Parameters
        ----------
        name : str
            The name.
        dtype : DType or str
            The element type.
        shape : sequence of int or str, default ()
            The extents: numbers or names.

        Returns
        -------
        Term
            The value of the input.

        Raises
        ------
        BadModel
            If the name is in use.
        """
        return self.term_type(self, self._raw.input(name, dtype, shape))

    @located
    def replace(self, value: str, by: Value) -> None:
        """Replaces every use of a value, including its use as an output of the model.

        Parameters
        ----------
        value : str
            The name of the value.
        by : Term, array or number
            The new value.

        Raises
        ------
        BadInput
            If there is no such value.
        BadModel
            If the types do not fit.
        """
        self._raw.replace(value, self._raw_of(by))

    @located
    def wrap(
        self,
        outputs: str | Sequence[str],
        condition: Value,
        otherwise: Callable[[], Any],
        *,
        inputs: Sequence[str] = (),
        name: str = "",
    ) -> Term | tuple[Term, ...]:
        """Wraps the nodes that compute some values of one body in an If.

        Nodes that only `outputs` needs move into its first branch. If `condition` is false, a run uses the values of
        `otherwise()` and does not compute these nodes. Nodes stay if the condition, `otherwise` or other nodes need
        them, or if they compute `inputs`.

        Parameters
        ----------
        outputs : str or sequence of str
            The names of the values.
        condition : Term or bool
            Whether they are computed.
        otherwise : callable
            A function without parameters that returns the values used otherwise.
        inputs : sequence of str, default ()
            Values whose nodes stay.
        name : str, default ''
            The name of the If.

        Returns
        -------
        Term or tuple of Term
            The results of the If.

        Raises
        ------
        BadInput
            If a name is unknown.
        BadModel
            At the end of the patch, if the node of an output would stay.

        Examples
        --------
        p.wrap("layer2", p.tap("busy"), lambda: p.tap("layer1"))
        """
        names = [outputs] if isinstance(outputs, str) else list(outputs)
        return self._terms(self._raw.wrap(names, self._raw_of(condition), self._fill(otherwise), list(inputs), name))

    @located
    def remove(self, node: str) -> None:
        """Removes a node. Its results must not be used at the end of the patch.

        Parameters
        ----------
        node : str
            The name of the node.

        Raises
        ------
        BadInput
            If there is none.
        """
        self._raw.remove(node)

    @located
    def set_attribute(self, node: str, attribute: str, value: Any) -> None:
        """Changes an attribute of a node.

        Parameters
        ----------
        node : str
            The name of the node.
        attribute : str
            The name of the attribute.
        value : any
            The new value.

        Raises
        ------
        BadInput
            If there is no such node or attribute, or the value does not fit.
        """
        self._raw.set_attribute(node, attribute, value)

    @located
    def add_output(self, name: str, value: Value) -> None:
        """Makes a value an output of the model.

        Parameters
        ----------
        name : str
            The name of the output.
        value : Term, array or number
            The value.

        Raises
        ------
        BadModel
            If the name is in use.
        """
        self._raw.add_output(name, self._raw_of(value))

    @located
    def remove_output(self, name: str) -> None:
        """Removes an output of the model.

        Parameters
        ----------
        name : str
            The name of the output.

        Raises
        ------
        BadInput
            If there is none.
        """
        self._raw.remove_output(name)

    @located
    def commit(self) -> Model:
        """Creates the edited model. The patch cannot be used afterwards.

        Returns
        -------
        Model
            The model, which is also the attribute `model`.

        Raises
        ------
        BadModel
            If the edited model is not valid.
        """
        self._made = self._commit()
        return self._made

    def _commit(self) -> Model:
        return Model(self._raw.commit(), self._of.options)

    @property
    def model(self) -> Model:
        """The edited model. Raises BadInput before the end of the `with` block, or if it raised."""
        if self._made is None:
            raise BadInput(f"patch '{self.name}' has not been committed")
        return self._made

    def __repr__(self) -> str:
        return f"<frazil.Patch {self.name!r} of {self._of!r}>"


Model.patch_type = Patch
