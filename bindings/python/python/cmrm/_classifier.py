"""The estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from ._arrays import unmasked
from ._base import FittedClassifier, available_if


def _no_vote_before(classifier: CMRMClassifier) -> bool:
    """scikit-learn calls what an estimator has, so that a fitted vote must not have what it cannot do."""
    if getattr(classifier, "members_", []):
        raise AttributeError(
            "partial_fit goes on with a network or a linear model, and fit has left a vote of learners; call partial_fit on "
            'a new classifier, or fit with model="mlp" first'
        )
    return True


class CMRMClassifier(FittedClassifier):
    """Classifier that resists wrong labels, with scikit-learn's conventions.

    The engine and its defaults are those of ``cmrm fit``. With ``row_order="given"`` the same rows, seed and settings
    give the same bits; ``config_`` holds the settings for ``cmrm fit --config``. X may be a NumPy array, a list, a sparse
    matrix or array of SciPy, a list or column of texts, or a table of pandas, polars, DuckDB or anything that hands over an
    Arrow stream, with columns of numbers, booleans, dates, names and text.

    Parameters
    ----------
    model : ``auto``, ``forest``, ``boosting`` or ``kernel``; ``mlp``, ``linear``, ``svm`` (two classes, with
        ``loss="hinge"``) or ``cosine``. None is ``auto``, or ``mlp`` if a setting is given that only the last four
        have: any from ``hidden`` to ``schedule``, ``keep`` or ``patience``. :meth:`partial_fit` and
        :class:`CMRMClassifierCV` train one of the last four, and None is ``mlp`` there.

        ``auto`` trains linear models, boosted trees, forests, nearest neighbours, kernel machines and a network, so that
        copies that have not seen a row judge it. Observed labels decide which of them vote, and how much each vote counts.
        Those are trained again with less weight on rows whose label looks wrong, and first and second copies vote together.
        ``forest``, ``boosting`` and ``kernel`` do the same with a single family
    hidden : widths of the hidden layers of ``mlp``
    loss : the method, which is the base loss: a name that ``cmrm methods`` lists, such as ``cross-entropy``, ``gce``, ``elr``, ``forward``
        or ``hinge``, optionally with its parameter, as in ``gce:0.5``
    transition : transition matrix for the losses ``forward`` and ``backward``, in the order of ``classes_``: entry ``[i][j]`` is the
        probability that a row of class i is observed as j. None estimates it (``transition_``)
    preset : settings of the envelope: ``robust``, ``paper`` or ``authors``
    lam, alpha, temperature, start : weight of the envelope (0 turns it off), share of margins below the threshold,
        width of the filter, and share of the epochs before it starts (``lbfgs`` starts it earlier once the base loss
        has converged). None takes the preset's value, except that ``robust`` starts when a model that is not trained by
        ``lbfgs`` begins to learn labels by heart
    class_conditional : use one threshold per class, for two classes
    optimiser, epochs, l2 : None chooses by model. ``linear`` is fitted to its optimum by ``lbfgs``, on all rows at
        once, in at most 1000 epochs of one iteration each; five folds choose its penalty by observed labels
        (scikit-learn's ``C`` is ``1 / (l2 * rows)``). ``mlp`` uses ``adamw``; all other
        models, ``linear`` with ``loss="hinge"``, and :meth:`partial_fit` use ``adam``. These train for as many epochs as
        ``steps`` needs, without a penalty. ``sgd`` is also available.
    steps : optimiser steps to train for, in whole epochs, at least 15 and at most 500, so that a small table is passed
        over more often than a large one; None trains for 2000. Give either ``epochs`` or ``steps``. L-BFGS and
        :meth:`partial_fit` ignore it.
    tol : ``lbfgs`` stops when no entry of the gradient of mean loss plus penalty exceeds this, as in scikit-learn's
        ``LogisticRegression``
    learning_rate, batch_size, weight_decay, dropout, clip_norm : settings of the other optimisers; a batch size of 0
        takes all rows at once. The decay of None is 1 for ``mlp`` with ``adamw``, otherwise 0
    schedule : ``cosine`` (the default, None), which lowers the learning rate to zero step by step, so that fewer wrong
        labels are memorised, or ``constant``. L-BFGS and :meth:`partial_fit`, which keeps the rate constant, ignore it.
    balance_classes : give all classes the same total weight
    keep : epoch whose model is kept: ``last``, or ``best`` by accuracy on the observed labels of the validation rows,
        never one before the envelope has started, if it starts. None keeps the best where there are 50 validation rows or more, and the last
        with ``lbfgs``; :meth:`partial_fit` keeps the last
    patience : keep the best epoch, and stop after this many epochs without a better one, counted from the start of the
        envelope; None and 0 never stop early
    validation_share : share of the rows held out to choose the epoch, to say how sure a linear model may be of itself, and to
        calibrate :meth:`predict_set`; None is 0.1, and 0 for ``auto``, ``forest``, ``boosting`` and ``kernel``, which
        calibrate on the rows they learn from, judged by models that have not seen them
    learners : kinds of learners that may vote in ``auto``, as in ``["linear", "network"]``: ``linear``, ``forest``, ``neighbours``,
        ``kernel``, ``boosting``, ``network``. None takes those that suit the rows
    budget : seconds that ``auto``, ``forest``, ``boosting`` and ``kernel`` may take. Learners that are not ready in time
        do not vote, so that the result depends on the machine's speed; the first one is always trained. None takes as long as
        they need
    standardise : scale numeric columns to mean zero and variance one
    impute : fill in missing cells and NaN instead of refusing them
    column_types : what columns of a table are, over what is detected: a dictionary from names to ``numeric``, ``boolean``,
        ``categorical``, ``date``, ``text`` or ``ignore``, with ``numeric:comma``, ``date:mdy`` and the like as in ``cmrm fit --type``
    base : also train a base arm without the envelope, for comparison in :meth:`report`
    row_order : ``content`` sorts the rows by content, so that the result does not depend on their order; ``given``
        keeps their order, as the command does
    keep_data : keep the rows for :meth:`report`; they are not pickled
    flag_anyway : flag labels in ``label_issues_`` also where ``auto``, ``forest``, ``boosting`` or ``kernel`` tells labels no
        better than chance, which a warning says. By default none is flagged then
    random_state : seed for splits, weights and order: a whole number, a NumPy generator, or None for a random one
    n_jobs : number of threads; None or -1 uses all cores. Without a ``budget``, results do not depend on it.
    progress : whether to show a progress bar; None shows one in a terminal

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn
    label_issues_ : an :class:`Audit` of all fitted rows: suspects and suggested labels
    margins_ : for each row, the probability of the given label minus that of the strongest other class: as seen in the
        last epoch of training, or, for validation rows, by the final model; of ``auto``, ``forest``, ``boosting`` and
        ``kernel``, by models that have not seen the row
    row_weights_ : the envelope's weight of each row, from 0 (filtered out) to 1
    trained_on_ : for each row, whether it was used for training; the others were held out for validation
    out_of_sample_ : class probabilities of all rows by models that have not seen them, for :func:`cmrm.audit` and your own
        checks, of ``auto``, ``forest``, ``boosting`` and ``kernel``; None for other models
    transition_ : the transition matrix of the losses ``forward`` and ``backward``, as it was given or estimated; None for other losses
    members_ : what each learner of these votes is worth, a dictionary each: ``name``, ``share`` of the vote, and
        ``accuracy`` and ``brier`` score by observed labels of rows that it had not seen; empty for other models
    columns_ : what was made of the columns of a table, a dictionary for each of the first hundred: ``name``, ``kind``, ``missing``
        cells, ``cells`` (range or examples), what is ``done`` with it, and ``doubt`` where the kind was close; empty for arrays
    notes_ : remarks on the rows
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
        model=None,
        hidden=(128, 64),
        loss="cross-entropy",
        transition=None,
        preset="robust",
        lam=None,
        alpha=None,
        temperature=None,
        start=None,
        class_conditional=False,
        optimiser=None,
        learning_rate=1e-3,
        schedule=None,
        epochs=None,
        steps=None,
        tol=1e-4,
        batch_size=128,
        l2=None,
        weight_decay=None,
        dropout=0.0,
        clip_norm=None,
        balance_classes=False,
        keep=None,
        patience=None,
        validation_share=None,
        standardise=True,
        impute=False,
        column_types=None,
        base=False,
        learners=None,
        budget=None,
        row_order="content",
        keep_data=True,
        flag_anyway=False,
        random_state=0,
        n_jobs=None,
        progress=None,
    ):
        self.model = model
        self.hidden = hidden
        self.loss = loss
        self.transition = transition
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
        self.steps = steps
        self.tol = tol
        self.batch_size = batch_size
        self.l2 = l2
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.clip_norm = clip_norm
        self.balance_classes = balance_classes
        self.keep = keep
        self.patience = patience
        self.validation_share = validation_share
        self.standardise = standardise
        self.impute = impute
        self.column_types = column_types
        self.base = base
        self.learners = learners
        self.budget = budget
        self.row_order = row_order
        self.keep_data = keep_data
        self.flag_anyway = flag_anyway
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CMRMClassifier:
        """Train on rows X with labels y.

        Whole-number weights count rows: weight 2 is the row twice, weight 0 leaves it out. Other weights scale the
        row's loss.
        """
        rows, y = self._labelled_rows(X, y, reset=True)
        codes = self._encode(y)
        fitted, seen = _native.fit_rows(self._task(rows, codes, sample_weight))
        self._passes = 0
        self._take(fitted, seen, codes)
        return self

    @available_if(_no_vote_before)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> CMRMClassifier:
        """Train a network or a linear model for one pass on a chunk of rows.

        The first call needs ``classes``, or all classes in y. It may go on from :meth:`fit`, except from a vote of learners.
        Preprocessing is learned on the first chunk and kept. The envelope starts after ``start`` times ``epochs``
        (40 if None) passes. ``label_issues_`` and ``margins_`` describe the chunk, and no rows are held out for calibration.
        """
        first = not hasattr(self, "_fitted")
        rows, y = self._labelled_rows(X, y, reset=first, least=1)
        if first:
            self.classes_ = np.unique(y if classes is None else unmasked(classes, "classes"))
            self._passes = 0
            if len(self.classes_) < 2:
                raise ValueError("expected at least 2 classes, found one class; pass all of them as classes=…")
        elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            raise ValueError(f"classes: {classes!r} differ from those of the first call, {self.classes_.tolist()}")
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        strange = np.flatnonzero(self.classes_[codes] != y)
        if strange.size:
            raise ValueError(f"y: row {strange[0]}: {y[strange[0]]!r} is not one of the {len(self.classes_)} classes")
        before = None if first else self._fitted
        fitted, seen = _native.fit_chunk(self._task(rows, codes, sample_weight), before, self._passes)
        self._passes += 1
        self._take(fitted, seen, codes)
        return self
