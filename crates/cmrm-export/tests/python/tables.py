"""Data of every kind that a model takes, small and made up, with labels of which every ninth is wrong."""

import csv
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

TRAIN, NEW = 420, 300
EPOCH = datetime(1970, 1, 1)


@dataclass
class Data:
    """A file to fit on, one to predict, and the same as inputs of an ONNX model."""

    name: str
    train: Path
    new: Path
    reading: list
    feeds: dict
    # Kinds of models: single ones (without cosines, which want dense rows: "some"), votes of one learner, the vote of all.
    kinds: str = "single votes auto"
    # Flags of `cmrm export`.
    export: list = field(default_factory=list)

    def models(self, single, votes, auto):
        chosen = {"single": single, "some": single[:2], "votes": votes, "auto": auto, "svm": [["--model", "svm"]]}
        return [settings for kind in self.kinds.split() for settings in chosen[kind]]


def labels(rng, score, classes):
    """Classes by the rank of a score, every ninth wrong."""
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    y = np.searchsorted(cuts, score)
    wrong = rng.random(len(y)) < 1 / 9
    y[wrong] = (y[wrong] + 1 + rng.integers(0, classes - 1, wrong.sum())) % classes
    return y


def array(folder, classes, width=12, most=1000.0, missing=False, name=None):
    """Columns whose numbers are of the sizes from one over `most` to `most`."""
    rng = np.random.default_rng(classes + width)
    z = rng.normal(size=(TRAIN + NEW, width))
    x = (z * np.geomspace(1 / most, most, width)).astype(np.float32)
    y = labels(rng, z[:, 0] + z[:, 1] * z[:, 2] + np.abs(z[:, 3]), classes)
    reading = []
    if missing:
        x[rng.random(x.shape) < 0.05] = np.nan
        # A column that says nothing but whether it is missing, and one that is never missing.
        x[:, 5] = np.where(np.isnan(x[:, 5]), np.nan, 3)
        x[:, 6] = np.nan_to_num(x[:, 6], nan=1)
        reading = ["--impute", "--config", settings(folder, nan_is_missing=True)]
    stem = name or f"array{classes}"
    train, new = folder / f"{stem}.npz", folder / f"{stem}-new.npy"
    np.savez(train, X=x[:TRAIN], y=y[:TRAIN])
    np.save(new, x[TRAIN:])
    return train, new, reading, {"features": x[TRAIN:]}


def settings(folder, **preprocess):
    """A settings file with a section on preprocessing."""
    text = "[preprocess]\n" + "".join(f"{key.replace('_', '-')} = {json.dumps(value)}\n" for key, value in preprocess.items())
    path = folder / f"settings{abs(hash(text))}.toml"
    path.write_text(text)
    return path


SOILS = [f"soil {letter}" for letter in "abcdefghijklmnopqrst"]


def rows(rng, count, new):
    """Columns of a table: numbers, booleans, dates with times, and names of few and of many kinds; None where a cell is missing."""
    gap = lambda values, share: [None if rng.random() < share else value for value in values]
    soils = SOILS + ["soil never seen", "Zürich"] if new else SOILS
    start = datetime(1955, 1, 1)
    times = [start + timedelta(seconds=int(s)) for s in rng.integers(0, 80 * 365 * 86400, count)]
    return {
        "height (m)": gap((rng.gamma(2, 10, count)).round(2).tolist(), 0.08),
        "girth": rng.integers(10, 90, count).tolist(),
        "grafted": gap(rng.integers(0, 2, count).astype(bool).tolist(), 0.05),
        "seen": gap(times, 0.06),
        "planted": [datetime(1960, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 20000, count)],
        "soil": gap(rng.choice(soils, count).tolist(), 0.1),
        "side": rng.choice(["north", "south", "0", "east"], count).tolist(),
    }


def table(folder, name, classes, reading):
    rng = np.random.default_rng(len(name) + classes)
    train, new = rows(rng, TRAIN, False), rows(rng, NEW, True)
    score = np.array([
        (h or 20) / 10 + g / 40 + (SOILS.index(s) % 4 if s else 2) + (t.month % 3 if t else 1) + (side == "north")
        for h, g, s, t, side in zip(*(train[key] for key in ["height (m)", "girth", "soil", "seen", "side"]))
    ])
    y = [["ash", "beech", "cedar", "elm"][k] for k in labels(rng, score, classes)]
    write(folder / f"{name}.csv", {**train, "species": y})
    write(folder / f"{name}-new.csv", new)
    flags = ["--label", "species", "--impute", "--type", "side=categorical", *reading]
    return folder / f"{name}.csv", folder / f"{name}-new.csv", flags, {key: fed(key, cells) for key, cells in new.items()}


def write(path, columns):
    word = {None: "", True: "yes", False: "no"}
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(columns)
        for cells in zip(*columns.values()):
            out.writerow([word[cell] if cell is None or isinstance(cell, bool) else cell for cell in cells])


def fed(name, cells):
    """A column as the model takes it: numbers and booleans as floats, dates as days since 1970 in double precision, names as text;
    a missing cell is NaN, or the empty text."""
    if name in ("soil", "side"):
        return np.array([[cell or ""] for cell in cells], dtype=object)
    if name in ("seen", "planted"):
        return np.array([[np.nan if cell is None else (cell - EPOCH) / timedelta(days=1)] for cell in cells])
    return np.array([[np.nan if cell is None else cell] for cell in cells], dtype=np.float32)


def sparse(folder, classes):
    """Counts of words, in svmlight's format."""
    rng = np.random.default_rng(classes)
    x = rng.poisson(0.06, size=(TRAIN + NEW, 90)).astype(np.float32)
    x[:, 0] += 1
    y = labels(rng, x[:, 1:30].sum(1) - x[:, 30:60].sum(1) + rng.normal(size=len(x)) / 4, classes)
    for name, part in [("sparse.svm", slice(0, TRAIN)), ("sparse-new.svm", slice(TRAIN, None))]:
        cells = lambda row: " ".join(f"{at}:{value:g}" for at, value in enumerate(row) if value)
        # The last row's last cell says how wide the rows are.
        x[part][-1, -1] = 1
        (folder / name).write_text("".join(f"{label} {cells(row)}\n" for label, row in zip(y[part], x[part])))
    return folder / "sparse.svm", folder / "sparse-new.svm", [], {"features": x[TRAIN:]}


def all_data(folder):
    yield Data("array, 2 classes", *array(folder, 2), kinds="svm single votes auto")
    yield Data("array, 4 classes", *array(folder, 4))
    yield Data("array with NaN", *array(folder, 3, missing=True, name="nan"))
    yield Data("table, 2 classes", *table(folder, "two", 2, []))
    yield Data("table, 4 classes", *table(folder, "four", 4, []))
    parts = settings(folder, dates="parts", missing_category="most-frequent")
    yield Data("table, dates in parts", *table(folder, "parts", 3, ["--config", parts]))
    ordinal = settings(folder, categories="ordinal", max_levels=8)
    yield Data("table, names as places", *table(folder, "ordinal", 3, ["--config", ordinal]))
    yield Data("sparse", *sparse(folder, 3), kinds="some votes auto")
    train, new, reading, feeds = array(folder, 3, width=7, most=3.0, name="plain")
    reading = ["--config", settings(folder, standardise=False)]
    yield Data("from features", train, new, reading, feeds, export=["--from-features"])


def check_refusals(folder, cmrm, refused):
    """Text is refused by its column's name, with the way out, which works."""
    rng = np.random.default_rng(0)
    words = "oak ash elm fir yew bay box fig".split()
    notes = [" ".join(rng.choice(words, 6)) for _ in range(200)]
    path, run = folder / "notes.csv", folder / "run"
    write(path, {"note": notes, "y": ["a" if "oak" in note else "b" for note in notes]})
    cmrm("fit", path, "--label", "y", "--type", "note=text", "--model", "linear", "--out", run, "--quiet")
    message = refused("export", run, "--onnx", folder / "text.onnx")
    assert "column 'note'" in message and "--from-features" in message, message
    assert not (folder / "text.onnx").exists()
    cmrm("export", run, "--onnx", folder / "text.onnx", "--from-features", "--quiet")
