"""Classifiers as folders of runs: what the command reads and writes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._audit import Audit
from ._settings import parameters

if TYPE_CHECKING:
    from ._classifier import CMRMClassifier


def load(run: str | os.PathLike[str]) -> CMRMClassifier:
    """A fitted classifier from the folder of a run, made by ``cmrm fit`` or by :meth:`CMRMClassifier.save`.

    It predicts the same bits as ``cmrm predict``. ``classes_`` are strings, unless the run was saved from Python with labels of
    another type. Attributes that tell of rows (``label_issues_``, ``margins_`` …) are of the rows trained on, in the order of the data;
    ``label_issues_["row"]`` has their places. A run whose files were altered is refused.

    >>> import tempfile, cmrm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = cmrm.CMRMClassifier(model="linear").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(folder)
    ...     again = cmrm.load(folder)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    from ._classifier import CMRMClassifier

    fitted, known = _native.open_run(os.fspath(run))
    config = json.loads(known["config"])
    model = CMRMClassifier(**parameters(config, known["loss"]))
    model.classes_ = _labels(known["classes"], known["label_type"])
    model.n_features_in_ = known["width"]
    if known["names"] is not None:
        model.feature_names_in_ = np.array(known["names"], dtype=object)
    model._passes = 0
    seen: dict[str, Any] = {
        "weight": known.get("weight"),
        "wrong_probability": known.get("wrong_probability"),
        "members": json.loads(known["members"]),
        "noise": _noise(known["noise"]),
        "transition": _transition(config),
        "columns": known["columns"],
        "trained_on": None,
    }
    codes = known.get("labels")
    if codes is None:
        model._take_summary(fitted, seen)
        return model
    seen["trained_on"] = np.ones(len(codes), dtype=bool)
    model._take_summary(fitted, seen)
    model.label_issues_ = Audit._from_native(known, codes, model.classes_)
    model.label_issues_["row"] = known["row"].astype(np.int64)
    model.margins_ = model.label_issues_["margin"]
    return model


def label_type(classes: np.ndarray) -> str | None:
    """What :func:`load` makes of the names of the classes again; None for strings of NumPy."""
    if classes.dtype.kind == "U":
        return None
    if classes.dtype.kind in "biuf":
        return str(classes.dtype.name)
    if all(isinstance(label, str) for label in classes.tolist()):
        return "object"
    kinds = sorted({type(label).__name__ for label in classes.tolist()})
    raise TypeError(f"labels of type {', '.join(kinds)} cannot be saved; fit with strings, numbers or booleans")


def _labels(names: list[str], kind: str | None) -> np.ndarray:
    if kind is None:
        return np.array(names)
    try:
        dtype = np.dtype(kind)
        if dtype.kind == "b":
            return np.array([{"False": False, "True": True}[name] for name in names], dtype=dtype)
        if dtype.kind == "O":
            return np.array(names, dtype=object)
        read: Any = float if dtype.kind == "f" else int
        return np.array([read(name) for name in names]).astype(dtype)
    except (TypeError, KeyError, ValueError):
        raise ValueError(
            f"run.json: the classes {names[:5]} are not labels of type {kind}; save the model again, or copy the folder again"
        ) from None


def _transition(config: dict[str, Any]) -> Any:
    found = config.get("transition")
    return found["estimated"] if isinstance(found, dict) else found


def _noise(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    noise = json.loads(text)
    return {"rate": noise["rate"], "interval": tuple(noise["interval"]), "by_pair": noise["by_pair"]}
