"""Tables in Parquet. Anyone may have made them: types and sizes are checked before anything is decompressed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import RigError, message_of
from hil.record.safe_paths import RERUN

if TYPE_CHECKING:  # imported late: they take about as long as sending a network to a board
    import numpy as np
    import pyarrow as pa

MOST_VALUES = 1 << 26  # of a table in memory (512 MB)
NUMBERS = "biuf"  # NumPy's letters for the kinds of dtype that Arrow takes from memory

Columns = Mapping[str, "np.ndarray"]  # a table: its columns by name, each with one element a row


def rows_of(table: Columns) -> int:
    """Return how many rows a table has."""
    return len(next(iter(table.values()), ()))


def places_by_word(words: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows of each word of a column, in the order of their first rows."""
    import numpy as np

    found: dict[str, list[int]] = {}
    for place, word in enumerate(words.tolist()):
        found.setdefault(word, []).append(place)
    return {word: np.array(places) for word, places in found.items()}


def write_columns(path: Path, table: Columns) -> None:
    """Write a table. NaN is written as a missing value.

    Raises:
        OSError: the disk is full.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({name: _arrow(column) for name, column in table.items()}), path)


def _arrow(column: np.ndarray) -> pa.Array:
    """Return a column for Arrow; NaN is missing.

    `pyarrow.array` would import pandas where there is one, which takes a tenth of the processor time of a short trial.
    """
    import numpy as np
    import pyarrow as pa

    kind, count = column.dtype.kind, len(column)
    if kind not in NUMBERS or not column.dtype.isnative:
        return pa.array(column, from_pandas=True)
    missing = np.isnan(column) if kind == "f" else np.zeros(count, bool)
    there = _bits(~missing) if missing.any() else None
    values = _bits(column) if kind == "b" else pa.py_buffer(np.ascontiguousarray(column))
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), count, [there, values])


def _bits(flags: np.ndarray) -> pa.Buffer:
    """Return flags as Arrow has them: the first in the lowest bit."""
    import numpy as np
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def read_columns(path: Path, words: Sequence[str] = (), only: tuple[str, int] | None = None) -> dict[str, np.ndarray]:
    """Return a table of numbers. A column with missing numbers is float64 with NaN; words are objects of type str.

    Args:
        path: of the Parquet file.
        words: columns that may hold words (dictionary-encoded strings).
        only: a column and a value; rows with another value are dropped while reading.

    Raises:
        RigError: the file is damaged, too large, or a column has another type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, read_dictionary=list(words)) as file:
            _check(file, words, keeps_all=only is None)
            groups, values = [], 0
            for number in range(file.num_row_groups):
                group = file.read_row_group(number)
                if only is not None:
                    group = group.filter(pc.equal(group[only[0]], only[1]))
                groups.append(group)
                values += group.num_rows * group.num_columns
                if values > MOST_VALUES:
                    raise ValueError(f"more than {MOST_VALUES:,} values")
            table = pa.concat_tables(groups) if groups else file.schema_arrow.empty_table()
            return {name: _array(table[name]) for name in table.column_names}
    except Exception as error:  # for a damaged file pyarrow raises exceptions of many types
        raise RigError(f"{path} is damaged ({message_of(error)}): {RERUN}.") from error


def _array(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of Arrow. `to_numpy` imports pandas where there is one, as in `_arrow`."""
    import numpy as np
    import pyarrow as pa

    of, kind = pa.types, column.type
    if of.is_dictionary(kind) or (column.null_count and not of.is_floating(kind)):
        plain = column.cast(kind.value_type) if of.is_dictionary(kind) else column
        found: np.ndarray = plain.to_numpy()
        return found
    bits = of.is_boolean(kind)
    whole = (column.cast(pa.uint8()) if bits else column).combine_chunks()
    there, values = whole.buffers()
    end = whole.offset + len(whole)
    numbers = np.frombuffer(values or b"", whole.type.to_pandas_dtype(), end)[whole.offset :]
    if not whole.null_count:
        return numbers.astype(bool if bits else numbers.dtype)
    known = np.unpackbits(np.frombuffer(there, np.uint8), count=end, bitorder="little")[whole.offset :]
    return np.where(known, numbers, numbers.dtype.type(np.nan))


def row_groups(path: Path, words: Sequence[str], cure: str) -> Iterator[pa.Table]:
    """Yield the row groups of a table one after the other, so that only one is in memory.

    Args:
        path, words: as for `read_columns`.
        cure: how to correct a damaged file, for messages.

    Raises:
        RigError: the file is damaged, a row group is too large, or a column has another type.
    """
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, read_dictionary=list(words)) as file:
            _check(file, words, keeps_all=False)
            for number in range(file.num_row_groups):
                yield file.read_row_group(number)
    except RigError:
        raise
    except Exception as error:  # for a damaged file pyarrow raises exceptions of many types
        raise RigError(f"{path} is damaged ({message_of(error)}): {cure}.") from error


def _check(file: pa.parquet.ParquetFile, words: Sequence[str], keeps_all: bool) -> None:
    """Check the column types, and the size of the table, or of each row group unless `keeps_all`.

    Raises:
        ValueError: a column is not numeric, or there are too many values.
    """
    import pyarrow as pa

    for field in file.schema_arrow:
        kind, of = field.type, pa.types
        number = of.is_integer(kind) or of.is_floating(kind) or of.is_boolean(kind)
        if not number and not (field.name in words and of.is_dictionary(kind)):
            raise ValueError(f"its column {field.name[:40]!r} is of {str(kind)[:40]}")
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    sizes = [max(group.num_rows * group.num_columns, group.total_byte_size // 8) for group in groups]
    if (sum(sizes) if keeps_all else max(sizes, default=0)) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values")
