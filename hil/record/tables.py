"""Tables in Parquet that anybody may have made: types and sizes are looked at before anything is unpacked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import RigError, said_by
from hil.record.inside import AGAIN

if TYPE_CHECKING:  # at run time they are loaded where they are needed: they take as long as a network takes to a board
    import pandas as pd
    import pyarrow as pa

MOST_VALUES = 1 << 26  # of a table in memory: 512 MB


def read_table(path: Path, words: Sequence[str] = (), only: tuple[str, int] | None = None) -> pd.DataFrame:
    """Return a table of numbers.

    Args:
        path: of the Parquet file.
        words: columns that hold a few words over and over.
        only: a column and the value in it of the rows that are wanted; other rows are dropped as they are read.

    Raises:
        RigError: it is damaged, too large, or holds other columns.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, read_dictionary=list(words)) as file:
            _check(file, words, whole=only is None)
            groups, values = [], 0
            for number in range(file.num_row_groups):
                group = file.read_row_group(number)
                if only is not None:
                    group = group.filter(pc.equal(group[only[0]], only[1]))
                groups.append(group)
                values += group.num_rows * group.num_columns
                if values > MOST_VALUES:
                    raise ValueError(f"more than {MOST_VALUES:,} values")
            return _joined(groups, file.schema_arrow)
    except Exception as error:  # pyarrow raises nearly anything for a damaged file
        raise RigError(f"{path} is damaged ({said_by(error)}): {AGAIN}.") from error


def _check(file: pa.parquet.ParquetFile, words: Sequence[str], whole: bool) -> None:
    """Refuse a table that would not be numbers, or not fit, all of it or each of its row groups.

    Raises:
        ValueError: for that reason.
    """
    import pyarrow as pa

    for field in file.schema_arrow:
        kind = field.type
        if not (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_boolean(kind)
            or (field.name in words and pa.types.is_dictionary(kind))
        ):
            raise ValueError(f"its column {field.name[:40]!r} is of {str(kind)[:40]}")
    groups = [file.metadata.row_group(number) for number in range(file.num_row_groups)]
    sizes = [max(group.num_rows * group.num_columns, group.total_byte_size // 8) for group in groups]
    if (sum(sizes) if whole else max(sizes, default=0)) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values")


def _joined(groups: list[pa.Table], schema: pa.Schema) -> pd.DataFrame:
    import pyarrow as pa

    table = pa.concat_tables(groups) if groups else schema.empty_table()
    return table.to_pandas(ignore_metadata=True)
