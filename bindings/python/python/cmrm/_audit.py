"""Labels that look wrong, from any model's predicted probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native
from ._arrays import class_indices, encode, floats, whole


class Audit(dict):
    """Columns by name, rows in the order of the data; pandas, polars and pyarrow turn it into a table.

    ``is_label_issue``, ``label_score``, ``given_label`` and ``predicted_label`` mean the same as in cleanlab;
    ``suggested_label``, ``margin`` and ``rank`` are cmrm's own (rank 0 is the most suspicious row).
    """

    order: np.ndarray
    """Row numbers, most suspicious first."""
    noise_rate: float | None
    """Estimated share of wrong labels; None if there were no probabilities to estimate it from."""

    def __init__(self, columns: dict[str, np.ndarray], order: np.ndarray, noise_rate: float | None):
        super().__init__(columns)
        self.order = order
        self.noise_rate = noise_rate

    @property
    def issues(self) -> np.ndarray:
        """Rows whose label looks wrong, most suspicious first."""
        return self.order[self["is_label_issue"][self.order]]

    def to_pandas(self) -> Any:
        """The columns as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self)

    def __repr__(self) -> str:
        rate = "" if self.noise_rate is None else f", estimated noise {self.noise_rate:.1%}"
        return f"Audit({len(self.issues)} of {len(self.order)} labels look wrong{rate})"

    def __reduce__(self):
        return Audit, (dict(self), self.order, self.noise_rate)

    @classmethod
    def _from_native(cls, result: dict[str, Any], given: np.ndarray, classes: np.ndarray) -> Audit:
        order, noise_rate = result.pop("order"), result.pop("noise_rate")
        columns = {
            "is_label_issue": result["is_label_issue"],
            "label_score": result["label_score"],
            "given_label": classes[given],
            "predicted_label": classes[result["predicted_label"]],
            "suggested_label": classes[result["suggested_label"]],
            "margin": result["margin"],
            "rank": result["rank"].astype(np.int64),
        }
        return cls(columns, order.astype(np.int64), noise_rate)


def audit(
    labels: Any,
    pred_probs: Any,
    *,
    classes: Any = None,
    score: str = "normalized_margin",
    filter_by: str = "prune_by_noise_rate",
    threshold: float = 0.0,
    min_examples_per_class: int = 1,
    frac_noise: float = 1.0,
) -> Audit:
    """Rank rows by how well their labels fit out-of-sample probabilities, and flag those that look wrong.

    Parameters
    ----------
    labels : column numbers of ``pred_probs``, or any labels if ``classes`` is given
    pred_probs : one row per label, one column per class; float32 and float64 C-contiguous arrays are not copied
    classes : the label that each column belongs to
    score : ``normalized_margin``, ``self_confidence`` or ``confidence_weighted_entropy``
    filter_by : cleanlab's seven (``prune_by_noise_rate``, ``prune_by_class``, ``both``, ``confident_learning``,
        ``predicted_neq_given``, ``low_normalized_margin``, ``low_self_confidence``), ``below_margin`` or ``fraction``
    threshold : the margin for ``below_margin``, the share of rows for ``fraction``
    min_examples_per_class : rows of each class that the pruning filters always keep
    frac_noise : share of their findings that the pruning filters flag

    >>> import numpy as np
    >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.05, 0.95], [0.1, 0.9], [0.2, 0.8]])
    >>> found = audit([0, 0, 0, 1, 1], probs)
    >>> found
    Audit(1 of 5 labels look wrong, estimated noise 20.0%)
    >>> found.issues
    array([2])
    >>> int(found["suggested_label"][2])
    1
    """
    matrix = floats(pred_probs, "pred_probs")
    if classes is None:
        known = np.arange(matrix.shape[1])
        indices = class_indices(labels, matrix.shape[1])
    else:
        indices, known = encode(labels, classes)
        if len(known) != matrix.shape[1]:
            raise ValueError(f"classes: expected {matrix.shape[1]}, one per column of pred_probs, found {len(known)}")
    result = _native.rank_labels(
        indices,
        matrix,
        score,
        filter_by,
        float(threshold),
        whole(min_examples_per_class, "min_examples_per_class"),
        float(frac_noise),
    )
    return Audit._from_native(result, indices, known)


def find_label_issues(
    labels: Any,
    pred_probs: Any,
    *,
    return_indices_ranked_by: str | None = None,
    filter_by: str = "prune_by_noise_rate",
    frac_noise: float = 1.0,
    min_examples_per_class: int = 1,
) -> np.ndarray:
    """cleanlab's function of this name: a mask of the rows whose labels look wrong, or their ranked row numbers.

    Parameters
    ----------
    labels : whole numbers from 0, the columns of ``pred_probs``
    pred_probs : out-of-sample probabilities, one row per label and one column per class
    return_indices_ranked_by : None for the mask; ``self_confidence``, ``normalized_margin`` or
        ``confidence_weighted_entropy`` for row numbers, most suspicious first
    filter_by, frac_noise, min_examples_per_class : as for :func:`audit`

    >>> import numpy as np
    >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.05, 0.95], [0.1, 0.9], [0.2, 0.8]])
    >>> find_label_issues([0, 0, 0, 1, 1], probs)
    array([False, False,  True, False, False])
    >>> find_label_issues([0, 0, 0, 1, 1], probs, return_indices_ranked_by="self_confidence")
    array([2])
    """
    found = audit(
        labels,
        pred_probs,
        score=return_indices_ranked_by or "self_confidence",
        filter_by=filter_by,
        frac_noise=frac_noise,
        min_examples_per_class=min_examples_per_class,
    )
    return found["is_label_issue"] if return_indices_ranked_by is None else found.issues
