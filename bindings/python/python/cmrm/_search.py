"""The estimator that chooses its settings by observed labels."""

from __future__ import annotations

import json
from typing import Any

from . import _native
from ._arrays import whole
from ._base import FittedClassifier


class CMRMClassifierCV(FittedClassifier):
    """Network or linear model that chooses its settings on folds of the rows by observed labels, like ``cmrm tune``.

    Settings that differ in loss and envelope train side by side. After every fold the worse half is dropped. The given
    settings stay unless others are better by more than chance. Finally all rows are fitted with the chosen settings.
    The search compares last epochs; ``keep`` is for the fit at the end.

    Parameters
    ----------
    folds : number of folds; 1 holds out a fifth of the rows
    criterion : score to choose by: ``observed`` (accuracy on observed labels), ``weighted``, ``corrected``,
        ``posterior`` or ``agreement``
    presets, lambdas, alphas, temperatures, losses, learning_rates, l2s, epoch_counts : values to try; None for the
        default lists of ``cmrm tune``
    model : ``mlp`` (the default, None), ``linear``, ``svm`` or ``cosine``
    others : as in :class:`CMRMClassifier`

    Attributes
    ----------
    best_params_ : the chosen settings, as parameters of :class:`CMRMClassifier`; None means the preset's value
    best_setting_ : the same as text
    standings_ : for every setting, a dictionary with its values, its number of folds and its mean score
    others : as in :class:`CMRMClassifier`

    >>> import cmrm
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(300, random_state=0)
    >>> model = cmrm.CMRMClassifierCV(folds=2, epochs=5, lambdas=[10.0, 20.0], epoch_counts=[5]).fit(X, y)
    >>> model.best_params_["epochs"]
    5
    """

    def __init__(
        self,
        *,
        folds=5,
        criterion="observed",
        presets=None,
        lambdas=None,
        alphas=None,
        temperatures=None,
        losses=None,
        learning_rates=None,
        l2s=None,
        epoch_counts=None,
        model=None,
        hidden=(128, 64),
        loss="cross-entropy",
        transition=None,
        preset="robust",
        lam=None,
        alpha=None,
        temperature=None,
        start=None,
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
        validation_share=None,
        standardise=True,
        impute=False,
        column_types=None,
        base=False,
        row_order="content",
        keep_data=True,
        flag_anyway=False,
        random_state=0,
        n_jobs=None,
        progress=None,
    ):
        self.folds = folds
        self.criterion = criterion
        self.presets = presets
        self.lambdas = lambdas
        self.alphas = alphas
        self.temperatures = temperatures
        self.losses = losses
        self.learning_rates = learning_rates
        self.l2s = l2s
        self.epoch_counts = epoch_counts
        self.model = model
        self.hidden = hidden
        self.loss = loss
        self.transition = transition
        self.preset = preset
        self.lam = lam
        self.alpha = alpha
        self.temperature = temperature
        self.start = start
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
        self.validation_share = validation_share
        self.standardise = standardise
        self.impute = impute
        self.column_types = column_types
        self.base = base
        self.row_order = row_order
        self.keep_data = keep_data
        self.flag_anyway = flag_anyway
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CMRMClassifierCV:
        """Search, then train on all rows with the chosen settings. Weights as for :class:`CMRMClassifier`."""
        rows, y = self._labelled_rows(X, y, reset=True)
        codes = self._encode(y)
        # What a search cannot vary, and one seed for search and fit.
        fixed: dict[str, Any] = {"patience": None, "class_conditional": False, "learners": None, "budget": None}
        task = self._task(rows, codes, sample_weight, **fixed)
        fixed["random_state"] = json.loads(task["config"])["seed"]
        found = _native.search_settings(task, self._wanted())
        self.best_setting_, self.standings_ = found["setting"], found["standings"]
        self.best_params_ = found["best"]
        # The search has made epochs of the steps.
        chosen = fixed | {"steps": None} | self.best_params_
        fitted, seen = _native.fit_rows(self._task(rows, codes, sample_weight, **chosen))
        self._take(fitted, seen, codes)
        return self

    def _wanted(self) -> dict[str, Any]:
        names = ["presets", "lambdas", "alphas", "temperatures", "learning_rates", "l2s", "epoch_counts"]
        space: dict[str, Any] = {name: _list(name, getattr(self, name)) for name in names}
        return {
            "space": json.dumps(space | {"losses": []}),
            "losses": _list("losses", self.losses),
            "folds": whole(self.folds, "folds", 1),
            "criterion": self.criterion,
        }


def _list(name: str, values: Any) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name}: expected a list of values to try, found {values!r}")
    try:
        return [value.item() if hasattr(value, "item") else value for value in values]
    except TypeError:
        raise TypeError(f"{name}: expected a list of values to try, found {values!r}") from None
