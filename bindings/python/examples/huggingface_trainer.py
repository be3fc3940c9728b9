"""The envelope under Hugging Face's Trainer: a small transformer on made-up sentences, 30 % of the labels made wrong.

    pip install 'transformers[torch]'
    python huggingface_trainer.py

Nothing is downloaded: model and data are made here. With torchrun the Trainer averages gradients over ranks;
sync_quantile=True then takes one quantile over all of them.
"""

import argparse
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments, set_seed

import cmrm
from cmrm.torch import EnvelopeLoss

WORDS, CLASSES, LENGTH = 40, 4, 12


def sentences(count, seed):
    """Words at random; the class is which of four words is among them."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(CLASSES, WORDS, (count, LENGTH), generator=generator)
    classes = torch.randint(0, CLASSES, (count,), generator=generator)
    tokens[torch.arange(count), torch.randint(0, LENGTH, (count,), generator=generator)] = classes
    return tokens, classes


class SetEpoch(TrainerCallback):
    """Tells the loss where training stands."""

    def __init__(self, loss):
        self.loss = loss

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.loss.set_epoch(round(state.epoch), int(args.num_train_epochs))


def train(loss, epochs, folder):
    set_seed(0)
    tokens, truth = sentences(2000, seed=1)
    noisy = cmrm.inject_noise(truth.numpy(), "symmetric:0.3", seed=0).labels
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=LENGTH,
        num_labels=CLASSES,
    )
    trainer = Trainer(
        model=BertForSequenceClassification(config),
        args=TrainingArguments(
            output_dir=folder,
            num_train_epochs=epochs,
            per_device_train_batch_size=100,
            learning_rate=3e-3,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=[{"input_ids": row, "labels": int(label)} for row, label in zip(tokens, noisy, strict=True)],
        compute_loss_func=lambda outputs, labels, num_items_in_batch=None: loss(outputs.logits, labels),
        callbacks=[SetEpoch(loss)],
    )
    trainer.train()
    tokens, truth = sentences(1000, seed=2)
    predicted = trainer.predict([{"input_ids": row} for row in tokens]).predictions.argmax(1)
    return (torch.from_numpy(predicted) == truth).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    arguments = parser.parse_args()
    # Without risk and filter the base loss is left.
    for name, settings in [("base", {"lam": 0.0, "filter_base": False}), ("envelope", {})]:
        with tempfile.TemporaryDirectory() as folder:
            accuracy = train(EnvelopeLoss(sync_quantile=True, **settings), arguments.epochs, folder)
        print(f"{name}: accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
