"""Whatever is passed, the answer is a result or a ValueError or TypeError: no crash, no other exception."""

import contextlib
import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import cmrm
from cmrm import conformal

REFUSALS = (ValueError, TypeError)
COMMON = settings(
    max_examples=150, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
)

DTYPES = st.sampled_from(
    "float16 float32 float64 >f8 int8 int64 uint16 uint64 bool complex128 U3 S2 O datetime64[s]".split()
)
SHAPES = st.one_of(npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9), st.just((2**20, 0)))


@st.composite
def arrays(draw):
    """Any type, shape and layout; NaN and infinities among the numbers."""
    dtype = np.dtype(draw(DTYPES))
    shape = draw(SHAPES)
    if dtype.kind == "O":
        cells = st.one_of(st.none(), st.floats(), st.text(max_size=2), st.integers())
        array = draw(npst.arrays(dtype, shape, elements=cells)) if 0 not in shape else np.empty(shape, dtype)
    elif 0 in shape:
        array = np.empty(shape, dtype)
    else:
        array = draw(npst.arrays(dtype, shape))
    layout = draw(st.sampled_from(["C", "F", "step", "reverse", "readonly", "broadcast"]))
    if layout == "F":
        array = np.asfortranarray(array)
    elif layout == "step" and array.ndim:
        array = np.repeat(array, 2, axis=0)[::2]
    elif layout == "reverse" and array.ndim:
        array = array[::-1]
    elif layout == "readonly":
        array.flags.writeable = False
    elif layout == "broadcast" and array.ndim == 2 and len(array):
        array = np.broadcast_to(array[:1], array.shape)
    return array


@st.composite
def probabilities(draw):
    """Mostly right: rows that sum to one, with a chance of something wrong in them."""
    rows, classes = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    array = generator.dirichlet(np.ones(classes), size=rows).astype(draw(st.sampled_from(["f4", "f8"])))
    if draw(st.booleans()):
        array[draw(st.integers(0, rows - 1)), draw(st.integers(0, classes - 1))] = draw(
            st.sampled_from([np.nan, np.inf, -np.inf, -1, 2, 1e30, 0])
        )
    return array


@st.composite
def features(draw):
    """Mostly right: twelve rows of numbers, some of them huge, tiny, equal or not finite."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    array = generator.normal(size=(12, draw(st.integers(1, 4))))
    for row in draw(st.lists(st.integers(0, 11), max_size=2)):
        array[row] = draw(st.sampled_from([0.0, -0.0, 1e-40, 1e38, 1e300, np.nan, np.inf, 7.0]))
    with np.errstate(over="ignore"):
        return array.astype(draw(st.sampled_from(["f4", "f8", "f2"])))


@st.composite
def sparse(draw):
    """The same as a sparse matrix of any format, perhaps with parts that do not fit together."""
    with np.errstate(over="ignore"):
        matrix = scipy.sparse.csr_array(draw(features()).astype(draw(st.sampled_from(["f4", "f8"]))))
    for name in draw(st.lists(st.sampled_from(["indices", "indptr", "data"]), max_size=1)):
        part = getattr(matrix, name).copy()
        part[draw(st.integers(0, len(part) - 1))] = draw(st.sampled_from([-1, 0, 1, 3, 2**31 - 1]))
        setattr(matrix, name, part)
        return matrix
    return matrix.asformat(draw(st.sampled_from("bsr coo csc csr dia dok lil".split())))


TWELVE = st.one_of(
    st.lists(st.integers(0, 2), min_size=12, max_size=12), st.lists(st.sampled_from("ab"), min_size=12, max_size=12)
)
WEIGHTS = st.one_of(
    st.lists(st.sampled_from([0, 1, 2, 3.0]), min_size=12, max_size=12),
    st.lists(st.sampled_from([0, 0.5, 1e30, 2]), min_size=12, max_size=12),
    st.lists(st.sampled_from([1, -1, np.nan]), min_size=12, max_size=12),
)
LABELS = st.one_of(arrays(), st.lists(st.integers(-1, 5), max_size=12), st.lists(st.text(max_size=2), max_size=12))
ANYTHING = st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=4), st.booleans(), st.lists(st.integers()))


def attempt(call, *arguments, **keywords):
    with warnings.catch_warnings(), contextlib.suppress(*REFUSALS):
        warnings.simplefilter("ignore")
        return call(*arguments, **keywords)


@COMMON
@given(LABELS, st.one_of(arrays(), probabilities()), st.one_of(st.none(), LABELS))
def test_audit(labels, probs, classes):
    attempt(cmrm.audit, labels, probs, classes=classes)
    attempt(cmrm.find_label_issues, labels, probs)


@COMMON
@given(LABELS, probabilities(), ANYTHING, ANYTHING, ANYTHING, ANYTHING)
def test_options_of_an_audit(labels, probs, score, threshold, least, share):
    for filter_by in ("prune_by_class", "below_margin", "fraction", score):
        attempt(
            cmrm.audit, labels, probs, filter_by=filter_by, threshold=threshold, min_examples_per_class=least,
            frac_noise=share,
        )  # fmt: skip


@COMMON
@given(
    LABELS,
    st.one_of(probabilities(), arrays()),
    st.floats(),
    st.sampled_from(["lac", "aps", "raps", "aps_randomised", "x"]),
)
def test_sets(labels, probs, coverage, score):
    predictor = attempt(conformal.calibrate, probs, labels, coverage=coverage, score=score, raps_free_ranks=1)
    if predictor is not None:
        attempt(predictor.predict, probs)
        attempt(predictor.predict, probs[:, ::-1])
        attempt(conformal.evaluate, predictor.predict(probs), labels)


KINDS = st.one_of(
    st.sampled_from("symmetric circular superclass blocks-of-five cifar10-pairs binary-flip instance matrix".split()),
    st.text(max_size=8),
)


@COMMON
@given(LABELS, KINDS, st.one_of(st.floats(), st.text(max_size=6)), ANYTHING, st.one_of(st.none(), arrays()))
def test_noise(labels, kind, rate, seed, extra):
    attempt(cmrm.inject_noise, labels, f"{kind}:{rate}", seed=seed, features=extra)
    attempt(cmrm.inject_noise, labels, kind, seed=1, superclasses=extra, classes=extra)


fits = 0


@settings(COMMON, max_examples=200)
@given(
    st.one_of(features(), features(), arrays(), sparse()),
    st.one_of(TWELVE, TWELVE, LABELS),
    st.one_of(st.none(), st.none(), WEIGHTS, arrays()),
    st.one_of(features(), arrays(), sparse()),
    st.sampled_from(["mlp", "linear"]),
)
def test_estimator(X, y, weights, new, model):
    global fits
    model = attempt(cmrm.CMRMClassifier(model=model, epochs=1, hidden=(4,)).fit, X, y, sample_weight=weights)
    if model is not None:
        fits += 1
        attempt(model.predict_proba, new)
        attempt(model.predict_set, X)
        attempt(model.partial_fit, new, y)


def test_some_of_them_were_fits():
    assert fits > 10


votes = 0


@settings(COMMON, max_examples=60)
@given(
    st.one_of(features(), features(), arrays()),
    st.one_of(TWELVE, TWELVE, LABELS),
    st.one_of(st.none(), st.none(), WEIGHTS),
    st.one_of(features(), arrays()),
    st.sampled_from([None, "forest", "boosting", "kernel"]),
)
def test_votes(X, y, weights, new, model):
    global votes
    model = attempt(cmrm.CMRMClassifier(model=model).fit, X, y, sample_weight=weights)
    if model is not None:
        votes += 1
        assert np.isfinite(model.out_of_sample_).all()
        attempt(model.predict_proba, new)
        attempt(model.predict_set, X)


def test_some_of_them_were_votes():
    assert votes > 3


@settings(COMMON, max_examples=100)
@given(st.sampled_from(sorted(cmrm.CMRMClassifier().get_params())), ANYTHING)
def test_settings_of_the_estimator(name, value):
    if name in ("epochs", "hidden") and isinstance(value, (int, list)):
        return  # a number may be taken at its word, and take long
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(20, 2)), np.arange(20) % 2
    attempt(cmrm.CMRMClassifier(**{"epochs": 1, "hidden": (4,), name: value}).fit, X, y)


@pytest.mark.parametrize("cells", [[1, "a"], [None, 2.0], [True, "x"], [float("nan"), "b"], [object(), 1]])
def test_columns_of_anything(cells):
    import pandas as pd

    frame = pd.DataFrame({"x": pd.Series(cells * 5, dtype=object), "z": np.arange(10.0)})
    attempt(cmrm.CMRMClassifier(epochs=1, impute=True).fit, frame, np.arange(10) % 2)
