"""The common base of graph values and lazy arrays."""

from __future__ import annotations

from typing import Any, TypeVar

from .axes import axis_of, order_of

S = TypeVar("S", bound="Symbolic")


class Symbolic:
    """A value that records operators: the base of frazil.Term and frazil.LazyArray.

    Operators and methods have NumPy's meaning: == compares elements, transpose() takes the order of the axes, and
    operands of two element types are cast to their common one. `graph` has every operator as a method. Tensors of
    frazil.nn are Terms with PyTorch's meaning.
    """

    __slots__ = ()
    graph: Any
    ndim: Any

    def transpose(self: S, *axes: Any) -> S:
        """Permutes the axes.

        Parameters
        ----------
        *axes : int or sequence of int
            The order of all axes, as several arguments or one sequence. None, or no argument, reverses it.

        Returns
        -------
        Term or LazyArray
            The elements in the new order of axes.

        Raises
        ------
        AxisError
            If an axis is out of range.
        ValueError
            If axes are missing, or one is given twice.
        """
        order = order_of(axes, self.ndim)
        return self if order == tuple(range(len(order))) else self.graph.Transpose(self, perm=order)  # type: ignore

    def swapaxes(self: S, axis1: int, axis2: int) -> S:
        """Swaps two axes.

        Parameters
        ----------
        axis1 : int
            The first axis.
        axis2 : int
            The second axis.

        Returns
        -------
        Term or LazyArray
            The elements in the new order of axes.

        Raises
        ------
        AxisError
            If an axis is out of range.
        """
        order = list(range(self.ndim))
        first, second = axis_of(axis1, self.ndim), axis_of(axis2, self.ndim)
        order[first], order[second] = second, first
        return Symbolic.transpose(self, order)

    @property
    def T(self: S) -> S:
        """The axes in reversed order."""
        return Symbolic.transpose(self)

    @property
    def mT(self: S) -> S:
        """The last two axes swapped. Raises ValueError for fewer than two axes."""
        if self.ndim < 2:
            raise ValueError(f"an array with {self.ndim} axes is not a matrix")
        return Symbolic.swapaxes(self, -1, -2)

    def flatten(self: S, order: str = "C") -> S:
        """Returns the elements along one axis.

        Parameters
        ----------
        order : str, default 'C'
            'C', or 'F' if the first axis varies fastest.

        Returns
        -------
        Term or LazyArray
            One axis with all elements.
        """
        return self.reshape(-1, order=order)  # type: ignore

    def ravel(self: S, order: str = "C") -> S:
        """Returns the elements along one axis.

        Parameters
        ----------
        order : str, default 'C'
            'C', or 'F' if the first axis varies fastest.

        Returns
        -------
        Term or LazyArray
            One axis with all elements.
        """
        return self.reshape(-1, order=order)  # type: ignore

    def eq(self, other: Any) -> Any:
        """Compares elements, as ==.

        Parameters
        ----------
        other : Term, array or number
            The second operand; it is broadcast.

        Returns
        -------
        Term or LazyArray
            Bools.
        """
        return self == other

    def ne(self, other: Any) -> Any:
        """Compares elements, as !=.

        Parameters
        ----------
        other : Term, array or number
            The second operand; it is broadcast.

        Returns
        -------
        Term or LazyArray
            Bools.
        """
        return self != other
