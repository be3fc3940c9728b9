"""The audit of probabilities, and labels made wrong."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cmrm


def problem(rows=2000, classes=5, rate=0.2, seed=3, dtype=np.float64):
    generator = np.random.default_rng(seed)
    clean = generator.integers(classes, size=rows)
    logits = generator.normal(size=(rows, classes))
    logits[np.arange(rows), clean] += 4
    probs = np.exp(logits)
    probs /= probs.sum(axis=1, keepdims=True)
    noisy = cmrm.inject_noise(clean, f"symmetric:{rate}", seed=seed)
    return noisy.labels, np.ascontiguousarray(probs, dtype=dtype), noisy.flipped


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_flips_are_found(dtype):
    labels, probs, flipped = problem(dtype=dtype)
    found = cmrm.find_label_issues(labels, probs)
    assert found.dtype == bool and found.shape == labels.shape
    assert (found & flipped).sum() > 0.9 * flipped.sum()
    assert (found & ~flipped).sum() < 0.1 * flipped.sum()


def test_ranked_rows_are_the_mask_by_score():
    labels, probs, _ = problem()
    mask = cmrm.find_label_issues(labels, probs)
    ranked = cmrm.find_label_issues(labels, probs, return_indices_ranked_by="self_confidence")
    assert set(ranked) == set(np.flatnonzero(mask))
    assert (np.diff(probs[ranked, labels[ranked]]) >= 0).all()


def test_strides_lists_and_integers_mean_the_same():
    labels, probs, _ = problem(rows=300)
    expected = cmrm.audit(labels, probs)
    for same in (np.asfortranarray(probs), np.repeat(probs, 2, axis=0)[::2], probs.tolist(), pd.DataFrame(probs)):
        found = cmrm.audit(labels.tolist(), same)
        assert all((found[name] == expected[name]).all() for name in expected)


def test_the_columns_make_tables():
    labels, probs, _ = problem(rows=100)
    names = np.array(["ant", "bee", "cow", "dog", "eel"])
    found = cmrm.audit(names[labels], probs, classes=names)
    columns = ["is_label_issue", "label_score", "given_label", "predicted_label", "suggested_label", "margin", "rank"]
    frame = found.to_pandas()
    assert list(frame.columns) == columns
    assert list(frame["given_label"]) == list(names[labels])
    assert pl.DataFrame(found).columns == columns
    assert pa.table(found).column_names == columns
    assert found.order[0] == int(np.flatnonzero(found["rank"] == 0)[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda y, p: (y[:-1], p), "labels against rows of probabilities: expected 100, found 99"),
        (lambda y, p: (y + 5, p), "is not a whole number from 0 to 4"),
        (lambda y, p: (y, p * 2), "the probabilities sum to|expected 0 to 1"),
        (lambda y, p: (y, np.where(p == p.max(), np.nan, p)), "only finite numbers|expected 0 to 1"),
        (lambda y, p: (y, p[:, 0]), "found 1 dimensions"),
        (lambda y, p: (y[:0], p[:0]), "is empty"),
    ],
)
def test_bad_input_is_a_value_error(change, words):
    labels, probs, _ = problem(rows=100)
    with pytest.raises(ValueError, match=words):
        cmrm.audit(*change(labels, probs))


def test_names_that_there_are_not_are_refused_with_those_there_are():
    labels, probs, _ = problem(rows=100)
    with pytest.raises(ValueError, match="prune_by_class"):
        cmrm.audit(labels, probs, filter_by="magic")
    with pytest.raises(ValueError, match="self_confidence"):
        cmrm.audit(labels, probs, score="magic")
    with pytest.raises(ValueError, match="unknown kind 'magic'"):
        cmrm.inject_noise(labels, "magic:0.1")


def test_noise_keeps_the_labels_type_and_counts_exactly():
    labels = np.array(["no", "yes"] * 50)
    noisy = cmrm.inject_noise(labels, "binary-flip:0.2", seed=7)
    assert noisy.labels.dtype == labels.dtype
    assert noisy.flipped.sum() == 20
    assert ((noisy.labels != labels) == noisy.flipped).all()
    assert (cmrm.inject_noise(labels, "binary-flip:0.2", seed=7).labels == noisy.labels).all()
    assert (cmrm.inject_noise(labels, "binary-flip:0.2", seed=8).labels != noisy.labels).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_the_native_side_can_read_is_not_copied(dtype):
    probs = problem(rows=100, dtype=dtype)[1]
    assert cmrm._arrays.floats(probs, "pred_probs") is probs
    assert cmrm._arrays.floats(np.asfortranarray(probs), "pred_probs") is not probs
    probs.flags.writeable = False
    assert cmrm._arrays.floats(probs, "pred_probs") is probs
