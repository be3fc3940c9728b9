"""How many labels are wrong, and how likely each is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _native
from ._arrays import class_indices, encode, floats


class NoiseEstimate(NamedTuple):
    """The noise in labels."""

    rate: float
    """Share of the labels that are wrong."""
    interval: tuple[float, float]
    """90 % interval of the rate."""
    by_pair: bool
    """Whether pairs of classes have rates of their own; otherwise wrong labels are of all other classes alike."""
    transition: np.ndarray
    """Entry (k, j): the probability that a row of class k is labelled j."""
    clean_probabilities: np.ndarray
    """Probabilities of the true classes, one row per row."""
    wrong_probability: np.ndarray
    """Probability that each label is wrong."""


def estimate_noise(labels: Any, pred_probs: Any, *, classes: Any = None) -> NoiseEstimate:
    """Estimate how many labels are wrong, and how likely each is.

    Parameters
    ----------
    labels : column numbers, or any labels if ``classes`` lists the label of each column
    pred_probs : class probabilities of models that were not trained on the row they judge, such as those of
        ``cross_val_predict``; calibrated ones are best
    classes : the label of each column

    Rows that fit two classes and labels that are wrong by chance are told apart by the surest rows of each class. Where
    all rows of a class are ambiguous, or people err only where a row is, no method can tell, and the estimate is off by
    more than its interval says.

    >>> import numpy as np, cmrm
    >>> truth = np.arange(3000) % 3
    >>> noisy = cmrm.inject_noise(truth, "symmetric:0.2", seed=1)
    >>> sure = 0.7 * np.eye(3)[truth] + 0.1
    >>> found = cmrm.estimate_noise(noisy.labels, sure)
    >>> bool(abs(found.rate - 0.2) < 0.01)
    True
    """
    matrix = floats(pred_probs, "pred_probs").astype(np.float32, copy=False)
    codes = class_indices(labels, matrix.shape[1]) if classes is None else encode(labels, classes)[0]
    return NoiseEstimate(**_native.estimate_noise(codes, np.ascontiguousarray(matrix)))
