"""Prediction sets by split conformal prediction: LAC, APS, randomised APS and RAPS.

The set of a new row contains its true class with probability at least ``coverage``, whatever the model, if the
calibration rows and the new row come from the same distribution.

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
    """Calibrated thresholds, made by :func:`calibrate`. Small, and safe to pickle."""

    def __init__(self, native: Any, seed: int):
        self._native = native
        self._seed = seed

    @property
    def thresholds(self) -> np.ndarray:
        """Threshold of every class; infinite if there were too few rows, which puts the class into every set."""
        return self._native.thresholds

    def predict(self, probabilities: Any) -> np.ndarray:
        """A mask: True for every class in the row's set. C-contiguous float32 and float64 arrays are not copied."""
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
    noise: Any = None,
    guaranteed: bool = False,
) -> SetPredictor:
    """Calibrate thresholds on rows that the model was not trained on.

    Parameters
    ----------
    probabilities : one row per example, one column per class
    labels : column numbers, or any labels if ``classes`` lists the label of each column
    coverage : share of sets that should contain the true class
    score : ``lac`` (smallest sets), ``aps``, ``aps_randomised`` or ``raps`` (sets that adapt to the row)
    per_class : one threshold per class, so that the coverage holds within each class
    allow_empty : whether sets may be empty; otherwise an empty set gets the most likely class
    raps_penalty, raps_free_ranks : penalty that ``raps`` adds for each rank beyond the free ones
    seed : seed for ``aps_randomised``
    noise : the noise in ``labels``, for sets that contain the *true* class: the share of wrong labels, if they are of all
        other classes alike; or a matrix whose entry (k, j) is the probability that a row of class k is labelled j, such as
        ``cmrm.estimate_noise(…).transition``. The coverage then holds up to the error of the noise and of the sample, about
        one over the square root of the number of rows.
    guaranteed : with ``noise``, ask for so much more coverage that it is at least ``coverage``, on average over samples of
        any size, if the noise is as given and depends on a row through its class alone. Sets are larger. For one threshold,
        not ``per_class``.
    """
    if guaranteed and noise is None:
        raise ValueError("guaranteed: name the noise in the labels with noise=; without noise the coverage is guaranteed as it is")
    matrix = floats(probabilities, "probabilities")
    if classes is None:
        codes = class_indices(labels, matrix.shape[1])
    else:
        codes, known = encode(labels, classes)
        if len(known) != matrix.shape[1]:
            raise ValueError(f"classes: expected {matrix.shape[1]}, one per column, found {len(known)}")
    options = {
        "coverage": float(coverage),
        "score": score,
        "per_class": bool(per_class),
        "allow_empty": bool(allow_empty),
        "raps_penalty": float(raps_penalty),
        "raps_free_ranks": whole(raps_free_ranks, "raps_free_ranks"),
        "guaranteed": bool(guaranteed),
    }
    seed = seed_of(seed)
    if noise is not None and np.ndim(noise) == 0:
        noise = float(noise)
    elif noise is not None:
        noise = np.ascontiguousarray(noise, dtype=np.float64)
        if noise.shape != (matrix.shape[1], matrix.shape[1]):
            expected = f"a number or a matrix of {matrix.shape[1]} by {matrix.shape[1]}"
            raise ValueError(f"noise: expected {expected}, found an array of shape {noise.shape}")
    return SetPredictor(_native.calibrate_sets(matrix, codes, options, seed, noise), seed)


def evaluate(sets: Any, labels: Any) -> dict[str, float]:
    """Coverage and sizes of sets from :meth:`SetPredictor.predict`; ``labels`` are column numbers."""
    mask = unmasked(sets, "sets")
    if mask.ndim != 2 or mask.dtype != bool:
        raise TypeError("sets: expected a boolean matrix, as returned by SetPredictor.predict")
    codes = class_indices(labels, mask.shape[1])
    if len(codes) != len(mask) or not len(mask):
        raise ValueError(f"labels: expected {len(mask)}, one per set and at least one, found {len(codes)}")
    sizes = mask.sum(axis=1)
    return {
        "coverage": float(mask[np.arange(len(codes)), codes].mean()),
        "mean_size": float(sizes.mean()),
        "empty_rate": float((sizes == 0).mean()),
        "singleton_rate": float((sizes == 1).mean()),
    }
