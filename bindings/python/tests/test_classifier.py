"""What the estimators add to scikit-learn's conventions."""

import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cmrm


@pytest.fixture(scope="module")
def noisy():
    X, clean = make_classification(800, n_features=12, n_informative=6, n_classes=3, class_sep=2.0, random_state=1)
    names = np.array(["low", "middle", "high"])
    labels, flipped = cmrm.inject_noise(names[clean], "symmetric:0.3", seed=2)
    return X, labels, names[clean], flipped


@pytest.fixture(scope="module")
def model(noisy):
    return cmrm.CMRMClassifier(base=True).fit(noisy[0], noisy[1])


def test_wrong_labels_are_found_and_not_learned(model, noisy):
    X, labels, clean, flipped = noisy
    assert (model.predict(X) == clean).mean() > 0.9
    issues = model.label_issues_
    assert list(issues["given_label"]) == list(labels)
    found = issues["is_label_issue"]
    assert (found & flipped).sum() > 0.8 * flipped.sum()
    assert (issues["suggested_label"][found & flipped] == clean[found & flipped]).mean() > 0.9
    assert ((model.margins_ < 0) == found).all()
    assert model.row_weights_[flipped].mean() < model.row_weights_[~flipped].mean()


def test_a_network_on_digits_with_forty_percent_wrong_labels():
    X, y = load_digits(return_X_y=True)
    wrong, _ = cmrm.inject_noise(y[::2], "symmetric:0.4", seed=0)
    robust = cmrm.CMRMClassifier(model="mlp").fit(X[::2], wrong)
    with pytest.warns(UserWarning, match="learned labels by heart"):
        plain = cmrm.CMRMClassifier(lam=0.0).fit(X[::2], wrong)
    assert robust.score(X[1::2], y[1::2]) > plain.score(X[1::2], y[1::2]) + 0.02
    # The rate falls along a cosine unless told otherwise.
    probabilities = {name: cmrm.CMRMClassifier(schedule=name).fit(X[::2], wrong).predict_proba(X) for name in ("cosine", "constant")}
    assert (probabilities["cosine"] == robust.predict_proba(X)).all()
    assert (probabilities["constant"] != robust.predict_proba(X)).any()


def test_sets_hold_what_was_asked_for(model, noisy):
    X, labels, clean, _ = noisy
    small, large = model.predict_set(X, coverage=0.6), model.predict_set(X, coverage=0.95)
    assert small.shape == (800, 3) and (small <= large).all()
    assert large[np.arange(800), np.searchsorted(model.classes_, clean)].mean() > 0.95
    for score in ("aps", "raps"):
        assert model.predict_set(X, score=score).any(axis=1).mean() > 0.9
    with pytest.raises(ValueError, match="coverage = 1.5 is out of range"):
        model.predict_set(X, coverage=1.5)
    with pytest.raises(ValueError, match="fit with validation_share above 0"):
        cmrm.CMRMClassifier(epochs=1, validation_share=0.0).fit(X, labels).predict_set(X)


def test_a_pickle_holds_safetensors_and_nothing_native(model, noisy):
    stored = pickle.dumps(model)
    assert model._fitted.model_bytes() in stored
    again = pickle.loads(stored)
    assert (again.predict_proba(noisy[0]) == model.predict_proba(noisy[0])).all()
    assert (again.predict_set(noisy[0]) == model.predict_set(noisy[0])).all()
    assert pickle.dumps(pickle.loads(pickle.dumps(again))) == pickle.dumps(again)
    with pytest.raises(ValueError, match="fit again in this process"):
        again.report("never.html")


def test_a_damaged_model_is_refused(model):
    parts = list(model._fitted.__reduce__()[1])
    arms = [(name, bytes(data[:-7])) for name, data in parts[3]]
    with pytest.raises(ValueError):
        type(model._fitted).from_parts(*parts[:3], arms, parts[4])


def test_the_report_is_the_commands_page(model, tmp_path):
    path = tmp_path / "out.html"
    model.report(path)
    page = path.read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "middle" in page and "envelope" in page.lower()
    with pytest.raises(OSError, match="nowhere"):
        model.report(tmp_path / "nowhere" / "out.html")


def test_threads_and_the_order_of_rows_do_not_matter(noisy):
    X, labels, *_ = noisy
    first = cmrm.CMRMClassifier(epochs=5, n_jobs=1).fit(X, labels)
    order = np.random.default_rng(0).permutation(len(X))
    second = cmrm.CMRMClassifier(epochs=5, n_jobs=3).fit(X[order], labels[order])
    assert first._fitted.model_bytes() == second._fitted.model_bytes()
    assert (first.margins_[order] == second.margins_).all()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, lambda columns: pa.table(columns)])
def test_tables_of_three_libraries_mean_the_same(make):
    generator = np.random.default_rng(5)
    rows = 300
    columns = {
        "size": generator.normal(size=rows),
        "count": generator.integers(0, 9, rows),
        "colour": generator.choice(["red", "green", "blue"], rows).tolist(),
        "new": generator.random(rows) < 0.5,
        "day": (np.datetime64("2024-01-01") + generator.integers(0, 500, rows)).astype("datetime64[us]"),
    }
    labels = np.where((columns["size"] > 0) ^ (np.array(columns["colour"]) == "red"), "a", "b")
    table = make(columns)
    model = cmrm.CMRMClassifier(epochs=3).fit(table, labels)
    expected = cmrm.CMRMClassifier(epochs=3).fit(pd.DataFrame(columns), labels)
    assert list(model.feature_names_in_) == list(columns)
    assert model._fitted.model_bytes() == expected._fitted.model_bytes()
    assert (model.predict_proba(table) == expected.predict_proba(pd.DataFrame(columns))).all()


def test_missing_cells_are_refused_with_their_place_or_filled_in(noisy):
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0] * 10, "c": ["a", None, "b", "b"] * 10})
    labels = [0, 1] * 20
    with pytest.raises(ValueError, match=r"row 2, column 'x'.*missing"):
        cmrm.CMRMClassifier(epochs=1).fit(frame, labels)
    model = cmrm.CMRMClassifier(epochs=1, impute=True).fit(frame, labels)
    assert model.predict_proba(frame).shape == (40, 2)
    X = noisy[0].copy()
    X[3, 1] = np.nan
    cmrm.CMRMClassifier(epochs=1, impute=True).fit(X, noisy[1]).predict(X)


def test_chunks_learn_as_well_as_the_whole(noisy):
    X, labels, clean, _ = noisy
    model = cmrm.CMRMClassifier(epochs=30)
    for _ in range(30):
        for part in np.array_split(np.arange(len(X)), 4):
            model.partial_fit(X[part], labels[part], classes=["high", "low", "middle"])
    assert (model.predict(X) == clean).mean() > 0.85
    assert len(model.margins_) == 200
    with pytest.raises(ValueError, match="is not one of the 3 classes"):
        model.partial_fit(X[:4], ["low", "huge", "low", "low"])
    again = pickle.loads(pickle.dumps(model))
    again.partial_fit(X, labels)
    fresh = cmrm.CMRMClassifier(epochs=30).fit(X, labels)
    fresh.partial_fit(X, labels)
    assert (fresh.predict(X) == clean).mean() > 0.85


def test_chunks_know_no_schedule(noisy):
    X, labels = noisy[:2]
    both = [cmrm.CMRMClassifier(schedule=schedule).partial_fit(X, labels) for schedule in ("constant", "cosine")]
    assert (both[0].predict_proba(X) == both[1].predict_proba(X)).all()


def test_chunks_of_tables_keep_their_names():
    frame = pd.DataFrame({"x": np.arange(40.0), "c": ["a", "b"] * 20})
    labels = np.arange(40) // 20
    model = cmrm.CMRMClassifier(epochs=2).partial_fit(frame, labels).partial_fit(frame[::-1], labels[::-1])
    assert list(model.feature_names_in_) == ["x", "c"]
    assert model.predict(frame).shape == (40,)
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame.rename(columns={"x": "z"}), labels)
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(frame, None)


def test_the_search_chooses_and_tells(noisy):
    X, labels, clean, _ = noisy
    model = cmrm.CMRMClassifierCV(folds=3, epochs=12, lambdas=[0.0, 20.0], alphas=[0.5], temperatures=[0.2]).fit(
        X, labels
    )
    assert (model.predict(X) == clean).mean() > 0.85
    assert {"preset", "lam", "loss", "epochs"} <= set(model.best_params_)
    table = pd.DataFrame(model.standings_)
    assert len(table) > 3 and table["folds"].max() == 3
    same = cmrm.CMRMClassifier(**model.best_params_).fit(X, labels)
    assert same._fitted.model_bytes() == model._fitted.model_bytes()


def test_it_works_in_pipelines_and_searches(noisy):
    X, labels, *_ = noisy
    pipeline = make_pipeline(StandardScaler(), cmrm.CMRMClassifier(epochs=3))
    assert cross_val_score(pipeline, X, labels, cv=3).mean() > 0.5
    search = GridSearchCV(cmrm.CMRMClassifier(epochs=3), {"alpha": [0.3, 0.5]}, cv=2, n_jobs=2).fit(X, labels)
    assert search.best_params_["alpha"] in (0.3, 0.5)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"epochs": 0}, ValueError, "epochs = 0 is out of range"),
        ({"epochs": 2.5}, TypeError, "epochs: expected a whole number"),
        ({"epochs": -1}, ValueError, "epochs = -1 is out of range"),
        ({"steps": 100}, ValueError, "both epochs = 3 and steps = 100 are given"),
        ({"epochs": None, "steps": 0}, ValueError, "steps = 0 is out of range"),
        ({"alpha": 2.0}, ValueError, "alpha = 2 is out of range"),
        ({"alpha": float("nan")}, ValueError, "alpha = nan is out of range"),
        ({"model": "tree"}, ValueError, "unknown variant `tree`"),
        ({"model": "forest"}, ValueError, "epochs is a setting of a network or a linear model, and the model forest"),
        ({"model": "auto", "epochs": None, "budget": 0}, ValueError, "budget = 0 is out of range"),
        ({"budget": 10.0}, ValueError, "budget = 10 limits the time of a vote of learners, and the model mlp"),
        ({"loss": "guess"}, ValueError, "unknown loss 'guess'"),
        ({"loss": 3}, TypeError, "loss: expected a text"),
        ({"hidden": "wide"}, TypeError, "hidden: expected"),
        ({"hidden": (0,)}, ValueError, "hidden width = 0 is out of range"),
        ({"validation_share": 1.0}, ValueError, "validation-share = 1 is out of range"),
        ({"schedule": "linear"}, ValueError, "unknown schedule 'linear': expected constant or cosine"),
        ({"schedule": 1}, TypeError, "schedule: expected a text"),
        ({"random_state": "yes"}, TypeError, "random_state: expected"),
        ({"learning_rate": 1e30, "optimiser": "sgd"}, ValueError, "stopped in epoch"),
        ({"model": "svm", "loss": "hinge"}, ValueError, "two classes"),
    ],
)
def test_bad_settings_are_refused_in_words(noisy, settings, error, words):
    with pytest.raises(error, match=words):
        cmrm.CMRMClassifier(**{"epochs": 3, **settings}).fit(noisy[0], noisy[1])


def test_what_trains_one_model_takes_no_vote(noisy):
    for work in [cmrm.CMRMClassifierCV(model="kernel").fit, cmrm.CMRMClassifier(model="kernel").partial_fit]:
        with pytest.raises(ValueError, match="which the model kernel is not; set the model to mlp"):
            work(noisy[0], noisy[1])


def test_progress_is_told_where_it_is_asked_for(noisy, capsys):
    cmrm.CMRMClassifier(epochs=3, progress=True).fit(noisy[0], noisy[1])
    assert "epoch" in capsys.readouterr().err
    cmrm.CMRMClassifier(epochs=3).fit(noisy[0], noisy[1])
    assert capsys.readouterr().err == ""


def test_without_tqdm_there_are_lines(noisy, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    cmrm.CMRMClassifier(epochs=20, progress=True).fit(noisy[0], noisy[1])
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "cmrm: epoch 20/20" and len(lines) == 10


def test_steps_become_epochs_by_the_rows(noisy):
    X, labels, *_ = noisy
    model = cmrm.CMRMClassifier(steps=100, hidden=(8,)).fit(X, labels)
    batches = -(-model.trained_on_.sum() // 128)
    assert f"epochs = {max(15, -(-100 // batches))}\n" in model.config_ and "steps" not in model.config_
    search = cmrm.CMRMClassifierCV(steps=100, hidden=(8,), folds=2, lambdas=[1.0], alphas=[0.5], temperatures=[0.2])
    assert search.fit(X, labels).best_params_["epochs"] >= 3


def test_a_linear_model_is_fitted_to_its_optimum(noisy):
    X, labels, y, _ = noisy
    model = cmrm.CMRMClassifier(model="linear").fit(X, labels)
    settings = dict(line.split(" = ") for line in model.config_.splitlines() if " = " in line)
    assert settings["optimiser"] == '"lbfgs"'
    # Chosen on the rows: one to a thousand over their number.
    strength = float(settings["l2"]) * model.trained_on_.sum()
    assert any(abs(strength - tried) < 0.01 * tried for tried in (1, 10, 100, 300, 1000))
    # A few epochs of Adam end far from the optimum.
    passes = cmrm.CMRMClassifier(model="linear", optimiser="adam", epochs=3, schedule="constant").fit(X, labels)
    assert model.score(X, y) > passes.score(X, y) + 0.03
    assert not any("ignores" in note for note in model.notes_)
    # A given value stays, and what L-BFGS ignores is said.
    told = cmrm.CMRMClassifier(model="linear", l2=0.5, tol=0.01, learning_rate=0.1).fit(X, labels)
    assert "l2 = 0.5\n" in told.config_ and "tolerance = 0.01\n" in told.config_
    assert any("ignores learning-rate" in note for note in told.notes_)
    # Chunks come one at a time, which L-BFGS cannot use.
    chunk = cmrm.CMRMClassifier(model="linear").partial_fit(X, labels)
    assert 'optimiser = "adam"' in chunk.config_ and "epochs = 40\n" in chunk.config_


def test_a_search_weighs_rows_as_the_fit_after_it():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, 2)).astype(np.float32)
    wrong = np.arange(300) % 3 == 0
    y = (X[:, 0] > 0) != wrong
    # Fractions, so that they are weights and not copies.
    weights = np.where(wrong, 0.001, 0.5)
    few = dict(model="linear", l2=0.01, folds=2, losses=["cross-entropy"], lambdas=[0.0], alphas=[0.5], temperatures=[0.2])

    def best(**how):
        model = cmrm.CMRMClassifierCV(random_state=0, **few).fit(X, y, **how)
        return max(standing["score"] for standing in model.standings_ if standing["score"] is not None)

    assert best() < 0.75
    assert best(sample_weight=weights) > 0.95


def test_a_transition_matrix_is_estimated_or_given(noisy, tmp_path):
    X, labels, clean, _ = noisy
    estimated = cmrm.CMRMClassifier(model="linear", loss="forward").fit(X, labels)
    assert estimated.transition_.shape == (3, 3)
    assert np.diag(estimated.transition_) == pytest.approx(0.7, abs=0.1)
    given = cmrm.CMRMClassifier(model="linear", loss="forward", transition=estimated.transition_).fit(X, labels)
    assert (given.predict_proba(X) == estimated.predict_proba(X)).all()
    assert (given.predict(X) == clean).mean() > 0.8
    estimated.save(tmp_path / "run")
    again = cmrm.load(tmp_path / "run")
    assert (again.transition_ == estimated.transition_).all() and again.transition is None
    assert cmrm.CMRMClassifier(model="linear").fit(X, labels).transition_ is None
    for bad, words in [("T.csv", "expected a matrix"), ([[1.0]], "has 1 classes"), (np.ones((3, 3)), "row 0 sums to 3")]:
        with pytest.raises((TypeError, ValueError), match=words):
            cmrm.CMRMClassifier(model="linear", loss="backward", transition=bad).fit(X, labels)


def test_a_search_may_try_methods_that_need_a_matrix(noisy):
    X, labels, _, _ = noisy
    search = cmrm.CMRMClassifierCV(
        model="linear", folds=2, losses=["cross-entropy", "forward"], presets=["robust"], lambdas=[1.0], alphas=[0.5], temperatures=[0.2]
    ).fit(X, labels)
    assert {standing["loss"] for standing in search.standings_} == {"cross-entropy", "forward"}
    assert (search.transition_ is not None) == (search.best_params_["loss"] == "forward")
