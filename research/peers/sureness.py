"""How many labels are wrong, and sets that should hold the true class: ours beside other software. Called by `sureness`.

Everyone gets the same matrix and the same noisy labels, and is judged by the flips that were planted and by clean labels of rows
kept aside. cmrm is used by default; the other programs get the model that observed labels favour among four (`Given`). TorchCP 1.2.1 has
no predictor for noisy labels; `noise_aware` stands for those of the literature.
"""

import argparse
import json
import pathlib
import sys
import types
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import cmrm
from noise_rates import anchor_points, dawid_skene, expectation_maximisation, mixture_of_losses
from noisy_sets import embeddings, planted, split, table

SHARES = [0.0, 0.1, 0.2, 0.4]
COVERAGE = 0.9
LEAVES = [1, 3, 10]
# Of the rows, those that choose among the other programs' models, and calibrate their sets.
HELD_OUT = 0.25
BUILT_IN = {"digits": load_digits, "breast-cancer": load_breast_cancer}


def sets(paths, seed):
    """`(name, x, y, new, clean, labels)` of every set that the paths name, as in noisy_sets."""
    for path in paths:
        if path in BUILT_IN:
            yield built_in(path, seed)
        elif path.endswith(".npz"):
            yield embeddings(pathlib.Path(path), seed)
        else:
            yield from (table(file, seed) for file in sorted(pathlib.Path(path).glob("*.csv")))


def built_in(name, seed):
    x, y = BUILT_IN[name](return_X_y=True)
    train, test = split(len(y), seed)
    scaler = StandardScaler().fit(x[train])
    rows = (scaler.transform(x[part]).astype(np.float32) for part in (train, test))
    return name, next(rows), y[train], next(rows), y[test], planted(y[train], seed)


# The model that other programs are given


class Given:
    """What a careful user would take: of a forest, boosted trees, a support vector machine and a logistic regression, each fitted to
    three quarters of the rows, the one that says the observed labels of the others best."""

    def __init__(self, x, observed, seed):
        self.x, self.observed = x, observed
        self.learned, self.held = train_test_split(np.arange(len(observed)), test_size=HELD_OUT, random_state=seed)
        self.name, self.model = min(self._candidates(seed).items(), key=lambda one: self._brier(one[1]))

    def _candidates(self, seed):
        rows, labels = self.x[self.learned], self.observed[self.learned]
        candidates = {
            "forest": forest(rows, labels, seed),
            "boosting": HistGradientBoostingClassifier(early_stopping=True, random_state=seed),
            "SVM": CalibratedClassifierCV(SVC(), ensemble=False),
            "logistic regression": LogisticRegression(max_iter=1000),
        }
        return {name: model.fit(rows, labels) for name, model in candidates.items()}

    def _brier(self, model):
        truth = self.observed[self.held][:, None] == model.classes_
        return ((model.predict_proba(self.x[self.held]) - truth) ** 2).sum(1).mean()

    def of_all_rows(self, new):
        """Probabilities of all rows by models of five folds that have not seen them, and of new rows by one that saw them all."""
        judged = cross_val_predict(clone(self.model), self.x, self.observed, cv=5, method="predict_proba")
        return judged, clone(self.model).fit(self.x, self.observed).predict_proba(new)


def forest(x, observed, seed):
    """A forest; out-of-bag rows choose the size of its leaves by observed labels."""

    def brier(leaf):
        model = RandomForestClassifier(100, min_samples_leaf=leaf, oob_score=True, random_state=seed).fit(x, observed)
        return np.nanmean((model.oob_decision_function_ - (observed[:, None] == model.classes_)) ** 2)

    return RandomForestClassifier(100, min_samples_leaf=min(LEAVES, key=brier), random_state=seed)


# The share of wrong labels


def rates(model, observed, theirs):
    """What each estimator says the share of wrong labels is; None where it says that it cannot tell."""
    probabilities = {"ours": np.asarray(model.out_of_sample_, float), "theirs": theirs}
    found = {"cmrm, default (`noise_`)": model.noise_ and model.noise_["rate"]}
    for source, p in probabilities.items():
        p = p / p.sum(1, keepdims=True)
        for name, estimate in ESTIMATORS.items():
            found[f"{name}; {source}"] = estimate(observed, p)
    witnesses = [observed, *(p.argmax(1) for p in probabilities.values())]
    found["Dawid and Skene; the label, ours and theirs"] = dawid_skene(witnesses, len(model.classes_))
    return {name: rate if rate is None else float(rate) for name, rate in found.items()}


def ours(observed, p):
    try:
        return cmrm.estimate_noise(observed, p.astype(np.float32)).rate
    except ValueError:  # the models tell too little of the labels
        return None


def confident_joint(observed, p):
    from cleanlab.count import estimate_joint

    return 1 - estimate_joint(observed, p).trace()


def counted_issues(observed, p):
    from cleanlab.count import num_label_issues

    return num_label_issues(observed, p) / len(observed)


ESTIMATORS = {
    "`cmrm.estimate_noise`": ours,
    "cleanlab, `estimate_joint`": confident_joint,
    "cleanlab, `num_label_issues`": counted_issues,
    "anchor points, the surest row": lambda observed, p: anchor_points(observed, p, 1.0),
    "anchor points, 97 % quantile": lambda observed, p: anchor_points(observed, p, 0.97),
    "EM for the transition matrix": expectation_maximisation,
    "mixture of two kinds of losses": mixture_of_losses,
}


# Prediction sets


def prediction_sets(model, given, new, seed):
    """Masks of the test rows, by method; None where a method refuses."""
    fitted, held = given.model, given.x[given.held]
    labels = given.observed[given.held]
    p, p_new = (fitted.predict_proba(rows) for rows in (held, new))
    return {
        "cmrm, default (corrected)": model.predict_set(new, COVERAGE),
        "cmrm, `calibration=\"observed\"`": model.predict_set(new, COVERAGE, calibration="observed"),
        "MAPIE, LAC": mapie_split(fitted, "lac", held, labels, new),
        # MAPIE refuses two classes for any other score.
        "MAPIE, APS": mapie_split(fitted, "aps", held, labels, new) if p.shape[1] > 2 else None,
        "MAPIE, LAC, five folds": mapie_cross(fitted, given.x, given.observed, new),
        "TorchCP, LAC": torchcp_sets("LAC", p, labels, p_new, seed),
        "TorchCP, APS": torchcp_sets("APS", p, labels, p_new, seed),
    }


def sets_told_the_noise(observed, p, p_new, true_share, told):
    """Sets for noise of a share that is known or estimated, calibrated on all rows, judged by models that have not seen them."""
    ours_on_theirs = cmrm.conformal.calibrate(p, observed, coverage=COVERAGE, noise=told["`cmrm.estimate_noise`; theirs"])
    return {
        "noise-aware LAC, told the true share": noise_aware(p, observed, p_new, true_share),
        "noise-aware LAC, told cleanlab's share": noise_aware(p, observed, p_new, told["cleanlab, `estimate_joint`; theirs"]),
        "`cmrm.conformal.calibrate` on their model, with our share": ours_on_theirs.predict(p_new),
    }


def mapie_split(fitted, score, held, labels, new):
    from mapie.classification import SplitConformalClassifier

    model = SplitConformalClassifier(fitted, confidence_level=COVERAGE, conformity_score=score, prefit=True, random_state=0)
    model.conformalize(held, labels)
    return model.predict_set(new, conformity_score_params=drawn(score))[1][:, :, 0]


def mapie_cross(model, x, observed, new):
    from mapie.classification import CrossConformalClassifier

    model = CrossConformalClassifier(clone(model), confidence_level=COVERAGE, conformity_score="lac", cv=5, random_state=0)
    return model.fit_conformalize(x, observed).predict_set(new)[1][:, :, 0]


def drawn(score):
    """The smallest sets of APS: the last class of a set is in it by chance. TorchCP does so by default."""
    return {"include_last_label": "randomized"} if score == "aps" else {}


def torchcp_sets(score, p, labels, p_new, seed):
    import torch

    # TorchCP imports it for a training loss; its compiled part is not to be had for every PyTorch.
    sys.modules.setdefault("torchsort", types.SimpleNamespace(soft_rank=None, soft_sort=None))
    from torchcp.classification import predictor, score as scores

    torch.manual_seed(seed)
    split_predictor = predictor.SplitPredictor(getattr(scores, score)(score_type="identity"), alpha=1 - COVERAGE)
    split_predictor.calculate_threshold(torch.from_numpy(p), torch.from_numpy(labels))
    return split_predictor.predict_with_logits(torch.from_numpy(p_new)).numpy().astype(bool)


def noise_aware(p, labels, p_new, share):
    """Sets for uniform noise of a known share, as Penso and others (2025) correct for it: what the scores of all classes say is taken
    from what those of the labels say."""
    rows, classes = p.shape
    random = min(share * classes / (classes - 1), 0.99)
    of_label, of_all = np.sort(1 - p[np.arange(rows), labels]), np.sort(1 - p, axis=None)
    below = lambda scores: np.searchsorted(scores, of_all, side="right") / len(scores)
    clean = (below(of_label) - random * below(of_all)) / (1 - random)
    # A difference of two samples goes up and down: the mean of where it first gets there and where it stays.
    clean = (np.maximum.accumulate(clean) + np.minimum.accumulate(clean[::-1])[::-1]) / 2
    reached = clean >= COVERAGE * (rows + 1) / rows
    return 1 - p_new <= (of_all[reached.argmax()] if reached.any() else 1)


# Measuring and reporting


def measure(arguments):
    done = {(one["set"], one["seed"], one["share"]) for one in read(arguments.out)}
    with open(arguments.out, "a") as out:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            for name, x, y, new, clean, labels in sets(arguments.paths, seed):
                for share in SHARES:
                    if (name, seed, share) not in done:
                        one = measured(x, y, np.asarray(labels(share), np.int64), new, clean, seed)
                        out.write(json.dumps(dict(set=name, seed=seed, share=share) | one) + "\n")
                        out.flush()
                print(name, seed, file=sys.stderr, flush=True)


def measured(x, y, observed, new, clean, seed):
    model = cmrm.CMRMClassifier(random_state=seed).fit(x, observed)
    given = Given(x, observed, seed)
    theirs, theirs_new = given.of_all_rows(new)
    told = rates(model, observed, theirs)
    wrong = float((observed != y).mean())
    masks = prediction_sets(model, given, new, seed) | sets_told_the_noise(observed, theirs, theirs_new, wrong, told)
    unreachable = mapie_split(given.model, "lac", x[given.held], y[given.held], new)
    masks["MAPIE, LAC, clean calibration labels, which nobody has"] = unreachable
    rows = np.arange(len(clean))
    judged = {
        name: None if mask is None else [float(mask[rows, clean].mean()), float(mask.sum(1).mean())]
        for name, mask in masks.items()
    }
    return dict(classes=len(model.classes_), wrong=wrong, theirs=given.name, rates=told, sets=judged)


def read(path):
    return [json.loads(line) for line in open(path)] if path.exists() else []


def report(path):
    cells = read(path)
    told = [one for one in cells if one["rates"]["cmrm, default (`noise_`)"] is not None]
    print(f"{len(cells)} cells: {len({one['set'] for one in cells})} sets, seeds {sorted({one['seed'] for one in cells})}\n")
    silent = ", ".join(named(one) for one in cells if one not in told) or "nothing"
    print(f"Share of wrong labels, mean absolute error. Left out, as there we say that the models tell nothing: {silent}\n")
    print_table(told, told[0]["rates"], rate_error)
    many = [one for one in cells if one["classes"] > 2]
    for title, part in (("all sets", cells), ("sets of more than two classes", many)):
        if part:
            print(f"\n90 % prediction sets, {title}: coverage of the true class (mean distance from 90 %) / classes in a set\n")
            # A method that refuses some of the sets would have the mean of others.
            answering = [name for name in part[0]["sets"] if all(one["sets"][name] for one in part)]
            print_table(part, answering, lambda one, name: one["sets"][name])
    show_worst(cells)


def named(one):
    return f"{one['set']} {one['share']:.0%} (seed {one['seed']})"


def show_worst(cells, most=5):
    """Where ours errs most: what is said of the share of wrong labels and what it is, and coverage with classes in a set."""
    ours_rate, ours_sets = "cmrm, default (`noise_`)", "cmrm, default (corrected)"
    told = [one for one in cells if one["rates"][ours_rate] is not None]
    by_rate = sorted(told, key=lambda one: -rate_error(one, ours_rate)[0])[:most]
    by_coverage = sorted(cells, key=lambda one: -abs(one["sets"][ours_sets][0] - COVERAGE))[:most]
    shares = (f"{named(one)} {one['rates'][ours_rate]:.3f} for {one['wrong']:.3f}" for one in by_rate)
    covered = (f"{named(one)} {one['sets'][ours_sets][0]:.3f} / {one['sets'][ours_sets][1]:.3f}" for one in by_coverage)
    print("\nOurs at its worst, share: " + ", ".join(shares))
    print("Ours at its worst, sets: " + ", ".join(covered))


def rate_error(one, name):
    rate = one["rates"][name]
    return None if rate is None else [abs(rate - one["wrong"])]


def print_table(cells, names, value):
    print("| | " + " | ".join(f"{100 * share:.0f} %" for share in SHARES) + " | all |\n" + "|---" * (len(SHARES) + 2) + "|")
    for name in names:
        by_share = [[value(one, name) for one in cells if one["share"] == share] for share in SHARES]
        everywhere = [found for part in by_share for found in part]
        silent = everywhere.count(None)
        remark = f" ({silent} without an answer)" if silent else ""
        print(f"| {name}{remark} | " + " | ".join(map(figures, [*by_share, everywhere])) + " |")


def figures(found):
    """The mean error of a share, or the means of sets: coverage, its distance from what was asked, and size."""
    found = np.array([one for one in found if one is not None])
    if not len(found):
        return "–"
    if found.shape[1] == 1:
        return f"{found.mean():.3f}"
    coverage, size = found.mean(axis=0)
    return f"{coverage:.3f} ({np.abs(found[:, 0] - COVERAGE).mean():.3f}) / {size:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("paths", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    measure(arguments)
    report(arguments.out)


if __name__ == "__main__":
    main()
