"""The envelope on several processes or machines: DistributedDataParallel, one quantile over all ranks.

    pip install torch scikit-learn
    torchrun --nproc-per-node 2 torchrun_digits.py

Every rank trains on its own rows; the model is the one that a single process would have got from the joint batches.
"""

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import cmrm
from cmrm.torch import EnvelopeLoss

EPOCHS, BATCH = 20, 128


def main():
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(torch.distributed.get_node_local_rank(0)))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    # The model is gone when the group goes: as the last to hold the group it would wait for threads that wait for it.
    train(device)
    dist.destroy_process_group()


def train(device):
    torch.manual_seed(0)
    x, y = load_digits(return_X_y=True)
    noisy = cmrm.inject_noise(y, "symmetric:0.4", seed=0)
    rows = TensorDataset(
        torch.tensor(x / 16, dtype=torch.float32), torch.as_tensor(noisy.labels, dtype=torch.int64), torch.arange(len(y))
    )
    sampler = DistributedSampler(rows, seed=0)
    loader = DataLoader(rows, BATCH // dist.get_world_size(), sampler=sampler)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).to(device)
    model = DistributedDataParallel(model)
    loss = EnvelopeLoss("cross_entropy", rows=len(y), sync_quantile=True).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    wrong = torch.from_numpy(noisy.flipped)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        loss.set_epoch(epoch, EPOCHS)
        counts = torch.zeros(2, device=device)
        for x, labels, row in loader:
            optimiser.zero_grad()
            total = loss(model(x.to(device)), labels.to(device), index=row.to(device))
            total.backward()
            optimiser.step()
            doubted = loss.last.margins < 0
            counts += torch.stack([(doubted & wrong[row].to(device)).sum(), doubted.sum()])
        dist.all_reduce(counts)
        if dist.get_rank() == 0:
            share = (counts[0] / counts[1]).item()
            print(f"epoch {epoch}: loss {total.item():.6f}, {int(counts[1])} labels in doubt, {share:.3f} of them wrong")


if __name__ == "__main__":
    main()
