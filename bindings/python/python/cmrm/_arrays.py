"""What users pass, as the arrays that the native side takes: copied only where type or layout ask for it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def native(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """The array as the native side can borrow it: in C order, and aligned, which a slice of bytes need not be."""
    array = np.ascontiguousarray(array, dtype)
    return array if array.flags.aligned else array.copy()


def _masked(values: Any) -> np.ma.MaskedArray | None:
    """The values, or rows of them in a list, as a masked array; None where no cell is masked."""
    if isinstance(values, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in values):
        with warnings.catch_warnings():
            # NumPy warns that a masked cell becomes NaN, which nobody will read.
            warnings.simplefilter("ignore", UserWarning)
            values = np.ma.array(values)
    return values if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values) else None


def refuse_masked(values: Any, name: str) -> None:
    """Refuses a masked cell: the value underneath means nothing."""
    masked = _masked(values)
    if masked is not None:
        first = np.argwhere(np.ma.getmaskarray(masked))[0]
        place = ", ".join(f"{what} {at}" for what, at in zip(("row", "column"), first))
        raise ValueError(f"{name}: {place or 'the value'} is masked; fill it in, or leave out the row")


def unmasked(values: Any, name: str) -> np.ndarray:
    """The values as a plain array, none of them masked."""
    refuse_masked(values, name)
    return np.asarray(values)


def masked_as_nan(values: Any, name: str) -> Any:
    """The values with NaN, the estimators' missing value, for masked cells; as they are where none is masked."""
    masked = _masked(values)
    if masked is None:
        return values
    if masked.dtype.kind not in "buif":
        raise TypeError(f"{name}: expected numbers, found a masked array of {masked.dtype}")
    return masked.astype(np.result_type(masked.dtype, np.float32)).filled(np.nan)


def floats(values: Any, name: str) -> np.ndarray:
    """A C-contiguous matrix of float32 or float64; these two are taken as they are, other numbers become float64."""
    array = unmasked(values, name)
    if array.dtype != np.float32 and array.dtype != np.float64:
        if array.dtype.kind not in "buifO":
            raise TypeError(f"{name}: expected numbers, found an array of {array.dtype}")
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name}: expected numbers: {error}") from None
    if array.ndim != 2:
        raise ValueError(
            f"{name}: expected one row per example and one column per class or feature, found {array.ndim} dimensions"
        )
    return native(array)


def csr_parts(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """A SciPy matrix or array of any sparse format as rows: where each starts, columns, float32 or float64, and the width.

    Columns rise within a row, none is there twice, and no number is zero, so that equal rows are equal in all parts.
    """
    csr = X.tocsr()
    csr.check_format(full_check=True)
    if csr.dtype != np.float32 and csr.dtype != np.float64:
        csr = csr.astype(np.float64)
    if not csr.has_canonical_format or np.count_nonzero(csr.data) < len(csr.data):
        csr = csr.copy()  # what the user has stays as it is
        csr.sum_duplicates()
        csr.eliminate_zeros()
    kept = csr.indptr[-1]
    return native(csr.indptr), native(csr.indices[:kept]), native(csr.data[:kept]), csr.shape[1]


def class_indices(labels: Any, classes: int, name: str = "labels") -> np.ndarray:
    """Whole numbers from 0 to classes − 1, as uint32."""
    array = unmasked(labels, name)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one label per row, found {array.ndim} dimensions")
    if array.dtype.kind not in "buif":
        raise TypeError(
            f"{name}: expected whole numbers from 0 to {classes - 1}, found an array of {array.dtype}; "
            "pass classes=… for other labels"
        )
    whole = np.isfinite(array) & (array == np.floor(array)) if array.dtype.kind == "f" else np.True_
    wrong = np.flatnonzero(~(whole & (array >= 0) & (array < classes)))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(f"{name}: row {row}: {array[row]} is not a whole number from 0 to {classes - 1}")
    return native(array, np.uint32)


def encode(labels: Any, classes: Any, name: str = "labels") -> tuple[np.ndarray, np.ndarray]:
    """Labels of any kind as indices into classes; those that occur, sorted, if none are given."""
    array = unmasked(labels, name)
    if array.ndim != 1:
        raise ValueError(f"{name}: expected one label per row, found {array.ndim} dimensions")
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}: row {row}: {array[row]} is not a label; fill it in, or leave out the row")
    try:
        found, indices = np.unique(array, return_inverse=True)
    except TypeError:
        raise TypeError(
            f"{name}: labels of several types cannot be sorted; make them all text or all numbers"
        ) from None
    if classes is None:
        return indices.astype(np.uint32), found
    known = unmasked(classes, "classes")
    if known.ndim != 1 or len(np.unique(known)) != len(known):
        raise ValueError("classes: expected a list of different labels")
    place = {label: index for index, label in enumerate(known.tolist())}
    to_known = np.array([place.get(label, -1) for label in found.tolist()], dtype=np.int64)
    codes = to_known[indices] if len(found) else np.empty(0, np.int64)
    wrong = np.flatnonzero(codes < 0)
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(f"{name}: row {row}: {array[row]!r} is not one of the {len(known)} classes")
    return codes.astype(np.uint32), known


def seed_of(random_state: Any) -> int:
    """A seed from a number, a NumPy generator of either kind, or None (a fresh one)."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    if isinstance(random_state, (bool, np.bool_)):
        raise TypeError("random_state: expected a whole number, a NumPy generator or None, found a boolean")
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state: {random_state} is not between 0 and 2**64 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise TypeError(
        f"random_state: expected a whole number, a NumPy generator or None, found {type(random_state).__name__}"
    )


def whole(value: Any, name: str, least: int = 0) -> int:
    """A whole number, at least so large."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: expected a whole number, found {value!r}")
    if not least <= value < 2**32:
        raise ValueError(f"{name} = {value} is out of range: expected {least} or more, below 2**32")
    return int(value)


def row_weights(weights: Any, rows: int) -> np.ndarray | None:
    """One weight per row as float32; a single number applies to all rows."""
    if weights is None:
        return None
    array = unmasked(weights, "sample_weight")
    if array.dtype.kind not in "buifO":
        raise TypeError(f"sample_weight: expected numbers, found an array of {array.dtype}")
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"sample_weight: expected numbers: {error}") from None
    if array.ndim == 0:
        array = np.full(rows, array)
    if array.ndim != 1:
        raise ValueError(f"sample_weight: expected one number per row, found {array.ndim} dimensions")
    if len(array) != rows:
        raise ValueError(f"sample_weight: expected {rows} numbers, one per row, found {len(array)}")
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(f"sample_weight: row {row}: {array[row]} is not a finite number, 0 or more")
    if not array.any():
        raise ValueError("sample_weight: all weights are zero; at least one must be positive")
    return native(array, np.float32)
