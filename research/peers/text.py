"""TREC's questions as a CSV file: `cmrm fit` alone beside TfidfVectorizer + LogisticRegression, and that under CleanLearning.

    pip install scikit-learn cleanlab
    python research/peers/text.py PATH/trec.label target/release/cmrm [--seeds 3] [--shares 0,0.2,0.4]

The file has a line `CLASS:sub text` for each question, in latin-1; so may any other texts. 4,000 rows to train on, of which a share gets a uniformly drawn
other class; the others to test on, by clean labels. Printed: accuracy, AUROC of the wrong labels, seconds from the files to
predictions and suspects (the start of Python not counted, that of our command counted), and at the end the most memory of our command.
"""
import argparse, csv, resource, subprocess, tempfile, time
from pathlib import Path

import numpy as np
from cleanlab.classification import CleanLearning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("questions")
    parser.add_argument("command")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--shares", default="0,0.2,0.4")
    args = parser.parse_args()
    args.command = str(Path(args.command).resolve())
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
            seen[flipped] = (seen[flipped] + rng.integers(1, len(names), size=len(flipped))) % len(names)
            wrong = seen != labels[train]
            with tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                write(folder / "train.csv", texts[train], names[seen])
                write(folder / "test.csv", texts[test], names[labels[test]])
                ways = [("cmrm fit", lambda: with_cmrm(args.command, folder)), ("LogisticRegression", lambda: plain(folder)),
                        ("CleanLearning", lambda: cleaned(folder)), ("our base arm", lambda: (base_arm(args.command, folder), None))]
                for who, way in ways:
                    clock = time.perf_counter()
                    predicted, doubt = way()
                    seconds = time.perf_counter() - clock
                    accuracy = (predicted == names[labels[test]]).mean()
                    found = f"{roc_auc_score(wrong, doubt):.4f}" if doubt is not None and wrong.any() else "-"
                    print(f"seed {seed}  share {share}  {who:18}  accuracy {accuracy:.4f}  AUROC {found:6}  {seconds:6.1f} s", flush=True)
    print(f"memory of cmrm: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB at most")


def write(path, texts, labels):
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question", "class"])
        rows.writerows(zip(texts, labels))


def column(path, name):
    with open(path, newline="") as file:
        return np.array([row[name] for row in csv.DictReader(file)])


def with_cmrm(command, folder):
    run = lambda *arguments: subprocess.run([command, *arguments, "--quiet"], cwd=folder, check=True, capture_output=True)
    run("fit", "train.csv", "--label", "class", "--out", "run")
    run("predict", "run", "test.csv", "--out", "predictions.csv")
    run("audit", "run", "--out", "suspects.csv")
    rows = column(folder / "suspects.csv", "row").astype(int)
    doubt = np.zeros(rows.max() + 1)
    doubt[rows] = -column(folder / "suspects.csv", "label_score").astype(float)
    return column(folder / "predictions.csv", "predicted_label"), doubt


def base_arm(command, folder):
    """What `cmrm fit` has beside the envelope arm, for comparison."""
    subprocess.run([command, "predict", "run", "test.csv", "--arm", "base", "--out", "base.csv", "--quiet"], cwd=folder, check=True)
    return column(folder / "base.csv", "predicted_label")


def features(folder):
    vectors = TfidfVectorizer()
    x = vectors.fit_transform(column(folder / "train.csv", "question"))
    return x, column(folder / "train.csv", "class"), vectors.transform(column(folder / "test.csv", "question"))


def plain(folder):
    x, seen, new = features(folder)
    return LogisticRegression(max_iter=1000).fit(x, seen).predict(new), None


def cleaned(folder):
    x, seen, new = features(folder)
    names, seen = np.unique(seen, return_inverse=True)
    clean = CleanLearning(LogisticRegression(max_iter=1000), seed=0).fit(x, seen)
    return names[clean.predict(new)], -clean.get_label_issues()["label_quality"].values


if __name__ == "__main__":
    main()
