"""The same rows, seed and settings give the same bits as the command `cmrm`.

CMRM names the command; bindings/python/run builds it.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import TfidfVectorizer
from test_sparse import sentences

import cmrm

COMMAND = os.environ.get("CMRM")
pytestmark = pytest.mark.skipif(COMMAND is None, reason="CMRM does not name the command")


def command(*arguments, folder):
    done = subprocess.run([COMMAND, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def same_run(model, run: Path, X):
    assert model._fitted.model_bytes() == (run / "model.safetensors").read_bytes()
    assert model._fitted.preprocess_json + "\n" == (run / "preprocess.json").read_text()
    seen = pq.read_table(run / "margins.parquet").to_pandas()
    rows = seen["row"].to_numpy().astype(int)
    assert model.trained_on_.sum() == len(rows)
    assert (model.margins_[rows] == seen["margin"].to_numpy().astype(np.float32)).all()
    assert (model.row_weights_[rows] == seen["weight"].to_numpy().astype(np.float32)).all()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"row_order": "given", "base": True},
        {"model": "boosting", "balance_classes": True},
        {"epochs": 6, "row_order": "given", "base": True},
        {"epochs": 6},
        {"model": "linear"},
        {"model": "linear", "optimiser": "adam", "epochs": 6, "learning_rate": 0.02, "schedule": "cosine"},
        {"model": "linear", "optimiser": "lbfgs", "l2": 1e-3, "loss": "gce", "random_state": 7},
        {"epochs": 5, "hidden": (16,), "dropout": 0.2, "batch_size": 32, "preset": "paper", "lam": 0.7, "patience": 3},
    ],
)
def test_arrays(tmp_path, settings):
    X, y = load_breast_cancer(return_X_y=True)
    y, _ = cmrm.inject_noise(y, "symmetric:0.2", seed=3)
    model = cmrm.CMRMClassifier(**settings).fit(X, y)
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "settings.toml").write_text(model.config_)
    command("fit", "x.npy", "--labels", "y.npy", "--config", "settings.toml", "--out", "run", folder=tmp_path)
    same_run(model, tmp_path / "run", X)
    command("predict", "run", "x.npy", "--probabilities", "--out", "predicted.csv", folder=tmp_path)
    said = pd.read_csv(tmp_path / "predicted.csv")
    columns = [column for column in said if column.startswith("p_") or column.startswith("probability")]
    assert len(columns) == 2, list(said)
    assert (said[columns].to_numpy().astype(np.float32) == model.predict_proba(X)).all()


def test_a_table(tmp_path):
    generator = np.random.default_rng(0)
    rows = 400
    frame = pd.DataFrame(
        {
            "age": generator.integers(18, 90, rows),
            "income": generator.normal(40_000, 9_000, rows),
            "city": generator.choice(["Bonn", "Köln", "Aachen"], rows),
            "member": generator.random(rows) < 0.4,
        }
    )
    label = np.where((frame["age"] > 50) ^ (frame["city"] == "Köln"), "yes", "no")
    model = cmrm.CMRMClassifier(epochs=6, row_order="given").fit(frame, label)
    frame.assign(label=label).to_parquet(tmp_path / "table.parquet")
    (tmp_path / "settings.toml").write_text(model.config_)
    arguments = ["--label", "label", "--config", "settings.toml", "--out", "run"]
    command("fit", "table.parquet", *arguments, folder=tmp_path)
    same_run(model, tmp_path / "run", frame)


@pytest.mark.parametrize("settings", [{"row_order": "given"}, {"model": "linear", "row_order": "given"}])
def test_a_sparse_matrix(tmp_path, settings):
    texts, topics = sentences(300)
    y, _ = cmrm.inject_noise(topics, "symmetric:0.2", seed=3)
    X = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(texts)
    model = cmrm.CMRMClassifier(**settings).fit(X, y)
    scipy.sparse.save_npz(tmp_path / "x.npz", X)
    pd.DataFrame({"label": y}).to_csv(tmp_path / "y.csv", index=False)
    (tmp_path / "settings.toml").write_text(model.config_)
    command("fit", "x.npz", "--labels", "y.csv", "--config", "settings.toml", "--out", "run", folder=tmp_path)
    same_run(model, tmp_path / "run", X)


def test_a_column_of_text(tmp_path):
    texts, topics = sentences(300)
    table = pa.table({"note": texts, "size": np.arange(300) % 7, "topic": topics})
    model = cmrm.CMRMClassifier(row_order="given").fit(table.drop(["topic"]), topics)
    pq.write_table(table, tmp_path / "table.parquet")
    (tmp_path / "settings.toml").write_text(model.config_)
    arguments = ["--label", "topic", "--config", "settings.toml", "--out", "run"]
    command("fit", "table.parquet", *arguments, folder=tmp_path)
    same_run(model, tmp_path / "run", table)


def test_noise(tmp_path):
    labels = np.array(["a", "b", "c", "b", "a"] * 40)
    noisy, flipped = cmrm.inject_noise(labels, "symmetric:0.3", seed=11)
    pd.DataFrame({"x": np.arange(200), "label": labels}).to_csv(tmp_path / "clean.csv", index=False)
    arguments = ["--label", "label", "--kind", "symmetric:0.3", "--seed", 11, "--out", "noisy.csv"]
    command("noise", "clean.csv", *arguments, folder=tmp_path)
    assert (pd.read_csv(tmp_path / "noisy.csv")["label"].to_numpy() == noisy).all()
    assert flipped.sum() == 60
