"""What models say of rows that they have not seen, and what the rows should then count."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from . import _native
from ._arrays import native

# Whole weights up to this many times the rows are counts, as in a fit of the engine.
MOST_COPIES = 8


class Fits:
    """Fits of one estimator to parts of the same rows."""

    def __init__(self, estimator: Any, X: Any, y: np.ndarray, fit_params: dict[str, Any], seed: int):
        self.weight_name = weight_name(estimator)
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"estimator: {type(estimator).__name__} has no predict_proba, which margins are taken from; wrap it in "
                "sklearn.calibration.CalibratedClassifierCV, or set its parameter for probabilities if it has one"
            )
        self.estimator = _seeded(clone(estimator), seed)
        self.X, self.y, self.fit_params = X, y, fit_params
        self.classes = np.unique(y)

    @property
    def judges_itself(self) -> bool:
        """Whether every fit has probabilities of its own for the rows that each of its parts has not seen."""
        return bool(getattr(self.estimator, "oob_score", False))

    def fit(self, rows: np.ndarray | None, weights: np.ndarray | None) -> Any:
        """A fresh copy, fitted to these rows; to all of them for None."""
        estimator, X, y, params = clone(self.estimator), self.X, self.y, self.fit_params
        if rows is not None:
            X, y = _safe_split(estimator, X, y, rows)
            params = _check_method_params(self.X, params, rows)
            weights = None if weights is None else weights[rows]
        if weights is not None:
            params = params | {self.weight_name: weights}
        return estimator.fit(X, y, **params)

    def judge(self, splits: Any, weights: np.ndarray | None, n_jobs: Any) -> tuple[np.ndarray, list[Any]]:
        """Out-of-sample probabilities of all rows, and the models that judged them, if they have not seen all rows. A row
        that no model could judge has equal probabilities."""
        total, models = np.zeros((len(self.y), len(self.classes))), []
        if self.judges_itself:
            # A row that was in every bag has zeros, or NaN.
            total += np.nan_to_num(self.fit(None, weights).oob_decision_function_)
        else:
            tasks = (delayed(self._judge)(train, held, weights) for train, held in splits)
            for (_, held), (model, probabilities) in zip(splits, Parallel(n_jobs=n_jobs)(tasks)):
                total[held] += probabilities
                models.append(model)
        # Several models that have judged a row have their mean. NaN stays, and is refused by the row.
        sums = total.sum(axis=1, keepdims=True)
        return np.divide(total, sums, out=np.full_like(total, 1 / len(self.classes)), where=sums != 0), models

    def _judge(self, train: np.ndarray, held: np.ndarray, weights: np.ndarray | None) -> tuple[Any, np.ndarray]:
        model = self.fit(train, weights)
        X, _ = _safe_split(model, self.X, None, held, train)
        probabilities = among_classes(model, X, self.classes)
        # A model that has not met the row's class has no opinion on its label.
        probabilities[~np.isin(self.y[held], model.classes_)] = 0
        return model, probabilities


def among_classes(model: Any, X: Any, classes: np.ndarray) -> np.ndarray:
    """A model's probabilities, with columns of zeros for classes that it has not met."""
    said = model.predict_proba(X)
    probabilities = np.zeros((len(said), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = said
    return probabilities


def weigh(
    codes: np.ndarray, probabilities: np.ndarray, given: np.ndarray | None, temperature: float | None
) -> np.ndarray:
    """What each row should count, from 0 to 1; rows that were given no weight do not take part."""
    copies, share = np.ones(len(codes), np.int64), given
    if given is not None:
        counted = (given == np.floor(given)).all() and given.sum() <= MOST_COPIES * len(given)
        copies, share = (given.astype(np.int64), None) if counted else ((given > 0).astype(np.int64), given)
    rows = np.repeat(np.arange(len(codes)), copies)
    weights = np.zeros(len(codes))
    share = None if share is None else native(share[rows], np.float32)
    weights[rows] = _native.weigh_rows(codes[rows], native(probabilities[rows], np.float32), share, temperature)
    return weights


def weight_name(estimator: Any) -> str:
    """The name under which ``fit`` takes the weights of the rows: for a pipeline, those of its last step."""
    # With metadata routing the steps themselves say what they want.
    if isinstance(estimator, Pipeline) and not get_config()["enable_metadata_routing"]:
        step, last = estimator.steps[-1]
        return f"{step}__{weight_name(last)}"
    takes = signature(estimator.fit).parameters
    if "sample_weight" not in takes and all(name.kind != Parameter.VAR_KEYWORD for name in takes.values()):
        raise TypeError(
            f"estimator: {type(estimator).__name__}.fit takes no sample_weight, so no row can count less than another; "
            "take a classifier that does, such as HistGradientBoostingClassifier, or leave out the rows that "
            "cmrm.find_label_issues names"
        )
    return "sample_weight"


def _seeded(estimator: Any, seed: int) -> Any:
    """The estimator with a seed wherever it, or a part of it, has none."""
    unset = [name for name, value in estimator.get_params().items() if value is None]
    unset = sorted(name for name in unset if name == "random_state" or name.endswith("__random_state"))
    seeds = np.random.default_rng(seed).integers(2**31, size=len(unset))
    return estimator.set_params(**{name: int(value) for name, value in zip(unset, seeds)})
