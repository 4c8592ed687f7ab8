"""Losses: functions of predictions and targets."""

from __future__ import annotations

import math
from typing import Any, Callable

from ..errors import BadInput
from ..graph import Term, Value
from . import ops


def _reduced(losses: Term, reduction: str, weights: Term | None = None) -> Term:
    """Returns all losses, their sum or their mean, weighted by `weights` if given."""
    if reduction == "none":
        return losses
    if reduction not in ("mean", "sum"):
        raise BadInput(f"reduction is 'none', 'mean' or 'sum', got {reduction!r}")
    if weights is not None and reduction == "mean":
        return ops.div(ops.sum(losses), ops.sum(weights))
    return ops.mean(losses) if reduction == "mean" else ops.sum(losses)


def _elementwise(formula: Callable[..., Term], name: str, doc: str) -> Callable[..., Term]:
    def loss(
        input: Term, target: Term, size_average: Any = None, reduce: Any = None, reduction: str = "mean", **more: Any
    ) -> Term:
        return _reduced(formula(input, target, **more), reduction)

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = doc
    return loss


mse_loss = _elementwise(lambda x, y: ops.square(ops.sub(x, y)), "mse_loss", "Returns the squares of differences.")
l1_loss = _elementwise(lambda x, y: ops.abs(ops.sub(x, y)), "l1_loss", "Returns absolute differences.")


def _smooth(x: Term, y: Term, beta: float) -> Term:
    away = ops.abs(ops.sub(x, y))
    if beta == 0:
        return away
    return ops.where(ops.lt(away, beta), ops.div(ops.square(away), 2 * beta), ops.sub(away, beta / 2))


def smooth_l1_loss(
    input: Term, target: Term, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Term:
    """Returns squares of small differences, and absolute values of others."""
    return _reduced(_smooth(input, target, beta), reduction)


def huber_loss(input: Term, target: Term, reduction: str = "mean", delta: float = 1.0) -> Term:
    """Returns smooth_l1_loss() times `delta`."""
    return _reduced(ops.mul(_smooth(input, target, delta), delta), reduction)


def binary_cross_entropy(
    input: Term, target: Term, weight: Value | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Term:  # fmt: skip
    """Returns -target * log(input) - (1 - target) * log(1 - input), with logarithms of at least -100."""
    logs = [ops.clamp(ops.log(x), min=-100.0) for x in (input, ops.sub(1, input))]
    losses = ops.neg(ops.add(ops.mul(target, logs[0]), ops.mul(ops.sub(1, target), logs[1])))
    return _reduced(losses if weight is None else ops.mul(losses, weight), reduction)


def binary_cross_entropy_with_logits(
    input: Term, target: Term, weight: Value | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", pos_weight: Value | None = None,
) -> Term:  # fmt: skip
    """Returns binary_cross_entropy() of sigmoid(input)."""
    soft = ops.add(ops.log1p(ops.exp(ops.neg(ops.abs(input)))), ops.clamp(ops.neg(input), min=0))
    if pos_weight is not None:
        soft = ops.mul(soft, ops.add(ops.mul(ops.sub(pos_weight, 1), target), 1))
    losses = ops.add(ops.mul(ops.sub(1, target), input), soft)
    return _reduced(losses if weight is None else ops.mul(losses, weight), reduction)


def kl_div(
    input: Term, target: Term, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    log_target: bool = False,
) -> Term:  # fmt: skip
    """Returns target * (log(target) - input)."""
    if log_target:
        losses = ops.mul(ops.exp(target), ops.sub(target, input))
    else:
        logs = ops.log(ops.where(ops.gt(target, 0), target, 1.0))
        losses = ops.mul(target, ops.sub(logs, input))
    if reduction == "batchmean":
        return ops.div(ops.sum(losses), ops.extent(input, 0))
    return _reduced(losses, reduction)


def _classes_last(x: Term) -> Term:
    return x if x.ndim < 3 else ops.movedim(x, 1, -1)


def nll_loss(
    input: Term, target: Term, weight: Value | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean",
) -> Term:  # fmt: skip
    """Returns the negated inputs of the target classes, [batch, classes, ...] and [batch, ...]."""
    logs = _classes_last(input)
    kept = ops.ne(target, ignore_index)
    classes = ops.where(kept, target, 0)
    chosen = ops.squeeze(ops.gather(logs, -1, ops.unsqueeze(classes, -1)), -1)
    weights = ops.cast(kept, input.dtype)
    if weight is not None:
        weights = ops.mul(weights, ops.index_select(ops.term_of(input, weight), 0, classes))
    return _reduced(ops.mul(ops.neg(chosen), weights), reduction, weights)


def cross_entropy(
    input: Term, target: Term, weight: Value | None = None, size_average: Any = None, ignore_index: int = -100,
    reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Term:  # fmt: skip
    """Returns nll_loss() of log_softmax(input). Targets are classes, or probabilities in the shape of the input."""
    axis = 0 if input.ndim == 1 else 1
    logs = input.graph.LogSoftmax(input, axis=axis)
    if target.dtype is not None and ops.kind_of(target.dtype) == 2:
        count = ops.extent(input, axis)
        even = ops.add(ops.mul(target, 1 - label_smoothing), label_smoothing / count) if label_smoothing else target
        losses = ops.neg(ops.sum(ops.mul(_weighted(logs, weight), even), axis))
        if reduction != "mean":
            return _reduced(losses, reduction)
        return ops.div(ops.sum(losses), ops.numel(input) // count if input.ndim > 1 else 1)
    made = nll_loss(logs, target, weight, None, ignore_index, None, reduction)
    if not label_smoothing:
        return made
    kept = ops.cast(ops.ne(target, ignore_index), input.dtype)
    spread = ops.mul(ops.neg(ops.sum(_weighted(logs, weight), axis)), kept)
    weights = kept
    if weight is not None:
        classes = ops.where(ops.ne(target, ignore_index), target, 0)
        weights = ops.mul(kept, ops.index_select(ops.term_of(input, weight), 0, classes))
    smooth = ops.div(_reduced(spread, reduction, weights), ops.extent(input, axis))
    return ops.add(ops.mul(made, 1 - label_smoothing), ops.mul(smooth, label_smoothing))


def _weighted(logs: Term, weight: Value | None) -> Term:
    if weight is None:
        return logs
    return ops.mul(logs, ops.reshape(ops.term_of(logs, weight), -1, *[1] * max(logs.ndim - 2, 0)))


def pairwise_distance(x1: Term, x2: Term, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Term:
    """Returns the p-norms of x1 - x2 + eps along the last dimension."""
    return ops.norm(ops.add(ops.sub(x1, x2), eps), p, -1, keepdim)


def cosine_similarity(x1: Term, x2: Term, dim: int = 1, eps: float = 1e-8) -> Term:
    """Returns the cosine of the angle between vectors along `dim`."""
    lengths = [ops.maximum(ops.norm(x, 2, dim), eps) for x in (x1, x2)]
    return ops.div(ops.sum(ops.mul(x1, x2), dim), ops.mul(*lengths))


def margin_ranking_loss(
    input1: Term, input2: Term, target: Term, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Term:  # fmt: skip
    """Returns margin - target * (input1 - input2), at least 0."""
    return _reduced(ops.clamp(ops.sub(margin, ops.mul(target, ops.sub(input1, input2))), min=0), reduction)


def cosine_embedding_loss(
    input1: Term, input2: Term, target: Term, margin: float = 0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Term:  # fmt: skip
    """Returns 1 - cosine where the target is 1, else cosine - margin, at least 0."""
    cosine = cosine_similarity(input1, input2, -1, 1e-12)
    losses = ops.where(ops.eq(target, 1), ops.sub(1, cosine), ops.clamp(ops.sub(cosine, margin), min=0))
    return _reduced(losses, reduction)


def triplet_margin_loss(
    anchor: Term, positive: Term, negative: Term, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Term:  # fmt: skip
    """Returns the distance to `positive` minus that to `negative` plus `margin`, at least 0."""
    near, far = (pairwise_distance(anchor, other, p, eps) for other in (positive, negative))
    if swap:
        far = ops.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced(ops.clamp(ops.add(ops.sub(near, far), margin), min=0), reduction)


def gaussian_nll_loss(
    input: Term, target: Term, var: Term, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Term:
    """Returns half of log(var) + (input - target) ** 2 / var."""
    spread = ops.clamp(var, min=eps)
    losses = ops.mul(ops.add(ops.log(spread), ops.div(ops.square(ops.sub(input, target)), spread)), 0.5)
    return _reduced(ops.add(losses, 0.5 * math.log(2 * math.pi)) if full else losses, reduction)


def poisson_nll_loss(
    input: Term, target: Term, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-8,
    reduce: Any = None, reduction: str = "mean",
) -> Term:  # fmt: skip
    """Returns exp(input) - target * input, or input - target * log(input)."""
    if full:
        raise ops.unsupported("full=True of poisson_nll_loss()")
    if log_input:
        return _reduced(ops.sub(ops.exp(input), ops.mul(target, input)), reduction)
    return _reduced(ops.sub(input, ops.mul(target, ops.log(ops.add(input, eps)))), reduction)
