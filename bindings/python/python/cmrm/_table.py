"""Tables of pandas, polars and anything that speaks Arrow, as columns that the native side takes.

A column is a name, its cells and which of them are missing (or None). Cells are

- numbers: an array of whole or floating-point numbers,
- booleans: an array of them,
- dates: an array of int64, microseconds since 1970, alone in a tuple,
- names: codes (uint32), and the names they stand for,
- strings: laid out as in ``_strings.py``.

Arrays of numbers are those of the table where it has them in one piece without missing cells.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ._arrays import native
from ._strings import laid_out, of_arrow, of_polars

Column = tuple[str, Any, "np.ndarray | None"]

# The numbers that the native side reads as they are.
_NUMBERS = {np.dtype(name) for name in ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")}


def as_table(X: Any) -> Any:
    """The table that X is, or hands over as an Arrow stream; None if it has no columns with types of their own."""
    library = _library(X)
    if library == "pandas":
        # Columns of zeros but for few are one sparse matrix, which scikit-learn makes of them.
        sparse = sys.modules["pandas"].SparseDtype
        return None if len(X.dtypes) and all(isinstance(dtype, sparse) for dtype in X.dtypes) else X
    if not library and hasattr(X, "__arrow_c_stream__") and getattr(X, "ndim", 2) == 2:
        return _stream(X)
    return X if library else None


def columns(table: Any) -> list[Column]:
    """The columns of a table; what they hold is detected as the command detects it in a file."""
    library = _library(table)
    names = [str(name) for name in (table.column_names if library == "pyarrow" else table.columns)]
    read = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}[library]
    return [(name, *read(table, at, name)) for at, name in enumerate(names)]


def _library(X: Any) -> str:
    """Whose table X is; empty if it is none."""
    for library, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        if library in sys.modules and isinstance(X, getattr(sys.modules[library], kind, ())):
            return library
    return ""


def _stream(X: Any) -> Any:
    """What is handed over as an Arrow stream, such as a relation of DuckDB: without a copy, by whichever library is there."""
    try:
        import pyarrow
    except ImportError:
        try:
            import polars
        except ImportError:
            raise TypeError(f"X: reading an Arrow stream, of a {type(X).__name__}, needs pyarrow or polars") from None
        return polars.DataFrame(X)
    try:
        return pyarrow.table(X)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError):
        # A stream of something else than columns: an array.
        return None


def _pandas(X: Any, at: int, name: str) -> tuple[Any, np.ndarray | None]:
    import pandas as pd

    column = X.iloc[:, at]
    missing = column.isna().to_numpy(dtype=bool)
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        cells: Any = column.fillna(False).to_numpy(dtype=bool)
    elif pd.api.types.is_complex_dtype(dtype):
        raise ValueError(f"column '{name}': complex data not supported")
    elif isinstance(dtype, pd.CategoricalDtype):
        cells = _coded(column.cat.codes.to_numpy(), missing), [str(level) for level in dtype.categories]
    elif dtype in _NUMBERS:
        cells = column.to_numpy()
    elif pd.api.types.is_numeric_dtype(dtype):
        cells = column.to_numpy(dtype=np.float64, na_value=np.nan)
    elif pd.api.types.is_datetime64_any_dtype(dtype):
        utc = column.dt.tz_convert("UTC").dt.tz_localize(None) if getattr(dtype, "tz", None) else column
        cells = _dates(utc.to_numpy(dtype="datetime64[us]"))
    else:
        cells = laid_out(column.to_numpy(dtype=object), missing, name)
    return _finish(cells, missing)


def _polars(X: Any, at: int, name: str) -> tuple[Any, np.ndarray | None]:
    import polars as pl

    column = X.to_series(at)
    missing = column.is_null().to_numpy()
    dtype = column.dtype
    if dtype == pl.Boolean:
        cells: Any = column.fill_null(False).to_numpy()
    elif dtype.is_numeric():
        # Not Int128, Float16 or Decimal.
        plain = str(dtype).lower() in {number.name for number in _NUMBERS}
        cells = (column if plain else column.cast(pl.Float64)).fill_null(0).to_numpy()
        missing = _or_nan(cells, missing)
    elif dtype in (pl.Date, pl.Datetime):
        cells = (column.cast(pl.Datetime("us")).to_physical().fill_null(0).to_numpy(),)
    elif dtype.is_nested():
        raise _unsupported(name, dtype)
    elif dtype in (pl.Categorical, pl.Enum):
        names = column.cast(pl.String)
        levels = names.drop_nulls().unique(maintain_order=True)
        cells = _coded(names.cast(pl.Enum(levels)).to_physical().fill_null(0).to_numpy(), missing), levels.to_list()
    else:
        cells = of_polars(column.cast(pl.String))
    return _finish(cells, missing)


def _arrow(X: Any, at: int, name: str) -> tuple[Any, np.ndarray | None]:
    import pyarrow as pa
    import pyarrow.compute as pc

    column, kind = X.column(at), X.schema.field(at).type
    are_names = pa.types.is_dictionary(kind)
    if are_names:
        kind = kind.value_type
        column = pc.cast(column, kind)
    missing = column.is_null().to_numpy()
    if pa.types.is_null(kind):
        cells: Any = np.zeros(len(column))
    elif pa.types.is_boolean(kind):
        cells = pc.fill_null(column, False).to_numpy()
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
        cells = (pc.fill_null(column, 0) if column.null_count else column).to_numpy()
        missing = _or_nan(cells, missing)
    elif pa.types.is_decimal(kind):
        cells = pc.fill_null(pc.cast(column, pa.float64()), 0).to_numpy()
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        dates = pc.cast(column, pa.timestamp("us", tz=getattr(kind, "tz", None)))
        cells = (pc.fill_null(pc.cast(dates, pa.int64()), 0).to_numpy(),)
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        if are_names:
            coded = pc.dictionary_encode(column).combine_chunks()
            cells = _coded(pc.fill_null(coded.indices, 0).to_numpy(), missing), coded.dictionary.to_pylist()
        else:
            cells = of_arrow(column)
    else:
        raise _unsupported(name, kind)
    return _finish(cells, missing)


def _unsupported(name: str, kind: Any) -> TypeError:
    return TypeError(f"column '{name}': a column of {kind} is not supported; split it into plain columns, or leave it out")


def _or_nan(cells: np.ndarray, missing: np.ndarray) -> np.ndarray:
    return missing | np.isnan(cells) if cells.dtype.kind == "f" else missing


def _dates(dates: np.ndarray) -> tuple[np.ndarray]:
    return (np.where(np.isnat(dates), np.datetime64(0, "us"), dates).astype(np.int64),)


def _coded(codes: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Codes of names; that of a missing cell means nothing."""
    return np.where(missing, 0, codes).astype(np.uint32)


def _finish(cells: Any, missing: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """The cells as the native side can borrow them."""
    if isinstance(cells, tuple):
        cells = tuple(native(part) if isinstance(part, np.ndarray) else part for part in cells)
    else:
        cells = native(cells, None if cells.dtype in _NUMBERS or cells.dtype == bool else np.float64)
    return cells, native(missing) if missing.any() else None
