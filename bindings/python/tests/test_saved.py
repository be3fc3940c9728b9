"""Classifiers as folders of runs: saved, loaded, and opened by the command, with the same bits.

CMRM names the command; bindings/python/run builds it.
"""

import json
import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from test_sparse import sentences

import cmrm

COMMAND = os.environ.get("CMRM")
needs_command = pytest.mark.skipif(COMMAND is None, reason="CMRM does not name the command")

KINDS = [
    {},
    {"model": "forest"},
    {"model": "boosting"},
    {"model": "kernel"},
    {"model": "linear"},
    {"epochs": 6},
    {"model": "cosine", "epochs": 6},
    {"model": "svm", "loss": "hinge", "epochs": 6},
    {"base": True, "model": "forest"},
]


def command(*arguments, folder):
    done = subprocess.run([COMMAND, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def noisy_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X, cmrm.inject_noise(y, "symmetric:0.2", seed=3)[0]


def table(rows=300):
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": generator.integers(18, 90, rows),
            "city": generator.choice(["Bonn", "Köln", "Aachen"], rows),
            "member": generator.random(rows) < 0.4,
        }
    )
    return frame, np.where((frame["age"] > 50) ^ (frame["city"] == "Köln"), "yes", "no")


def assert_same(model, again, X):
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    predicted, expected = again.predict(X), model.predict(X)
    assert predicted.dtype == expected.dtype and (predicted == expected).all()
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert again.classes_.dtype == model.classes_.dtype and (again.classes_ == model.classes_).all()
    assert again.noise_ == model.noise_ and again.members_ == model.members_


def test_a_run_of_the_first_format_is_saved_in_this_one(tmp_path):
    X, y = noisy_cancer()
    model = cmrm.CMRMClassifier(model="linear").fit(X, y)
    model.save(tmp_path / "run")
    about = json.loads((tmp_path / "run/run.json").read_text())
    assert about["format"] == 2
    old = {key: value for key, value in about.items() if key not in ("files", "checksum", "data_root", "label_type")}
    (tmp_path / "run/run.json").write_text(json.dumps(old | {"format": 1}))
    cmrm.load(tmp_path / "run").save(tmp_path / "new")
    again = cmrm.load(tmp_path / "new")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    sealed = json.loads((tmp_path / "new/run.json").read_text())
    assert sealed["format"] == 2 and "model.safetensors" in sealed["files"]


@pytest.mark.parametrize("settings", KINDS)
def test_what_was_saved_is_loaded_again_with_the_same_bits(tmp_path, settings):
    X, y = noisy_cancer()
    model = cmrm.CMRMClassifier(**settings).fit(X, y)
    model.save(tmp_path / "run")
    again = cmrm.load(tmp_path / "run")
    assert isinstance(again, cmrm.CMRMClassifier)
    assert_same(model, again, X)
    assert (again.predict_set(X, 0.8) == model.predict_set(X, 0.8)).all()
    assert again.config_ == model.config_
    rows = again.label_issues_["row"]
    assert len(rows) == model.trained_on_.sum() and again.trained_on_.all()
    for column in ["given_label", "suggested_label", "margin"]:
        assert (again.label_issues_[column] == model.label_issues_[column][rows]).all(), column
    assert (again.row_weights_ == model.row_weights_[rows]).all()
    assert (again.margins_ == model.margins_[rows]).all()
    if model.wrong_probability_ is not None and again.wrong_probability_ is not None:
        assert (again.wrong_probability_ == model.wrong_probability_[rows]).all()
    # A copy of a copy, a pickle of a copy, and a copy of a pickle.
    again.save(tmp_path / "copy")
    assert_same(model, cmrm.load(tmp_path / "copy"), X)
    assert_same(model, pickle.loads(pickle.dumps(again)), X)
    unpickled = pickle.loads(pickle.dumps(model))
    assert_same(model, unpickled, X)
    unpickled.save(tmp_path / "unpickled")
    assert_same(model, cmrm.load(tmp_path / "unpickled"), X)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {path.name for path in (tmp_path / "copy").iterdir()} == names
    assert names - {path.name for path in (tmp_path / "unpickled").iterdir()} <= {
        "report.json",
        "report.html",
        "base-calibration.safetensors",
    }


@needs_command
@pytest.mark.parametrize("settings", KINDS)
def test_the_command_opens_what_python_saved(tmp_path, settings):
    X, y = noisy_cancer()
    model = cmrm.CMRMClassifier(**settings).fit(X, y)
    model.save(tmp_path / "run")
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", y)
    command("predict", "run", "x.npy", "--out", "p.npy", folder=tmp_path)
    assert (np.load(tmp_path / "p.npy") == model.predict_proba(X)).all()
    said = json.loads(command("predict", "run", "x.npy", "--coverage", 0.8, "--json", folder=tmp_path))["predictions"]
    assert [row["set_size"] for row in said] == model.predict_set(X, 0.8).sum(axis=1).tolist()
    assert [int(row["predicted_label"]) for row in said] == model.predict(X).tolist()
    command("evaluate", "run", "x.npy", "--labels", "y.npy", folder=tmp_path)
    audit = json.loads(command("audit", "run", "--json", folder=tmp_path))
    assert audit["rows"] == model.trained_on_.sum()
    assert "Trained on" in command("report", "run", folder=tmp_path)
    command("report", "run", "--html", "again.html", folder=tmp_path)
    # Without rows there is no page, and all else.
    pickle.loads(pickle.dumps(model)).save(tmp_path / "unpickled")
    command("predict", "unpickled", "x.npy", "--out", "q.npy", folder=tmp_path)
    assert (np.load(tmp_path / "q.npy") == np.load(tmp_path / "p.npy")).all()
    assert json.loads(command("audit", "unpickled", "--json", folder=tmp_path))["issues"] == audit["issues"]
    assert "stored without its rows" in command("report", "unpickled", folder=tmp_path)


@needs_command
@pytest.mark.parametrize("arguments", [[], ["--model", "forest"], ["--epochs", "5"], ["--model", "linear"]])
def test_a_run_of_the_command_is_loaded_with_the_same_bits(tmp_path, arguments):
    frame, label = table()
    frame.assign(label=label).to_csv(tmp_path / "t.csv", index=False)
    command("fit", "t.csv", "--label", "label", "--out", "run", *arguments, folder=tmp_path)
    model = cmrm.load(tmp_path / "run")
    assert model.classes_.tolist() == ["no", "yes"]
    command("predict", "run", "t.csv", "--out", "p.npy", folder=tmp_path)
    said = np.load(tmp_path / "p.npy")
    assert (model.predict_proba(frame) == said).all()
    assert (model.predict(frame) == model.classes_[said.argmax(axis=1)]).all()
    # One row at a time.
    for row in [0, 1, 150, 299]:
        assert (model.predict_proba(frame.iloc[[row]]) == said[row]).all()
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert [member["name"] for member in model.members_] == [member["name"] for member in summary.get("members", [])]
    assert (model.noise_ is None) == ("noise" not in summary)
    assert [column["name"] for column in model.columns_] == ["age", "city", "member"]
    audit = json.loads(command("audit", "run", "--json", folder=tmp_path))
    assert model.label_issues_["is_label_issue"].sum() == audit["issues"]
    model.save(tmp_path / "again")
    command("predict", "again", "t.csv", "--out", "q.npy", folder=tmp_path)
    assert (np.load(tmp_path / "q.npy") == said).all()
    if "--model" in arguments:
        assert model.get_params()["model"] == arguments[1]


@pytest.mark.parametrize("settings", [{"model": "boosting"}, {"epochs": 5}])
def test_tables_texts_and_sparse_matrices(tmp_path, settings):
    frame, label = table()
    words, topics = sentences(200)
    sparse = TfidfVectorizer().fit_transform(words)
    for name, X, y in [("table", frame, label), ("texts", words, topics), ("sparse", sparse, topics)]:
        model = cmrm.CMRMClassifier(**settings).fit(X, y)
        model.save(tmp_path / name)
        again = cmrm.load(tmp_path / name)
        assert_same(model, again, X)
        assert again.n_features_in_ == model.n_features_in_
        if name != "texts":
            assert hasattr(again, "feature_names_in_") == hasattr(model, "feature_names_in_")
        one = frame.iloc[[3]] if name == "table" else X[3:4]
        assert (again.predict_proba(one) == model.predict_proba(X)[3]).all()


@pytest.mark.parametrize(
    "labels",
    [
        np.array([3, 1, 2]),
        np.array([3, 1, 2], dtype=np.uint8),
        np.array([3.0, 1.0, 2.0]),
        np.array(["a", "b", "c"]),
        np.array(["a", "b", "c"], dtype=object),
    ],
)
def test_labels_keep_their_type(tmp_path, labels):
    X, y = load_iris(return_X_y=True)
    model = cmrm.CMRMClassifier(model="linear").fit(X, labels[y])
    model.save(tmp_path / "run")
    assert_same(model, cmrm.load(tmp_path / "run"), X)


def test_booleans_keep_their_type(tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    model = cmrm.CMRMClassifier(model="linear").fit(X, y == 1)
    model.save(tmp_path / "run")
    assert_same(model, cmrm.load(tmp_path / "run"), X)


def test_nothing_is_overwritten(tmp_path):
    X, y = noisy_cancer()
    model = cmrm.CMRMClassifier(model="linear").fit(X, y)
    model.save(tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").write_text("")
    for folder in ["run", "notes"]:
        with pytest.raises(ValueError, match="not empty; choose another"):
            model.save(tmp_path / folder)
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["thesis.tex"]
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file"):
        model.save(tmp_path / "file")


def test_what_cannot_be_loaded_is_named(tmp_path):
    X, y = noisy_cancer()
    cmrm.CMRMClassifier(model="linear").fit(X, y).save(tmp_path / "run")
    with pytest.raises(ValueError, match=r"nowhere: not a folder; name the folder of a run"):
        cmrm.load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"run\.json: missing"):
        cmrm.load(tmp_path)
    path = tmp_path / "run" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.safetensors: altered since the run was written.*fit again"):
        cmrm.load(tmp_path / "run")
    path.unlink()
    with pytest.raises(ValueError, match=r"model\.safetensors: missing, though run\.json lists it"):
        cmrm.load(tmp_path / "run")


def test_a_search_is_saved_as_the_classifier_that_it_chose(tmp_path):
    X, y = noisy_cancer()
    model = cmrm.CMRMClassifierCV(folds=2, epochs=3, lambdas=[10.0, 20.0], epoch_counts=[3]).fit(X, y)
    model.save(tmp_path / "run")
    again = cmrm.load(tmp_path / "run")
    assert_same(model, again, X)
    assert again.get_params()["epochs"] == 3


def test_a_loaded_network_goes_on_and_a_loaded_classifier_is_fitted_again(tmp_path):
    X, y = noisy_cancer()
    model = cmrm.CMRMClassifier(epochs=3).fit(X, y)
    model.save(tmp_path / "run")
    again = cmrm.load(tmp_path / "run")
    # From where the run stood, with what fit had decided (`adamw`), where an unset optimiser would be that of chunks.
    assert again.get_params()["optimiser"] == "adamw"
    model.set_params(**again.get_params())
    assert (again.partial_fit(X, y).predict_proba(X) == model.partial_fit(X, y).predict_proba(X)).all()
    again.save(tmp_path / "chunk")
    assert (cmrm.load(tmp_path / "chunk").predict_proba(X) == again.predict_proba(X)).all()
    fresh = cmrm.load(tmp_path / "run").fit(X, y)
    assert (fresh.predict_proba(X) == cmrm.CMRMClassifier(epochs=3).fit(X, y).predict_proba(X)).all()


def test_pickles_of_earlier_versions_are_read():
    X, y = noisy_cancer()
    model = cmrm.CMRMClassifier(model="linear").fit(X, y)
    make, parts = model._fitted.__reduce__()
    assert (make(*parts[:5]).probabilities(X) == model.predict_proba(X)).all()


def test_the_package_lists_what_it_has():
    assert {"CMRMClassifier", "CMRMClassifierCV", "Robust", "load", "audit", "conformal"} <= set(dir(cmrm))
