"""scikit-learn's own checks of an estimator: all of them, none skipped or expected to fail."""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from cmrm import CMRMClassifier, CMRMClassifierCV, Robust

SHORT = {"epochs": 20, "epoch_counts": [20], "folds": 2, "lambdas": [20.0], "alphas": [0.5], "temperatures": [0.2]}


# Some checks draw labels that have nothing to do with the rows, and the model says so.
@pytest.mark.filterwarnings("ignore:the model predicts the labels no better than chance")
@parametrize_with_checks(
    [
        CMRMClassifier(),
        CMRMClassifier(model="mlp"),
        CMRMClassifier(model="linear"),
        CMRMClassifier(model="linear", optimiser="lbfgs", l2=1e-3),
        CMRMClassifierCV(**SHORT, losses=["cross-entropy"], presets=["robust"]),
        Robust(LogisticRegression()),
        Robust(DecisionTreeClassifier(), cv=3, rounds=1),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
