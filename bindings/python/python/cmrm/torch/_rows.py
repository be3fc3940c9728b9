"""What a row says by itself: its base loss and its margin, with their gradients, as tensor operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Base = dict[str, Any] | Callable[[Tensor, Tensor], Tensor]

# SCE's logarithm of zero, as in the library.
_LOG_ZERO = -4.0
# How near to certainty ELR lets a target come.
_UNCERTAIN = 1e-4


def rows_of(
    base: Base, constants: Tensor | None, margin: str, logits: Tensor, labels: Tensor, targets: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The base loss and the margin of each row, with their gradients. ``constants`` are what the loss reads beside its settings
    (``EnvelopeKernel.constants``), ``targets`` are ELR's."""
    scale = _scale(base)
    scaled = logits if scale == 1.0 else logits * scale
    column = labels.unsqueeze(1)
    log_probabilities = scaled.log_softmax(1)
    rivals = _rivals(scaled, column)

    def at_label(values: Tensor) -> Tensor:
        return values.gather(1, column).squeeze(1)

    def gap(values: Tensor) -> Tensor:
        return at_label(values) - values.gather(1, rivals).squeeze(1)

    if callable(base):
        losses = base(logits, labels)
        check_rows(losses, labels)
    elif base["name"] == "hinge":
        losses = (1 - gap(scaled)).relu()
    elif base["name"] == "ldam" and constants is not None:
        moved = scaled.scatter_add(1, column, -constants.to(scaled)[labels].unsqueeze(1))
        losses = -at_label(moved.log_softmax(1))
    elif base["name"] == "label-smoothing":
        epsilon = base["epsilon"]
        losses = -(1 - epsilon) * at_label(log_probabilities) - epsilon * log_probabilities.mean(1)
    elif base["name"] in _OF_ALL_CLASSES:
        losses = _of_all_classes(base, constants, log_probabilities, labels, at_label(log_probabilities))
    elif base["name"] == "elr" and targets is not None:
        # 1 − ⟨s, t⟩ without a difference of numbers that are nearly equal.
        apart = (log_probabilities.exp() * (1 - targets)).sum(1)
        losses = base["lambda"] * apart.log() - at_label(log_probabilities)
    else:
        losses = _of_log_probability(base, at_label(log_probabilities))
    if margin == "loss":
        return losses, -losses
    return losses, gap(scaled if margin == "logit" else log_probabilities.exp())


_OF_ALL_CLASSES = ("apl", "bootstrap-soft", "bootstrap-hard", "cores", "forward", "backward")


def _of_all_classes(
    base: dict[str, Any], constants: Tensor | None, log_probabilities: Tensor, labels: Tensor, log_p: Tensor
) -> Tensor:
    name = base["name"]
    if name == "apl":
        return base["a"] * log_p / log_probabilities.sum(1) + base["b"] * _LOG_ZERO * log_p.expm1()
    if name == "bootstrap-soft":
        expected = (log_probabilities.detach().exp() * log_probabilities).sum(1)
        return -base["beta"] * log_p - (1 - base["beta"]) * expected
    if name == "bootstrap-hard":
        leader = log_probabilities.detach().argmax(1, keepdim=True)
        return -base["beta"] * log_p - (1 - base["beta"]) * log_probabilities.gather(1, leader).squeeze(1)
    if constants is None:
        raise ValueError(f"the loss {name} has no numbers to read; a bug in cmrm")
    numbers = constants.to(log_probabilities)
    if name == "cores":
        return base["beta"] * log_probabilities @ numbers - log_p
    if name == "forward":
        # A class that is never observed as the label has the logarithm −∞, and no part in the sum.
        return -(log_probabilities + numbers.log().t()[labels]).logsumexp(1)
    return -(numbers[labels] * log_probabilities).sum(1)


def check_rows(losses: Any, labels: Tensor) -> None:
    """Refuses what a base loss of the user's own returns, unless it is one number a row."""
    if not isinstance(losses, Tensor) or losses.shape != labels.shape:
        found = tuple(losses.shape) if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(
            f"the base loss must return one number per row: expected shape {tuple(labels.shape)}, found {found}; "
            'PyTorch\'s losses do so with reduction="none"'
        )


def _scale(base: Base) -> float:
    return 1.0 if callable(base) else float(base.get("scale", 1.0))


def _rivals(scaled: Tensor, column: Tensor) -> Tensor:
    """The strongest other class; the lowest index on ties, as in the library."""
    return scaled.detach().scatter(1, column, -math.inf).argmax(1, keepdim=True)


def _of_log_probability(base: dict[str, Any], log_p: Tensor) -> Tensor:
    if base["name"] == "gce":
        return (log_p * base["q"]).expm1() / -base["q"]
    if base["name"] == "sce":
        return base["beta"] * _LOG_ZERO * log_p.expm1() - base["alpha"] * log_p
    if base["name"] == "focal" and base["gamma"] != 0:
        others = -log_p.expm1()
        if base["gamma"] == 2:
            return -(others * others) * log_p
        # A power below one has an infinite slope at zero.
        others = others if base["gamma"] == 1 else others.clamp_min(torch.finfo(log_p.dtype).tiny) ** base["gamma"]
        return -others * log_p
    return -log_p


def elr_targets(logits: Tensor) -> Tensor:
    """The probabilities that ELR remembers: without gradient, kept away from certainty."""
    kept = logits.detach().softmax(1).clamp(_UNCERTAIN, 1 - _UNCERTAIN)
    return kept / kept.sum(1, keepdim=True)


def gradient_sizes(
    base: Base, constants: Tensor | None, margin: str, logits: Tensor, labels: Tensor, targets: Tensor | None, losses: Tensor
) -> tuple[Tensor, Tensor]:
    """The sums of absolute entries of ``∂ℓ/∂z`` and ``∂M/∂z`` of each row, without gradient."""
    scale = _scale(base)
    of_loss = _loss_gradient(base, constants, logits, labels, targets, losses).abs().sum(1)
    if margin == "loss":
        return of_loss, of_loss
    if margin == "logit":
        return of_loss, torch.full_like(of_loss, 2 * scale)
    column = labels.unsqueeze(1)
    scaled = logits.detach() * scale
    probabilities = scaled.softmax(1)
    own = probabilities.gather(1, column).squeeze(1)
    rival = probabilities.gather(1, _rivals(scaled, column)).squeeze(1)
    gap = own - rival
    rest = (1 - own - rival).clamp_min(0)
    return of_loss, scale * (own * (1 - gap) + rival * (1 + gap) + rest * gap.abs())


def _loss_gradient(
    base: Base, constants: Tensor | None, logits: Tensor, labels: Tensor, targets: Tensor | None, losses: Tensor
) -> Tensor:
    """``∂ℓ_i/∂z_i`` of each row. A row's loss depends on its own logits alone, so the sum has every row's gradient."""

    def total(z: Tensor, y: Tensor, t: Tensor | None) -> Tensor:
        return rows_of(base, constants, "loss", z, y, t)[0].sum()

    if torch.compiler.is_compiling():
        found: Tensor = torch.func.grad(total)(logits.detach(), labels, targets)
        return found.detach()
    if logits.requires_grad and losses.requires_grad:
        # The graph is there already, and a loss of the user's own is not called twice in a step.
        return torch.autograd.grad(losses.sum(), logits, retain_graph=True)[0].detach()
    # Copies, because tensors of the inference mode stay outside of any graph.
    with torch.inference_mode(False), torch.enable_grad():
        z = logits.detach().clone().requires_grad_()
        value = total(z, labels.clone(), None if targets is None else targets.clone())
        return torch.autograd.grad(value, z)[0]
