"""How good a linear model is by clean labels where some that it learned from are wrong. Called by `linear`."""

import argparse
import pathlib
import sys
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

import cmrm
from noisy_sets import SHARES, features, questions, tables

def methods(arguments):
    made = {"LogisticRegression": lambda *_: LogisticRegression(max_iter=1000)}
    for strength in arguments.strengths.split(","):
        def settings(rows, strength=strength):
            return {} if strength == "rows" else {"l2": float(strength) / (0.9 * rows)}

        name = "penalty by the rows" if strength == "rows" else f"penalty {strength} / rows"
        for weight in ["0", *filter(None, arguments.lambdas.split(","))]:
            what = {"0": "base", "own": "`robust`"}.get(weight, f"`robust`, λ {weight}")
            lam = None if weight == "own" else float(weight)
            made[f"{what}, {name}"] = lambda rows, seed, lam=lam, settings=settings: cmrm.CMRMClassifier(
                model="linear", lam=lam, random_state=seed, n_jobs=1, **settings(rows)
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
    parser.add_argument("--lambdas", default="own", help="weights of the envelope, or `own`; the base loss is always there")
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
                    judged = judge(make(len(y), seed).fit(x, observed), new, clean)
                    found.setdefault((method, share), {}).setdefault(name, []).append(judged)
            print(name, seed, file=sys.stderr, flush=True)
    report(made, found)


def judge(model, new, clean):
    """Accuracy in per cent, and log loss."""
    own = model.predict_proba(new)[np.arange(len(clean)), np.searchsorted(model.classes_, clean)]
    return 100 * (model.predict(new) == clean).mean(), -np.log(np.maximum(own, 1e-12)).mean()


def report(made, found):
    means = {key: {name: np.mean(values, axis=0) for name, values in sets.items()} for key, sets in found.items()}
    shares = " | ".join(f"{share:.0%} wrong" for share in SHARES)
    for measure, (title, digits) in enumerate([("accuracy", 2), ("log loss", 3)]):
        print(f"\nMean {title} over {len(next(iter(means.values())))} sets; in brackets the difference from the first row\n")
        print(f"| | {shares} |\n|---|{'---|' * len(SHARES)}")
        for method in made:
            cells = []
            for share in SHARES:
                ours, theirs = (
                    np.mean([values[measure] for values in means[name, share].values()])
                    for name in (method, "LogisticRegression")
                )
                difference = f" ({ours - theirs:+.{digits}f})" if method != "LogisticRegression" else ""
                cells.append(f"{ours:.{digits}f}{difference}")
            print(f"| {method} | {' | '.join(cells)} |")
    print(f"\n| set | {' | '.join(f'{method}' for method in made)} |\n|---|{'---|' * len(made)}")
    for name in next(iter(means.values())):
        cells = [" / ".join(f"{means[method, share][name][0]:.1f}" for share in SHARES) for method in made]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
