"""Settings as Python gives them, in the form that the library reads; the library checks their range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def start(value: Any) -> dict[str, Any] | None:
    """An epoch (an integer) or a share of the epochs (a float)."""
    if value is None or isinstance(value, dict):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"start must be an epoch (an integer) or a share of the epochs (a float), not {type(value).__name__}")
    return {"epoch": value} if isinstance(value, int) else {"fraction": value}


def fade(value: Any) -> Any:
    """A dictionary, or a pair of margin and share."""
    if value is None or value is False:
        return value
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        value = {"margin": value[0], "share": value[1]}
    if not isinstance(value, dict):
        raise TypeError(f"fade must be a pair (margin, share) or a dictionary of these two, not {value!r}")
    return {name: plain(f"fade {name}", number) for name, number in value.items()}


def plain(name: str, value: Any) -> Any:
    """A setting as JSON can hold it."""
    if isinstance(value, (str, dict, bool)):
        return value
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} = {number} is out of range: expected a finite number")
    return number
