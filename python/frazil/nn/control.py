"""Control flow that depends on values: cond() and while_loop()."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from .. import _frazil
from ..errors import BadInput
from ..graph import Term
from ..lazy.array import LazyArray
from ..lazy.functions import as_lazy
from ..trees import flatten, unflatten
from .lazily import graph_of
from .recording import current_or_none


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """Returns true_fn(*operands) if `pred` is true, else false_fn(*operands).

    If `pred` is a Term, or an array in a recorded function, the graph contains both branches and runs one of them. Both
    must return the same structure: a value, or tuples, lists and dicts of values. Otherwise `pred` is read immediately.

    Returns
    -------
    any
        The result of the function.

    Raises
    ------
    BadInput
        If the structures differ.
    """
    recorded = isinstance(pred, LazyArray) and pred._traced
    if not _is_open(pred) and not recorded:
        return (true_fn if pred else false_fn)(*operands)
    made: list[Any] = []

    def side(function: Callable[..., Any], leaf: Callable[[Any], Any] = lambda value: value) -> Callable[[], list[Any]]:
        def body() -> list[Any]:
            leaves, structure = flatten(function(*operands))
            made.append(structure)
            if made[0] != structure:
                raise BadInput(f"cond(): the functions return different structures: {made[0]} and {structure}")
            return [leaf(value) for value in leaves]

        return body

    if recorded:
        pred = pred.reshape(()) if pred.ndim else pred
        results = _frazil.recorded_cond(pred, side(true_fn, as_lazy), side(false_fn, as_lazy))
    else:
        pred = pred.graph.Squeeze(pred) if pred.ndim else pred
        results = pred.graph.if_(pred, side(true_fn), side(false_fn))
    return unflatten(made[0], results if isinstance(results, tuple) else (results,))


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    *carried_inputs: Any,
    max_iterations: Any = None,
    **keywords: Any,
) -> Any:
    """Repeats `values = body_fn(*values)` while cond_fn(*values) holds, and returns the values.

    In a recorded graph this is a Loop. A value may be a Term, an array, a number or a structure of them. Its extents
    may change between iterations, but not its element type and rank. Otherwise the condition is read immediately.

    Parameters
    ----------
    *carried_inputs : any
        The first values, or as in PyTorch, one tuple or list of them. A single argument is returned without a tuple.

    Returns
    -------
    any
        The last values.

    Raises
    ------
    BadInput
        If body_fn returns another structure than that of its arguments.
    """
    values, alone = _carried(carried_inputs, keywords)
    leaves, structure = flatten(values)

    def holds(now: Sequence[Any]) -> Any:
        return cond_fn(*unflatten(structure, now))

    def step(now: Sequence[Any]) -> list[Any]:
        made = body_fn(*unflatten(structure, now))
        found, shape = flatten(tuple(made) if isinstance(made, (tuple, list)) else (made,))
        if shape != structure:
            raise BadInput(f"while_loop(): body_fn returns {shape}, but is given {structure}")
        return found

    if _has_terms(leaves):
        results = _loop_of_terms(holds, step, leaves, max_iterations)
    elif _frazil.is_recording():
        results = _recorded_loop(holds, step, leaves, max_iterations)
    else:
        results = _loop(holds, step, leaves, max_iterations)
    made = unflatten(structure, results)
    return made[0] if alone else made


def _carried(values: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[tuple[Any, ...], bool]:
    """Returns the carried values, and whether they are a single value."""
    if keywords.keys() - {"carried_inputs"} or (values and keywords):
        raise TypeError(f"while_loop() has no parameters {sorted(keywords)} besides")
    if keywords:
        values = (keywords["carried_inputs"],)
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0]), False
    return values, len(values) == 1


def _has_terms(leaves: Sequence[Any]) -> bool:
    graph = current_or_none()
    inside = graph is not None and not graph.readable and not _frazil.is_recording()
    return inside or any(_is_open(leaf) for leaf in leaves)


def _is_open(value: Any) -> bool:
    """Returns whether this is a Term without a value."""
    return isinstance(value, Term) and not getattr(value.graph, "readable", False)


def _loop_of_terms(holds: Callable[..., Any], step: Callable[..., Any], leaves: list[Any], limit: Any) -> Sequence[Any]:
    graph = graph_of(leaves)
    terms = [leaf if isinstance(leaf, Term) else graph.constant(leaf) for leaf in leaves]

    def scalar(found: Any) -> Any:
        return graph.Squeeze(found) if isinstance(found, Term) and found.ndim else found

    def body(i: Term, condition: Term, *values: Term) -> tuple[Any, ...]:
        made = [leaf if isinstance(leaf, Term) else graph.constant(leaf) for leaf in step(values)]
        return (scalar(holds(made)), *made)

    results = graph.loop(limit, scalar(holds(terms)), terms, body)
    return results if isinstance(results, tuple) else (results,)


def _recorded_loop(holds: Callable[..., Any], step: Callable[..., Any], leaves: list[Any], limit: Any) -> Sequence[Any]:
    """Records the loop. If there is a limit, the number of iterations becomes a carried value."""
    count = [] if limit is None else [as_lazy(0)]

    def condition(*values: LazyArray) -> tuple[LazyArray]:
        found = as_lazy(holds(values[len(count) :]))
        found = found.reshape(()) if found.ndim else found
        return (found if limit is None else found & (values[0] < limit),)

    def body(*values: LazyArray) -> list[LazyArray]:
        return [*(value + 1 for value in values[: len(count)]), *map(as_lazy, step(values[len(count) :]))]

    return _frazil.recorded_loop(condition, body, [*count, *map(as_lazy, leaves)])[len(count) :]


def _loop(holds: Callable[..., Any], step: Callable[..., Any], leaves: list[Any], limit: Any) -> Sequence[Any]:
    count = 0
    while (limit is None or count < limit) and holds(leaves):
        leaves = step(leaves)
        count += 1
    return leaves
