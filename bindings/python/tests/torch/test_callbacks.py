"""The epoch chosen by observed validation labels: alone, under Lightning and under Hugging Face's Trainer."""

import doctest
import math
import subprocess
import sys

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import cmrm.torch.callbacks
from cmrm.torch import EnvelopeLoss
from cmrm.torch.callbacks import BestEpoch

# What the frameworks say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*The number of training batches"),
    pytest.mark.filterwarnings("ignore:.*You defined a `validation_step`"),
    pytest.mark.filterwarnings("ignore:.*pin_memory"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


def observed(accuracies, **eligible):
    model = torch.nn.Linear(1, 1)
    best = BestEpoch(model)
    for epoch, accuracy in enumerate(accuracies):
        torch.nn.init.constant_(model.weight, epoch)
        best.observe(epoch, accuracy, eligible=eligible.get(f"epoch_{epoch}", True))
    return best, best.restore(), model.weight.item()


def test_the_choice():
    assert observed([0.5, 0.9, 0.7])[2] == 1
    # The later of equals, none before the envelope, and nothing that is no number.
    assert observed([0.5, 0.9, 0.9, 0.7])[2] == 2
    assert observed([0.9, 0.5, 0.4], epoch_0=False)[2] == 1
    assert observed([0.5, math.nan, 0.4])[2] == 0
    best, restored, weight = observed([0.9], epoch_0=False)
    assert not restored and weight == 0 and best.epoch is None
    best, *_ = observed([0.5, 0.9, 0.7])
    other = BestEpoch(torch.nn.Linear(1, 1))
    other.load_state_dict(best.state_dict())
    assert other.restore() and other.model.weight.item() == 1 and (other.epoch, other.accuracy) == (1, 0.9)


def test_the_copy_is_a_copy():
    model = torch.nn.BatchNorm1d(2)
    best = BestEpoch(model)
    best.observe(0, 0.5)
    model(torch.randn(8, 2) + 5)
    torch.nn.init.constant_(model.weight, 7)
    best.restore()
    assert model.running_mean.abs().sum() == 0 and (model.weight == 1).all() and model.num_batches_tracked == 0


def test_neither_framework_is_imported():
    code = "import sys, cmrm.torch.callbacks; print([m for m in ('lightning', 'pytorch_lightning', 'transformers') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="no attribute 'Best'"):
        cmrm.torch.callbacks.Best  # noqa: B018
    code = "import sys; sys.modules['transformers'] = None; from cmrm.torch.callbacks import TrainerBestEpoch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "TrainerBestEpoch needs transformers: pip install 'transformers[torch]'" in done.stderr


def test_the_example_in_the_docstring():
    found = doctest.testmod(cmrm.torch.callbacks)
    assert found.attempted > 0 and found.failed == 0


def rows():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(64, 4, generator=generator)
    return x, (x[:, 0] > 0).long()


class Told:
    """A loss that notes what it is told, and the accuracies that validation will report."""

    accuracies = (0.9, 0.95, 0.6, 0.8, 0.8, 0.7, 1.0)

    def __init__(self):
        self.loss, self.epochs = EnvelopeLoss(start=2), []
        set_epoch = self.loss.set_epoch
        self.loss.set_epoch = lambda *told: (self.epochs.append(told), set_epoch(*told))[1]


# The best of the epochs with the envelope on, the later of equals.
CHOSEN = 4


@pytest.mark.parametrize("sanity", [0, 2])
def test_lightning(tmp_path, sanity):
    lightning = pytest.importorskip("lightning")
    from cmrm.torch.callbacks import LightningBestEpoch

    told = Told()

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.after = torch.nn.Linear(4, 2), []

        def training_step(self, batch):
            return told.loss(self.model(batch[0]), batch[1])

        def on_train_epoch_end(self):
            self.after.append(self.model.weight.detach().clone())

        def validation_step(self, batch):
            self.before = self.model.weight.detach().clone()

        # Where torchmetrics are logged.
        def on_validation_epoch_end(self):
            self.log("val_accuracy", told.accuracies[self.current_epoch])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    torch.manual_seed(0)
    model, callback = Model(), LightningBestEpoch(told.loss)
    assert isinstance(callback, lightning.pytorch.Callback)
    settings = dict(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path
    )
    trainer = lightning.Trainer(max_epochs=6, callbacks=[callback], num_sanity_val_steps=sanity, enable_checkpointing=False, **settings)
    loader = DataLoader(TensorDataset(*rows()), batch_size=32)
    trainer.fit(model, loader, loader)
    assert told.epochs == [(epoch, 6) for epoch in range(6)]
    assert (callback.best.epoch, callback.best.accuracy) == (CHOSEN, pytest.approx(0.8))
    assert torch.equal(model.model.weight, model.after[CHOSEN]) and not torch.equal(model.after[CHOSEN], model.after[-1])
    # Validation after training chooses nothing.
    trainer.validate(model, loader, verbose=False)
    assert callback.best.epoch == CHOSEN
    # A checkpoint carries the choice.
    file = tmp_path / "state.ckpt"
    trainer.save_checkpoint(file)
    resumed = LightningBestEpoch(told.loss)
    told.accuracies = (0,) * 8
    trainer = lightning.Trainer(max_epochs=8, callbacks=[resumed], num_sanity_val_steps=0, enable_checkpointing=False, **settings)
    again = Model()
    trainer.fit(again, loader, loader, ckpt_path=file, weights_only=False)
    assert resumed.best.epoch == CHOSEN and torch.equal(again.model.weight, model.model.weight)


def test_a_metric_that_nobody_logs(tmp_path):
    lightning = pytest.importorskip("lightning")
    from cmrm.torch.callbacks import LightningBestEpoch

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = torch.nn.Linear(4, 2)

        def training_step(self, batch):
            return torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])

        def validation_step(self, batch):
            self.log("val_acc", 0.5)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer = lightning.Trainer(
        max_epochs=1,
        callbacks=[LightningBestEpoch()],
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
    )
    loader = DataLoader(TensorDataset(*rows()), batch_size=32)
    with pytest.raises(ValueError, match=r"no metric 'val_accuracy' to choose the epoch by \(found: val_acc\); call self.log"):
        trainer.fit(Model(), loader, loader)


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(4, 2)

    def forward(self, x, labels=None):
        return {"logits": self.model(x)}


def trainer_of(transformers, folder, told, epochs, callback):
    class After(transformers.TrainerCallback):
        weights = []

        def on_epoch_end(self, args, state, control, model, **kwargs):
            self.weights.append(model.model.weight.detach().clone())

    After.weights = []
    x, y = rows()
    data = [{"x": row, "labels": label} for row, label in zip(x, y, strict=True)]
    steps = iter(told.accuracies)
    return After.weights, transformers.Trainer(
        model=Classifier(),
        args=transformers.TrainingArguments(
            output_dir=folder, num_train_epochs=epochs, per_device_train_batch_size=32, learning_rate=0.1, eval_strategy="epoch",
            save_strategy="no", logging_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True,
        ),
        train_dataset=data,
        eval_dataset=data,
        compute_loss_func=lambda outputs, labels, num_items_in_batch=None: told.loss(outputs["logits"], labels),
        compute_metrics=lambda _: {"accuracy": next(steps, 1.0)},
        callbacks=[callback, After],
    )


def test_trainer(tmp_path):
    transformers = pytest.importorskip("transformers")
    from cmrm.torch.callbacks import TrainerBestEpoch

    told = Told()
    callback = TrainerBestEpoch(told.loss)
    weights, trainer = trainer_of(transformers, tmp_path, told, 6, callback)
    trainer.train()
    assert told.epochs == [(epoch, 6) for epoch in range(6)]
    assert (callback.best.epoch, callback.best.accuracy) == (CHOSEN, 0.8)
    assert torch.equal(trainer.model.model.weight, weights[CHOSEN]) and not torch.equal(weights[CHOSEN], weights[-1])
    # Evaluation after training chooses nothing.
    trainer.evaluate()
    assert callback.best.epoch == CHOSEN


def test_a_training_that_ends_before_the_envelope(tmp_path):
    transformers = pytest.importorskip("transformers")
    from cmrm.torch.callbacks import TrainerBestEpoch

    told = Told()
    weights, trainer = trainer_of(transformers, tmp_path, told, 2, TrainerBestEpoch(told.loss))
    with pytest.warns(UserWarning, match="no epoch was validated with the envelope on"):
        trainer.train()
    assert torch.equal(trainer.model.model.weight, weights[-1])
