"""Prediction sets."""

import pickle

import numpy as np
import pytest

import cmrm
from cmrm import conformal


def problem(rows=4000, classes=6, seed=0):
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=rows)
    logits = generator.normal(size=(rows, classes)) + 2 * np.eye(classes)[labels]
    probs = np.exp(logits)
    return probs / probs.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("score", ["lac", "aps", "aps_randomised", "raps"])
def test_coverage_is_what_was_asked_for(score, per_class, dtype):
    probs, labels = problem()
    probs = probs.astype(dtype)
    predictor = conformal.calibrate(probs[:2000], labels[:2000], coverage=0.9, score=score, per_class=per_class)
    sets = predictor.predict(probs[2000:])
    found = conformal.evaluate(sets, labels[2000:])
    assert abs(found["coverage"] - 0.9) < 0.03 or (score == "aps" and found["coverage"] > 0.9)
    assert predictor.thresholds.shape == (6,)
    again = pickle.loads(pickle.dumps(predictor))
    assert (again.predict(probs[2000:]) == sets).all()


def test_lac_is_its_formula():
    probs, labels = problem(rows=500)
    scores = np.sort(1 - probs[np.arange(250), labels[:250]])
    limit = scores[int(np.ceil(251 * 0.8)) - 1]
    sets = conformal.calibrate(probs[:250], labels[:250], coverage=0.8).predict(probs[250:])
    assert (sets == (1 - probs[250:] <= limit)).all()


def test_names_and_empty_sets():
    probs, labels = problem(rows=400)
    names = np.array(list("abcdef"))
    by_name = conformal.calibrate(probs, names[labels], coverage=0.5, classes=names, allow_empty=False)
    sets = by_name.predict(probs)
    assert sets.any(axis=1).all()
    assert not conformal.calibrate(probs, labels, coverage=0.5).predict(probs).any(axis=1).all()


def test_bad_input_is_refused():
    probs, labels = problem(rows=50)
    with pytest.raises(ValueError, match="coverage = 0 is out of range"):
        conformal.calibrate(probs, labels, coverage=0)
    with pytest.raises(ValueError, match="unknown variant `magic`"):
        conformal.calibrate(probs, labels, score="magic")
    with pytest.raises(ValueError, match="sum"):
        conformal.calibrate(probs * 0.9, labels)
    with pytest.raises(ValueError, match="classes of the calibrated predictor: expected 6, found 5"):
        short = probs[:, :5] / probs[:, :5].sum(axis=1, keepdims=True)
        conformal.calibrate(probs, labels).predict(short)
    with pytest.raises(TypeError, match="boolean matrix"):
        conformal.evaluate(probs, labels)


def observed(seed, rate, rows=4000, classes=5):
    """True classes, observed ones, and what a good model says of the observed ones."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(classes, size=rows)
    logits = generator.normal(size=(rows, classes)) + 3 * np.eye(classes)[truth]
    clean = np.exp(3 * logits)
    clean /= clean.sum(axis=1, keepdims=True)
    labels = cmrm.inject_noise(truth, f"symmetric:{rate}", seed=seed).labels
    return truth, labels, (1 - rate) * clean + rate / (classes - 1) * (1 - clean)


def test_noise_is_estimated():
    truth, labels, probs = observed(1, 0.3)
    found = cmrm.estimate_noise(labels, probs)
    low, high = found.interval
    assert abs(found.rate - 0.3) < 0.03 and low <= found.rate <= high and not found.by_pair
    assert found.transition.shape == (5, 5) and np.allclose(found.transition.sum(axis=1), 1)
    wrong = truth != labels
    assert found.wrong_probability[wrong].mean() > 0.8 > 0.2 > found.wrong_probability[~wrong].mean()
    assert np.allclose(found.clean_probabilities.sum(axis=1), 1, atol=1e-4)
    names = np.array(list("abcde"))
    assert cmrm.estimate_noise(names[labels], probs, classes=names).rate == found.rate
    with pytest.raises(ValueError, match="labels"):
        cmrm.estimate_noise(labels[1:], probs)


@pytest.mark.parametrize("score", ["lac", "aps", "raps"])
def test_sets_are_corrected_for_noise(score):
    truth, labels, probs = observed(2, 0.3)
    new_truth, _, new = observed(3, 0.3)
    judge = lambda **noise: conformal.evaluate(  # noqa: E731
        conformal.calibrate(probs, labels, score=score, **noise).predict(new), new_truth
    )
    plain, rate, matrix = judge(), judge(noise=0.3), judge(noise=0.3 / 4 + np.eye(5) * (0.7 - 0.3 / 4))
    assert plain["coverage"] > 0.97 and plain["mean_size"] > 1.5 * rate["mean_size"]
    assert 0.86 < rate["coverage"] < (0.94 if score == "lac" else 0.995)
    assert rate == matrix


def test_a_guarantee_asks_for_more():
    truth, labels, probs = observed(2, 0.3)
    new_truth, _, new = observed(3, 0.3)
    judge = lambda **how: conformal.evaluate(  # noqa: E731
        conformal.calibrate(probs, labels, coverage=0.7, noise=0.3, **how).predict(new), new_truth
    )
    assert judge(guaranteed=True)["coverage"] > judge()["coverage"] + 0.01
    with pytest.raises(ValueError, match="noise="):
        conformal.calibrate(probs, labels, guaranteed=True)
    with pytest.raises(ValueError, match="one threshold"):
        conformal.calibrate(probs, labels, noise=0.3, guaranteed=True, per_class=True)


def test_noise_that_cannot_be_undone_is_refused():
    truth, labels, probs = observed(4, 0.2, rows=100)
    with pytest.raises(ValueError, match="1 - 1/classes"):
        conformal.calibrate(probs, labels, noise=0.8)
    with pytest.raises(ValueError, match="no inverse"):
        conformal.calibrate(probs, labels, noise=np.full((5, 5), 0.2))
    with pytest.raises(ValueError, match="5 by 5"):
        conformal.calibrate(probs, labels, noise=np.eye(3))
