from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .._native import EnvelopeKernel
from . import _fused, _rows, _settings, _sync, _tensor
from ._memory import RowMemory


class Last:
    """Values of the last call, without gradients; ``float()`` converts the scalars.

    ``tau``: the threshold (its mean over rows if classes have their own), ``None`` while the envelope is off.
    ``base``, ``risk``: the mean base loss (by the filter's weights, if it acts on the base loss), and the envelope's term
    before it is multiplied by λ.
    ``lam``: λ as it counted, after fade and limit; 0 while the envelope is off.
    ``margins``, ``weights``: one number per row of this process's batch. The weights are those of the base loss if the
    filter acts on it, otherwise those of the risk.
    """

    __slots__ = ("_rows", "base", "lam", "risk", "tau")

    tau: float | Tensor | None
    base: float | Tensor
    risk: float | Tensor
    lam: float | Tensor
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

    With row numbers, a running margin for every row of the training set judges its label:

    >>> loss = EnvelopeLoss(filter_base=True, running=0.7, limit=1.0, fade=(-0.3, 0.1), start=0, rows=5)
    >>> total = loss(logits, torch.tensor([0, 2]), index=torch.tensor([3, 0]))
    >>> loss.running_margins.values
    tensor([-0.4515,     nan,     nan,  0.6103,     nan])

    ``base`` is a name that ``cmrm methods`` lists (``"cross_entropy"``, ``"gce"``, ``"elr"``, ``"forward"`` …, with its parameter as in
    ``"focal:1"``), a dictionary as in configuration files
    (``{"name": "ldam", "scale": 20}``), or any callable from ``(logits, labels)`` to one loss per row, each from its own
    logits alone. ELR remembers the predictions for each row, so it needs ``index``, see below. LDAM needs ``class_counts``
    of the observed training labels and the logits of a cosine classifier, which it multiplies by its scale; CORES needs
    ``class_counts`` too. The forward and the backward correction need ``transition``, whose entry ``[i][j]`` is the probability that a
    row of class i is observed as j.

    ``preset`` is ``"robust"``, ``"paper"`` or ``"authors"``; every other setting overrides the preset's:

    - ``lam``: weight of the risk; ``alpha``: share of the margins below the threshold; ``temperature``: width of the
      filter
    - ``margin``: ``"probability"``, ``"logit"`` or ``"loss"``; ``quantile``: ``"conformal"`` or ``"interpolated"``
    - ``normaliser``: ``"mean"`` or ``"weights"``; ``filter``: ``"soft"``, ``"hard"`` or ``"off"``
    - ``scope``: ``"batch"`` or ``"class"``; ``scale``: ``"fixed"`` or ``"doubt"``
    - ``ceiling``: upper limit of the threshold; infinity for none
    - ``filter_base``: whether the filter's weights multiply the base loss too, so that it does not learn wrong labels by heart
    - ``running``: β in [0, 1) of the running margins ``M̄ ← β·M̄ + (1−β)·M`` that this filter reads, kept per row over
      the epochs; pass the rows' numbers as ``index`` for it
    - ``limit``: ρ; λ is lowered until the risk's gradient by the logits is at most ρ times the base loss's (sums of absolute
      values over the batch)
    - ``fade``: a pair ``(margin, share)``: the envelope withdraws as far as fewer rows than this share have a margin below
      this one, and is off where none has. ``False`` takes a preset's ``running``, ``limit`` or ``fade`` away.
    - ``start``: the first epoch with the envelope (an integer), or the share of all epochs before it (a float). Call
      :meth:`set_epoch` at the start of each epoch; without it the envelope is always on.
      The ``{"onset": gap}`` of configuration files needs held-back rows, which a loss does not have: here it means a tenth of the
      epochs.

    ``rows``: the number of training rows that ``index`` counts. Without it the memory grows as larger numbers appear, which
    ``torch.compile`` does not allow and for which a GPU has to wait. ``running_margins.values`` holds the running margins
    (NaN for rows not met yet). They are part of ``state_dict`` and change only in training mode with gradients enabled;
    otherwise the batch's own margins are used, as for calls without ``index``.

    ``sync_quantile``: compute quantile, weights and mean over the joint batch of all ranks of ``torch.distributed`` (or
    of ``process_group``). Every rank returns the value of the joint batch; gradients are correct once averaged over
    ranks, as DistributedDataParallel does. Every rank must call the loss equally often, with ``index`` or without. Running
    margins then are the same on every rank. Without it each rank remembers its own rows until :meth:`synchronise`, which
    :meth:`set_epoch` calls.

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
        filter_base: bool | None = None,
        running: float | Literal[False] | None = None,
        limit: float | Literal[False] | None = None,
        fade: tuple[float, float] | dict[str, float] | Literal[False] | None = None,
        start: int | float | None = None,
        rows: int | None = None,
        class_counts: Sequence[float] | None = None,
        transition: Sequence[Sequence[float]] | Tensor | None = None,
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
            "filter_base": None if filter_base is None else bool(filter_base),
            "start": _settings.start(start),
        }
        overrides = {name: _settings.plain(name, value) for name, value in overrides.items() if value is not None}
        if ceiling is not None:
            overrides["ceiling"] = None if ceiling == math.inf else _settings.plain("ceiling", ceiling)
        for name, value in [("running", running), ("limit", limit), ("fade", _settings.fade(fade))]:
            if value is not None:
                # False takes a preset's setting away.
                overrides[name] = None if value is False else _settings.plain(name, value)
        counts = [] if class_counts is None else [float(count) for count in class_counts]
        named = None if callable(base) else json.dumps(base)
        matrix = None if transition is None else [[float(number) for number in row] for row in transition]
        self._kernel = EnvelopeKernel(named, counts, preset, json.dumps(overrides), matrix)
        loss, envelope = (json.loads(settings) for settings in self._kernel.settings())
        self.base = base if callable(base) else loss
        self.config: dict[str, Any] = envelope
        """The resolved settings, under the names of configuration files."""
        constants = self._kernel.constants()
        numbers = None if constants is None else torch.tensor(constants, dtype=torch.float64)
        if numbers is not None and self.base["name"] in ("forward", "backward"):
            numbers = numbers.reshape(len(matrix or []), -1)
        # Moves with the module, and is no state: it follows from the settings.
        self.register_buffer("_constants", numbers, persistent=False)
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise ValueError(f"rows = {rows!r} is out of range: expected the number of training rows, at least 1")
        self.running_margins = None if envelope["running"] is None else RowMemory("running margins", rows, math.nan)
        remembers = isinstance(self.base, dict) and self.base["name"] == "elr"
        self.elr_targets = RowMemory("ELR's targets", rows, 0.0, columns=True) if remembers else None
        # The kernel cannot weigh a loss of the user's own, and does not know its gradient.
        filters = envelope["filter_base"] or any(envelope[name] is not None for name in ("limit", "fade"))
        self._tensors_only = backend == "tensor" or (callable(base) and filters)
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
        create a new optimiser then. If rows are remembered, this is also where ranks share what they have learned
        (:meth:`synchronise`), so every rank must call it.
        """
        self.synchronise()
        first = self._kernel.first_epoch(epochs)
        self.active = epoch >= first
        self._silent = True
        return epoch == first

    def synchronise(self) -> None:
        """Give every rank of ``torch.distributed`` what the others remember of their rows; every rank must call it."""
        if _sync.is_distributed(self.process_group):
            # With a joint batch every rank has met every row.
            if self.running_margins is not None and not self.sync_quantile:
                self.running_margins.synchronise(self.process_group)
            if self.elr_targets is not None:
                self.elr_targets.synchronise(self.process_group)

    def extra_repr(self) -> str:
        base = self.base["name"] if isinstance(self.base, dict) else "custom"
        settings = ", ".join(f"{name}={value!r}" for name, value in self.config.items() if name != "fresh_optimiser")
        return f"base={base}, {settings}, sync_quantile={self.sync_quantile}"

    def forward(
        self, logits: Tensor, labels: Tensor, row_weights: Tensor | None = None, index: Tensor | None = None
    ) -> Tensor:
        """The total of a batch: ``logits`` of shape (rows, classes), ``labels`` class indices, optional row weights.

        ``index`` names each row by its number in the training set, so that the loss knows it again in the next epoch.
        """
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
        if index is not None:
            index = _row_numbers(index, labels)
            if not (self.training and torch.is_grad_enabled()):
                index = None
        if (
            self._tensors_only
            or self.sync_quantile
            or not (logits.is_cpu and labels.is_cpu)
            or torch.compiler.is_compiling()
        ):
            if self.backend == "auto" and logits.is_cpu and not (self.sync_quantile or torch.compiler.is_compiling()):
                self._check_numbers(logits, labels, row_weights)
            return self._on_tensors(logits, labels, row_weights, index)
        last = Last()
        logits, labels = logits.contiguous(), labels.contiguous()
        if row_weights is not None:
            row_weights = row_weights.contiguous()
        if isinstance(self.base, dict):
            total = self._fused(logits, labels, row_weights, index, last)
        else:
            total = self._around(self.base, logits, labels, row_weights, index, last)
        # A module looks at everything that is set on it, which takes longer than the kernel.
        self.__dict__["last"] = last
        return total

    def _fused(
        self, logits: Tensor, labels: Tensor, row_weights: Tensor | None, index: Tensor | None, last: Last
    ) -> Tensor:
        """The kernel's total; it gets and gives back what is remembered of the batch's rows alone."""
        memories = (None, None) if index is None else (self.running_margins, self.elr_targets)
        # A margin a row, a row of probabilities a row.
        likes = logits.detach()[:, 0], logits.detach()
        entries = [None if memory is None else memory.read(index, like) for memory, like in zip(memories, likes)]
        arrays = [None if each is None else each.numpy() for each in entries]
        total = _fused.Total.apply(logits, labels, row_weights, self._kernel, self.active, arrays, last)
        for memory, each in zip(memories, entries):
            if memory is not None:
                memory.write(index, each)
        return total

    def _check_numbers(self, logits: Tensor, labels: Tensor, row_weights: Tensor | None) -> None:
        """Where the kernel could work, what it refuses is refused, in its words."""
        fine = logits.isfinite().all() & (labels >= 0).all() & (labels < logits.shape[1]).all()
        if row_weights is not None:
            fine = fine & row_weights.isfinite().all() & (row_weights >= 0).all() & (row_weights.sum() > 0)
        if not fine:
            self._fused(logits.detach().contiguous(), labels.contiguous(), row_weights, None, Last())

    def _around(
        self, base: Any, logits: Tensor, labels: Tensor, row_weights: Tensor | None, index: Tensor | None, last: Last
    ) -> Tensor:
        """The kernel's risk around a base loss of the user's own."""
        losses = base(logits, labels)
        _rows.check_rows(losses, labels)
        if self.active and self.config["margin"] == "loss":
            margins = -losses.to(logits.dtype)
            risk = _fused.Risk.apply(margins, labels, row_weights, logits.shape[1], self._kernel, last)
            last.lam = self.config["lambda"]
            risk = risk * last.lam
        else:
            risk = self._fused(logits, labels, row_weights, index, last)
        mean = _tensor.mean(losses, row_weights)
        last.base = mean.detach()
        return mean + risk

    def _on_tensors(self, logits: Tensor, labels: Tensor, row_weights: Tensor | None, index: Tensor | None) -> Tensor:
        shared = self.sync_quantile and _sync.is_distributed(self.process_group)
        classes = logits.shape[1]
        _check_shapes(logits, labels, row_weights, shared)
        config, margin = self.config, self.config["margin"] if self.active else "probability"
        targets = self._targets(logits, index)
        losses, margins = _rows.rows_of(self.base, self._constants, margin, logits, labels, targets)
        sizes: tuple[Tensor, ...] = ()
        if self.active and config["limit"] is not None:
            sizes = _rows.gradient_sizes(self.base, self._constants, margin, logits, labels, targets, losses)
        if self.running_margins is None:
            index = None
        own, ranks = slice(None), 1
        if shared:
            columns = [losses, margins, labels, torch.ones_like(margins) if row_weights is None else row_weights, *sizes]
            columns, own, ranks = _sync.joint(columns if index is None else [*columns, index], self.process_group)
            losses, margins, labels, row_weights = columns[:4]
            sizes = tuple(columns[4 : 4 + len(sizes)])
            index = None if index is None else columns[-1]
        running = margins if index is None else self._averaged(margins.detach(), index)
        last = Last()
        if self.active:
            step = _tensor.evaluate(config, _tensor.Batch(losses, margins, running, labels, row_weights, classes, sizes))
            total, weights = step.base + step.lam * step.risk, step.weights
            last.base, last.risk, last.lam, last.tau = step.base.detach(), step.risk.detach(), step.lam, step.tau
        else:
            total = _tensor.mean(losses, row_weights)
            last.base, last.tau, weights = total.detach(), None, torch.ones_like(margins)
            last.risk, last.lam = torch.zeros_like(last.base), 0.0
        last._rows = (margins.detach()[own], weights.detach()[own])
        self.last = last
        # Gradients are averaged over ranks: each rank's share counts that many times. The value is everyone's.
        return total.detach() + ranks * (total - total.detach()) if shared else total

    def _averaged(self, margins: Tensor, index: Tensor) -> Tensor:
        """The running margins of the rows, which take in these."""
        memory, beta = self.running_margins, self.config["running"]
        old = memory.read(index, margins)
        new = torch.where(old.isnan(), margins, beta * old + (1 - beta) * margins)
        memory.write(index, new)
        return new

    def _targets(self, logits: Tensor, index: Tensor | None) -> Tensor | None:
        """ELR's targets, which take in the predictions for the rows; without ``index`` these are the targets."""
        if self.elr_targets is None:
            return None
        own = _rows.elr_targets(logits)
        if index is None:
            return own
        beta = self.base["beta"]
        new = beta * self.elr_targets.read(index, own) + (1 - beta) * own
        self.elr_targets.write(index, new)
        return new

    def _warn(self) -> None:
        self._silent = True
        if self.training and not torch.compiler.is_compiling():
            warnings.warn(
                f"this envelope starts at {self.config['start']}, but set_epoch was not called, so it is on from the first step",
                stacklevel=3,
            )


def _wide(logits: Tensor) -> Tensor:
    if not logits.is_floating_point():
        raise TypeError(f"logits must be floating-point numbers, not {logits.dtype}")
    return logits.float()


def _indices(labels: Tensor) -> Tensor:
    if labels.is_floating_point() or labels.is_complex() or labels.dtype is torch.bool:
        raise TypeError(f"labels must be class indices (integers), not {labels.dtype}")
    return labels.long()


def _row_numbers(index: Tensor, labels: Tensor) -> Tensor:
    if index.is_floating_point() or index.is_complex() or index.dtype is torch.bool:
        raise TypeError(f"index must be row numbers (integers), not {index.dtype}")
    if index.shape != labels.shape:
        raise ValueError(f"index against rows: expected shape {tuple(labels.shape)}, found {tuple(index.shape)}")
    return index.to(labels.device, torch.int64, non_blocking=True)


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
