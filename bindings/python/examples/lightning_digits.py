"""The envelope under Lightning: digits, 40 % of the training labels made wrong.

    pip install lightning scikit-learn
    python lightning_digits.py

On several devices Lightning starts the ranks; sync_quantile=True then takes one quantile over all of them.
"""

import argparse

import lightning
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

import cmrm
from cmrm.torch import EnvelopeLoss


class Classifier(lightning.LightningModule):
    def __init__(self, rows, **settings):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
        self.loss = EnvelopeLoss("cross_entropy", rows=rows, sync_quantile=True, **settings)

    def on_train_epoch_start(self):
        self.loss.set_epoch(self.current_epoch, self.trainer.max_epochs)

    def training_step(self, batch):
        x, labels, index = batch
        total = self.loss(self.model(x), labels, index=index)
        self.log_dict({"base": float(self.loss.last.base), "risk": float(self.loss.last.risk)}, on_step=False, on_epoch=True)
        return total

    def test_step(self, batch):
        x, labels, _ = batch
        self.log("accuracy", (self.model(x).argmax(1) == labels).float().mean())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split((x / 16).astype("float32"), y, test_size=0.2, random_state=0)
    noisy = cmrm.inject_noise(y_train, "symmetric:0.4", seed=0).labels

    def loader(x, y, **settings):
        # Rows come with their numbers, by which the loss knows them again.
        rows = torch.from_numpy(x), torch.as_tensor(y, dtype=torch.int64), torch.arange(len(y))
        return DataLoader(TensorDataset(*rows), **settings)

    # Without risk and filter the base loss is left.
    for name, settings in [("base", {"lam": 0.0, "filter_base": False}), ("envelope", {})]:
        lightning.seed_everything(0, verbose=False)
        trainer = lightning.Trainer(
            max_epochs=arguments.epochs,
            accelerator="auto",
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        model = Classifier(len(noisy), **settings)
        trainer.fit(model, loader(x_train, noisy, batch_size=128, shuffle=True))
        found = trainer.test(model, loader(x_test, y_test, batch_size=512), verbose=False)
        print(f"{name}: accuracy {found[0]['accuracy']:.3f}")


if __name__ == "__main__":
    main()
