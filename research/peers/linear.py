"""How accurate a linear model is by clean labels where some that it learned from are wrong. Called by `linear`."""

import argparse
import csv
import pathlib
import sys
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

import cmrm

SHARES = [0.0, 0.2, 0.4]


def tables(folder, seed):
    """Three fifths of the rows train, at most 3,000; the others test, at most 5,000."""
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    for path in sorted((folder / "tables").glob("*.csv")):
        table = pd.read_csv(path)
        y = pd.factorize(table.pop("class"), sort=True)[0]
        numbers = table.select_dtypes("number").columns
        encoder = make_column_transformer(
            (StandardScaler(), list(numbers)),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(table.columns.difference(numbers))),
        )
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(order, [min(3000, int(0.6 * len(y)))])
        x = encoder.fit_transform(table.iloc[train]).astype(np.float32)
        new = encoder.transform(table.iloc[test[:5000]]).astype(np.float32)
        yield path.stem, x, y[train], new, y[test[:5000]], planted(y[train], seed)


def questions(folder, seed):
    """Sentence embeddings of unit length."""
    path = folder / "text/trec.minilm.npz"
    if path.exists():
        x, y, new, clean = (np.load(path)[name] for name in "AyBt")
        yield "trec", x.astype(np.float32), y, new.astype(np.float32), clean, planted(y, seed)


def features(folder, seed):
    """Ten thousand rows of frozen features, with the labels that people gave: the first of three, and the worst."""
    if (folder / "cifar-n/cifar10n.csv").exists():
        part = folder / "features"
        x = np.concatenate([np.load(part / f"cifar10.lite2.train{half}.npy") for half in (0, 1)])
        y, new = np.load(part / "cifar10.train-labels.npy"), np.load(part / "cifar10.lite2.test.npy")
        people = list(csv.DictReader(open(folder / "cifar-n/cifar10n.csv")))
        rows = np.random.default_rng(seed).permutation(len(y))[:10_000]
        given = {0.2: "random_label1", 0.4: "worse_label"}

        def labels(share):
            return y[rows] if share == 0 else np.array([int(people[row][given[share]]) for row in rows])

        clean = np.load(part / "cifar10.test-labels.npy")
        yield "cifar10n", x[rows].astype(np.float32), y[rows], new.astype(np.float32), clean, labels


def planted(y, seed):
    """Labels moved to another class, each other class alike. Two classes: 35 % at most, as half would be no labels."""
    binary = len(np.unique(y)) == 2

    def labels(share):
        share = min(share, 0.35) if binary else share
        return np.asarray(cmrm.inject_noise(y, f"symmetric:{share}", seed=seed).labels) if share else y

    return labels


def methods(arguments):
    made = {"LogisticRegression": lambda *_: LogisticRegression(max_iter=1000)}
    for strength in arguments.strengths.split(","):
        def settings(rows, strength=strength):
            return {} if strength == "rows" else {"l2": float(strength) / (0.9 * rows)}

        name = "penalty by the rows" if strength == "rows" else f"penalty {strength} / rows"
        for weight in ["0", *filter(None, arguments.lambdas.split(","))]:
            what = "base" if weight == "0" else f"`robust`, λ {weight}"
            made[f"{what}, {name}"] = lambda rows, seed, weight=weight, settings=settings: cmrm.CMRMClassifier(
                model="linear", lam=float(weight), random_state=seed, n_jobs=1, **settings(rows)
            )
    if arguments.adam:
        made["`robust`, forty epochs of Adam"] = lambda rows, seed: cmrm.CMRMClassifier(
            model="linear", optimiser="adam", random_state=seed, n_jobs=1
        )
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0, help="draws that no setting was chosen by: 100")
    parser.add_argument("--lambdas", default="3", help="weights of the envelope; the base loss is always there")
    parser.add_argument("--strengths", default="rows", help="penalties times rows, or `rows` to let them decide")
    parser.add_argument("--sets", default="", help="names, or every other one: even, odd")
    parser.add_argument("--adam", action="store_true", help="also as before L-BFGS was the default")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    made, found = methods(arguments), {}
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        cells = [cell for kind in (tables, questions, features) for cell in kind(arguments.data, seed)]
        for place, (name, x, y, new, clean, labels) in enumerate(cells):
            halves = {"": True, "even": place % 2 == 0, "odd": place % 2 == 1}
            if not halves.get(arguments.sets, name in arguments.sets.split(",")):
                continue
            for share in SHARES:
                observed = labels(share)
                for method, make in made.items():
                    accuracy = (make(len(y), seed).fit(x, observed).predict(new) == clean).mean()
                    found.setdefault((method, share), {}).setdefault(name, []).append(100 * accuracy)
            print(name, seed, file=sys.stderr, flush=True)
    report(made, found)


def report(made, found):
    means = {key: {name: np.mean(values) for name, values in sets.items()} for key, sets in found.items()}
    shares = " | ".join(f"{share:.0%} wrong" for share in SHARES)
    print(f"\nMean accuracy over {len(next(iter(means.values())))} sets; in brackets the difference from the first row\n")
    print(f"| | {shares} |\n|---|{'---|' * len(SHARES)}")
    for method in made:
        cells = []
        for share in SHARES:
            ours, theirs = (np.mean(list(means[name, share].values())) for name in (method, "LogisticRegression"))
            cells.append(f"{ours:.2f}" + (f" ({ours - theirs:+.2f})" if method != "LogisticRegression" else ""))
        print(f"| {method} | {' | '.join(cells)} |")
    print(f"\n| set | {' | '.join(f'{method}' for method in made)} |\n|---|{'---|' * len(made)}")
    for name in next(iter(means.values())):
        cells = [" / ".join(f"{means[method, share][name]:.1f}" for share in SHARES) for method in made]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
