"""What the two estimators share: everything but the training itself."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_array, column_or_1d
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:  # pragma: no cover
    raise ImportError("cmrm's estimators need scikit-learn 1.6 or later: pip install 'cmrm[sklearn]'") from error

from ._arrays import csr_parts, encode, masked_as_nan, native, refuse_masked, row_weights
from ._audit import Audit
from ._progress import teller
from ._saved import label_type
from ._settings import settings
from ._strings import text_column, texts
from ._table import Column, as_table, columns


def _threads(n_jobs: Any) -> int | None:
    """More threads than cores would help nobody."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs: expected a whole number or None, found {n_jobs!r}")
    return min(int(n_jobs), os.cpu_count() or 1) if n_jobs > 0 else None


def _parts(rows: Any) -> Any:
    """What scikit-learn has checked, as the native side takes it."""
    return csr_parts(rows) if hasattr(rows, "tocsr") else native(rows)


def _name(label: Any) -> str:
    """A label as the command would read it from a file of whole numbers."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """Prediction, prediction sets, suspects and the report of a fitted estimator."""

    _fitted: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.impute)
        tags.input_tags.sparse = True
        return tags

    # What is trained on

    def _rows(self, X: Any, reset: bool) -> Any:
        """X as the native side takes it: columns, a C-contiguous matrix, or the parts of a sparse one."""
        found = self._columns(X, reset)
        if found is not None:
            return found[0]
        return _parts(validate_data(self, masked_as_nan(X, "X"), reset=reset, **self._array_rules()))

    def _columns(self, X: Any, reset: bool) -> tuple[list[Column], int] | None:
        """The columns of X and the number of its rows, if it is a table or a list of texts."""
        cells = texts(X)
        if cells is not None:
            # A list has no names to compare with those of a table, such as a loaded classifier may have learned from.
            if reset or getattr(self, "n_features_in_", 1) != 1:
                validate_data(self, np.empty((len(cells), 1), dtype=object), reset=reset, skip_check_array=True)
            return [text_column(cells)], len(cells)
        table = as_table(X)
        if table is None:
            return None
        validate_data(self, table, reset=reset, skip_check_array=True)
        return columns(table), table.shape[0]

    def _array_rules(self) -> dict[str, Any]:
        finite = "allow-nan" if self.impute else True
        return {"dtype": (np.float64, np.float32), "order": "C", "ensure_all_finite": finite, "accept_sparse": "csr"}

    def _labelled_rows(self, X: Any, y: Any, reset: bool, least: int = 2) -> tuple[Any, np.ndarray]:
        refuse_masked(y, "y")
        found = self._columns(X, reset)
        if found is not None:
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
            rows, count = found
            if len(y) != count:
                raise ValueError(f"y: expected {count} labels, one per row of X, found {len(y)}")
            if count < least:
                raise ValueError(f"found {count} sample(s), while a minimum of {least} is required")
        else:
            X = masked_as_nan(X, "X")
            rows, y = validate_data(self, X, y, reset=reset, ensure_min_samples=least, **self._array_rules())
            rows = _parts(rows)
        check_classification_targets(y)
        return rows, y

    def _task(self, rows: Any, codes: np.ndarray, sample_weight: Any, **changes: Any) -> dict[str, Any]:
        parameters = self.get_params(deep=False) | changes
        if not isinstance(self.loss, str):
            raise TypeError(f"loss: expected a text such as 'cross-entropy' or 'gce:0.7', found {self.loss!r}")
        return {
            "features": rows,
            "labels": native(codes, np.uint32),
            "classes": [_name(label) for label in self.classes_.tolist()],
            "weights": row_weights(sample_weight, len(codes)),
            "config": settings(parameters),
            "loss": parameters["loss"],
            "threads": _threads(self.n_jobs),
            "keep_data": bool(self.keep_data),
            "flag_anyway": bool(self.flag_anyway),
            "tell": teller(self.progress),
        }

    def _encode(self, y: np.ndarray) -> np.ndarray:
        """Finds the classes and gives each row's place among them."""
        codes, self.classes_ = encode(y, None, "y")
        if len(self.classes_) < 2:
            raise ValueError(f"expected at least 2 classes, found one class: every label is {self.classes_[0]!r}")
        return codes

    def _take_summary(self, fitted: Any, seen: dict[str, Any]) -> None:
        self._fitted = fitted
        self.config_ = fitted.config_toml
        self.notes_ = seen.pop("notes", [])
        self.row_weights_ = seen.pop("weight")
        self.trained_on_ = seen.pop("trained_on")
        self.out_of_sample_ = seen.pop("out_of_sample", None)
        self.noise_ = seen.pop("noise", None)
        transition = seen.pop("transition", None)
        self.transition_ = None if transition is None else np.array(transition)
        self.wrong_probability_ = seen.pop("wrong_probability", None)
        self.members_ = seen.pop("members", [])
        understood = seen.pop("columns", None)
        self.columns_ = json.loads(understood) if understood else []

    def _take(self, fitted: Any, seen: dict[str, Any], codes: np.ndarray) -> None:
        for words in seen.pop("warnings", []):
            warnings.warn(words, stacklevel=3)
        self._take_summary(fitted, seen)
        self.label_issues_ = Audit._from_native(seen, codes, self.classes_)
        self.margins_ = self.label_issues_["margin"]

    # What is known afterwards

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, one column per class in the order of ``classes_``.

        Those of a vote are of the true classes, where the noise in the labels was estimated (``noise_``) and classes were
        not balanced; all others are of the labels as they are observed.
        """
        check_is_fitted(self)
        return self._fitted.probabilities(self._rows(X, reset=False))

    def decision_function(self, X: Any) -> np.ndarray:
        """Logits; for two classes, the second minus the first."""
        check_is_fitted(self)
        logits = self._fitted.logits(self._rows(X, reset=False))
        return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits

    def predict(self, X: Any) -> np.ndarray:
        """The most likely class of each row."""
        check_is_fitted(self)
        return self.classes_[self._fitted.predict(self._rows(X, reset=False))]

    def predict_set(
        self, X: Any, coverage: float = 0.9, *, score: str = "lac", calibration: str | None = None
    ) -> np.ndarray:
        """Prediction sets with the given coverage: a mask with one row per row of X, True for every class in its set.

        Columns are in the order of ``classes_``. The sets are calibrated on the rows that ``fit`` held out for validation,
        or, if it held out none, on all rows, judged by models that have not seen them (``out_of_sample_``).

        ``calibration`` says what a set should contain: ``corrected`` the true class, by the estimated noise in the labels
        (``noise_``); ``observed`` the observed label, so that sets are larger than necessary where labels are wrong. By
        default it is ``corrected`` where the noise was estimated.

        ``score`` is ``lac`` (small sets), ``aps`` or ``raps`` (sets that adapt to the row).
        """
        check_is_fitted(self)
        return self._fitted.sets(self.predict_proba(X), float(coverage), score, calibration)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the report of this fit, like the command: one HTML page that works offline.

        With ``base=True`` it compares with a base arm trained on the same rows in the same order. An unpickled
        classifier has no rows to show and raises an error.
        """
        check_is_fitted(self)
        self._fitted.report(os.fspath(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the folder of a run, new or empty, that ``cmrm predict``, ``evaluate``, ``audit`` and ``report`` open, and
        :func:`cmrm.load`. It has the model, what training recorded of the rows, and the report, but no rows.

        Of a classifier without its rows (``keep_data=False``, unpickled, or after ``partial_fit``) there is no page, and the summary has
        no figures of the rows.
        """
        check_is_fitted(self)
        self._fitted.save(os.fspath(path), label_type(self.classes_))

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a safetensors file, like the command."""
        check_is_fitted(self)
        with open(path, "wb") as file:
            file.write(self._fitted.model_bytes())
