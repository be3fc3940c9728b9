"""The parameters of the estimators as the settings of a fit, in the form that the command's config file has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from ._arrays import seed_of

# Parameter → key of the settings, and what it may be.
_KEYS: dict[str, tuple[str, str]] = {
    "model": ("model", "text or None"),
    "hidden": ("hidden", "whole numbers"),
    "dropout": ("dropout", "number"),
    "preset": ("preset", "text"),
    "lam": ("lambda", "number or None"),
    "alpha": ("alpha", "number or None"),
    "temperature": ("temperature", "number or None"),
    "start": ("start", "number or None"),
    "class_conditional": ("class-conditional", "boolean"),
    "optimiser": ("optimiser", "text or None"),
    "learning_rate": ("learning-rate", "number"),
    "epochs": ("epochs", "whole number or None"),
    "steps": ("steps", "whole number or None"),
    "tol": ("tolerance", "number"),
    "batch_size": ("batch", "whole number"),
    "l2": ("l2", "number or None"),
    "weight_decay": ("weight-decay", "number or None"),
    "clip_norm": ("clip-norm", "number or None"),
    "balance_classes": ("balance-classes", "boolean"),
    "keep": ("keep", "text or None"),
    "patience": ("patience", "whole number or None"),
    "validation_share": ("validation-share", "number or None"),
    "learners": ("learners", "list of names or None"),
    "budget": ("budget", "number or None"),
    "base": ("base", "boolean"),
    "row_order": ("row-order", "text"),
    "transition": ("transition", "matrix or None"),
}

# Step by step, as a schedule of the settings does not by itself.
_SCHEDULES = {"constant": {"kind": "constant"}, "cosine": {"kind": "cosine", "advance": "step"}}


def settings(parameters: dict[str, Any]) -> str:
    """The settings as JSON. The loss goes apart, by its name."""
    config: dict[str, Any] = {}
    for name, (key, kind) in _KEYS.items():
        value = _checked(name, parameters[name], kind)
        if value is not None:
            config[key] = value
    schedule = _checked("schedule", parameters["schedule"], "text or None")
    if schedule is not None:
        if schedule not in _SCHEDULES:
            raise ValueError(f"unknown schedule '{schedule}': expected constant or cosine")
        config["schedule"] = _SCHEDULES[schedule]
    config["seed"] = seed_of(parameters["random_state"])
    config["preprocess"] = {"standardise": _checked("standardise", parameters["standardise"], "boolean")}
    if _checked("impute", parameters["impute"], "boolean"):
        config["preprocess"] |= {"missing": "impute", "nan-is-missing": True}
    if parameters["column_types"] is not None:
        config["preprocess"]["overrides"] = _column_types(parameters["column_types"])
    return json.dumps(config)


def parameters(config: dict[str, Any], loss: str) -> dict[str, Any]:
    """The other way round: the parameters of an estimator with the settings of a run, as far as it has them."""
    found: dict[str, Any] = {name: config[key] for name, (key, _) in _KEYS.items() if key in config}
    # The command takes rows as they come.
    found.setdefault("row_order", "given")
    found["hidden"] = tuple(config["hidden"])
    if isinstance(found.get("transition"), dict):
        # Estimated, and so again by another fit.
        found["transition"] = None
    found["loss"] = loss
    found["random_state"] = config["seed"]
    schedules = [name for name, schedule in _SCHEDULES.items() if schedule == config.get("schedule")]
    found["schedule"] = schedules[0] if schedules else None
    preprocess = config.get("preprocess", {})
    found["standardise"] = preprocess.get("standardise", True)
    found["impute"] = preprocess.get("missing") == "impute"
    found["column_types"] = preprocess.get("overrides") or None
    return found


def _column_types(types: Any) -> dict[str, str]:
    if isinstance(types, Mapping) and all(isinstance(text, str) for pair in types.items() for text in pair):
        return dict(types)
    raise TypeError(f"column_types: expected a dictionary from names of columns to kinds, found {types!r}")


def _checked(name: str, value: Any, kind: str) -> Any:
    if value is None and kind.endswith("or None"):
        return None
    wanted = kind.removesuffix(" or None")
    is_boolean = isinstance(value, bool) or type(value).__name__ == "bool_" or type(value).__name__ == "bool"
    if wanted == "boolean" and is_boolean:
        return bool(value)
    if wanted == "text" and isinstance(value, str):
        return value
    if wanted == "whole number" and isinstance(value, Integral) and not is_boolean:
        return _not_negative(name, int(value))
    if wanted == "number" and isinstance(value, Real) and not is_boolean:
        if not math.isfinite(value):
            raise ValueError(f"{name} = {value} is out of range: expected a finite number")
        return float(value)
    if wanted == "list of names" and not isinstance(value, (str, bytes)):
        try:
            return [_checked(name, one, "text") for one in value]
        except TypeError:
            pass
    if wanted == "whole numbers" and not isinstance(value, (str, bytes)):
        try:
            return [_checked(name, one, "whole number") for one in value]
        except TypeError:
            pass
    if wanted == "matrix" and not isinstance(value, (str, bytes)):
        try:
            return [[_checked(name, float(number), "number") for number in row] for row in value]
        except TypeError:
            pass
    raise TypeError(f"{name}: expected a {kind}, found {value!r}")


def _not_negative(name: str, value: int) -> int:
    if not 0 <= value < 2**63:
        raise ValueError(f"{name} = {value} is out of range: expected 0 or more")
    return value
