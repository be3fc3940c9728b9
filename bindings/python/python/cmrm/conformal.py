"""Prediction sets by split conformal prediction: LAC, APS, randomised APS and RAPS.

The set of a new row holds its right class with probability at least ``coverage``, if the rows that were calibrated on
and the new one come from the same source, whatever the model.

>>> import numpy as np
>>> from cmrm import conformal
>>> generator = np.random.default_rng(0)
>>> labels = generator.integers(3, size=2000)
>>> probs = generator.dirichlet([1, 1, 1], size=2000) + 2 * np.eye(3)[labels]
>>> probs /= probs.sum(axis=1, keepdims=True)
>>> sets = conformal.calibrate(probs[:1000], labels[:1000], coverage=0.8).predict(probs[1000:])
>>> sets.shape, sets.dtype
((1000, 3), dtype('bool'))
>>> abs(conformal.evaluate(sets, labels[1000:])["coverage"] - 0.8) < 0.05
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from ._arrays import class_indices, encode, floats, seed_of, unmasked, whole

__all__ = ["SetPredictor", "calibrate", "evaluate"]


class SetPredictor:
    """Calibrated thresholds; :func:`calibrate` makes one. Small, and safe to pickle."""

    def __init__(self, native: Any, seed: int):
        self._native = native
        self._seed = seed

    @property
    def thresholds(self) -> np.ndarray:
        """The threshold of every class; infinite where there were too few rows, so that the class is in every set."""
        return self._native.thresholds

    def predict(self, probabilities: Any) -> np.ndarray:
        """The set of each row: True for every class in it. float32 and float64 C-contiguous arrays are not copied."""
        # Other uniform numbers than those of the calibration, for the score that draws some.
        return self._native.predict(floats(probabilities, "probabilities"), (self._seed + 1) % 2**64)

    def __repr__(self) -> str:
        return f"SetPredictor({self._native.classes} classes)"


def calibrate(
    probabilities: Any,
    labels: Any,
    *,
    coverage: float = 0.9,
    score: str = "lac",
    per_class: bool = False,
    allow_empty: bool = True,
    raps_penalty: float = 0.01,
    raps_free_ranks: int = 5,
    classes: Any = None,
    seed: Any = 0,
) -> SetPredictor:
    """Thresholds from rows that the model was not trained on.

    Parameters
    ----------
    probabilities : a row each, a column per class
    labels : column numbers, or any labels if ``classes`` says which column each belongs to
    coverage : share of sets that are to hold the right class
    score : ``lac`` (smallest sets), ``aps``, ``aps_randomised`` or ``raps`` (sets that adapt to the row)
    per_class : a threshold for every class, so that the coverage holds within each
    allow_empty : whether a set may be empty; if not, the most likely class fills it
    raps_penalty, raps_free_ranks : what each rank past the free ones adds to the score of ``raps``
    seed : of the numbers that ``aps_randomised`` draws
    """
    matrix = floats(probabilities, "probabilities")
    if classes is None:
        codes = class_indices(labels, matrix.shape[1])
    else:
        codes, known = encode(labels, classes)
        if len(known) != matrix.shape[1]:
            raise ValueError(f"classes: expected {matrix.shape[1]}, as there are columns, found {len(known)}")
    options = {
        "coverage": float(coverage),
        "score": score,
        "per_class": bool(per_class),
        "allow_empty": bool(allow_empty),
        "raps_penalty": float(raps_penalty),
        "raps_free_ranks": whole(raps_free_ranks, "raps_free_ranks"),
    }
    seed = seed_of(seed)
    return SetPredictor(_native.calibrate_sets(matrix, codes, options, seed), seed)


def evaluate(sets: Any, labels: Any) -> dict[str, float]:
    """How sets, as :meth:`SetPredictor.predict` gives them, hold the labels (column numbers): coverage and sizes."""
    mask = unmasked(sets, "sets")
    if mask.ndim != 2 or mask.dtype != bool:
        raise TypeError("sets: expected a matrix of booleans, as SetPredictor.predict gives it")
    codes = class_indices(labels, mask.shape[1])
    if len(codes) != len(mask) or not len(mask):
        raise ValueError(f"labels: expected {len(mask)}, one a set and at least one, found {len(codes)}")
    sizes = mask.sum(axis=1)
    return {
        "coverage": float(mask[np.arange(len(codes)), codes].mean()),
        "mean_size": float(sizes.mean()),
        "empty_rate": float((sizes == 0).mean()),
        "singleton_rate": float((sizes == 1).mean()),
    }
