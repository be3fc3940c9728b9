"""Synthetic data from a fixed seed, written once for all sides."""

import numpy as np


class Folder:
    """Makes data on demand and remembers where it is."""

    def __init__(self, path):
        self.path = path
        self.made = {}

    def get(self, rows, columns, classes):
        """Paths of features and labels as a part of a job."""
        key = f"{rows}x{columns}x{classes}"
        if key not in self.made:
            x, y = make(rows, columns, classes)
            paths = {"x": str(self.path / f"{key}-x.npy"), "y": str(self.path / f"{key}-y.npy")}
            np.save(paths["x"], x)
            np.save(paths["y"], y)
            self.made[key] = paths | {"classes": classes}
        return self.made[key]


def make(rows, columns, classes):
    """Correlated features, standardised; labels of a linear teacher, a fifth of them replaced at random."""
    rng = np.random.default_rng(7)
    # Principal components whose deviations fall a hundredfold, mixed so that every feature holds all of them.
    spectrum = np.logspace(0, -2, columns)
    mixing = np.linalg.qr(rng.normal(size=(columns, columns)))[0]
    x = (rng.normal(size=(rows, columns)) * spectrum) @ mixing
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    scores = x @ rng.normal(size=(columns, classes)) / np.sqrt(columns)
    y = (2 * scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    wrong = rng.random(rows) < 0.2
    y[wrong] = rng.integers(0, classes, wrong.sum())
    return np.ascontiguousarray(x, dtype=np.float32), y.astype(np.int64)


def objective(paths, parameters, l2):
    """Mean cross-entropy + l2/2 |W|^2 in double precision, by neither side's code. Parameters: W row by row, then b."""
    x, y = np.load(paths["x"]).astype(np.float64), np.load(paths["y"])
    classes, columns = paths["classes"], x.shape[1]
    parameters = np.asarray(parameters)
    weights, biases = parameters[: classes * columns].reshape(classes, columns), parameters[classes * columns :]
    logits = x @ weights.T + biases
    top = logits.max(axis=1)
    log_sum = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
    return (log_sum - logits[np.arange(len(y)), y]).mean() + l2 / 2 * (weights**2).sum()
