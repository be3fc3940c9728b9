"""What every rank of test_ranks.py does: DistributedDataParallel on its own rows, and all rows in one process."""

import sys

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from cmrm.torch import EnvelopeLoss

CASES = {
    "robust": {},
    "paper": {"preset": "paper"},
    "authors": {"preset": "authors"},
    "authors, ldam": {"preset": "authors", "base": "ldam", "class_counts": [30, 20, 10, 5]},
    "a loss of one's own": {"base": lambda z, y: cross_entropy(z, y, reduction="none", label_smoothing=0.1)},
    "interpolated by class": {"quantile": "interpolated", "normaliser": "weights", "base": "gce"},
    "hard": {"filter": "hard", "normaliser": "weights", "ceiling": float("inf")},
    "base alone": {"start": 1},
}


def largest_difference(rank, ranks, sizes, weighted, settings):
    settings = {"start": 0, **settings}
    generator = torch.Generator().manual_seed(sum(sizes))
    x = torch.randn(sum(sizes), 6, dtype=torch.float64, generator=generator)
    labels = (x[:, :4].argmax(1) + (torch.rand(len(x), generator=generator) < 0.3)) % 4
    weights = torch.rand(len(x), dtype=torch.float64, generator=generator) if weighted else None
    own = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))

    torch.manual_seed(5)
    alone = torch.nn.Linear(6, 4).double()
    shared = torch.nn.Linear(6, 4).double()
    shared.load_state_dict(alone.state_dict())
    shared = DistributedDataParallel(shared)
    losses = EnvelopeLoss(**settings, sync_quantile=True), EnvelopeLoss(**settings)
    [loss.set_epoch(0, 2) for loss in losses]

    total = losses[0](shared(x[own]), labels[own], weights if weights is None else weights[own])
    total.backward()
    joint = losses[1](alone(x), labels, weights)
    joint.backward()
    pairs = [(total, joint), *((a.grad, b.grad) for a, b in zip(shared.parameters(), alone.parameters(), strict=True))]
    mine, all_rows = losses[0].last, losses[1].last
    pairs += [(mine.margins, all_rows.margins[own]), (mine.weights, all_rows.weights[own])]
    pairs += [(torch.tensor(float(getattr(mine, name) or 0)), torch.tensor(float(getattr(all_rows, name) or 0))) for name in ["tau", "base", "risk"]]
    return max((a - b).abs().max().item() for a, b in pairs if a.numel())


def main():
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    batches = [[32] * ranks, [40, 11, 3][:ranks], [1] * ranks, [0, 30, 9][:ranks]]
    for name, settings in CASES.items():
        for sizes in batches:
            for weighted in [False, True]:
                worst = largest_difference(rank, ranks, sizes, weighted, settings)
                if rank == 0:
                    print(f"{name}\t{sizes}\t{weighted}\t{worst}")
                if not worst <= 1e-12:
                    sys.exit(f"rank {rank}: {name}, batches of {sizes}, row weights {weighted}: {worst}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
