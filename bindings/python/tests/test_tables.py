"""Tables of several libraries, columns of text, and texts alone."""

import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import cross_val_score
from test_sparse import TOPICS, sentences

import cmrm
from cmrm._table import as_table, columns


def linear(**settings):
    return cmrm.CMRMClassifier(model="linear", l2=1e-3, **settings)


@pytest.fixture(scope="module")
def notes():
    """A table with text, names, numbers and gaps."""
    texts, topics = sentences(300)
    generator = np.random.default_rng(1)
    table = {
        "note": texts,
        "size": generator.normal(size=300),
        "count": generator.integers(0, 9, 300),
        "shop": generator.choice(["north", "south"], 300).tolist(),
        "day": (np.datetime64("2024-01-01") + generator.integers(0, 500, 300)).astype("datetime64[us]"),
    }
    return table, topics


def kinds(model):
    return {column["name"]: column["kind"] for column in model.columns_}


class Stream:
    """Somebody else's table: nothing but Arrow's protocol, and as a stream, which is read once."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


MAKERS = {
    "pandas": pd.DataFrame,
    "pandas of Arrow": lambda table: pd.DataFrame(table).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "Arrow": pa.table,
    "Arrow in pieces": lambda table: pa.concat_tables([pa.table(table)[:90], pa.table(table)[90:]]),
    "Arrow batches": lambda table: pa.RecordBatchReader.from_batches(
        pa.table(table).schema, pa.table(table).to_batches(max_chunksize=70)
    ),
    "a stream": lambda table: Stream(pa.table(table)),
    "a stream of polars": lambda table: Stream(pl.DataFrame(table)),
    "DuckDB": lambda table: duckdb.connect().from_arrow(pa.table(table)),
    "Arrow's views": lambda table: pa.table(
        {name: pa.array(cells, pa.string_view()) if isinstance(cells[0], str) else cells for name, cells in table.items()}
    ),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_tables_of_all_libraries_mean_the_same(notes, maker):
    table, topics = notes
    make = MAKERS[maker]
    expected = linear().fit(pd.DataFrame(table), topics)
    model = linear().fit(make(table), topics)
    assert kinds(model) == {"note": "text", "size": "numeric", "count": "numeric", "shop": "categorical", "day": "date"}
    assert model._fitted.model_bytes() == expected._fitted.model_bytes()
    assert model._fitted.preprocess_json == expected._fitted.preprocess_json
    assert list(model.feature_names_in_) == list(table)
    assert (model.predict_proba(make(table)) == expected.predict_proba(pd.DataFrame(table))).all()
    # A few rows, whose strings alone would pass for names.
    few = {name: cells[:3] for name, cells in table.items()}
    assert (model.predict(make(few)) == topics[:3]).all()


def test_streams_are_read_by_whichever_library_is_there(notes, monkeypatch):
    table, topics = notes
    expected = linear().fit(pa.table(table), topics)
    stream = Stream(pl.DataFrame(table))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert linear().fit(stream, topics)._fitted.model_bytes() == expected._fitted.model_bytes()
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(TypeError, match="reading an Arrow stream, of a Stream, needs pyarrow or polars"):
        linear().fit(stream, topics)


def test_what_was_understood_is_told(notes):
    table, topics = notes
    frame = pd.DataFrame(table).assign(same="x", gaps=np.where(np.arange(300) % 3, 1.0 * np.arange(300), np.nan))
    model = linear(impute=True).fit(frame, topics)
    told = {column["name"]: column for column in model.columns_}
    assert list(told) == list(frame)
    assert told["gaps"]["missing"] == 100 and "gaps filled in" in told["gaps"]["done"]
    assert told["same"]["done"] == "left out: always the same"
    assert told["shop"]["levels"] == 2
    assert linear().fit(np.eye(30), np.arange(30) % 2).columns_ == []


@pytest.mark.parametrize(
    "make",
    [
        lambda names: pd.DataFrame({"c": pd.Series(names, dtype="category")}),
        lambda names: pl.DataFrame({"c": pl.Series(names, dtype=pl.Categorical)}),
        lambda names: pl.DataFrame({"c": pl.Series(names, dtype=pl.Enum(sorted(set(names))))}),
        lambda names: pa.table({"c": pa.array(names).dictionary_encode()}),
    ],
)
def test_columns_of_categories_are_names_whatever_they_say(make):
    # As strings they would be text.
    names, topics = sentences(100)
    names = [name for name in names for _ in range(2)]
    topics = np.repeat(topics, 2)
    model = linear().fit(make(names), topics)
    assert kinds(model) == {"c": "categorical"}
    as_strings = linear().fit(pd.DataFrame({"c": names}), topics)
    assert kinds(as_strings) == {"c": "text"}
    assert model.predict(make(names)).shape == (200,)


def test_missing_cells_of_every_kind():
    table = pa.table(
        {
            "f": pa.array([1.0, None, float("nan"), 2.0] * 10),
            "i": pa.array([1, None, 3, 4] * 10, pa.int16()),
            "b": pa.array([True, None, False, True] * 10),
            "s": pa.array(["a", None, "", "ß"] * 10),
            "d": pa.array([0, None, 10**15, 3] * 10, pa.timestamp("us")),
            "e": pa.array(["x", None, "y", "x"] * 10).dictionary_encode(),
            "n": pa.nulls(40),
        }
    )
    labels = np.arange(40) % 2
    models = []
    for X in (table, pl.DataFrame(table), table.slice(0), Stream(table)):
        model = linear(impute=True).fit(X, labels)
        assert [column["missing"] for column in model.columns_][:6] == [20, 10, 10, 10, 10, 10]
        models.append(model._fitted.model_bytes())
    assert len(set(models)) == 1
    # A slice shares its buffers with the whole.
    part = linear(impute=True).fit(table[4:], labels[4:])
    assert part._fitted.model_bytes() == linear(impute=True).fit(pl.DataFrame(table)[4:], labels[4:])._fitted.model_bytes()
    with pytest.raises(ValueError, match="row 1, column 'f'.*missing"):
        linear().fit(table, labels)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_numbers_are_borrowed_in_their_own_type(dtype):
    values = np.arange(50).astype(dtype)
    for table in (pd.DataFrame({"x": values}), pl.DataFrame({"x": values}), pa.table({"x": values})):
        ((name, cells, missing),) = columns(as_table(table))
        assert name == "x" and missing is None
        assert cells.dtype == dtype and (cells == values).all()
    # Arrow's memory, and not a copy of it.
    table = pa.table({"x": values, "s": pa.array(list("ab") * 25, pa.large_string())})
    (_, numbers, _), (_, strings, _) = columns(table)
    for array, buffer in ((numbers, table["x"].chunk(0).buffers()[1]), (strings[1], table["s"].chunk(0).buffers()[2])):
        assert array.__array_interface__["data"][0] == buffer.address


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        pd.Series,
        pl.Series,
        pa.array,
        lambda texts: pa.chunked_array([texts[:10], texts[10:]]) if len(texts) > 10 else pa.chunked_array([texts]),
    ],
)
def test_texts_alone_are_one_column(make):
    texts, topics = sentences(200)
    model = linear().fit(make(texts), topics)
    assert kinds(model) == {"text": "text"} and model.n_features_in_ == 1
    expected = linear().fit(pd.DataFrame({"text": texts}), topics)
    assert model._fitted.model_bytes() == expected._fitted.model_bytes()
    assert (model.predict(make(texts)) == topics).mean() > 0.9
    assert model.predict_proba(make(texts[:1])).shape == (1, 3)


def test_a_vote_on_texts():
    texts, topics = sentences(400)
    labels, flipped = cmrm.inject_noise(topics, "symmetric:0.3", seed=1)
    model = cmrm.CMRMClassifier().fit(texts, labels)
    assert (model.label_issues_["is_label_issue"] == flipped).mean() > 0.95
    assert model.predict_set(texts).shape == (400, 3)
    assert cross_val_score(linear(), texts, topics, cv=3).mean() > 0.9


def test_texts_that_are_none_are_refused_by_row():
    texts, topics = sentences(30)
    with pytest.raises(TypeError, match="X: row 3: expected text as in the other rows, found int"):
        linear().fit([*texts[:3], 4, *texts[4:]], topics)
    with pytest.raises(ValueError, match="y: expected 30 labels, one per row of X, found 29"):
        linear().fit(texts, topics[1:])
    with pytest.raises(ValueError, match="'text': row 1 is not text that UTF-8 can hold"):
        linear().fit(["a", "\ud800"] * 15, topics)
    with pytest.raises(ValueError, match="2D"):
        linear().fit([1.0, 2.0, 3.0], [0, 1, 0])
    with pytest.raises(TypeError, match="column 'l': a column of .*list.* is not supported"):
        linear().fit(pa.table({"l": [[1], [2]]}), [0, 1])


def test_texts_in_chunks():
    texts, topics = sentences(400)
    model = cmrm.CMRMClassifier(model="linear", learning_rate=0.05)
    for _ in range(15):
        for part in range(0, 400, 100):
            model.partial_fit(texts[part : part + 100], topics[part : part + 100], classes=list(TOPICS))
    assert model.score(texts, topics) > 0.9


def test_column_types_are_what_the_caller_says(notes):
    table, topics = notes
    frame = pd.DataFrame(table).assign(customer=[f"K{row:04}" for row in range(300)], when="03/04/2024")
    frame.loc[::2, "when"] = "05/06/2024"
    model = linear().fit(frame, topics)
    assert any("'customer'" in note and "column_types" in note for note in model.notes_)
    types = {"shop": "ignore", "count": "categorical", "when": "date:mdy", "note": "categorical"}
    stated = linear(column_types=types).fit(frame, topics)
    told = {column["name"]: column for column in stated.columns_}
    assert [told[name]["kind"] for name in ("count", "when", "note")] == ["categorical", "date", "categorical"]
    assert told["when"]["cells"].startswith("2024-03-04")
    assert "shop" not in told or told["shop"]["done"].startswith("left out")
    assert stated.predict(frame).shape == (300,)
    with pytest.raises(ValueError, match="'figure' is not a kind of column"):
        linear(column_types={"count": "figure"}).fit(frame, topics)
    with pytest.raises(TypeError, match="column_types: expected a dictionary"):
        linear(column_types=["count"]).fit(frame, topics)
