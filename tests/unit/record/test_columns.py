"""Tables as columns: what is written is read again, and words and chosen rows are those of pandas, another reader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hil.record.parquet import places_by_word, read_columns, rows_of, write_columns

KINDS = (np.float64, np.float32, np.int64, np.int8, np.uint32, np.bool_)


@given(st.data(), st.integers(0, 20))
def test_what_is_written_is_read_again(tmp_path_factory, data: st.DataObject, rows: int) -> None:
    path = tmp_path_factory.mktemp("table") / "table.parquet"
    table = {kind.__name__: data.draw(arrays.arrays(kind, rows)) for kind in KINDS}
    write_columns(path, table)
    found = read_columns(path)
    assert list(found) == list(table) and rows_of(found) == rows
    for name, column in table.items():
        assert np.array_equal(found[name], column, equal_nan=column.dtype.kind == "f"), name
    of_pandas = pd.read_parquet(path)
    for name, column in found.items():
        assert np.array_equal(of_pandas[name].to_numpy(), column, equal_nan=column.dtype.kind == "f"), name


def test_words_and_rows_of_one_value(tmp_path: Path) -> None:
    words = np.array(["b", "a", "b", "c", "a"])
    columns = {"word": pa.array(words).dictionary_encode(), "step": pa.array([0, 1, 0, 1, 1])}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet", row_group_size=2)
    found = read_columns(tmp_path / "table.parquet", words=("word",))
    assert found["word"].tolist() == words.tolist() and (found["word"] == "b").tolist() == [
        True,
        False,
        True,
        False,
        False,
    ]
    places = places_by_word(found["word"])
    assert list(places) == ["b", "a", "c"] and {word: at.tolist() for word, at in places.items()} == {
        word: np.flatnonzero(words == word).tolist() for word in "abc"
    }
    one = read_columns(tmp_path / "table.parquet", words=("word",), only=("step", 1))
    assert one["word"].tolist() == ["a", "c", "a"]


def test_an_empty_table(tmp_path: Path) -> None:
    write_columns(tmp_path / "table.parquet", {})
    assert read_columns(tmp_path / "table.parquet") == {} and rows_of({}) == 0


def test_missing_numbers_of_a_slice_and_flags_are_those_of_pyarrow(tmp_path: Path) -> None:
    table = pa.table({"n": [1.5, None, 3.0, None] * 5, "i": [1, None] * 10, "b": [True, False] * 10})
    pq.write_table(table, tmp_path / "table.parquet", row_group_size=7)
    found = read_columns(tmp_path / "table.parquet")
    for name in table.column_names:
        assert np.array_equal(found[name], table[name].to_numpy(), equal_nan=name != "b"), name
    write_columns(tmp_path / "again.parquet", {"n": found["n"][1:], "b": found["b"][1:]})
    again = pq.read_table(tmp_path / "again.parquet")
    assert again.equals(table.select(["n", "b"]).slice(1).combine_chunks())


def test_pandas_is_not_imported(tmp_path: Path) -> None:
    """It takes longer than the table of a short trial."""
    program = f"""
import sys
from pathlib import Path
import numpy as np
from hil.record.parquet import read_columns, write_columns
path = Path({str(tmp_path / "table.parquet")!r})
write_columns(path, {{"n": np.array([1.0, np.nan]), "i": np.array([1, 2]), "b": np.array([True, False])}})
read_columns(path)
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "False\n"
