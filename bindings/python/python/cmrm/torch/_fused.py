"""The library's kernel behind autograd: one call gives the loss and its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._arrays import native

_SECOND_DERIVATIVE = (
    "the fused kernel has first derivatives only; make the loss with backend='tensor' to differentiate twice"
)


class Total(torch.autograd.Function):
    """The total by the logits: base loss and envelope, or ``λ·risk`` alone where the base is the user's own."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        labels: Tensor,
        row_weights: Tensor | None,
        kernel: Any,
        active: bool,
        remembered: Any,
        out: Any,
    ):
        grad = torch.empty_like(logits)
        rows = torch.empty((2, logits.shape[0]), dtype=logits.dtype)
        total, out.base, out.risk, out.lam, out.tau = kernel.evaluate(
            native(logits.detach().numpy()),
            native(labels.numpy()),
            None if row_weights is None else native(row_weights.numpy()),
            grad.numpy(),
            rows.numpy(),
            active,
            *remembered,
        )
        out._rows = rows
        # Neither an input nor an output, so it may be kept without ado.
        ctx.by_logits = grad
        return torch.scalar_tensor(total, dtype=logits.dtype)

    @staticmethod
    def backward(ctx: Any, by_total: Tensor):
        if torch.is_grad_enabled():
            raise RuntimeError(_SECOND_DERIVATIVE)
        return ctx.by_logits * by_total, None, None, None, None, None, None


class Risk(torch.autograd.Function):
    """The risk by the margins."""

    @staticmethod
    def forward(ctx: Any, margins: Tensor, labels: Tensor, row_weights: Tensor | None, classes: int, kernel: Any, out: Any):
        rows = torch.empty((2, margins.shape[0]), dtype=margins.dtype)
        slopes = torch.empty_like(margins)
        rows[0] = margins
        out.tau, out.risk = kernel.couple(
            rows[0].numpy(),
            native(labels.numpy()),
            classes,
            None if row_weights is None else native(row_weights.numpy()),
            rows[1].numpy(),
            slopes.numpy(),
        )
        out._rows = rows
        ctx.by_margins = slopes
        return torch.scalar_tensor(out.risk, dtype=margins.dtype)

    @staticmethod
    def backward(ctx: Any, by_risk: Tensor):
        if torch.is_grad_enabled():
            raise RuntimeError(_SECOND_DERIVATIVE)
        return ctx.by_margins * by_risk, None, None, None, None, None
