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
    "filtered": {"filter_base": True, "running": 0.7, "limit": 0.5, "fade": (-0.3, 0.9)},
    "filtered, one's own": {"filter_base": True, "running": 0.7, "limit": 0.5, "base": lambda z, y: (1 + cross_entropy(z, y, reduction="none")).log()},
    "running, before the start": {"filter_base": True, "running": 0.7, "start": 1},
}


def largest_difference(rank, ranks, sizes, weighted, settings):
    settings = {"start": 0, **settings}
    generator = torch.Generator().manual_seed(sum(sizes))
    x = torch.randn(sum(sizes), 6, dtype=torch.float64, generator=generator)
    labels = (x[:, :4].argmax(1) + (torch.rand(len(x), generator=generator) < 0.3)) % 4
    weights = torch.rand(len(x), dtype=torch.float64, generator=generator) if weighted else None
    own = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
    index = torch.randperm(len(x), generator=generator)

    torch.manual_seed(5)
    alone = torch.nn.Linear(6, 4).double()
    shared = torch.nn.Linear(6, 4).double()
    shared.load_state_dict(alone.state_dict())
    shared = DistributedDataParallel(shared)
    losses = EnvelopeLoss(**settings, sync_quantile=True), EnvelopeLoss(**settings)
    [loss.set_epoch(0, 2) for loss in losses]

    # Rows that have been met before.
    losses[0](x[own, :4], labels[own], index=index[own])
    losses[1](x[:, :4], labels, index=index)
    total = losses[0](shared(x[own]), labels[own], weights if weights is None else weights[own], index=index[own])
    total.backward()
    joint = losses[1](alone(x), labels, weights, index=index)
    joint.backward()
    pairs = [(total, joint), *((a.grad, b.grad) for a, b in zip(shared.parameters(), alone.parameters(), strict=True))]
    mine, all_rows = losses[0].last, losses[1].last
    pairs += [(mine.margins, all_rows.margins[own]), (mine.weights, all_rows.weights[own])]
    pairs += [(torch.tensor(float(getattr(mine, name) or 0)), torch.tensor(float(getattr(all_rows, name) or 0))) for name in ["tau", "base", "risk", "lam"]]
    if losses[0].running_margins is not None:
        pairs.append((losses[0].running_margins.values, losses[1].running_margins.values))
    return max((a - b).abs().max().item() for a, b in pairs if a.numel())


def remembered(rank, ranks, rows=20):
    """Each rank meets its own rows, others in the second epoch; once synchronised, all know what one process knows."""
    settings = {"base": "elr", "filter_base": True, "running": 0.7, "start": 0}
    mine, alone = EnvelopeLoss(**settings), EnvelopeLoss(**settings)
    labels = torch.arange(rows) % 4
    for epoch in range(3):
        mine.set_epoch(epoch, 3)
        logits = torch.randn(rows, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(epoch))
        # Another rank's rows every epoch, and some that nobody meets at first.
        index = torch.arange(rows - 5 + epoch)
        own = index[(index + epoch) % ranks == rank]
        mine(logits[own], labels[own], index=own)
        alone(logits[index], labels[index], index=index)
    mine.synchronise()
    state, expected = mine.state_dict(), alone.state_dict()
    assert state.keys() == expected.keys() and len(state) == 2
    assert all(state[name].shape == expected[name].shape for name in state)
    # A state that was loaded is everyone's, and nobody's news.
    mine.load_state_dict(state)
    if rank == 0:
        mine(logits[:1], labels[:1], index=torch.tensor([3]))
    alone(logits[:1], labels[:1], index=torch.tensor([3]))
    mine.synchronise()
    return max((mine.state_dict()[name] - each).abs().nan_to_num(0).max().item() for name, each in alone.state_dict().items())


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
    worst = remembered(rank, ranks)
    if not worst <= 1e-12:
        sys.exit(f"rank {rank}: what is remembered differs by {worst}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
