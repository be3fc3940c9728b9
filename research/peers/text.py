"""TREC's questions as a CSV file: `cmrm fit` alone beside TfidfVectorizer + LogisticRegression, and that under CleanLearning.

    pip install scikit-learn cleanlab
    python research/peers/text.py PATH/trec.label target/release/cmrm [--seeds 3] [--shares 0,0.2,0.4]

The file has a line `CLASS:sub text` for each question, in latin-1. 4,000 rows to train on, of which a share gets a uniformly drawn
other class; the others to test on, by clean labels. Printed: accuracy, and AUROC of the wrong labels.
"""
import argparse, csv, subprocess, tempfile
from pathlib import Path

import numpy as np
from cleanlab.classification import CleanLearning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

CLASSES = 6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("questions")
    parser.add_argument("command")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--shares", default="0,0.2,0.4")
    args = parser.parse_args()
    lines = Path(args.questions).read_text(encoding="latin-1").splitlines()
    names, labels = np.unique([line.split(":")[0] for line in lines], return_inverse=True)
    texts = np.array([line.split(" ", 1)[1] for line in lines])
    for seed in range(args.seeds):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(texts))
        train, test = order[:4000], order[4000:]
        for share in map(float, args.shares.split(",")):
            seen = labels[train].copy()
            flipped = rng.permutation(len(train))[: int(share * len(train))]
            seen[flipped] = (seen[flipped] + rng.integers(1, CLASSES, size=len(flipped))) % CLASSES
            wrong = seen != labels[train]
            report = lambda who, accuracy, doubt: print(
                f"seed {seed}  share {share}  {who:22} accuracy {accuracy:.4f}  AUROC "
                + (f"{roc_auc_score(wrong, doubt):.4f}" if doubt is not None and wrong.any() else "-"), flush=True)
            report("cmrm fit", *with_cmrm(args.command, names, texts, train, test, seen, labels))
            vectors = TfidfVectorizer()
            x, new = vectors.fit_transform(texts[train]), vectors.transform(texts[test])
            plain = LogisticRegression(max_iter=1000).fit(x, seen)
            report("LogisticRegression", (plain.predict(new) == labels[test]).mean(), None)
            clean = CleanLearning(LogisticRegression(max_iter=1000), seed=0)
            clean.fit(x, seen)
            quality = clean.get_label_issues()["label_quality"].values
            report("CleanLearning", (clean.predict(new) == labels[test]).mean(), -quality)


def with_cmrm(command, names, texts, train, test, seen, labels):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for name, rows, given in [("train", train, seen), ("test", test, labels[test])]:
            with open(folder / f"{name}.csv", "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["question", "class"])
                writer.writerows(zip(texts[rows], names[given]))
        run = lambda *arguments: subprocess.run([command, *arguments, "--quiet"], cwd=folder, check=True, capture_output=True)
        run("fit", "train.csv", "--label", "class", "--out", "run")
        run("predict", "run", "test.csv", "--out", "predictions.csv")
        run("audit", "run", "--out", "suspects.csv")
        cells = lambda name, column: [row[column] for row in csv.DictReader(open(folder / name))]
        accuracy = (np.array(cells("predictions.csv", "predicted_label")) == names[labels[test]]).mean()
        doubt = np.zeros(len(train))
        doubt[np.array(cells("suspects.csv", "row"), float).astype(int)] = -np.array(cells("suspects.csv", "label_score"), float)
        return accuracy, doubt


if __name__ == "__main__":
    main()
