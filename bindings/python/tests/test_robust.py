"""Robust: weights from models that have not seen the row, for whatever classifier takes them."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, RepeatedStratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cmrm
from cmrm import Robust


@pytest.fixture(scope="module")
def noisy():
    X, y = make_classification(600, 8, n_informative=5, n_classes=3, class_sep=1.5, random_state=0)
    labels, flipped = cmrm.inject_noise(y, "symmetric:0.3", seed=1)
    return X, y, labels, flipped


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression())


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    labels, flipped = cmrm.inject_noise(y[:1200], "symmetric:0.4", seed=1)
    return X[:1200], labels, flipped, X[1200:], y[1200:]


def by_heart():
    return BaggingClassifier(DecisionTreeClassifier(), random_state=0)


def test_a_learner_that_learns_by_heart_becomes_robust(digits):
    X, labels, flipped, new, correct = digits
    plain = by_heart().fit(X, labels).score(new, correct)
    model = Robust(by_heart()).fit(X, labels)
    assert model.score(new, correct) > plain + 0.05
    assert model.sample_weight_[flipped].mean() < 0.1 and model.sample_weight_[~flipped].mean() > 0.7


def test_wrong_labels_are_found(noisy):
    X, y, labels, flipped = noisy
    found = Robust(logistic()).fit(X, labels).label_issues_
    issues = found["is_label_issue"]
    assert (issues & flipped).sum() > 0.7 * flipped.sum() and (issues & flipped).sum() > 0.7 * issues.sum()
    assert (found["given_label"] == labels).all()
    assert set(found) == set(cmrm.audit([0, 1], np.eye(2)))


def test_every_row_is_judged_by_a_model_that_has_not_seen_it(noisy):
    X, _, labels, _ = noisy
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(X), None if sample_weight is None else len(sample_weight)))
            self.rows_ = {row.tobytes() for row in X}
            return super().fit(X, y, sample_weight)

        def predict_proba(self, X):
            assert not any(row.tobytes() in self.rows_ for row in X)
            return super().predict_proba(X)

    model = Robust(Spy(), cv=4, rounds=2, vote=False).fit(X, labels)
    assert seen == [(450, None)] * 4 + [(450, 450)] * 4 + [(600, 600)]
    seen.clear()
    Robust(Spy(), rounds=1).fit(X, labels)
    assert seen == [(300, None)] * 10 + [(600, 600)]
    r = np.arange(600)
    own = model.out_of_fold_[r, labels].copy()
    others = model.out_of_fold_.copy()
    others[r, labels] = -1
    assert np.allclose(model.margins_, own - others.max(axis=1), atol=1e-6)


def test_clean_labels_are_fitted_as_without_it():
    X, y = make_classification(300, class_sep=4, n_clusters_per_class=1, flip_y=0, random_state=0)
    model = Robust(LogisticRegression()).fit(X, y)
    assert (model.sample_weight_ == 1).all()
    assert (model.predict_proba(X) == LogisticRegression().fit(X, y).predict_proba(X)).all()


def test_the_same_seed_gives_the_same_bits_with_any_number_of_jobs(noisy):
    X, _, labels, _ = noisy
    forest = RandomForestClassifier(10)
    a, b = Robust(forest, random_state=3).fit(X, labels), Robust(forest, random_state=3, n_jobs=2).fit(X, labels)
    assert (a.sample_weight_ == b.sample_weight_).all() and (a.predict_proba(X) == b.predict_proba(X)).all()
    other = Robust(forest, random_state=4).fit(X, labels)
    assert (a.sample_weight_ != other.sample_weight_).any()


@pytest.mark.parametrize("kind", ["table", "sparse", "lists", "texts"])
def test_x_may_be_what_the_estimator_takes(noisy, kind):
    X, _, labels, _ = noisy
    names = np.array(["no", "perhaps", "yes"])[labels]
    estimator = LogisticRegression(max_iter=1000)
    if kind == "table":
        X = pd.DataFrame(X, columns=list("abcdefgh"))
        estimator = HistGradientBoostingClassifier(max_iter=5)
    elif kind == "sparse":
        X = scipy.sparse.csr_array(np.round(X))
    elif kind == "lists":
        X, names = X.tolist(), names.tolist()
    else:
        X = [" ".join(f"w{i}{int(v > 0)}" for i, v in enumerate(row)) for row in X]
        estimator = make_pipeline(CountVectorizer(), LogisticRegression())
    model = Robust(estimator, cv=2).fit(X, names)
    assert set(model.predict(X)) <= {"no", "perhaps", "yes"} and model.score(X, names) > 0.5
    assert model.classes_.tolist() == ["no", "perhaps", "yes"] == model.estimator_.classes_.tolist()
    assert not hasattr(model, "feature_names_in_") or list(model.feature_names_in_) == list("abcdefgh")


def test_missing_values_are_the_estimators_affair(noisy):
    X, _, labels, _ = noisy
    X = X.copy()
    X[::7, 0] = np.nan
    assert Robust(HistGradientBoostingClassifier(max_iter=5), cv=2).fit(X, labels).score(X, labels) > 0.5
    with pytest.raises(ValueError, match="NaN"):
        Robust(LogisticRegression()).fit(X, labels)


def test_rare_classes():
    X, y = make_classification(60, random_state=0)
    y = np.r_[y[:55], [2, 3, 3, 3, 4]]
    model = Robust(DecisionTreeClassifier(random_state=0), cv=5).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4] == model.estimator_.classes_.tolist()
    # Nobody but the row itself knows its class.
    assert np.allclose(model.out_of_fold_[[55, 59]], 0.2) and (model.margins_[[55, 59]] == 0).all()
    halves = Robust(DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert (halves.margins_[[55, 59]] == 0).all() and (halves.margins_[56:59] != 0).any()
    few = Robust(DecisionTreeClassifier(), cv=5).fit([[0], [1], [2]], ["a", "b", "b"])
    assert few.predict([[2]]) == ["b"]


def test_classes_that_a_model_of_given_splits_has_not_met():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    model = Robust(GaussianNB(), cv=[(np.arange(8), np.arange(8, 12)), (np.arange(4, 12), np.arange(4))]).fit(X, y)
    assert np.allclose(model.out_of_fold_, 1 / 3)


def test_splitters_of_scikit_learn(noisy):
    X, _, labels, _ = noisy
    several = Robust(logistic(), cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=3, random_state=0)).fit(X, labels)
    assert np.allclose(several.out_of_fold_.sum(axis=1), 1)


def test_a_forest_is_judged_out_of_bag(noisy):
    X, _, labels, flipped = noisy
    forest = RandomForestClassifier(50, oob_score=True)
    model = Robust(forest, rounds=1).fit(X, labels)
    assert (model.out_of_fold_.argmax(axis=1) == labels).mean() < 0.8
    assert model.sample_weight_[flipped].mean() < 0.4
    with pytest.warns(UserWarning, match="OOB"):
        small = Robust(RandomForestClassifier(1, oob_score=True), rounds=1).fit(X, labels)
    assert np.allclose(small.out_of_fold_.sum(axis=1), 1)


def test_weights_of_the_user_multiply_and_count(noisy):
    X, _, labels, _ = noisy
    given = np.random.default_rng(0).random(600)
    model = Robust(logistic()).fit(X, labels, sample_weight=given)
    assert (model.sample_weight_ <= given + 1e-6).all()
    ones, none = (Robust(logistic()).fit(X, labels, given) for given in (np.ones(600), None))
    assert (ones.sample_weight_ == none.sample_weight_).all()
    # Rows without weight are judged, but have no say.
    given = np.r_[np.ones(500), np.zeros(100)]
    splits = [(np.arange(250, 600), np.arange(250)), (np.r_[:250, 500:600], np.arange(250, 600))]
    model = Robust(GaussianNB(), cv=splits).fit(X, labels, given)
    assert (model.sample_weight_[500:] == 0).all()
    alone = Robust(GaussianNB(), cv=[(np.arange(250, 500), np.arange(250)), (np.arange(250), np.arange(250, 500))])
    assert np.allclose(alone.fit(X[:500], labels[:500]).sample_weight_, model.sample_weight_[:500])


def test_more_rounds_tell_labels_apart_better(digits):
    X, labels, flipped, _, _ = digits
    once, twice = (Robust(by_heart(), cv=5, rounds=rounds).fit(X, labels) for rounds in (1, 2))
    assert twice.sample_weight_[flipped].mean() < once.sample_weight_[flipped].mean()
    assert twice.sample_weight_[~flipped].mean() > once.sample_weight_[~flipped].mean()


def test_parameters_of_fit_reach_every_fit(noisy):
    X, _, labels, _ = noisy
    met = []

    class Takes(GaussianNB):
        def fit(self, X, y, sample_weight=None, costs=None, name=None):
            met.append((len(X), len(costs), name))
            return super().fit(X, y, sample_weight)

    Robust(Takes(), cv=3, rounds=1).fit(X, labels, costs=np.arange(600), name="n")
    assert met == [(400, 400, "n")] * 3 + [(600, 600, "n")]


def test_metadata_routing(noisy):
    X, _, labels, _ = noisy
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        learner = LogisticRegression().set_fit_request(sample_weight=True)
        inside = Robust(make_pipeline(scaler, learner)).fit(X, labels)
        outside = make_pipeline(scaler, Robust(learner).set_fit_request(sample_weight=True))
        outside.fit(X, labels, sample_weight=np.ones(600))
    assert (inside.sample_weight_ == Robust(logistic()).fit(X, labels).sample_weight_).all()
    scaled = StandardScaler().fit_transform(X)
    assert (outside[-1].sample_weight_ == Robust(LogisticRegression()).fit(scaled, labels).sample_weight_).all()


def test_it_is_a_part_of_scikit_learn(noisy):
    X, _, labels, _ = noisy
    model = Robust(logistic()).set_params(estimator__logisticregression__C=0.5)
    assert clone(model).get_params()["estimator__logisticregression__C"] == 0.5
    search = GridSearchCV(model, {"estimator__logisticregression__C": [0.1, 1.0], "temperature": [0.1]}, cv=2)
    assert search.fit(X, labels).best_score_ > 0.4
    assert cross_val_score(make_pipeline(StandardScaler(), Robust(LogisticRegression())), X, labels, cv=2).min() > 0.4
    model.fit(X, labels)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    assert repr(again.label_issues_) == repr(model.label_issues_)
    assert not hasattr(model, "decision_function")
    assert Robust(logistic(), vote=False).fit(X, labels).decision_function(X).shape == (600, 3)
    assert not hasattr(Robust(DecisionTreeClassifier(), vote=False), "decision_function")
    assert Robust(CalibratedClassifierCV(LinearSVC(), cv=2), cv=2, rounds=1).fit(X, labels).score(X, labels) > 0.5
    inner = GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2)
    assert Robust(inner, cv=2, rounds=1).fit(X, labels).score(X, labels) > 0.5


def test_the_more_labels_are_in_doubt_the_more_the_copies_vote(noisy):
    X, clean, labels, _ = noisy
    shares = {}
    for name, y in (("clean", clean), ("noisy", labels)):
        model = Robust(DecisionTreeClassifier(random_state=0), rounds=2).fit(X, y)
        assert model.voters_[0][0] is model.estimator_
        shares[name] = sum(share for _, share in model.voters_[2:])
        assert sum(share for _, share in model.voters_) == pytest.approx(1)
        mean = sum(share * voter.predict_proba(X) for voter, share in model.voters_)
        np.testing.assert_allclose(model.predict_proba(X), mean)
        assert (model.predict(X) == model.classes_[mean.argmax(axis=1)]).all()
        # Two fits of all rows, and the copies of the second round: those of the first have learned without weights.
        assert len(model.voters_) == 2 + 10
    assert shares["clean"] < shares["noisy"]
    assert len(Robust(DecisionTreeClassifier(random_state=0)).fit(X, labels).voters_) == 2 + 2 * 10
    assert len(Robust(DecisionTreeClassifier(random_state=0), rounds=1).fit(X, labels).voters_) == 1
    own_splits = Robust(DecisionTreeClassifier(random_state=0), cv=KFold(5), rounds=2).fit(X, labels)
    assert len(own_splits.voters_) == 2
    alone = Robust(DecisionTreeClassifier(random_state=0), rounds=2, vote=False).fit(X, labels)
    assert alone.voters_ == [(alone.estimator_, 1.0)]
    assert (alone.predict(X) == alone.estimator_.predict(X)).all()
    # Where no label is in doubt there is nothing to vote on.
    easy = np.repeat([0.0, 9.0], 50)[:, None]
    assert len(Robust(logistic()).fit(easy, easy[:, 0]).voters_) == 1


def test_a_precomputed_kernel(noisy):
    X, _, labels, _ = noisy
    kernel = X @ X.T
    estimator = SVC(kernel="precomputed", probability=True, random_state=0)
    with pytest.warns(FutureWarning):
        model = Robust(estimator, cv=2, rounds=1).fit(kernel, labels)
    assert model.score(kernel, labels) > 0.5


def test_refusals(noisy):
    X, _, labels, _ = noisy
    refused = [
        (Robust(KNeighborsClassifier()), TypeError, "KNeighborsClassifier.fit takes no sample_weight"),
        (Robust(make_pipeline(StandardScaler(), KNeighborsClassifier())), TypeError, "KNeighborsClassifier.fit"),
        (Robust(LinearSVC()), TypeError, "LinearSVC has no predict_proba.*CalibratedClassifierCV"),
        (Robust(logistic(), cv=1), ValueError, "cv = 1 is out of range"),
        (Robust(logistic(), rounds=0), ValueError, "rounds = 0 is out of range"),
        (Robust(logistic(), temperature=0.0), ValueError, "temperature = 0 is out of range"),
    ]
    for model, kind, words in refused:
        with pytest.raises(kind, match=words):
            model.fit(X, labels)

    class Broken(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 3), np.nan)

    with pytest.raises(ValueError, match="row 0, column 0 is NaN"):
        Robust(Broken()).fit(X, labels)
    with pytest.raises(ValueError, match="one class: every label is"):
        Robust(logistic()).fit(X, np.zeros(600))
    with pytest.raises(ValueError, match="row 3: -1.0 is not a finite number"):
        Robust(logistic()).fit(X, labels, np.r_[1, 1, 1, -1, np.ones(596)])


@pytest.mark.parametrize("module, name", [("lightgbm", "LGBMClassifier"), ("xgboost", "XGBClassifier")])
def test_boosting_of_others(noisy, module, name):
    learner = getattr(pytest.importorskip(module), name)(n_jobs=1, verbosity=0 if module == "xgboost" else -1)
    X, y, labels, _ = noisy
    plain = learner.fit(X[:400], labels[:400]).score(X[400:], y[400:])
    assert Robust(learner, rounds=1).fit(X[:400], labels[:400]).score(X[400:], y[400:]) > plain
