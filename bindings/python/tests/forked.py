"""What test_fork.py runs in a process of its own: some work, then all of it in a child and in a child of the child."""

import multiprocessing
import pickle
import sys
import tempfile
from pathlib import Path

import numpy as np

import cmrm

ROWS = 20_000
# Seconds. One piece of work takes a small part of a second; a pool without threads would take forever.
PATIENCE = 120


def data():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(ROWS, 10)).astype(np.float32)
    y = (X[:, 0] + 0.5 * generator.normal(size=ROWS) > 0).astype(int)
    probs = generator.dirichlet([1, 1, 1], size=ROWS)
    return X, y, probs


def fit(_, n_jobs=None):
    X, y, _ = data()
    model = cmrm.CMRMClassifier(epochs=2, hidden=(8,), n_jobs=n_jobs).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        model.report(Path(folder) / "report.html")
    return model._fitted.model_bytes(), model.label_issues_.order.tobytes()


def partial_fit(_):
    X, y, _ = data()
    model = cmrm.CMRMClassifier(hidden=(8,))
    return model.partial_fit(X, y).partial_fit(X, y)._fitted.model_bytes()


def search(_):
    X, y, _ = data()
    one = {"presets": ["robust"], "alphas": [0.5], "temperatures": [0.1], "losses": ["cross-entropy"]}
    one |= {"learning_rates": [1e-3], "l2s": [0.0], "epoch_counts": [1], "lambdas": [1.0, 2.0]}
    model = cmrm.CMRMClassifierCV(folds=2, epochs=1, hidden=(8,), n_jobs=2, **one).fit(X, y)
    return model.best_setting_, model._fitted.model_bytes()


def predict(model):
    X = data()[0]
    return model.predict_proba(X).tobytes(), model.predict_set(X).tobytes()


def find_label_issues(_):
    _, y, probs = data()
    return cmrm.find_label_issues(y, probs, return_indices_ranked_by="normalized_margin").tobytes()


def conformal(_):
    _, y, probs = data()
    return cmrm.conformal.calibrate(probs, y).predict(probs).tobytes()


def noise(_):
    return cmrm.inject_noise(data()[1], "symmetric:0.2").labels.tobytes()


WORK = {
    "fit": fit,
    "fit on one thread": lambda model: fit(model, n_jobs=1),
    "partial_fit": partial_fit,
    "search": search,
    "predict": predict,
    "find_label_issues": find_label_issues,
    "conformal": conformal,
    "noise": noise,
}


def generation(model, expected, descendants):
    """All the work, compared with what it gave elsewhere; then the same in a child."""
    for name, work in WORK.items():
        if work(model) != expected[name]:
            sys.exit(f"{name}: another result in a fork")
    if descendants:
        fork(model, expected, descendants)


def fork(model, expected, descendants):
    child = multiprocessing.get_context("fork").Process(target=generation, args=(model, expected, descendants - 1))
    child.start()
    child.join(PATIENCE)
    if child.exitcode is None:
        child.kill()
        sys.exit("a forked child hangs")
    if child.exitcode != 0:
        sys.exit(f"a forked child ended with {child.exitcode}")


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        model, expected = pickle.load(file)
    for before in sys.argv[2:]:
        WORK[before](model)
    fork(model, expected, descendants=2)
