"""Sparse matrices and arrays of SciPy: any format, not made dense in training."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import cmrm

FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]
TOPICS = {
    "garden": "plant soil water seed leaf root flower bloom".split(),
    "kitchen": "pan oven salt butter knife stew bake flour".split(),
    "harbour": "ship rope sail tide anchor crane dock gull".split(),
}


def sentences(rows, seed=0):
    """Texts of three topics, with words that any of them has."""
    generator = np.random.default_rng(seed)
    common = "the a of and with near under slow bright old".split()
    topics = generator.choice(list(TOPICS), rows)
    texts = [
        " ".join(generator.permutation([*generator.choice(TOPICS[topic], 4), *generator.choice(common, 5)]))
        for topic in topics
    ]
    return texts, topics


@pytest.fixture(scope="module")
def noisy():
    texts, clean = sentences(400)
    labels, flipped = cmrm.inject_noise(clean, "symmetric:0.2", seed=1)
    return TfidfVectorizer().fit_transform(texts), labels, clean, flipped


def linear(**settings):
    return cmrm.CMRMClassifier(model="linear", l2=1e-3, **settings)


def test_wrong_labels_are_found_among_sparse_rows(noisy):
    X, labels, clean, flipped = noisy
    model = cmrm.CMRMClassifier().fit(X, labels)
    assert (model.predict(X) == clean).mean() > 0.95
    assert model.score(X, clean) > 0.95
    found = model.label_issues_["is_label_issue"]
    assert (found & flipped).sum() > 0.8 * flipped.sum() and (found & ~flipped).sum() < 0.1 * flipped.sum()
    sets = model.predict_set(X, coverage=0.8)
    assert sets.shape == (400, 3)
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X) == model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore:Constructing a DIA matrix")
@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("name", FORMATS)
def test_formats_mean_the_same(noisy, name, kind):
    X, labels, *_ = noisy
    expected = linear().fit(sp.csr_matrix(X), labels)
    given = getattr(sp, f"{name}_{kind}")(X)
    found = linear().fit(given, labels)
    assert found._fitted.model_bytes() == expected._fitted.model_bytes()
    assert (found.predict_proba(given) == expected.predict_proba(X)).all()
    assert found.n_features_in_ == X.shape[1]


def test_order_duplicates_zeros_and_wide_indices_do_not_matter_and_stay_as_they_are(noisy):
    X, labels, *_ = noisy
    expected = linear().fit(X, labels)
    coo = X.tocoo()
    order = np.random.default_rng(0).permutation(coo.nnz)
    # Every number in halves, in any order, and zeros that are written down.
    rows = np.concatenate([coo.row[order], coo.row, [0, 5]])
    columns = np.concatenate([coo.col[order], coo.col, [3, 3]])
    values = np.concatenate([coo.data[order] / 2, coo.data / 2, [0.0, 0.0]])
    order = np.argsort(rows, kind="stable")
    starts = np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    messy = sp.csr_array((values[order], columns[order], starts), shape=X.shape)
    messy.indices, messy.indptr = messy.indices.astype(np.int64), messy.indptr.astype(np.int64)
    before = [part.copy() for part in (messy.data, messy.indices, messy.indptr)]
    found = linear().fit(messy, labels)
    assert found._fitted.model_bytes() == expected._fitted.model_bytes()
    assert (found.predict_proba(messy) == expected.predict_proba(X)).all()
    for part, was in zip((messy.data, messy.indices, messy.indptr), before, strict=True):
        assert part.dtype == was.dtype and (part == was).all()


def test_numbers_of_other_types_are_read(noisy):
    X, labels, *_ = noisy
    counts = (X > 0).astype(np.int8)
    expected = linear().fit(counts.astype(np.float64), labels)
    for dtype in (np.int8, np.int64, bool, np.float32):
        found = linear().fit(counts.astype(dtype), labels)
        assert found._fitted.model_bytes() == expected._fitted.model_bytes()


def test_a_wide_matrix_is_not_made_dense():
    # Dense, these rows would take 16 GB.
    generator = np.random.default_rng(0)
    rows, width = 2000, 2_000_000
    topic = generator.integers(0, 2, rows)
    columns = generator.integers(0, 500, (rows, 8)) * 2 + topic[:, None] + np.int64(width - 1000)
    X = sp.coo_array((np.ones(rows * 8), (np.repeat(np.arange(rows), 8), columns.ravel())), shape=(rows, width))
    model = linear(epochs=20).fit(X, topic)
    assert model.score(X, topic) > 0.95


@pytest.mark.parametrize("model", ["auto", "mlp", "linear", "forest", "boosting", "kernel"])
def test_every_model_takes_them(noisy, model):
    X, labels, clean, _ = noisy
    fitted = cmrm.CMRMClassifier(model=model).fit(X, labels)
    assert fitted.score(X, clean) > 0.8
    assert len(fitted.margins_) == 400


def test_a_cosine_classifier_without_layers_does_not(noisy):
    with pytest.raises(ValueError, match="takes dense rows only; choose another learner, or make the rows dense"):
        cmrm.CMRMClassifier(model="cosine").fit(noisy[0], noisy[1])


def test_chunks_and_searches_take_them(noisy):
    X, labels, clean, _ = noisy
    chunks = cmrm.CMRMClassifier(model="linear", learning_rate=0.05)
    for _ in range(20):
        for part in np.array_split(np.arange(400), 4):
            chunks.partial_fit(X[part], labels[part], classes=list(TOPICS))
    assert chunks.score(X, clean) > 0.8
    few = dict(folds=2, lambdas=[1.0], alphas=[0.5], temperatures=[0.2], losses=["cross-entropy"])
    assert cmrm.CMRMClassifierCV(model="linear", **few).fit(X, labels).score(X, clean) > 0.8


def test_they_come_out_of_a_vectorizer(noisy):
    texts, clean = sentences(300, seed=3)
    labels, _ = cmrm.inject_noise(clean, "symmetric:0.2", seed=1)
    pipeline = make_pipeline(TfidfVectorizer(), linear())
    assert cross_val_score(pipeline, texts, labels, cv=3).mean() > 0.7
    robust = cmrm.Robust(make_pipeline(TfidfVectorizer(), LogisticRegression())).fit(texts, labels)
    assert robust.score(texts, clean) > 0.9
    assert cmrm.Robust(linear(), rounds=1).fit(noisy[0], noisy[1]).score(noisy[0], noisy[2]) > 0.8


def test_a_data_frame_of_sparse_columns_is_a_sparse_matrix(noisy):
    X, labels, *_ = noisy
    names = [f"word {at}" for at in range(X.shape[1])]
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=names)
    model = linear().fit(frame, labels)
    assert list(model.feature_names_in_) == names
    assert model._fitted.model_bytes() == linear().fit(X, labels)._fitted.model_bytes()


def test_noise_by_the_features_reads_them(noisy):
    X, labels, *_ = noisy
    dense = X.toarray().astype(np.float32)
    expected = cmrm.inject_noise(labels, "instance:0.2", features=dense)
    found = cmrm.inject_noise(labels, "instance:0.2", features=X.astype(np.float32))
    assert found.flipped.mean() > 0.1
    assert (found.labels == expected.labels).mean() > 0.99
    with pytest.raises(ValueError, match="features: expected 400 rows, one per label, found 399"):
        cmrm.inject_noise(labels, "instance:0.2", features=X[1:])


def broken(**parts):
    matrix = sp.csr_array(np.eye(4))
    for name, value in parts.items():
        setattr(matrix, name, value)
    return matrix


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (broken(data=np.array([1.0, np.nan, 1.0, 1.0])), "NaN"),
        (broken(data=np.array([1.0, np.inf, 1.0, 1.0])), "infinity"),
        (broken(data=np.array([1.0, 1e300, 1.0, 1.0])), "row 1.*column"),
        (broken(data=np.array([1.0, 1j, 1.0, 1.0])), "(?i)complex"),
        (broken(indices=np.array([0, 1, 2, 9])), "indices must be|index values must be"),
        (broken(indices=np.array([0, -1, 2, 3])), "indices must be|index values must be"),
        (broken(indptr=np.array([0, 3, 1, 2, 4])), "non-decreasing|must be"),
        (sp.csr_array((4, 3)), "every number is zero"),
        (sp.csr_array((0, 3)), "0 sample"),
        (sp.csr_array((4, 0)), "0 feature"),
    ],
)
def test_what_is_wrong_is_said(X, words):
    with pytest.raises((ValueError, IndexError), match=words):
        linear().fit(X, np.arange(X.shape[0]) % 2)


def test_another_number_of_columns_is_refused(noisy):
    X, labels, *_ = noisy
    model = linear().fit(X, labels)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, 1:])
