"""The epoch chosen by observed validation labels: in a loop of one's own, under Lightning and under Hugging Face's Trainer.

Where labels are partly wrong, the last epoch has often learned some of them by heart. Accuracy on the *observed* labels of
validation rows tells without a clean label: it is highest before that.

``LightningBestEpoch`` and ``TrainerBestEpoch`` are made when they are asked for, from the framework's own ``Callback``;
importing this module imports neither framework.
"""

from __future__ import annotations

import copy
import importlib
import math
import sys
import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from ._loss import EnvelopeLoss

__all__ = ["BestEpoch", "LightningBestEpoch", "TrainerBestEpoch"]


class BestEpoch:
    """Keeps the weights of the best epoch by observed validation labels.

    >>> import torch
    >>> from cmrm.torch.callbacks import BestEpoch
    >>> model = torch.nn.Linear(1, 1)
    >>> best = BestEpoch(model)
    >>> for epoch, accuracy in enumerate([0.9, 0.7, 0.8, 0.8, 0.6]):
    ...     _ = torch.nn.init.constant_(model.weight, epoch)
    ...     _ = best.observe(epoch, accuracy, eligible=epoch > 0)
    >>> best.restore(), best.epoch, best.accuracy, model.weight.item()
    (True, 3, 0.8, 3.0)

    With an :class:`~cmrm.torch.EnvelopeLoss` pass ``eligible=loss.active``: epochs before the envelope is on do not count.
    Of equal epochs the later one is kept. The copy of the weights is in main memory.
    """

    epoch: int | float | None
    """The best epoch so far; ``None`` before the first that is eligible."""
    accuracy: float
    """Its accuracy on observed validation labels."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.epoch, self.accuracy = None, -math.inf
        self._weights: dict[str, Any] | None = None

    def observe(self, epoch: int | float, accuracy: float, *, eligible: bool = True) -> bool:
        """Keep the weights as they are now if no epoch was better. Returns whether they were kept."""
        accuracy = float(accuracy)
        # Never true for NaN.
        if not (eligible and accuracy >= self.accuracy):
            return False
        self.epoch, self.accuracy = epoch, accuracy
        self._weights = {name: _copied(value) for name, value in self.model.state_dict().items()}
        return True

    def restore(self) -> bool:
        """Load the weights of the best epoch. Returns whether there was one."""
        if self._weights is None:
            return False
        self.model.load_state_dict(self._weights)
        return True

    def state_dict(self) -> dict[str, Any]:
        """Epoch, accuracy and weights, to go on after a restart."""
        return {"epoch": self.epoch, "accuracy": self.accuracy, "weights": self._weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up what :meth:`state_dict` gave."""
        self.epoch, self.accuracy, self._weights = state["epoch"], state["accuracy"], state["weights"]


def _copied(value: Any) -> Any:
    return value.detach().to("cpu", copy=True) if isinstance(value, torch.Tensor) else copy.deepcopy(value)


class _Choice:
    """What both callbacks do: choose by ``monitor``, tell ``loss`` the epoch, restore at the end.

    ``best`` is the :class:`BestEpoch` of the last training, ``None`` before the first.
    """

    best: BestEpoch | None

    def __init__(self, loss: EnvelopeLoss | None, monitor: str) -> None:
        super().__init__()
        self.loss, self.monitor = loss, monitor
        self.best = None
        # Validation outside of a training, before or after it, chooses nothing.
        self._training = False
        self._resumed: dict[str, Any] | None = None

    def _begin(self, model: nn.Module) -> None:
        self.best, self._training = BestEpoch(model), True
        if self._resumed is not None:
            self.best.load_state_dict(self._resumed)
            self._resumed = None

    def _set_epoch(self, epoch: int, epochs: int | None) -> None:
        if self.loss is None:
            return
        if epochs is None or epochs < 1:
            raise ValueError("the number of epochs is not known, so nobody can say when the envelope starts: set max_epochs")
        self.loss.set_epoch(epoch, epochs)

    def _observe(self, epoch: int | float, metrics: Any, way_out: str) -> None:
        if not self._training or self.best is None:
            return
        if self.monitor not in metrics:
            known = ", ".join(sorted(metrics)) or "none"
            raise ValueError(f"there is no metric '{self.monitor}' to choose the epoch by (found: {known}); {way_out}")
        self.best.observe(epoch, float(metrics[self.monitor]), eligible=self.loss is None or self.loss.active)

    def _end(self) -> None:
        if self._training and self.best is not None and not self.best.restore():
            warnings.warn(
                "no epoch was validated with the envelope on, so the weights of the last epoch stay; "
                "train longer, start the envelope earlier, or validate every epoch",
                stacklevel=2,
            )
        self._training = False


class _Lightning(_Choice):
    """A callback for Lightning: ``Trainer(callbacks=[LightningBestEpoch(loss)])``.

    Restores the weights of the epoch with the highest ``monitor`` at the end of ``fit``, never of an epoch before the
    envelope is on, and of equal epochs the later one. Log the accuracy on observed validation labels under that name; on
    several devices with ``sync_dist=True``. ``loss`` is the :class:`~cmrm.torch.EnvelopeLoss`; its ``set_epoch`` is called.
    """

    def __init__(self, loss: EnvelopeLoss | None = None, monitor: str = "val_accuracy") -> None:
        super().__init__(loss, monitor)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        self._begin(pl_module)

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._set_epoch(trainer.current_epoch, trainer.max_epochs)

    # Not on_validation_epoch_end: what the module logs there is not among the metrics before.
    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.sanity_checking:
            way_out = f"call self.log('{self.monitor}', ...) in validation_step"
            self._observe(trainer.current_epoch, trainer.callback_metrics, way_out)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        self._end()

    def state_dict(self) -> dict[str, Any]:
        return {} if self.best is None else self.best.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        # Lightning restores callbacks before or after on_fit_start, depending on its version.
        if state_dict and self._training and self.best is not None:
            self.best.load_state_dict(state_dict)
        else:
            self._resumed = state_dict or None


class _Trainer(_Choice):
    """A callback for Hugging Face's Trainer: ``Trainer(callbacks=[TrainerBestEpoch(loss)])``.

    Restores the weights of the epoch with the highest ``monitor`` at the end of ``train``, never of an epoch before the
    envelope is on, and of equal epochs the later one. Needs ``eval_strategy="epoch"``, validation rows with observed labels
    and a ``compute_metrics`` that returns their accuracy. ``loss`` is the :class:`~cmrm.torch.EnvelopeLoss`; its
    ``set_epoch`` is called. What was chosen before a restart from a checkpoint is not remembered.
    """

    def __init__(self, loss: EnvelopeLoss | None = None, monitor: str = "eval_accuracy") -> None:
        super().__init__(loss, monitor)

    def on_train_begin(self, args: Any, state: Any, control: Any, *, model: Any, **kwargs: Any) -> None:
        self._begin(model)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        # With max_steps the state, and not the arguments, has the number of epochs.
        self._set_epoch(round(state.epoch or 0), math.ceil(state.num_train_epochs))

    def on_evaluate(self, args: Any, state: Any, control: Any, *, metrics: Any, **kwargs: Any) -> None:
        # At the end of the first epoch the Trainer says 1.
        epoch = max(0, math.ceil(state.epoch or 0) - 1)
        name = self.monitor.removeprefix("eval_")
        self._observe(epoch, metrics, f"let compute_metrics return {{'{name}': ...}}")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end()


# The frameworks' own classes, in the order in which they are looked for.
_MADE = {
    "LightningBestEpoch": (_Lightning, ("lightning.pytorch", "pytorch_lightning"), "Callback", "lightning"),
    "TrainerBestEpoch": (_Trainer, ("transformers",), "TrainerCallback", "'transformers[torch]'"),
}


def __getattr__(name: str) -> Any:
    if name not in _MADE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    hooks, modules, parent, package = _MADE[name]
    # Lightning has two names, and takes no callback of the other; whoever uses one has imported it.
    for module in sorted(modules, key=lambda module: module not in sys.modules):
        try:
            base = getattr(importlib.import_module(module), parent)
        except ModuleNotFoundError as error:
            if error.name != module.partition(".")[0]:
                raise
            continue
        made = type(name, (hooks, base), {"__doc__": hooks.__doc__, "__module__": __name__})
        globals()[name] = made
        return made
    raise ImportError(f"{name} needs {modules[0].partition('.')[0]}: pip install {package}")
