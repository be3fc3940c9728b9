"""The losses and the envelope as tensor operations: for logits on a card, under ``torch.compile`` and across ranks.

The kernel of truth is the library's ``Objective``; tests hold the two together. Nothing here looks at a number, so
nothing waits for the card, and the whole can be compiled as one graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

# Rows that a class needs in a batch to have a quantile of its own.
from .._native import CLASS_ROWS

# A row loss and the margin that the envelope measures.
Rows = tuple[Tensor, Tensor]


def rows_of(
    base: dict[str, Any] | Callable[[Tensor, Tensor], Tensor],
    offsets: Tensor | None,
    margin: str,
    logits: Tensor,
    labels: Tensor,
) -> Rows:
    """The base loss and the margin of each row, with their gradients."""
    scale = 1.0 if callable(base) else float(base.get("scale", 1.0))
    scaled = logits if scale == 1.0 else logits * scale
    column = labels.unsqueeze(1)
    log_probabilities = scaled.log_softmax(1)
    # The lowest index on ties, as in the library.
    rivals = scaled.detach().scatter(1, column, -math.inf).argmax(1, keepdim=True)

    def gap(values: Tensor) -> Tensor:
        return (values.gather(1, column) - values.gather(1, rivals)).squeeze(1)

    if callable(base):
        losses = base(logits, labels)
        check_rows(losses, labels)
    elif base["name"] == "hinge":
        losses = (1 - gap(scaled)).relu()
    elif base["name"] == "ldam" and offsets is not None:
        moved = scaled.scatter_add(1, column, -offsets.to(scaled)[labels].unsqueeze(1))
        losses = -moved.log_softmax(1).gather(1, column).squeeze(1)
    else:
        losses = _of_log_probability(base, log_probabilities.gather(1, column).squeeze(1))
    if margin == "loss":
        return losses, -losses
    return losses, gap(scaled if margin == "logit" else log_probabilities.exp())


def check_rows(losses: Any, labels: Tensor) -> None:
    """Refuses what a base loss of the user's own returns, unless it is one number a row."""
    if not isinstance(losses, Tensor) or losses.shape != labels.shape:
        found = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(
            f"the base loss must return one number per row: expected shape {tuple(labels.shape)}, found {found}; "
            'PyTorch\'s losses do so with reduction="none"'
        )


def _of_log_probability(base: dict[str, Any], log_p: Tensor) -> Tensor:
    if base["name"] == "gce":
        return (log_p * base["q"]).expm1() / -base["q"]
    if base["name"] == "focal" and base["gamma"] != 0:
        others = -log_p.expm1()
        if base["gamma"] == 2:
            return -(others * others) * log_p
        # A power below one has an infinite slope at zero.
        others = others if base["gamma"] == 1 else others.clamp_min(torch.finfo(log_p.dtype).tiny) ** base["gamma"]
        return -others * log_p
    return -log_p


def couple(
    config: dict[str, Any], margins: Tensor, labels: Tensor, row_weights: Tensor | None, classes: int
) -> tuple[Tensor, Tensor, Tensor]:
    """From margins to ``(tau, weights, risk)``. The gradient flows through margins and weights, not through tau."""
    fixed = margins.detach()
    thresholds = quantile(fixed, config["alpha"], config["quantile"])
    if config["scope"] == "class":
        thresholds = class_quantiles(fixed, labels, config["alpha"], config["quantile"], thresholds, classes)
    if config["ceiling"] is not None:
        thresholds = thresholds.clamp_max(config["ceiling"])
    if config["filter"] == "soft":
        weights = ((margins - thresholds) * (1 / config["temperature"])).sigmoid()
    elif config["filter"] == "hard":
        weights = (fixed >= thresholds).to(fixed.dtype)
    else:
        weights = torch.ones_like(fixed)
    shares = weights if row_weights is None else weights * row_weights
    if config["normaliser"] == "weights":
        divisor = shares.sum()
    else:
        divisor = torch.ones_like(fixed).sum() if row_weights is None else row_weights.sum()
    # Only rows without weight have a weight in the filter: nothing is left to average.
    divisor = torch.where(divisor > 0, divisor, 1)
    risk = -(shares * margins).sum() / divisor
    if config["scale"] == "doubt":
        risk = risk * mean((fixed < 0).to(fixed.dtype), row_weights)
    return thresholds.mean(), weights.detach(), risk


def mean(values: Tensor, row_weights: Tensor | None) -> Tensor:
    """The mean of rows by their weights."""
    return values.mean() if row_weights is None else (values * (row_weights / row_weights.sum())).sum()


def quantile(margins: Tensor, alpha: float, kind: str) -> Tensor:
    """The batch quantile as the library defines it, of shape ``(1,)``."""
    rows = margins.shape[0]
    ordered = margins.sort().values
    if kind == "conformal":
        rank = min(max(math.ceil(alpha * (rows + 1)), 1), rows)
        return ordered[rank - 1 : rank]
    position = alpha * (rows - 1)
    below = math.floor(position)
    above = min(below + 1, rows - 1)
    return _between(ordered[below : below + 1], ordered[above : above + 1], position - below)


def _between(low: Tensor, high: Tensor, share: float | Tensor) -> Tensor:
    # Rounding must not carry the quantile past a margin.
    return torch.minimum(low + share * (high - low), high)


def class_quantiles(
    margins: Tensor, labels: Tensor, alpha: float, kind: str, whole: Tensor, classes: int
) -> Tensor:
    """The quantile among the rows with the same label for every row; ``whole`` where they are too few."""
    # Rows by class, and by margin within each: two sorts, the second of which keeps the first's order.
    by_margin = margins.argsort()
    by_class = by_margin[labels[by_margin].argsort(stable=True)]
    ordered = margins[by_class]
    counts = torch.zeros(classes, dtype=torch.int64, device=labels.device)
    counts = counts.scatter_add(0, labels, torch.ones_like(labels))
    starts = counts.cumsum(0) - counts

    def at(position: Tensor) -> Tensor:
        # A class without rows points somewhere; nobody reads it.
        return ordered[(starts + position.long()).clamp(0, margins.shape[0] - 1)]

    # Positions in double precision, as in the library: a rank must not depend on the type of the logits.
    of_class = counts.double()
    last = (of_class - 1).clamp_min(0)
    if kind == "conformal":
        found = at(torch.minimum((alpha * (of_class + 1)).ceil().clamp_min(1) - 1, last))
    else:
        position = alpha * last
        below = position.floor()
        share = (position - below).to(margins.dtype)
        found = _between(at(below), at(torch.minimum(below + 1, last)), share)
    return torch.where(counts >= CLASS_ROWS, found, whole)[labels]
