"""The envelope as tensor operations: for logits on a card, under ``torch.compile`` and across ranks.

The kernel of truth is the library's ``Objective``; tests hold the two together. Nothing here looks at a number, so
nothing waits for the card, and the whole can be compiled as one graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# Rows that a class needs in a batch to have a quantile of its own.
from .._native import CLASS_ROWS


@dataclass
class Batch:
    """The rows of a step, those of all ranks where they share one quantile."""

    losses: Tensor
    margins: Tensor
    running: Tensor
    """The margins that the filter on the base loss reads: running ones, or ``margins`` itself."""
    labels: Tensor
    row_weights: Tensor | None
    classes: int
    sizes: tuple[Tensor, ...]
    """For a limit: the sums of absolute entries of ``∂ℓ/∂z`` and ``∂M/∂z`` of each row."""


@dataclass
class Step:
    """The parts of the total; a gradient flows through ``base`` and ``risk`` alone."""

    base: Tensor
    risk: Tensor
    lam: float | Tensor
    tau: Tensor
    weights: Tensor
    """Of the base loss if the filter acts on it, otherwise of the risk."""


def evaluate(config: dict[str, Any], batch: Batch) -> Step:
    """One step with the envelope on."""
    tau, weights, risk, slopes = _risk(config, batch)
    lam, row_weights = config["lambda"], batch.row_weights
    fade: float | Tensor = 0.0
    if config["fade"] is not None:
        doubtful = (batch.running < config["fade"]["margin"]).to(batch.running.dtype)
        fade = (1 - mean(doubtful, row_weights) / config["fade"]["share"]).clamp_min(0)
        lam = lam * (1 - fade)
    shares = row_weights
    if config["filter_base"]:
        if batch.running is not batch.margins:
            weights = _weights(config, batch.running, _thresholds(config, batch.running, batch))
        weights = fade + (1 - fade) * weights.detach()
        plain = torch.ones_like(weights) if row_weights is None else row_weights
        shares = weights * plain
        # Where no row is left any weight, all have their own.
        shares = torch.where(shares.sum() > 0, shares, plain)
    base = mean(batch.losses, shares)
    if config["limit"] is not None:
        lam = _limited(config["limit"], lam, batch, shares, slopes)
    return Step(base, risk, lam, tau, weights.detach())


def _limited(limit: float, lam: float | Tensor, batch: Batch, shares: Tensor | None, slopes: Tensor) -> Tensor:
    """λ, lowered until the risk's gradient by the logits is at most ``limit`` times the base loss's."""
    of_loss, of_margin = batch.sizes
    of_base = mean(of_loss, shares)
    of_risk = (slopes.abs() * of_margin).sum()
    # A risk without gradient has nothing to limit.
    most = torch.where(of_risk > 0, limit * of_base / of_risk, math.inf)
    return most.clamp_max(lam) if isinstance(lam, float) else torch.minimum(most, lam)


def _risk(config: dict[str, Any], batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``(tau, weights, risk, ∂R/∂M)``. The gradient flows through margins and weights, not through tau."""
    margins, row_weights = batch.margins, batch.row_weights
    fixed = margins.detach()
    thresholds = _thresholds(config, fixed, batch)
    weights = _weights(config, margins, thresholds)
    shares = weights if row_weights is None else weights * row_weights
    if config["normaliser"] == "weights":
        divisor = shares.sum()
    else:
        divisor = torch.ones_like(fixed).sum() if row_weights is None else row_weights.sum()
    # Only rows without weight have a weight in the filter: nothing is left to average.
    divisor = torch.where(divisor > 0, divisor, 1)
    risk = -(shares * margins).sum() / divisor
    # The same derivative that autograd takes, for the size of the risk's gradient.
    kept, bend = weights.detach(), torch.zeros_like(fixed)
    if config["filter"] == "soft":
        bend = kept * (1 - kept) * (1 / config["temperature"])
    slopes = kept + bend * (fixed + risk.detach() if config["normaliser"] == "weights" else fixed)
    slopes = -(slopes if row_weights is None else slopes * row_weights) / divisor.detach()
    if config["scale"] == "doubt":
        doubt = mean((fixed < 0).to(fixed.dtype), row_weights)
        risk, slopes = risk * doubt, slopes * doubt
    return thresholds.mean(), weights, risk, slopes


def _thresholds(config: dict[str, Any], margins: Tensor, batch: Batch) -> Tensor:
    found = quantile(margins, config["alpha"], config["quantile"])
    if config["scope"] == "class":
        found = class_quantiles(margins, batch.labels, config["alpha"], config["quantile"], found, batch.classes)
    return found if config["ceiling"] is None else found.clamp_max(config["ceiling"])


def _weights(config: dict[str, Any], margins: Tensor, thresholds: Tensor) -> Tensor:
    if config["filter"] == "soft":
        return ((margins - thresholds) * (1 / config["temperature"])).sigmoid()
    if config["filter"] == "hard":
        return (margins.detach() >= thresholds).to(margins.dtype)
    return torch.ones_like(margins.detach())


def mean(values: Tensor, weights: Tensor | None) -> Tensor:
    """The mean of rows by their weights."""
    return values.mean() if weights is None else (values * (weights / weights.sum())).sum()


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
