"""Our default against what a user would pick instead, by clean labels where some that it learned from are wrong. Called by `vote`."""

import argparse
import json
import pathlib
import sys
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import cmrm
from noisy_sets import SHARES, features, questions, tables, uci


KINDS = {"tables": tables, "questions": questions, "features": features, "uci": uci}


def methods():
    import lightgbm
    from cleanlab.classification import CleanLearning
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    def boosting(seed, **settings):
        return lightgbm.LGBMClassifier(verbose=-1, n_jobs=1, random_state=seed, **settings)

    def cleaned(model, seed):
        return CleanLearning(model, seed=seed, cv_n_folds=5, find_label_issues_kwargs={"n_jobs": 1})

    return {
        "cmrm": lambda seed: cmrm.CMRMClassifier(random_state=seed),
        "cmrm, one second": lambda seed: cmrm.CMRMClassifier(budget=1, random_state=seed),
        "cmrm, forest": lambda seed: cmrm.CMRMClassifier(model="forest", random_state=seed),
        "cmrm, network": lambda seed: cmrm.CMRMClassifier(model="mlp", random_state=seed),
        "cmrm, linear": lambda seed: cmrm.CMRMClassifier(model="linear", random_state=seed),
        "cmrm.Robust(LightGBM)": lambda seed: cmrm.Robust(boosting(seed), random_state=seed),
        "LightGBM": boosting,
        "cleanlab, LightGBM": lambda seed: cleaned(boosting(seed, n_estimators=50), seed),
        "cleanlab, forest": lambda seed: cleaned(RandomForestClassifier(100, random_state=seed), seed),
        "boosting, early stopping": lambda seed: HistGradientBoostingClassifier(early_stopping=True, random_state=seed),
        "forest, leaves of 10": lambda seed: RandomForestClassifier(100, min_samples_leaf=10, random_state=seed),
        "forest": lambda seed: RandomForestClassifier(100, random_state=seed),
        "network, early stopping": lambda seed: MLPClassifier((128, 64), early_stopping=True, random_state=seed),
        "SVM": lambda seed: SVC(),
        "logistic regression": lambda seed: LogisticRegression(max_iter=500),
    }


def found_wrong(model, wrong):
    """How well the model's own audit ranks the labels that were made wrong; none where it has no audit."""
    issues = getattr(model, "label_issues_df", None)
    if issues is None:
        issues = getattr(model, "label_issues_", None)
        issues = issues.to_pandas().sort_index() if hasattr(issues, "to_pandas") else issues
    if issues is None or not wrong.any() or "label_quality" not in issues and "label_score" not in issues:
        return {}
    score = np.asarray(issues["label_score" if "label_score" in issues else "label_quality"])
    first = np.argsort(score, kind="stable")[: wrong.sum()]
    return {"auroc": roc_auc_score(wrong, -score), "precision": float(wrong[first].mean())}


def measure(arguments):
    made = methods()
    wanted = arguments.methods.split(";") if arguments.methods else list(made)
    done = {tuple(one[key] for key in ("set", "seed", "share", "method")) for one in read(arguments.out)}
    with open(arguments.out, "a") as out:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            for kind in (KINDS[kind] for kind in arguments.kinds.split(",")):
                for name, x, y, new, clean, labels in kind(arguments.data, seed):
                    if arguments.sets and name not in arguments.sets.split(","):
                        continue
                    for share in map(float, arguments.shares.split(",")):
                        observed = labels(share)
                        for method in wanted:
                            if (name, seed, share, method) in done:
                                continue
                            begun = time.perf_counter()
                            model = made[method](seed).fit(x, observed)
                            seconds = time.perf_counter() - begun
                            accuracy = float((np.asarray(model.predict(new)) == clean).mean())
                            one = dict(set=name, seed=seed, share=share, method=method, accuracy=accuracy, seconds=seconds)
                            out.write(json.dumps(one | found_wrong(model, observed != y)) + "\n")
                            out.flush()
                    print(name, seed, file=sys.stderr, flush=True)


def read(path):
    return [json.loads(line) for line in open(path)] if path.exists() else []


def report(path):
    found = pd.DataFrame(read(path), columns=["set", "seed", "share", "method", "accuracy", "seconds", "auroc", "precision"])
    alone = ("trec", "cifar10n", "adult", "spambase", "credit")
    for title in ("tables", *alone):
        part = found[~found["set"].isin(alone) if title == "tables" else found["set"] == title]
        if part.empty:
            continue
        cells = part.pivot_table(index=["set", "seed", "share"], columns="method", values="accuracy").dropna() * 100
        means = cells.groupby("share").mean().T
        means["seconds"] = part.groupby("method").seconds.mean()
        peers = [name for name in cells if not name.startswith("cmrm")]
        if peers:
            behind = cells.sub(cells[peers].max(axis=1), axis=0)
            means["to best peer"], means["worst"] = behind.mean(), behind.min()
        if part.auroc.notna().any():
            audits = part[part.share == 0.2].groupby("method")[["auroc", "precision"]].mean()
            means = means.join(audits)
        print(f"{title}: {len(cells)} cells\n{means.round(3).to_string()}\n")


def main():
    if sys.argv[1:2] == ["report"]:
        return report(pathlib.Path(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kinds", default="tables,questions", help="of " + ", ".join(KINDS))
    parser.add_argument("--shares", default=",".join(map(str, SHARES)), help="of wrong labels")
    parser.add_argument("--sets", default="", help="names; all of these kinds without it")
    parser.add_argument("--methods", default="", help="names, with semicolons between them; all without it")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    measure(arguments)
    report(arguments.out)


if __name__ == "__main__":
    main()
