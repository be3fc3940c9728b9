"""Real data with wrong labels, as `(name, x, y, new, clean, labels)`: rows to learn from with their clean labels, rows to test
on with theirs, and `labels(share)`, what the former are observed as."""

import csv

import numpy as np

import cmrm

SHARES = [0.0, 0.2, 0.4]


def tables(folder, seed):
    """Every table of the folder, as `table` reads it."""
    for path in sorted((folder / "tables").glob("*.csv")):
        yield table(path, seed)


def table(path, seed):
    """Three fifths of the rows train, at most 3,000; the others test, at most 5,000. The label is in the column `class`."""
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = pd.read_csv(path)
    y = pd.factorize(rows.pop("class"), sort=True)[0]
    numbers = rows.select_dtypes("number").columns
    encoder = make_column_transformer(
        (StandardScaler(), list(numbers)),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), list(rows.columns.difference(numbers))),
    )
    train, test = split(len(y), seed)
    x = encoder.fit_transform(rows.iloc[train]).astype(np.float32)
    new = encoder.transform(rows.iloc[test]).astype(np.float32)
    return path.stem, x, y[train], new, y[test], planted(y[train], seed)


def split(rows, seed):
    """The numbers of the rows that train, and of those that test."""
    train, test = np.split(np.random.default_rng(seed).permutation(rows), [min(3000, int(0.6 * rows))])
    return train, test[:5000]


def questions(folder, seed):
    """TREC's questions."""
    path = folder / "text/trec.minilm.npz"
    if path.exists():
        yield "trec", *embeddings(path, seed)[1:]


def embeddings(path, seed):
    """Vectors of unit length from an NPZ file: A and y to train on, B and t to test on."""
    x, y, new, clean = (np.load(path)[name] for name in "AyBt")
    return path.stem, x.astype(np.float32), y, new.astype(np.float32), clean, planted(y, seed)


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


def uci(folder, seed):
    """Adult, Spambase and Credit: three fifths of the rows train, the others test."""
    import pandas as pd

    part = folder / "uci"
    read = {
        "adult": lambda: pd.concat(
            [pd.read_csv(part / "adult.data", header=None, na_values="?", skipinitialspace=True),
             pd.read_csv(part / "adult.test", header=None, na_values="?", skipinitialspace=True, skiprows=1)]
        ).dropna().reset_index(drop=True),
        "spambase": lambda: pd.read_csv(part / "spambase.data", header=None),
        "credit": lambda: pd.read_csv(part / "default_credit_card_clients.csv").iloc[:, 1:],
    }  # fmt: skip
    for name, table in read.items() if part.exists() else ():
        table = table()
        y = pd.factorize(table.pop(table.columns[-1]).astype(str).str.rstrip("."), sort=True)[0]
        table = pd.get_dummies(table, dtype=np.float32)
        train, test = np.split(np.random.default_rng(seed).permutation(len(y)), [int(0.6 * len(y))])
        rows = [table.iloc[part].to_numpy(np.float32) for part in (train, test)]
        mean, deviation = rows[0].mean(axis=0), rows[0].std(axis=0)
        x, new = ((part - mean) / np.where(deviation > 0, deviation, 1) for part in rows)
        yield name, x, y[train], new, y[test], planted(y[train], seed)


def planted(y, seed):
    """Labels moved to another class, each other class alike. Two classes: 35 % at most, as half would be no labels."""
    binary = len(np.unique(y)) == 2

    def labels(share):
        share = min(share, 0.35) if binary else share
        return np.asarray(cmrm.inject_noise(y, f"symmetric:{share}", seed=seed).labels) if share else y

    return labels
