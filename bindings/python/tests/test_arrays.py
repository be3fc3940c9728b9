"""NumPy arrays of unusual kinds: masked ones, and such that lie where their type may not."""

import numpy as np
import pandas as pd
import pytest

import cmrm
from cmrm import conformal


def problem(rows=60):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(rows, 4))
    y = (X[:, 0] > 0).astype(np.int64)
    probs = generator.dirichlet([1, 1], size=rows)
    return X, y, probs


def unaligned(array):
    """The same numbers, one byte after where they may begin."""
    at = np.frombuffer(b"x" + array.tobytes(), dtype=array.dtype, offset=1).reshape(array.shape)
    assert not at.flags.aligned
    return at


def classifier(**settings):
    return cmrm.CMRMClassifier(epochs=2, hidden=(4,), **settings)


def same(found, expected):
    if isinstance(expected, dict):
        return all(np.array_equal(found[name], expected[name]) for name in expected)
    return np.array_equal(found, expected)


ENTRIES = {
    "fit": lambda X, y, probs, weights: classifier().fit(X, y, sample_weight=weights).predict_proba(problem()[0]),
    "partial_fit": lambda X, y, probs, weights: classifier().partial_fit(X, y).predict_proba(problem()[0]),
    "predict": lambda X, y, probs, weights: classifier().fit(*problem()[:2]).predict_proba(X),
    "predict_set": lambda X, y, probs, weights: classifier().fit(*problem()[:2]).predict_set(X),
    "table": lambda X, y, probs, weights: classifier().fit(pd.DataFrame(X, copy=False), y).row_weights_,
    "audit": lambda X, y, probs, weights: cmrm.audit(y, probs),
    "find_label_issues": lambda X, y, probs, weights: cmrm.find_label_issues(y, probs),
    "calibrate": lambda X, y, probs, weights: conformal.calibrate(probs, y).thresholds,
    "predict sets": lambda X, y, probs, weights: conformal.calibrate(*problem()[:0:-1]).predict(probs),
    "evaluate sets": lambda X, y, probs, weights: conformal.evaluate(problem()[2] > 0.5, y),
    "noise": lambda X, y, probs, weights: cmrm.inject_noise(y, "instance:0.2", features=X).labels,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("labels", [np.uint32, np.int64])
@pytest.mark.parametrize("entry", ENTRIES)
def test_unaligned_arrays_are_read_like_any_others(entry, dtype, labels):
    X, y, probs = problem()
    given = X.astype(dtype), y.astype(labels), probs.astype(dtype), np.ones(len(y), np.float32)
    expected = ENTRIES[entry](*given)
    assert same(ENTRIES[entry](*map(unaligned, given)), expected)
    # A field of packed records.
    records = np.zeros(len(y), dtype=[("pad", "u1"), ("X", dtype, 4), ("y", labels), ("p", dtype, 2), ("w", "f4")])
    for field, values in zip(("X", "y", "p", "w"), given, strict=True):
        records[field] = values
    assert same(ENTRIES[entry](records["X"], records["y"], records["p"], records["w"]), expected)


def test_masked_cells_of_X_are_missing_values():
    X, y, _ = problem()
    mask = np.zeros(X.shape, bool)
    mask[3, 1] = mask[7, 0] = True
    masked = np.ma.array(np.where(mask, 1e6, X), mask=mask)
    expected = classifier(impute=True).fit(np.where(mask, np.nan, X), y)
    for given in (masked, list(masked)):
        found = classifier(impute=True).fit(given, y)
        assert found._fitted.model_bytes() == expected._fitted.model_bytes()
        assert np.array_equal(found.predict_proba(given), expected.predict_proba(np.where(mask, np.nan, X)))
    with pytest.raises(ValueError, match="X contains NaN"):
        classifier().fit(masked, y)
    with pytest.raises(ValueError, match="X contains NaN"):
        classifier().fit(X, y).predict(masked)
    # Whole numbers and booleans have no NaN of their own.
    counts = np.ma.array(np.arange(240).reshape(60, 4), mask=mask)
    assert classifier(impute=True).fit(counts, y).predict(counts).shape == (60,)
    with pytest.raises(TypeError, match="X: expected numbers, found a masked array of"):
        classifier().fit(np.ma.array(X.astype(str), mask=mask), y)


@pytest.mark.parametrize("mask", [False, np.ma.nomask])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_masked_array_without_masked_cells_is_an_array(entry, mask):
    X, y, probs = problem()
    given = X, y, probs, np.ones(len(y))
    assert same(ENTRIES[entry](*(np.ma.array(values, mask=mask) for values in given)), ENTRIES[entry](*given))


def masked(values, *places):
    values = np.ma.array(values)
    for place in places:
        values[place] = np.ma.masked
    return values


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y, p: classifier().fit(X, masked(y, 5)), "y: row 5 is masked; fill it in, or leave out the row"),
        (lambda X, y, p: classifier().fit(pd.DataFrame(X), masked(y, 5)), "y: row 5 is masked"),
        (lambda X, y, p: classifier().partial_fit(X, masked(y, 5)), "y: row 5 is masked"),
        (lambda X, y, p: classifier().partial_fit(X, y, classes=masked([0, 1, 2], 2)), "classes: row 2 is masked"),
        (lambda X, y, p: classifier().fit(X, y, sample_weight=masked(np.ones(60), 9)), "sample_weight: row 9 is masked"),
        (lambda X, y, p: cmrm.find_label_issues(masked(y, 5), p), "labels: row 5 is masked"),
        (lambda X, y, p: cmrm.audit(masked(y, 5), p, classes=[0, 1]), "labels: row 5 is masked"),
        (lambda X, y, p: cmrm.audit(y, masked(p, (2, 1))), "pred_probs: row 2, column 1 is masked"),
        (lambda X, y, p: cmrm.audit(y, list(masked(p, (2, 1)))), "pred_probs: row 2, column 1 is masked"),
        (lambda X, y, p: cmrm.audit(y, p, classes=masked([0, 1], 1)), "classes: row 1 is masked"),
        (lambda X, y, p: conformal.calibrate(masked(p, (2, 1)), y), "probabilities: row 2, column 1 is masked"),
        (lambda X, y, p: conformal.calibrate(p, masked(y, 5)), "labels: row 5 is masked"),
        (lambda X, y, p: conformal.calibrate(p, y).predict(masked(p, (2, 1))), "probabilities: row 2, column 1 is masked"),
        (lambda X, y, p: conformal.evaluate(masked(p > 0.5, (2, 1)), y), "sets: row 2, column 1 is masked"),
        (lambda X, y, p: cmrm.inject_noise(masked(y, 5)), "labels: row 5 is masked"),
        (lambda X, y, p: cmrm.inject_noise([0, np.ma.masked, 1]), "labels: row 1 is masked"),
        (lambda X, y, p: cmrm.inject_noise(["a", np.ma.masked, "b"]), "labels: row 1 is masked"),
        (
            lambda X, y, p: cmrm.inject_noise(y, "instance:0.2", features=masked(X, (2, 1))),
            "features: row 2, column 1 is masked",
        ),
    ],
)
def test_masked_cells_are_refused_where_nothing_may_be_missing(call, words):
    with pytest.raises(ValueError, match=words):
        call(*problem())
