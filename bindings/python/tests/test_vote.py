"""The default, ``auto``, and the other models that judge rows by models that have not seen them."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cmrm


@pytest.fixture(scope="module")
def noisy():
    X, clean = make_classification(400, n_features=8, n_informative=5, n_classes=3, class_sep=2.0, random_state=1)
    names = np.array(["low", "middle", "high"])
    labels, flipped = cmrm.inject_noise(names[clean], "symmetric:0.3", seed=2)
    return X, labels, names[clean], flipped


@pytest.fixture(scope="module")
def vote(noisy):
    return cmrm.CMRMClassifier().fit(noisy[0], noisy[1])


def test_without_settings_it_is_a_vote_and_with_one_of_a_network_a_network(vote, noisy):
    assert 'model = "auto"' in vote.config_
    for settings in ({"epochs": 1}, {"lam": 0.0}, {"hidden": (4,), "steps": 1}):
        assert 'model = "mlp"' in cmrm.CMRMClassifier(**settings).fit(noisy[0], noisy[1]).config_


def test_every_row_is_trained_on_and_judged_by_models_that_have_not_seen_it(vote, noisy):
    X, labels, clean, flipped = noisy
    assert vote.trained_on_.all()
    judged = vote.out_of_sample_
    assert judged.shape == (400, 3) and judged.dtype == np.float32
    assert np.allclose(judged.sum(axis=1), 1.0, atol=1e-5)
    places = np.searchsorted(vote.classes_, labels)
    of_label = judged[np.arange(400), places]
    # They are in the order of X: the label's probability is that of the audit, and the margin is what they say.
    assert (vote.label_issues_["label_score"] == of_label).all()
    others = judged.copy()
    others[np.arange(400), places] = -1.0
    assert np.allclose(vote.margins_, of_label - others.max(axis=1), atol=1e-6)
    assert (vote.classes_[judged.argmax(axis=1)] == clean).mean() > 0.85
    # Of rows that it has seen, a model repeats more of what it was told.
    assert (vote.predict(X) == labels)[flipped].mean() > (vote.margins_[flipped] > 0).mean()


def test_all_rows_have_a_place_among_the_suspects(vote, noisy):
    flipped = noisy[3]
    issues = vote.label_issues_
    assert sorted(issues["rank"]) == list(range(400))
    found = issues["is_label_issue"]
    assert (found & flipped).sum() > 0.8 * flipped.sum() and (found & ~flipped).sum() < 0.2 * flipped.sum()
    assert vote.row_weights_[flipped].mean() < 0.5 < vote.row_weights_[~flipped].mean()


@pytest.mark.parametrize("model", ["forest", "kernel", "boosting"])
def test_a_copy_of_a_row_does_not_judge_its_label(noisy, model):
    X, labels, clean, flipped = noisy
    twice = cmrm.CMRMClassifier(model=model).fit(X, labels, sample_weight=np.full(400, 2.0))
    found = twice.label_issues_["is_label_issue"]
    assert (found & flipped).sum() > 0.8 * flipped.sum()
    once = cmrm.CMRMClassifier(model=model).fit(X, labels)
    assert twice.score(X, clean) > once.score(X, clean) - 0.02
    repeated = cmrm.CMRMClassifier(model=model).fit(np.repeat(X, 2, axis=0), np.repeat(labels, 2))
    assert repeated._fitted.model_bytes() == twice._fitted.model_bytes()
    assert (repeated.out_of_sample_[::2] == twice.out_of_sample_).all() and repeated.trained_on_.all()


def test_members_say_what_each_learner_is_worth(vote, noisy):
    assert all(set(member) == {"name", "share", "accuracy", "brier"} for member in vote.members_)
    assert sum(member["share"] for member in vote.members_) == pytest.approx(1.0)
    assert all(0.3 < member["accuracy"] < 1.0 and 0.0 < member["brier"] < 1.0 for member in vote.members_)
    forest = cmrm.CMRMClassifier(model="forest").fit(noisy[0], noisy[1])
    assert forest.members_ and all(member["name"].startswith("forest") for member in forest.members_)


@pytest.mark.parametrize("model", ["mlp", "linear"])
def test_a_single_model_has_neither_members_nor_out_of_sample_probabilities(noisy, model):
    single = cmrm.CMRMClassifier(model=model, epochs=2).fit(noisy[0], noisy[1])
    assert single.members_ == [] and single.out_of_sample_ is None
    assert not single.trained_on_.all()
    # A vote before leaves nothing of itself.
    again = cmrm.CMRMClassifier(model="forest").fit(noisy[0], noisy[1]).set_params(model=model, epochs=2)
    assert again.fit(noisy[0], noisy[1]).out_of_sample_ is None and again.members_ == []


def test_rows_held_out_or_left_out_are_judged_by_the_vote(noisy):
    X, labels, *_ = noisy
    weights = np.ones(400)
    weights[:50] = 0.0
    for how in ({"validation_share": 0.2}, {}):
        model = cmrm.CMRMClassifier(model="forest", **how).fit(X, labels, None if how else weights)
        others = ~model.trained_on_
        assert others.sum() == (80 if how else 50)
        # The vote speaks of true classes, what it says out of sample is of observed ones: between two classes they agree.
        judged, said = model.out_of_sample_[others], model.predict_proba(X)[others]
        assert (judged.argmax(axis=1) == said.argmax(axis=1)).all() and said.max() > judged.max()
        assert np.allclose(model.out_of_sample_.sum(axis=1), 1.0, atol=1e-5)


def test_sets_are_calibrated_on_rows_judged_out_of_sample(vote, noisy):
    X, clean = make_classification(400, n_features=8, n_informative=5, n_classes=3, class_sep=2.0, random_state=1)
    sets = vote.predict_set(X, coverage=0.6, calibration="observed")
    # By the vote's own words on rows that it has seen, sets would be smaller than they have to be.
    said = vote.predict_proba(X)
    own = cmrm.conformal.calibrate(said, np.searchsorted(vote.classes_, noisy[1]), coverage=0.6)
    assert own.predict(said).sum() < sets.sum()
    assert vote.predict_set(X, coverage=0.95, calibration="observed").sum() > sets.sum()


def test_it_says_how_many_labels_are_wrong_and_speaks_of_true_classes(vote, noisy):
    X, labels, clean, flipped = noisy
    low, high = vote.noise_["interval"]
    assert low - 0.02 <= flipped.mean() <= high + 0.02 and low <= vote.noise_["rate"] <= high
    wrong = vote.wrong_probability_
    assert wrong.shape == labels.shape and wrong[flipped].mean() > wrong[~flipped].mean() + 0.4
    # Surer than any label with noise in it can be predicted.
    assert vote.predict_proba(X).max(axis=1).mean() > vote.out_of_sample_.max(axis=1).mean() + 0.05
    corrected, observed = (vote.predict_set(X, calibration=which) for which in ("corrected", "observed"))
    assert (vote.predict_set(X) == corrected).all() and corrected.sum() < observed.sum()
    again = pickle.loads(pickle.dumps(vote))
    assert (again.predict_set(X) == corrected).all() and again.noise_ == vote.noise_
    network = cmrm.CMRMClassifier(model="mlp", epochs=2).fit(X, labels)
    assert network.noise_ is None and network.wrong_probability_ is None
    with pytest.raises(ValueError, match="not estimated"):
        network.predict_set(X, calibration="corrected")
    with pytest.raises(ValueError, match="calibration"):
        vote.predict_set(X, calibration="perfect")


def test_a_stored_vote_says_the_same(vote, noisy, tmp_path):
    again = pickle.loads(pickle.dumps(vote))
    assert (again.predict_proba(noisy[0]) == vote.predict_proba(noisy[0])).all()
    assert (again.predict_set(noisy[0]) == vote.predict_set(noisy[0])).all()
    assert (again.out_of_sample_ == vote.out_of_sample_).all() and again.members_ == vote.members_
    vote.save_model(tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").read_bytes() == again._fitted.model_bytes()
    # A clone is a classifier that was never fitted.
    assert not hasattr(clone(vote), "members_")


def test_threads_and_the_order_of_rows_do_not_matter(vote, noisy):
    X, labels, *_ = noisy
    order = np.random.default_rng(0).permutation(len(X))
    other = cmrm.CMRMClassifier(n_jobs=1).fit(X[order], labels[order])
    assert other._fitted.model_bytes() == vote._fitted.model_bytes()
    assert (other.out_of_sample_ == vote.out_of_sample_[order]).all()
    assert (other.margins_ == vote.margins_[order]).all()


def test_it_takes_tables_in_pipelines_and_a_search_over_models(noisy):
    X, labels, clean, _ = noisy
    frame = pd.DataFrame(X[:150]).add_prefix("x").assign(colour=np.where(X[:150, 0] > 0, "red", "blue"))
    assert cmrm.CMRMClassifier().fit(frame, labels[:150]).predict(frame).shape == (150,)
    pipeline = make_pipeline(StandardScaler(), cmrm.CMRMClassifier())
    assert pipeline.fit(X[:200], labels[:200]).score(X[200:], clean[200:]) > 0.85
    models = ["linear", "forest", "kernel"]
    search = GridSearchCV(pipeline, {"cmrmclassifier__model": models}, cv=2).fit(X[:200], labels[:200])
    assert search.best_params_["cmrmclassifier__model"] in models


def test_robust_wraps_a_network_of_ours(noisy):
    X, labels, clean, flipped = noisy
    model = cmrm.Robust(cmrm.CMRMClassifier(model="mlp", epochs=20), rounds=1).fit(X, labels)
    assert model.score(X, clean) > 0.85
    assert model.sample_weight_[flipped].mean() < model.sample_weight_[~flipped].mean()


def test_chunks_do_not_go_on_from_a_vote(vote, noisy):
    # Before a fit they can be had, and train a network.
    assert 'model = "mlp"' in clone(vote).partial_fit(noisy[0], noisy[1]).config_
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'") as refused:
        pickle.loads(pickle.dumps(vote)).partial_fit(noisy[0], noisy[1])
    assert 'fit with model="mlp" first' in str(refused.value.__cause__)


def test_a_budget_is_kept_and_somebody_votes():
    X, y = make_classification(20_000, n_features=30, random_state=0)
    model = cmrm.CMRMClassifier(budget=0.01).fit(X, y)
    assert {member["name"].split(",")[0] for member in model.members_} == {"linear"}


def test_only_the_learners_that_are_named_vote(noisy):
    model = cmrm.CMRMClassifier(learners=["linear"]).fit(noisy[0], noisy[1])
    assert {member["name"].split(",")[0] for member in model.members_} == {"linear"}
    with pytest.raises(TypeError, match="learners: expected a list of names"):
        cmrm.CMRMClassifier(learners="linear").fit(noisy[0], noisy[1])
    with pytest.raises(ValueError, match="learners = linear says who votes in the model auto, and the model is forest"):
        cmrm.CMRMClassifier(model="forest", learners=["linear"]).fit(noisy[0], noisy[1])


def test_progress_counts_learners(noisy, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    cmrm.CMRMClassifier(model="forest", progress=True).fit(noisy[0], noisy[1])
    assert capsys.readouterr().err.splitlines()[-1] == "cmrm: learner 2/2"


def test_digits_with_forty_percent_wrong_labels_are_better_told_than_by_a_network():
    X, y = load_digits(return_X_y=True)
    wrong, _ = cmrm.inject_noise(y[::2], "symmetric:0.4", seed=0)
    vote = cmrm.CMRMClassifier().fit(X[::2], wrong)
    network = cmrm.CMRMClassifier(model="mlp").fit(X[::2], wrong)
    assert vote.score(X[1::2], y[1::2]) > network.score(X[1::2], y[1::2]) + 0.01


def test_where_labels_cannot_be_told_none_is_flagged_unless_asked_for():
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(300, 4)), generator.integers(0, 3, 300)
    with pytest.warns(UserWarning, match="no better than chance: .*so no label is flagged .flag_anyway=True"):
        model = cmrm.CMRMClassifier(model="forest").fit(X, y)
    issues = model.label_issues_
    assert not issues["is_label_issue"].any() and len(issues.issues) == 0
    assert (issues["suggested_label"] == issues["given_label"]).all()
    # Ranks and scores stay.
    assert sorted(issues["rank"]) == list(range(300)) and (model.margins_ < 0).sum() > 100
    with pytest.warns(UserWarning, match="no better than chance: .*so its flags mean little"):
        asked = cmrm.CMRMClassifier(model="forest", flag_anyway=True).fit(X, y)
    assert (asked.label_issues_["is_label_issue"] == (asked.margins_ < 0)).all()
    assert (asked.margins_ == model.margins_).all()
