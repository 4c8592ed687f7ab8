"""Control flow that depends on values: cond() and while_loop()."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from ..errors import BadInput
from ..graph import Term
from .recording import graph_of
from .trees import flatten, unflatten


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Sequence[Any] = ()) -> Any:
    """true_fn(*operands) where `pred`, a Term of one bool, holds, else false_fn(*operands).

    Both return the same structure: a Term, or tuples, lists and dicts of Terms. Only the one that is taken runs.
    Raises BadInput where the structures differ.
    """
    if not isinstance(pred, Term):
        return (true_fn if pred else false_fn)(*operands)
    graph, made = pred.graph, []

    def side(function: Callable[..., Any]) -> Callable[[], list[Any]]:
        def body() -> list[Any]:
            leaves, structure = flatten(function(*operands))
            made.append(structure)
            return leaves

        return body

    if pred.ndim:
        pred = graph.Squeeze(pred)
    results = graph.if_(pred, side(true_fn), side(false_fn))
    if made[0] != made[1]:
        raise BadInput(f"cond(): the functions return different structures: {made[0]} and {made[1]}")
    return unflatten(made[0], results if isinstance(results, tuple) else (results,))


def while_loop(
    cond_fn: Callable[..., Any],
    body_fn: Callable[..., Any],
    carried_inputs: Sequence[Any],
    *,
    max_iterations: Any = None,
) -> Any:
    """Repeats `values = body_fn(*values)` while cond_fn(*values) holds, from `carried_inputs` on; returns the values.

    A value may be a Term, a number or a structure of Terms. Its extents may differ from one iteration to the next, its
    element type and rank may not. `max_iterations` is a limit, a number or a Term.
    Raises BadInput where body_fn returns another structure than it is given.
    """
    leaves, structure = flatten(tuple(carried_inputs))
    graph = graph_of(leaves)
    terms = [leaf if isinstance(leaf, Term) else graph.constant(leaf) for leaf in leaves]

    def holds(values: Sequence[Any]) -> Any:
        found = cond_fn(*unflatten(structure, values))
        return graph.Squeeze(found) if isinstance(found, Term) and found.ndim else found

    def body(i: Term, condition: Term, *values: Term) -> tuple[Any, ...]:
        made = body_fn(*unflatten(structure, values))
        found, shape = flatten(tuple(made) if isinstance(made, (tuple, list)) else (made,))
        if shape != structure:
            raise BadInput(f"while_loop(): body_fn returns {shape}, but is given {structure}")
        terms = [leaf if isinstance(leaf, Term) else graph.constant(leaf) for leaf in found]
        return (holds(terms), *terms)

    results = graph.loop(max_iterations, holds(terms), terms, body)
    return unflatten(structure, results if isinstance(results, tuple) else (results,))
