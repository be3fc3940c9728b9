"""Any classifier, made robust by weights from out-of-sample margins."""

from __future__ import annotations

from typing import Any

import numpy as np

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
    from sklearn.model_selection import check_cv
    from sklearn.utils import check_array, column_or_1d, get_tags, indexable
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:  # pragma: no cover
    raise ImportError("cmrm's estimators need scikit-learn 1.6 or later: pip install 'cmrm[sklearn]'") from error

from ._arrays import encode, refuse_masked, row_weights, seed_of, whole
from ._audit import audit
from ._out_of_sample import Fits, among_classes, weigh

# How often the rows are halved. Five models that have seen half of the rows judge a row better than one that has seen
# four fifths of them, for about the same work.
HALVINGS = 5

# How many of the last rounds vote, and what the rows have to lose of their weight for the copies that have seen half of them
# to have all of the votes: where labels are clean a model of all rows is better, where many are wrong the mean of many is.
VOTING_ROUNDS = 2
FULL_DOUBT = 0.4


class Robust(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Make any classifier with ``sample_weight`` and ``predict_proba`` resist wrong labels, and find those labels.

    Copies of the estimator, fitted to halves of the rows, judge the rows that they have not seen. The margin of a row
    is the probability of its label minus that of the strongest other class; rows whose margin is low for their class
    count less. A fresh copy is then fitted to all rows with these weights. Nothing is dropped or relabelled. Where few
    labels are in doubt the weights fade to one, so that clean labels cost next to nothing. The more labels are in doubt, the
    more the copies that judged them vote too.

    The estimator decides what X may be: arrays, tables, sparse matrices, lists of texts. Weights reach the last step of
    a pipeline. A forest with ``oob_score=True`` judges by its out-of-bag probabilities and is not fitted to halves.

    Parameters
    ----------
    estimator : classifier to wrap; None takes scikit-learn's ``HistGradientBoostingClassifier``
    cv : how rows are split into those that train and those that are judged. None halves them five times at random, so
        that five models judge every row. A number is that of folds. A splitter or a list of splits is taken as in
        scikit-learn. Halves and folds deal out the rows of each class evenly, so that rare classes work too; the only
        row of a class always trains and is not judged
    rounds : how often rows are judged; from the second round on by copies that are themselves fitted with weights
    vote : whether the class with the largest mean probability is predicted, over ``estimator_``, that of the round before and
        the weighted copies of both rounds; if not, predictions are those of ``estimator_``: about twenty times faster,
        less accurate where many labels are wrong. Splits of one's own (``cv``) have no voting copies
    temperature : width of the filter: the smaller, the closer to keeping or dropping a row; None takes 0.1
    random_state : seed of the splits, and of the estimator where its own ``random_state`` is None: a whole number, a
        NumPy generator, or None for a random one
    n_jobs : copies fitted at the same time, as in scikit-learn

    Attributes
    ----------
    estimator_ : the estimator fitted to all rows with ``sample_weight_``
    voters_ : pairs of a fitted copy and its share of the vote, ``estimator_`` first
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    sample_weight_ : weight of each row in that fit: the filter's, from 0 to 1, times the one given to :meth:`fit`
    margins_ : for each row, the out-of-sample probability of its label minus that of the strongest other class
    out_of_fold_ : these probabilities, one column per class; equal ones where no model could judge the row. With
        several rounds they rank labels but overstate accuracy: the weights of other rows depend on the row's label
    label_issues_ : an :class:`Audit` of the rows by these probabilities: suspects and suggested labels

    >>> import cmrm
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> noisy, flipped = cmrm.inject_noise(y, "symmetric:0.2", seed=1)
    >>> model = cmrm.Robust(RandomForestClassifier(50)).fit(X, noisy)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    >>> bool(model.label_issues_["is_label_issue"][flipped].mean() > 0.8)
    True
    """

    def __init__(
        self, estimator=None, *, cv=None, rounds=3, vote=True, temperature=None, random_state=0, n_jobs=None
    ):
        self.estimator = estimator
        self.cv = cv
        self.rounds = rounds
        self.vote = vote
        self.temperature = temperature
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self._wrapped())
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = inner.classifier_tags is None or inner.classifier_tags.multi_class
        return tags

    def get_metadata_routing(self):
        """Where scikit-learn's metadata goes: with routing enabled, what ``fit`` is given reaches the estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self._wrapped(), method_mapping=mapping)

    def _wrapped(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Robust:
        """Judge every row out of sample, then fit the estimator to all rows with the weights.

        ``sample_weight`` multiplies the weights found; whole numbers are counts: 2 is the row twice, 0 leaves it out.
        ``fit_params`` go to every fit of the estimator; those with one entry per row are cut to the rows of a fold.
        """
        refuse_masked(y, "y")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        check_classification_targets(y)
        validate_data(self, X, skip_check_array=True)
        X, y = indexable(X, y)
        if len(y) < 2:
            raise ValueError(f"found {len(y)} sample(s), while a minimum of 2 is required")
        codes, self.classes_ = encode(y, None, "y")
        if len(self.classes_) < 2:
            raise ValueError(f"expected at least 2 classes, found one class: every label is {self.classes_[0]!r}")
        given = row_weights(sample_weight, len(y))
        seed = seed_of(self.random_state)
        fits = Fits(self._wrapped(), X, y, self._routed(fit_params), seed)
        splits = None if fits.judges_itself else list(self._splits(X, y, codes, seed))
        rounds = whole(self.rounds, "rounds", 1)
        weights, whole_fits, copies = given, [], []
        for left in reversed(range(rounds)):
            self.out_of_fold_, judges = fits.judge(splits, weights, self.n_jobs)
            weights = weigh(codes, self.out_of_fold_, given, self.temperature)
            doubt = 1 - float(np.average(weights, weights=given))
            if given is not None:
                weights *= given
            if left == 0 or (self.vote and left < VOTING_ROUNDS):
                whole_fits.append(fits.fit(None, weights))
                # The judges of the first round have learned from the labels as they are.
                copies += judges if left < rounds - 1 else []
        self.sample_weight_ = weights
        self.label_issues_ = audit(y, self.out_of_fold_, classes=self.classes_)
        self.margins_ = self.label_issues_["margin"]
        self.estimator_ = whole_fits[-1]
        self.voters_ = self._voters(whole_fits[::-1], copies, min(1.0, doubt / FULL_DOUBT))
        return self

    def _voters(self, whole_fits: list[Any], copies: list[Any], doubt: float) -> list[tuple[Any, float]]:
        """The share of the copies grows with the doubt; without any, all fits of all rows are the same."""
        if not self.vote or doubt == 0:
            return [(self.estimator_, 1.0)]
        # A copy that has seen half of the rows wants a row's kernel with that half; other people's splits may be very many,
        # or very uneven.
        alike = self.cv is None or isinstance(self.cv, (int, np.integer))
        of_copies = doubt if copies and alike and not get_tags(self._wrapped()).input_tags.pairwise else 0.0
        shares = [(fit, (1 - of_copies) / len(whole_fits)) for fit in whole_fits]
        return shares + [(copy, of_copies / len(copies)) for copy in copies if of_copies > 0]

    def _routed(self, fit_params: dict[str, Any]) -> dict[str, Any]:
        """What the estimator is to get of what ``fit`` was given."""
        if not (fit_params and get_config()["enable_metadata_routing"]):
            return fit_params
        return process_routing(self, "fit", **fit_params).estimator.fit

    def _splits(self, X: Any, y: np.ndarray, codes: np.ndarray, seed: int) -> Any:
        """Rows to train on and rows to judge."""
        if self.cv is not None and not isinstance(self.cv, (int, np.integer)):
            return check_cv(self.cv, y, classifier=True).split(X, y)
        folds, times = (2, HALVINGS) if self.cv is None else (whole(self.cv, "cv", 2), 1)
        random = np.random.default_rng(seed)
        return (split for _ in range(times) for split in _deal(codes, folds, random))

    # Prediction

    def _asked(self, X: Any) -> Any:
        check_is_fitted(self)
        # Names and number of columns; the rest is the estimator's to check.
        if getattr(X, "ndim", 2) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.estimator_

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each row."""
        estimator = self._asked(X)
        if len(self.voters_) == 1:
            return estimator.predict(X)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, one column per class in the order of ``classes_``."""
        estimator = self._asked(X)
        if len(self.voters_) == 1:
            return estimator.predict_proba(X)
        return sum(share * among_classes(voter, X, self.classes_) for voter, share in self.voters_ if share > 0)

    def _decides_alone(self) -> bool:
        fitted = getattr(self, "voters_", None)
        alone = not self.vote if fitted is None else len(fitted) == 1
        return alone and not self.vote and hasattr(fitted[0][0] if fitted else self._wrapped(), "decision_function")

    @available_if(_decides_alone)
    def decision_function(self, X: Any) -> np.ndarray:
        """The estimator's decision function, if it has one and does not share the vote."""
        return self._asked(X).decision_function(X)


def _deal(codes: np.ndarray, folds: int, random: np.random.Generator) -> Any:
    """Folds of the rows, each class dealt out in turn: with two rows or more it is in the training rows of each."""
    shuffled = random.permutation(len(codes))
    fold = np.empty(len(codes), np.int64)
    fold[shuffled[np.argsort(codes[shuffled], kind="stable")]] = np.arange(len(codes)) % folds
    # The only row of a class trains every fold.
    fold[np.bincount(codes)[codes] == 1] = -1
    for number in np.unique(fold[fold >= 0]):
        yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)
