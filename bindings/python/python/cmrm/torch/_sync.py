"""One batch over all ranks of ``torch.distributed``."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


def is_distributed(group: Any) -> bool:
    """Whether there is more than one rank to agree with."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size(group) > 1


@torch.compiler.disable
def joint(columns: list[Tensor], group: Any) -> tuple[list[Tensor], slice, int]:
    """The rows of all ranks, this rank's own with their gradients; where these stand, and the number of ranks.

    One number a row and column travels, never a row of logits. Ranks may have batches of different sizes, none among
    them. Numbers travel in double precision, which holds labels and single precision exactly.
    """
    own = torch.stack([column.detach().double() for column in columns], dim=1)
    ranks, rank = dist.get_world_size(group), dist.get_rank(group)
    size = torch.tensor([own.shape[0]], device=own.device)
    sizes = [torch.zeros_like(size) for _ in range(ranks)]
    dist.all_gather(sizes, size, group=group)
    counts = [int(count) for count in torch.cat(sizes).tolist()]
    padded = own.new_zeros((max(counts), own.shape[1]))
    padded[: own.shape[0]] = own
    gathered = [torch.empty_like(padded) for _ in range(ranks)]
    dist.all_gather(gathered, padded, group=group)
    before = torch.cat([rows[:count] for rows, count in zip(gathered[:rank], counts)] or [own[:0]])
    after = torch.cat([rows[:count] for rows, count in zip(gathered[rank + 1 :], counts[rank + 1 :])] or [own[:0]])
    whole = [
        torch.cat([before[:, index].to(column.dtype), column, after[:, index].to(column.dtype)])
        for index, column in enumerate(columns)
    ]
    start = before.shape[0]
    return whole, slice(start, start + own.shape[0]), ranks
