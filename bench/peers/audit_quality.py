"""How well wrong human labels are ranked: CIFAR-10N 'worst' (40 % wrong), linear probe on frozen features."""

import csv
import subprocess

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores

# The probe: C = 1000, L-BFGS, as in real_data.
PROBE = ["--model", "linear", "--optimiser", "lbfgs", "--l2", "0.001", "--epochs", "1000", "--tolerance", "1e-6", "--seed", "0"]


def compare(cmrm, folder, data):
    features = data / "features"
    x = np.concatenate([np.load(features / f"cifar10.lite2.train{part}.npy") for part in (0, 1)])
    clean = np.load(features / "cifar10.train-labels.npy").astype(int)
    with open(data / "cifar-n" / "cifar10n.csv", newline="") as file:
        labels = np.array([int(row["worse_label"]) for row in csv.DictReader(file)])
    np.save(folder / "x.npy", x)
    (folder / "given.csv").write_text("label\n" + "".join(f"{label}\n" for label in labels))
    wrong = labels != clean
    table = Table(wrong)

    def audit(*arguments):
        out = folder / "suspects.csv"
        command = [cmrm, "audit", *arguments, "--out", out, "--quiet"]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
        with open(out, newline="") as file:
            rows = list(csv.DictReader(file))
        score, issue = np.empty(len(rows)), np.zeros(len(rows), bool)
        for row in rows:
            # The rank tells rows apart whose scores are equal to the digits written.
            score[int(float(row["row"]))] = float(row["rank"])
            issue[int(float(row["row"]))] = row["is_label_issue"] == "true"
        return score, issue

    given = ["--labels", folder / "given.csv"]
    p = folder / "oof.npy"
    own = audit(folder / "x.npy", *given, "--folds", "5", "--no-envelope", *PROBE, "--probabilities-out", p)
    probabilities = np.load(p)
    issues = find_label_issues(labels, probabilities)
    for method in ("self_confidence", "normalized_margin"):
        score = get_label_quality_scores(labels, probabilities, method=method)
        table.add(f"cleanlab, {method}", "5 folds of cross-entropy", score, issues)
    table.add("`audit --pred-probs`, self_confidence", "the same", *audit("--pred-probs", p, *given, "--score", "self_confidence"))
    table.add("`audit --pred-probs` (default: normalized_margin)", "the same", *audit("--pred-probs", p, *given))
    table.add("`audit --folds 5 --no-envelope`", "the same", *own)
    table.add("`audit --folds 5`", "5 folds with `robust`, λ 10",
              *audit(folder / "x.npy", *given, "--folds", "5", "--lambda", "10", *PROBE))
    for name, flags in (
        ("cross-entropy (λ 1e-9)", ["--lambda", "1e-9"]), ("`robust`, λ 10", ["--lambda", "10"]), ("`robust`, λ 40", ["--lambda", "40"]),
    ):
        run = folder / ("run" + "".join(flags))
        command = [cmrm, "fit", folder / "x.npy", *given, *PROBE, "--validation-share", "0", "--no-base", *flags, "--out", run]
        subprocess.run([str(word) for word in [*command, "--quiet"]], check=True, stdout=subprocess.DEVNULL)
        table.add("`audit RUN`", f"one fit with {name}, in sample", *audit(run))
    table.show()
    return True


class Table:
    def __init__(self, wrong):
        self.wrong, self.rows = wrong, []

    def add(self, name, source, score, issues):
        first = np.argsort(score, kind="stable")[: self.wrong.sum()]
        found = self.wrong[issues].sum()
        self.rows.append((
            name, source, auroc(-np.asarray(score), self.wrong), self.wrong[first].mean(),
            found / issues.sum(), found / self.wrong.sum(),
        ))

    def show(self):
        count, share = self.wrong.sum(), 100 * self.wrong.mean()
        print(f"\n## CIFAR-10N worst: {count:,} of {len(self.wrong):,} labels are wrong ({share:.1f} %)\n")
        print("| ranked by | from | AUROC | precision at that count | issues: precision | recall |\n|---|---|---|---|---|---|")
        for name, source, *numbers in self.rows:
            print(f"| {name} | {source} | " + " | ".join(f"{number:.4f}" for number in numbers) + " |")


def auroc(score, positive):
    """Area under the ROC curve by ranks, equal scores sharing theirs."""
    _, inverse, counts = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2)[inverse]
    p, n = positive.sum(), (~positive).sum()
    return (ranks[positive].sum() - p * (p + 1) / 2) / (p * n)
