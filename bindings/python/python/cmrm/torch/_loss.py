from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .._native import EnvelopeKernel
from . import _fused, _sync, _tensor


class Last:
    """Values of the last call, without gradients; ``float()`` converts the scalars.

    ``tau``: the threshold (its mean over rows if classes have their own), ``None`` while the envelope is off.
    ``base``, ``risk``: the mean base loss, and the envelope's term before it is multiplied by λ.
    ``margins``, ``weights``: one number per row of this process's batch.
    """

    __slots__ = ("_rows", "base", "risk", "tau")

    tau: float | Tensor | None
    base: float | Tensor
    risk: float | Tensor
    _rows: Sequence[Tensor]

    @property
    def margins(self) -> Tensor:
        return self._rows[0]

    @property
    def weights(self) -> Tensor:
        return self._rows[1]


class EnvelopeLoss(nn.Module):
    """A base loss with the envelope: its mean over the batch plus λ times the conformal margin risk.

    >>> import torch
    >>> from cmrm.torch import EnvelopeLoss
    >>> loss = EnvelopeLoss("cross_entropy", preset="paper")
    >>> logits = torch.tensor([[2.0, 0.5, -1.0], [0.1, 1.5, 0.3]], requires_grad=True)
    >>> total = loss(logits, torch.tensor([0, 2]))
    >>> total.backward()
    >>> round(total.item(), 4), round(float(loss.last.tau), 4), loss.last.weights.shape
    (0.9277, -0.4515, torch.Size([2]))

    ``base`` is a name (``"cross_entropy"``, ``"focal"``, ``"gce"``, ``"ldam"``, ``"hinge"``, ``"logistic"``, with its
    parameter as in ``"focal:1"``), a dictionary as in configuration files (``{"name": "ldam", "scale": 20}``), or any
    callable from ``(logits, labels)`` to one loss per row. LDAM needs ``class_counts`` of the observed
    training labels and the logits of a cosine classifier, which it multiplies by its scale.

    ``preset`` is ``"robust"``, ``"paper"`` or ``"authors"``; every other setting overrides the preset's:

    - ``lam``: weight of the risk; ``alpha``: share of the margins below the threshold; ``temperature``: width of the
      filter
    - ``margin``: ``"probability"``, ``"logit"`` or ``"loss"``; ``quantile``: ``"conformal"`` or ``"interpolated"``
    - ``normaliser``: ``"mean"`` or ``"weights"``; ``filter``: ``"soft"``, ``"hard"`` or ``"off"``
    - ``scope``: ``"batch"`` or ``"class"``; ``scale``: ``"fixed"`` or ``"doubt"``
    - ``ceiling``: upper limit of the threshold; infinity for none
    - ``start``: the first epoch with the envelope (an integer), or the share of all epochs before it (a float). Call
      :meth:`set_epoch` at the start of each epoch; without it the envelope is always on.

    ``sync_quantile``: compute quantile, weights and mean over the joint batch of all ranks of ``torch.distributed`` (or
    of ``process_group``). Every rank returns the value of the joint batch; gradients are correct once averaged over
    ranks, as DistributedDataParallel does. Every rank must call the loss equally often.

    ``backend``: ``"auto"`` uses the fused kernel for logits on the CPU, and tensor operations on other devices, under
    ``torch.compile`` and across ranks; ``"tensor"`` always uses tensor operations, which can be differentiated twice.
    """

    last: Last | None
    """Values of the last call, for logging; ``None`` before the first."""

    def __init__(
        self,
        base: str | dict[str, Any] | Callable[[Tensor, Tensor], Tensor] = "cross_entropy",
        *,
        preset: str = "robust",
        lam: float | None = None,
        alpha: float | None = None,
        temperature: float | None = None,
        margin: str | None = None,
        quantile: str | None = None,
        normaliser: str | None = None,
        filter: str | None = None,
        scope: str | None = None,
        ceiling: float | None = None,
        scale: str | None = None,
        start: int | float | None = None,
        class_counts: Sequence[float] | None = None,
        sync_quantile: bool = False,
        process_group: Any = None,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        if backend not in ("auto", "tensor"):
            raise ValueError(f"unknown backend '{backend}': expected auto or tensor")
        if not (callable(base) or isinstance(base, (str, dict))):
            raise TypeError(f"base must be a name, a dictionary or a callable, not {type(base).__name__}")
        overrides = {
            "lambda": lam,
            "alpha": alpha,
            "temperature": temperature,
            "margin": margin,
            "quantile": quantile,
            "normaliser": normaliser,
            "filter": filter,
            "scope": scope,
            "scale": scale,
            "start": _start(start),
        }
        overrides = {name: _plain(name, value) for name, value in overrides.items() if value is not None}
        if ceiling is not None:
            overrides["ceiling"] = None if ceiling == math.inf else _plain("ceiling", ceiling)
        counts = [] if class_counts is None else [float(count) for count in class_counts]
        named = None if callable(base) else json.dumps(base)
        self._kernel = EnvelopeKernel(named, counts, preset, json.dumps(overrides))
        loss, envelope = (json.loads(settings) for settings in self._kernel.settings())
        self.base = base if callable(base) else loss
        self.config: dict[str, Any] = envelope
        """The resolved settings, under the names of configuration files."""
        offsets = self._kernel.offsets()
        # Moves with the module, and is no state: it follows from the settings.
        self.register_buffer("_offsets", None if offsets is None else torch.tensor(offsets, dtype=torch.float64), persistent=False)
        self.sync_quantile = sync_quantile
        self.process_group = process_group
        self.backend = backend
        self.active = True
        """Whether the envelope is on; :meth:`set_epoch` decides."""
        self.last = None
        self._silent = envelope["start"] in ({"epoch": 0}, {"fraction": 0.0})

    def set_epoch(self, epoch: int, epochs: int) -> bool:
        """Switch the envelope on or off for an epoch, counted from zero, of ``epochs``.

        Returns whether the envelope starts in this epoch. With ``config["fresh_optimiser"]`` (preset ``authors``),
        create a new optimiser then.
        """
        first = self._kernel.first_epoch(epochs)
        self.active = epoch >= first
        self._silent = True
        return epoch == first

    def extra_repr(self) -> str:
        base = self.base["name"] if isinstance(self.base, dict) else "custom"
        settings = ", ".join(f"{name}={value!r}" for name, value in self.config.items() if name != "fresh_optimiser")
        return f"base={base}, {settings}, sync_quantile={self.sync_quantile}"

    def forward(self, logits: Tensor, labels: Tensor, row_weights: Tensor | None = None) -> Tensor:
        """The total of a batch: ``logits`` of shape (rows, classes), ``labels`` class indices, optional row weights."""
        if not self._silent:
            self._warn()
        if logits.dtype is not torch.float32 and logits.dtype is not torch.float64:
            logits = _wide(logits)
        if labels.dtype is not torch.int64:
            labels = _indices(labels)
        if row_weights is not None:
            row_weights = row_weights.detach().to(logits)
        if logits.dim() != 2 or labels.dim() != 1:
            raise ValueError(
                f"expected logits of shape (rows, classes) and labels of shape (rows,), "
                f"found {tuple(logits.shape)} and {tuple(labels.shape)}"
            )
        if (
            self.backend == "tensor"
            or self.sync_quantile
            or not (logits.is_cpu and labels.is_cpu)
            or torch.compiler.is_compiling()
        ):
            return self._on_tensors(logits, labels, row_weights)
        last = Last()
        logits, labels = logits.contiguous(), labels.contiguous()
        if row_weights is not None:
            row_weights = row_weights.contiguous()
        if isinstance(self.base, dict):
            total = _fused.Total.apply(logits, labels, row_weights, self._kernel, self.active, last)
        else:
            total = self._around(self.base, logits, labels, row_weights, last)
        # A module looks at everything that is set on it, which takes longer than the kernel.
        self.__dict__["last"] = last
        return total

    def _around(self, base: Any, logits: Tensor, labels: Tensor, row_weights: Tensor | None, last: Last) -> Tensor:
        """The kernel's risk around a base loss of the user's own."""
        losses = base(logits, labels)
        _tensor.check_rows(losses, labels)
        if self.active and self.config["margin"] == "loss":
            margins = -losses.to(logits.dtype)
            risk = _fused.Risk.apply(margins, labels, row_weights, logits.shape[1], self._kernel, last)
            risk = risk * self.config["lambda"]
        else:
            risk = _fused.Total.apply(logits, labels, row_weights, self._kernel, self.active, last)
        mean = _tensor.mean(losses, row_weights)
        last.base = mean.detach()
        return mean + risk

    def _on_tensors(self, logits: Tensor, labels: Tensor, row_weights: Tensor | None) -> Tensor:
        shared = self.sync_quantile and _sync.is_distributed(self.process_group)
        classes = logits.shape[1]
        _check_shapes(logits, labels, row_weights, shared)
        margin = self.config["margin"] if self.active else "probability"
        losses, margins = _tensor.rows_of(self.base, self._offsets, margin, logits, labels)
        own, ranks = slice(None), 1
        if shared:
            columns = [losses, margins, labels, torch.ones_like(margins) if row_weights is None else row_weights]
            (losses, margins, labels, row_weights), own, ranks = _sync.joint(columns, self.process_group)
        last = Last()
        total = _tensor.mean(losses, row_weights)
        last.base = total.detach()
        if self.active:
            tau, weights, risk = _tensor.couple(self.config, margins, labels, row_weights, classes)
            last.tau, last.risk = tau, risk.detach()
            total = total + self.config["lambda"] * risk
        else:
            last.tau, last.risk, weights = None, torch.zeros_like(last.base), torch.ones_like(margins)
        last._rows = (margins.detach()[own], weights.detach()[own])
        self.last = last
        # Gradients are averaged over ranks: each rank's share counts that many times. The value is everyone's.
        return total.detach() + ranks * (total - total.detach()) if shared else total

    def _warn(self) -> None:
        self._silent = True
        if self.training and not torch.compiler.is_compiling():
            warnings.warn(
                f"this envelope starts at {self.config['start']}, but set_epoch was not called, so it is on from the first step",
                stacklevel=3,
            )


def _start(start: Any) -> dict[str, Any] | None:
    if start is None or isinstance(start, dict):
        return start
    if isinstance(start, bool) or not isinstance(start, (int, float)):
        raise TypeError(f"start must be an epoch (an integer) or a share of the epochs (a float), not {type(start).__name__}")
    return {"epoch": start} if isinstance(start, int) else {"fraction": start}


def _plain(name: str, value: Any) -> Any:
    """A setting as JSON can hold it; the library checks its range."""
    if isinstance(value, (str, dict)):
        return value
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} = {number} is out of range: expected a finite number")
    return number


def _wide(logits: Tensor) -> Tensor:
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating-point numbers, not {logits.dtype}")
    return logits.float()


def _indices(labels: Tensor) -> Tensor:
    if labels.is_floating_point() or labels.is_complex() or labels.dtype is torch.bool:
        raise TypeError(f"labels must be class indices (integers), not {labels.dtype}")
    return labels.long()


def _check_shapes(logits: Tensor, labels: Tensor, row_weights: Tensor | None, shared: bool) -> None:
    """What can be seen without looking at a number, in the library's words."""
    rows, classes = logits.shape
    # Another rank may have rows, and would wait for this one.
    if rows == 0 and not shared:
        raise ValueError("the batch is empty; at least one row is needed")
    if classes < 2:
        raise ValueError(f"classes = {classes} is out of range: expected at least two classes")
    if labels.shape[0] != rows:
        raise ValueError(f"labels against rows of logits: expected {rows}, found {labels.shape[0]}")
    if row_weights is not None and row_weights.shape != labels.shape:
        raise ValueError(f"row weights against rows: expected {rows}, found {tuple(row_weights.shape)}")
