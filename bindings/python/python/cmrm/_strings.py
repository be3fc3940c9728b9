"""Strings as the native side takes them: laid out as in Arrow.

Where each string starts (int64, with where the last one ends), all of them in UTF-8 (uint8), and whether they are known to be
text. Otherwise they are names, or text if the whole column reads like text, which the native side finds out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Strings = tuple[np.ndarray, np.ndarray, bool]


def laid_out(cells: Sequence[Any], missing: np.ndarray, name: str, is_text: bool = False) -> Strings:
    """The cells as strings; a missing one is empty."""
    encoded = [b""] * len(cells)
    for row in np.flatnonzero(~missing).tolist():
        try:
            encoded[row] = str(cells[row]).encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"column '{name}': row {row} is not text that UTF-8 can hold: {error.reason}") from None
    return _parts(np.fromiter(map(len, encoded), np.int64, len(encoded)), b"".join(encoded), is_text)


def of_polars(column: Any) -> Strings:
    """A polars column of strings."""
    lengths = column.str.len_bytes().fill_null(0).to_numpy()
    return _parts(lengths, (column.str.join("").item() or "").encode(), False)


def of_arrow(column: Any) -> Strings:
    """An Arrow column of strings, in its own memory where it is of large strings in one piece."""
    import pyarrow as pa
    import pyarrow.compute as pc

    large = column if column.type == pa.large_string() else pc.cast(column, pa.large_string())
    array = large.chunk(0) if large.num_chunks == 1 else large.combine_chunks()
    if not len(array):
        return _parts(np.zeros(0, np.int64), b"", False)
    _, starts, data = array.buffers()
    starts = np.frombuffer(starts, np.int64)[array.offset : array.offset + len(array) + 1]
    return starts, np.frombuffer(data if data is not None else b"", np.uint8), False


def texts(X: Any) -> list[Any] | None:
    """X as a list of strings and missing values, if that is what it is; None for anything else."""
    if isinstance(X, np.ndarray):
        cells = X.tolist() if X.ndim == 1 and X.dtype.kind in "OUT" else []
    elif isinstance(X, (list, tuple)):
        cells = list(X)
    else:
        cells = _of_series(X)
    first = next((cell for cell in cells if not is_missing(cell)), None)
    if not isinstance(first, str):
        return None
    for row, cell in enumerate(cells):
        if not isinstance(cell, str) and not is_missing(cell):
            raise TypeError(f"X: row {row}: expected text as in the other rows, found {type(cell).__name__}")
    return cells


def text_column(cells: list[Any]) -> tuple[str, Strings, np.ndarray | None]:
    """The one column of a list of texts."""
    missing = np.fromiter(map(is_missing, cells), bool, len(cells))
    return "text", laid_out(cells, missing, "text", is_text=True), missing if missing.any() else None


def is_missing(cell: Any) -> bool:
    """Whether there is no text: None, NaN, or the NA of pandas."""
    return cell is None or isinstance(cell, float) and cell != cell or type(cell).__name__ == "NAType"


def _of_series(X: Any) -> list[Any]:
    """The cells of a column of pandas, polars or Arrow that may hold strings."""
    is_column = len(getattr(X, "shape", (0,))) == 1
    is_numeric = getattr(getattr(X, "dtype", None), "kind", "O") in "biufcmM"
    if type(X).__module__.split(".")[0] not in ("pandas", "polars", "pyarrow") or not is_column or is_numeric:
        return []
    take = getattr(X, "to_pylist", None) or getattr(X, "to_list", None)
    return take() if take else []


def _parts(lengths: np.ndarray, data: bytes, is_text: bool) -> Strings:
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts, np.frombuffer(data, np.uint8), is_text
