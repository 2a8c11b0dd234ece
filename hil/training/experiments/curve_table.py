"""curves.parquet: the learning curves of an experiment, one row for each epoch of each run, in the order of the runs.

Every number keeps its bits. A value that is None is missing; NaN is not. With one version of pyarrow, the same curves
give the same bytes: the file has no time, and its encoding and compression do not depend on the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from hil.atomic_write import atomic_file
from hil.training.experiments.curve import EpochRow

if TYPE_CHECKING:  # imported late: it takes a quarter of a second, and workers that train do not need it
    import pyarrow as pa

FILE = "curves.parquet"
RUN = "run"  # the column with the name of the run; the others are the fields of EpochRow
SPREAD = ("loss", "test_loss", "train_s", "eval_s")  # floats with new bits in nearly every row
UNLIKE = (*SPREAD, "digest")  # columns for which a dictionary of their values is larger than the values


def write_curves(path: Path, curves: Mapping[str, Sequence[EpochRow]]) -> None:
    """Write the curves atomically; `curves` has the rows of each run by its name.

    Raises:
        OSError: the disk is full; a file that was at `path` before is unchanged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [{RUN: name} | asdict(row) for name, its in curves.items() for row in its]
    table = pa.Table.from_pylist(rows, schema=_schema())
    like = [name for name in table.column_names if name not in UNLIKE]
    with atomic_file(path) as partial:
        pq.write_table(table, partial, compression="zstd", use_dictionary=like, use_byte_stream_split=list(SPREAD))


def _schema() -> pa.Schema:
    """Return the columns with their types: those of the fields of EpochRow, which say also what may be missing."""
    import pyarrow as pa

    types = {"int": pa.int64(), "float": pa.float64(), "str": pa.string(), "Sequence[float]": pa.list_(pa.float64())}
    columns = [pa.field(RUN, pa.string(), nullable=False)]
    for field in fields(EpochRow):
        kind = str(field.type)  # as it is written in the class
        columns.append(pa.field(field.name, types[kind.removesuffix(" | None")], nullable=kind.endswith(" | None")))
    return pa.schema(columns)
