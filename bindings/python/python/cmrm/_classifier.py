"""The estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from ._base import FittedClassifier


class CMRMClassifier(FittedClassifier):
    """A linear model or a network whose loss does not learn wrong labels by heart, with scikit-learn's conventions.

    The engine and its defaults are those of ``cmrm fit``: the same rows, seed and settings give the same bits
    (``config_`` holds the settings for ``cmrm fit --config``). NumPy arrays, lists, and tables of pandas, polars and
    Arrow are taken; the columns of tables may be numbers, booleans, names and dates.

    Parameters
    ----------
    model : ``mlp``, ``linear``, ``svm`` (two classes, with ``loss="hinge"``) or ``cosine``
    hidden : widths of the hidden layers of ``mlp``
    loss : base loss: ``cross-entropy``, ``focal``, ``gce``, ``ldam``, ``hinge``, ``logistic``, each with its parameter
        if wanted, as in ``gce:0.5``
    preset : settings of the envelope: ``robust``, ``paper`` or ``authors``
    lam, alpha, temperature, start : weight of the envelope (0 switches it off), share of margins below the threshold,
        width of the filter, share of the epochs before it is on (``lbfgs`` does not wait once the loss alone has
        converged); the preset's own if None, but for the weight of ``robust`` around a linear model by ``lbfgs``, 3
    class_conditional : a threshold for each of two classes
    optimiser, epochs, l2 : if None, what suits the model. ``linear`` is fitted to its optimum by ``lbfgs``, on all rows at
        once and in at most 1000 epochs, each of them an iteration; the penalty on its weights is chosen by observed labels
        over five folds (scikit-learn's ``C`` is ``1 / (l2 * rows)``). All other models, ``linear`` with ``loss="hinge"``
        and :meth:`partial_fit` take ``adam``, 40 epochs and no penalty. ``adamw`` and ``sgd`` are there too.
    tol : ``lbfgs`` ends when no entry of the gradient of mean loss plus penalty is larger, as scikit-learn's
        ``LogisticRegression`` does
    learning_rate, batch_size, weight_decay, dropout, clip_norm : how the other optimisers train; a batch size of 0 takes
        all rows at once
    schedule : ``constant``, or ``cosine``: the learning rate falls to zero over the training, step by step, so that less
        is learned by heart at its end. L-BFGS and :meth:`partial_fit` take no notice of it.
    balance_classes : whether classes weigh alike
    patience : keep the epoch with the best accuracy on observed validation labels, and stop after this many without a
        better one, both counted from the epoch that switches the envelope on; None keeps the last
    validation_share : share of the rows kept for validation, and for the calibration of :meth:`predict_set`
    standardise : bring numbers to mean zero and variance one
    impute : fill in missing cells, NaN among them, instead of refusing them
    base : also train the base loss alone, for comparison in :meth:`report`
    row_order : ``content`` takes rows in an order that depends on what they hold alone, so that the order in which they
        come does not matter; ``given`` takes them as they come, as the command does
    keep_data : keep the rows for :meth:`report`, until the estimator is stored
    random_state : seed of splits, weights and order: a whole number, a NumPy generator, or None for a fresh one
    n_jobs : threads; all cores if None or -1. Results do not depend on it.
    progress : whether to show a bar; None shows one in a terminal

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    label_issues_ : an :class:`Audit` of all rows that were fitted: which labels look wrong, and what they should be
    margins_ : probability of the given label minus that of the strongest other class, one a row: as training saw it in
        its last epoch, or, for the rows of validation, by the final model
    row_weights_ : what the envelope made of each row, between 0 (filtered out) and 1
    trained_on_ : whether a row was trained on, or kept for validation
    notes_ : what there is to say about the rows
    config_ : all settings as TOML

    >>> import cmrm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> noisy, flipped = cmrm.inject_noise(y, "symmetric:0.2", seed=1)
    >>> model = cmrm.CMRMClassifier().fit(X, noisy)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    >>> found = model.label_issues_["is_label_issue"]
    >>> bool((found & flipped).sum() > 0.8 * flipped.sum())
    True
    >>> model.predict_set(X[:2], coverage=0.8).shape
    (2, 2)
    """

    def __init__(
        self,
        *,
        model="mlp",
        hidden=(128, 64),
        loss="cross-entropy",
        preset="robust",
        lam=None,
        alpha=None,
        temperature=None,
        start=None,
        class_conditional=False,
        optimiser=None,
        learning_rate=1e-3,
        schedule="constant",
        epochs=None,
        tol=1e-4,
        batch_size=128,
        l2=None,
        weight_decay=0.0,
        dropout=0.0,
        clip_norm=None,
        balance_classes=False,
        patience=None,
        validation_share=0.1,
        standardise=True,
        impute=False,
        base=False,
        row_order="content",
        keep_data=True,
        random_state=0,
        n_jobs=None,
        progress=None,
    ):
        self.model = model
        self.hidden = hidden
        self.loss = loss
        self.preset = preset
        self.lam = lam
        self.alpha = alpha
        self.temperature = temperature
        self.start = start
        self.class_conditional = class_conditional
        self.optimiser = optimiser
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.epochs = epochs
        self.tol = tol
        self.batch_size = batch_size
        self.l2 = l2
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.clip_norm = clip_norm
        self.balance_classes = balance_classes
        self.patience = patience
        self.validation_share = validation_share
        self.standardise = standardise
        self.impute = impute
        self.base = base
        self.row_order = row_order
        self.keep_data = keep_data
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CMRMClassifier:
        """Train on rows X with labels y.

        Whole-number weights count rows: a row with the weight 2 is there twice, one with the weight 0 is not. Other
        weights scale what a row adds to the loss.
        """
        rows, y = self._labelled_rows(X, y, reset=True)
        codes = self._encode(y)
        fitted, seen = _native.fit_rows(self._task(rows, codes, sample_weight))
        self._passes = 0
        self._take(fitted, seen, codes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> CMRMClassifier:
        """One pass over a chunk of rows; the first call says which classes there are, or has all of them in y.

        Preprocessing is learned on the first chunk and kept. The envelope is on once ``start`` times ``epochs`` passes
        were made. ``label_issues_`` and ``margins_`` are those of the chunk, and no rows are kept to calibrate on.
        """
        first = not hasattr(self, "_fitted")
        rows, y = self._labelled_rows(X, y, reset=first, least=1)
        if first:
            self.classes_ = np.unique(y if classes is None else np.asarray(classes))
            self._passes = 0
            if len(self.classes_) < 2:
                raise ValueError("expected at least 2 classes, found one class; name all of them with classes=…")
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes: {classes!r} are not those of the first call, {self.classes_.tolist()}")
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        strange = np.flatnonzero(self.classes_[codes] != y)
        if strange.size:
            raise ValueError(f"y: row {strange[0]}: {y[strange[0]]!r} is not one of the {len(self.classes_)} classes")
        before = None if first else self._fitted
        fitted, seen = _native.fit_chunk(self._task(rows, codes, sample_weight), before, self._passes)
        self._passes += 1
        self._take(fitted, seen, codes)
        return self
