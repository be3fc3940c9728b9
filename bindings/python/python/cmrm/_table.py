"""Tables of pandas, polars and Arrow as columns that the native side takes.

A column is a name, its cells and which of them are missing (or None). Cells are numbers (float64), booleans, dates
(int64, microseconds since 1970), or codes (uint32) with the names they stand for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import native

Column = tuple[str, Any, "np.ndarray | None"]


def is_table(X: Any) -> bool:
    """Whether X has columns with names and types of their own."""
    return _library(X) is not None


def columns(X: Any) -> list[Column]:
    """The columns of a table; what they hold is detected as the command detects it in a file."""
    library = _library(X)
    names = [str(name) for name in (X.column_names if library == "pyarrow" else X.columns)]
    read = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}[library]
    return [(name, *read(X, at, name)) for at, name in enumerate(names)]


def _library(X: Any) -> str | None:
    kind = type(X)
    library = kind.__module__.split(".")[0]
    is_frame = (library, kind.__name__) in {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}
    return library if is_frame else None


def _pandas(X: Any, at: int, name: str) -> tuple[Any, np.ndarray | None]:
    import pandas as pd

    column = X.iloc[:, at]
    missing = column.isna().to_numpy(dtype=bool)
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        cells: Any = column.fillna(False).to_numpy(dtype=bool)
    elif pd.api.types.is_complex_dtype(dtype):
        raise ValueError(f"column '{name}': complex data not supported")
    elif pd.api.types.is_numeric_dtype(dtype):
        cells = column.to_numpy(dtype=np.float64, na_value=np.nan)
    elif pd.api.types.is_datetime64_any_dtype(dtype):
        utc = column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(dtype, "tz", None) else column
        cells = _microseconds(utc.to_numpy(dtype="datetime64[us]"))
    else:
        cells = _names(column.to_numpy(dtype=object), missing)
    return _finish(cells, missing)


def _polars(X: Any, at: int, name: str) -> tuple[Any, np.ndarray | None]:
    import polars as pl

    column = X.to_series(at)
    missing = column.is_null().to_numpy()
    dtype = column.dtype
    if dtype == pl.Boolean:
        cells: Any = column.fill_null(False).to_numpy()
    elif dtype.is_numeric():
        cells = column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        missing = missing | np.isnan(cells)
    elif dtype in (pl.Date, pl.Datetime):
        cells = column.cast(pl.Datetime("us")).to_physical().fill_null(0).to_numpy()
    elif dtype.is_nested():
        raise TypeError(f"column '{name}': a column of {dtype} is not supported; split it into plain columns, or leave it out")
    else:
        cells = _names(column.cast(pl.String).to_numpy(), missing)
    return _finish(cells, missing)


def _arrow(X: Any, at: int, name: str) -> tuple[Any, np.ndarray | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    column, kind = X.column(at), X.schema.field(at).type
    missing = column.is_null().to_numpy()
    if pa.types.is_dictionary(kind):
        column = pc.cast(column, kind.value_type)
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        cells: Any = pc.fill_null(column, False).to_numpy()
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        cells = pc.fill_null(pc.cast(column, pa.float64()), float("nan")).to_numpy()
        missing = missing | np.isnan(cells)
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        dates = pc.cast(column, pa.timestamp("us", tz=getattr(kind, "tz", None)))
        cells = pc.fill_null(pc.cast(dates, pa.int64()), 0).to_numpy()
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        cells = _names(np.asarray(column.to_pylist(), dtype=object), missing)
    else:
        raise TypeError(f"column '{name}': a column of {kind} is not supported; split it into plain columns, or leave it out")
    return _finish(cells, missing)


def _microseconds(dates: np.ndarray) -> np.ndarray:
    return np.where(np.isnat(dates), np.datetime64(0, "us"), dates).astype(np.int64)


def _names(cells: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Codes in the order in which names first occur; a missing cell has some code that means nothing."""
    known: dict[str, int] = {}
    codes = np.zeros(len(cells), dtype=np.uint32)
    for row in np.flatnonzero(~missing):
        codes[row] = known.setdefault(str(cells[row]), len(known))
    return codes, list(known)


def _finish(cells: Any, missing: np.ndarray) -> tuple[Any, np.ndarray | None]:
    if not isinstance(cells, tuple):
        cells = native(cells)
    return cells, native(missing) if missing.any() else None
