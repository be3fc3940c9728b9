"""What a loss remembers of every training row from one epoch to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


class RowMemory(nn.Module):
    """One number, or one row of numbers, for every row of a training set.

    It moves and is saved with its module, and is no buffer: DistributedDataParallel would overwrite the buffers of every rank
    with those of the first before each step.

    ``rows`` fixes the number of rows; without it the memory grows with the largest row number it is given.
    """

    values: Tensor
    """One entry per row; rows that have not been met have the value ``unmet``."""

    def __init__(self, name: str, rows: int | None, unmet: float, columns: bool = False) -> None:
        super().__init__()
        self.name, self.rows, self.unmet = name, rows, unmet
        # The number of columns is known once there is a batch.
        self.values = torch.full((rows or 0, 0) if columns else (rows or 0,), unmet)
        # As it was when all ranks had the same, if they ever had but at the start.
        self._common: Tensor | None = None

    def read(self, index: Tensor, like: Tensor) -> Tensor:
        """The entries of the rows ``index``, on the device and of the type of ``like``, which has as many."""
        values = self.values
        # Single precision holds what single precision measures; on a card the memory belongs there.
        if values.device != like.device or (values.dtype is not torch.float64 and like.dtype is torch.float64):
            values = values.to(like.device, torch.promote_types(values.dtype, like.dtype))
        needed = self._rows_for(index)
        if needed != values.shape[0] or values.shape[1:] != like.shape[1:]:
            values = self._resized(values, (needed, *like.shape[1:]))
        if values is not self.values:
            self.values = values
        return values[index].to(like.dtype)

    def write(self, index: Tensor, new: Tensor) -> None:
        """Replaces entries. Of a row that is named twice the last entry counts, on every device and every rank."""
        order = index.argsort(stable=True)
        latest = order[torch.searchsorted(index[order], index, right=True) - 1]
        with torch.no_grad():
            self.values[index] = new.detach()[latest].to(self.values.dtype)

    def _rows_for(self, index: Tensor) -> int:
        held = self.values.shape[0]
        if torch.compiler.is_compiling():
            if held == 0:
                raise RuntimeError(
                    "under torch.compile the number of training rows must be known: EnvelopeLoss(..., rows=len(dataset))"
                )
            return held
        # A look at the numbers waits for the card. With a given number of rows it checks them itself.
        if index.numel() == 0 or (self.rows is not None and not index.is_cpu):
            return held
        low, high = torch.stack(index.aminmax()).tolist()
        wrong = low if low < 0 else high
        if low < 0 or (self.rows is not None and high >= held):
            limit = f" to {held - 1}, as rows={self.rows} says" if self.rows is not None else " on"
            raise ValueError(f"index {wrong} is out of range: expected row numbers of the training set, from 0{limit}")
        return max(held, int(high) + 1)

    def _resized(self, values: Tensor, shape: tuple[int, ...]) -> Tensor:
        if values.numel() and values.shape[1:] != shape[1:]:
            raise ValueError(f"{self.name} are held for {values.shape[1]} classes, but the logits have {shape[1]}")
        grown = values.new_full(shape, self.unmet)
        if values.numel():
            grown[: values.shape[0]] = values
        return grown

    @torch.no_grad()
    def synchronise(self, group: Any) -> None:
        """Gives every rank what any of them has learned since the last time; every rank must call it.

        Ranks that have met the same row share the mean of theirs.
        """
        device = torch.device("cuda") if dist.get_backend(group) == "nccl" else torch.device("cpu")
        shape = torch.tensor(self.values.shape, device=device)
        dist.all_reduce(shape, dist.ReduceOp.MAX, group=group)
        whole = tuple(shape.tolist())
        values = self._resized(self.values, whole).to(device, torch.float64)
        common = self._resized(self.values[:0] if self._common is None else self._common, whole).to(values)
        learned = ~((values == common) | (values.isnan() & common.isnan()))
        total, count = torch.where(learned, values, 0), learned.double()
        dist.all_reduce(total, group=group)
        dist.all_reduce(count, group=group)
        merged = torch.where(count > 0, total / count, common)
        self.values = merged.to(self.values)
        self._common = self.values.clone()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> RowMemory:
        super()._apply(fn, recurse)
        for name in ("values", "_common"):
            old = getattr(self, name)
            if old is not None:
                new = fn(old)
                # A mean over epochs does not gain by half precision.
                keep = new.dtype in (torch.float32, torch.float64)
                setattr(self, name, new if keep else old.to(new.device))
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # A loss that remembers nothing adds nothing to the weights of the model that holds it.
        if self.values.numel():
            destination[prefix + "values"] = self.values if keep_vars else self.values.detach()

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        loaded = state_dict.get(prefix + "values")
        # A state from before: no row has been met.
        if loaded is None:
            self.values = torch.full_like(self.values, self.unmet)
        elif not isinstance(loaded, Tensor) or loaded.dim() != self.values.dim():
            found = tuple(loaded.shape) if isinstance(loaded, Tensor) else type(loaded).__name__
            error_msgs.append(f"{prefix}values: expected a tensor of {self.values.dim()} dimensions, found {found}")
            return
        else:
            rows = max(loaded.shape[0], self.rows or 0)
            self.values = self._resized(loaded.to(self.values).clone(), (rows, *loaded.shape[1:]))
        self._common = self.values.clone()
