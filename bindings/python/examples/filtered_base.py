"""The filter on the base loss, with row numbers and the epoch chosen by observed labels: digits, 40 % of the labels wrong.

    pip install torch scikit-learn
    python filtered_base.py

The loss keeps a running margin for every row. At the end these margins say which labels look wrong.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

import cmrm
from cmrm.torch import EnvelopeLoss
from cmrm.torch.callbacks import BestEpoch

ARMS = {
    "base": {"filter_base": False, "lam": 0.0},
    "filtered": {"filter_base": True, "running": 0.7, "limit": 1.0, "fade": (-0.3, 0.2), "start": 0.1},
}


def train(loss, rows, validation, epochs):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    best = BestEpoch(model)
    # Each batch brings the numbers of its rows along.
    loader = DataLoader(TensorDataset(*rows, torch.arange(len(rows[0]))), batch_size=128, shuffle=True)
    for epoch in range(epochs):
        loss.set_epoch(epoch, epochs)
        for x, labels, index in loader:
            optimiser.zero_grad()
            loss(model(x), labels, index=index).backward()
            optimiser.step()
        best.observe(epoch, accuracy(model, *validation), eligible=loss.active)
    best.restore()
    return model


@torch.no_grad()
def accuracy(model, x, labels):
    return (model(x).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    arguments = parser.parse_args()
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split((x / 16).astype("float32"), y, test_size=0.2, random_state=0)
    noise = cmrm.inject_noise(y_train, "symmetric:0.4", seed=0)
    x_train, x_test = torch.from_numpy(x_train), torch.from_numpy(x_test)
    observed, wrong = torch.as_tensor(noise.labels, dtype=torch.int64), torch.from_numpy(noise.flipped)
    # A tenth of the rows chooses the epoch, by observed labels: their right ones are not known.
    held = len(observed) // 10
    rows, validation = (x_train[held:], observed[held:]), (x_train[:held], observed[:held])
    for name, settings in ARMS.items():
        loss = EnvelopeLoss("cross_entropy", rows=len(rows[0]), **settings)
        model = train(loss, rows, validation, arguments.epochs)
        print(f"{name}: accuracy {accuracy(model, x_test, torch.as_tensor(y_test)):.3f}")
    suspects = loss.running_margins.values < 0
    found, all_wrong = wrong[held:][suspects], wrong[held:].sum()
    print(f"{len(found)} labels look wrong: precision {found.float().mean():.3f}, recall {found.sum() / all_wrong:.3f}")


if __name__ == "__main__":
    main()
