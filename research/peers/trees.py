"""Our trees and those of others on the same rows. Called by `trees`."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import warnings

parser = argparse.ArgumentParser()
parser.add_argument("--engine", required=True)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
parser.add_argument("--rows", type=int, default=100_000)
parser.add_argument("--columns", type=int, default=50)
parser.add_argument("--classes", default="2,10")
parser.add_argument("--repeats", type=int, default=1)
parser.add_argument("--only", choices=["speed", "tables"])
parser.add_argument("--tables", type=pathlib.Path)
parser.add_argument("--seeds", type=int, default=1)
parser.add_argument("--models", help="names, separated by commas; all by default")
arguments = parser.parse_args()
# Every library that might start threads is told how many, before it is imported.
for name in ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"]:
    os.environ[name] = str(arguments.threads)
warnings.filterwarnings("ignore")

import lightgbm
import numpy as np
from sklearn.ensemble import RandomForestClassifier

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
TEST_ROWS = 100_000


class Engine:
    """One of our models, behind the worker that `cargo build -p cmrm-bench --bin trees` makes."""

    def __init__(self, folder, **settings):
        self.folder, self.settings = pathlib.Path(folder), settings
        self.worker = subprocess.Popen([arguments.engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, x, y, new, classes, seed):
        """Seconds to train, seconds to predict, probabilities."""
        paths = {name: str(self.folder / name) for name in ["train", "labels", "test", "probabilities"]}
        x.astype("<f4").tofile(paths["train"])
        y.astype("<u4").tofile(paths["labels"])
        new.astype("<f4").tofile(paths["test"])
        ((kind, settings),) = self.settings.items()
        job = dict(paths, columns=x.shape[1], classes=classes, model={kind: dict(settings, seed=seed)})
        self.worker.stdin.write(json.dumps(job) + "\n")
        self.worker.stdin.flush()
        line = self.worker.stdout.readline()
        if not line:
            sys.exit(f"the engine ended during {job}")
        answer = json.loads(line)
        clock = {"wall": "seconds", "cpu": "cpu_seconds"}[arguments.clock]
        found = np.fromfile(paths["probabilities"], "<f4").reshape(-1, classes)
        return answer["train"][clock], answer["predict"][clock], found


class Peer:
    """A model with `fit` and `predict_proba`."""

    def __init__(self, make):
        self.make = make

    def run(self, x, y, new, classes, seed):
        clock = CLOCKS[arguments.clock]
        model = self.make(seed)
        start = clock()
        model.fit(x, y)
        trained = clock()
        found = model.predict_proba(new)
        done = clock()
        probabilities = np.zeros((len(new), classes), np.float32)
        probabilities[:, np.asarray(model.classes_, int)] = found
        return trained - start, done - trained, probabilities


def boosted(seed):
    return lightgbm.LGBMClassifier(verbose=-1, n_jobs=arguments.threads, random_state=seed)


def planted(trees, min_leaf):
    return lambda seed: RandomForestClassifier(
        trees, min_samples_leaf=min_leaf, n_jobs=arguments.threads, random_state=seed
    )


def perpetual(seed):
    from perpetual import PerpetualBooster

    class Booster(PerpetualBooster):
        def fit(self, x, y):
            self.classes_ = np.unique(y)
            return super().fit(x.astype(np.float64), y.astype(np.float64))

        def predict_proba(self, x):
            return super().predict_proba(x.astype(np.float64))

    return Booster(objective="LogLoss", budget=0.5, num_threads=arguments.threads, seed=seed)


def synthetic(rows, columns, classes):
    """Classes from a small network, products and sines of standard normal features, with noise."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((rows, columns)).astype(np.float32)
    hidden = np.tanh(x @ rng.standard_normal((columns, 20)) / 4)
    scores = 1.5 * hidden @ rng.standard_normal((20, 10))
    scores += 0.8 * x[:, :10] * x[:, 10:20] + np.sin(2 * x[:, 20:30]) + 0.7 * rng.gumbel(size=scores.shape)
    if classes == 2:
        return x, (scores[:, 0] + scores[:, 1] > scores[:, 2] + scores[:, 3]).astype(np.int64)
    return x, scores[:, :classes].argmax(1)


def log_loss(probabilities, labels):
    return -np.log(np.maximum(probabilities[np.arange(len(labels)), labels], 1e-15)).mean()


def chosen(models):
    return {name: model for name, model in models.items() if not arguments.models or name in arguments.models.split(",")}


def speed(folder):
    models = chosen(
        {
            "boosting (ours)": Engine(folder, boosting={}),
            "LightGBM": Peer(boosted),
            "forest of 100 (ours)": Engine(folder, forest={"trees": 100}),
            "forest of 100 (scikit-learn)": Peer(planted(100, 1)),
        }
    )
    print(f"{arguments.rows} x {arguments.columns}, threads {arguments.threads}, {arguments.clock} seconds\n")
    print("| classes | model | training, s | prediction of 100,000 rows, s | accuracy | log loss |\n|---|---|---|---|---|---|")
    for classes in map(int, arguments.classes.split(",")):
        x, y = synthetic(arguments.rows + TEST_ROWS, arguments.columns, classes)
        train, new = np.split(x, [arguments.rows])
        labels, true = np.split(y, [arguments.rows])
        times = {name: [] for name in models}
        said = {}
        for turn in range(arguments.repeats):
            for name, model in models.items():
                *seconds, said[name] = model.run(train, labels, new, classes, turn)
                times[name].append(seconds)
        for name, found in said.items():
            fit, predict = np.median(times[name], axis=0)
            accuracy = 100 * (found.argmax(1) == true).mean()
            print(
                f"| {classes} | {name} | {fit:.2f} | {predict:.3f} | {accuracy:.2f} | {log_loss(found, true):.4f} |",
                flush=True,
            )


def split(path, seed):
    """Three fifths of the rows train, at most 3,000; the others test, at most 5,000."""
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table = pd.read_csv(path)
    y = pd.factorize(table.pop("class"), sort=True)[0]
    numbers = table.select_dtypes("number").columns
    names = table.columns.difference(numbers, sort=False)
    order = np.random.default_rng(1000 + seed).permutation(len(y))
    count = min(3000, int(0.6 * len(y)))
    train, test = order[:count], order[count : count + 5000]
    encoder = make_column_transformer(
        (StandardScaler(), list(numbers)), (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(names))
    )
    x = encoder.fit_transform(table.iloc[train]).astype(np.float32)
    return x, y[train], encoder.transform(table.iloc[test]).astype(np.float32), y[test]


def wrong(y, classes, rate, rng):
    y = y.copy()
    count = round(rate * len(y))
    rows = rng.permutation(len(y))[:count]
    y[rows] = (y[rows] + rng.integers(1, classes, size=count)) % classes
    return y


def tables(folder):
    models = chosen(
        {
            "boosting (ours)": Engine(folder, boosting={}),
            "LightGBM": Peer(boosted),
            "perpetual": Peer(perpetual),
            "forest of 200 (ours)": Engine(folder, forest={}),
            "forest of 200 (scikit-learn)": Peer(planted(200, 1)),
        }
    )
    rates = [0.0, 0.4]
    accuracies = {(name, rate): [] for name in models for rate in rates}
    seconds = {name: 0.0 for name in models}
    for path in sorted(arguments.tables.glob("*.csv")):
        for seed in range(arguments.seeds):
            x, y, new, true = split(path, seed)
            classes = int(y.max()) + 1
            for rate in rates:
                planted_rate = 0.35 if classes == 2 and rate == 0.4 else rate
                labels = wrong(y, classes, planted_rate, np.random.default_rng(77 + seed))
                for name, model in models.items():
                    fit, predict, found = model.run(x, labels, new, classes, seed)
                    accuracies[name, rate].append(100 * (found.argmax(1) == true).mean())
                    seconds[name] += fit + predict
        means = {f"{name} {rate:.0%}": np.mean(found[-arguments.seeds :]) for (name, rate), found in accuracies.items()}
        print(path.stem, ", ".join(f"{name}: {mean:.1f}" for name, mean in means.items()), file=sys.stderr, flush=True)
    runs = len(accuracies[next(iter(models)), 0.0]) * len(rates)
    print("| model | accuracy, 0 % wrong | 40 % wrong | seconds a fit and prediction |\n|---|---|---|---|")
    for name in models:
        cells = " | ".join(f"{np.mean(accuracies[name, rate]):.2f}" for rate in rates)
        print(f"| {name} | {cells} | {seconds[name] / runs:.3f} |")


with tempfile.TemporaryDirectory() as folder:
    if arguments.only != "tables":
        speed(folder)
    if arguments.only != "speed" and arguments.tables:
        tables(folder)
