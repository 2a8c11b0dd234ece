"""Write the history as one table, to a Parquet or a CSV file (hil/history/table.py)."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hil.errors import RigError
from hil.history.filters import Filter
from hil.history.queries import History
from hil.history.rows import Row
from hil.history.table import COLUMNS, NUMBERS, WORDS, rows_of_runs
from hil.record import atomic_file

PART = 1 << 16
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula (OWASP)


def export(history: History, chosen: Filter, out: Path, kind: str) -> tuple[int, int]:
    """Write the runs of a filter and return the number of runs and of rows.

    Args:
        history: an open history.
        chosen: which runs and trials.
        out: file to be written; it appears when it is complete.
        kind: `parquet` or `csv`.

    Raises:
        RigError: nothing is chosen.
        OSError: the file cannot be written.
    """
    with atomic_file(out) as partial:
        runs, rows = {"parquet": _parquet, "csv": _csv}[kind](history, chosen, partial)
        if not runs:
            raise RigError("the history has no run of this choice: choose less narrowly, see `hil history`.")
    return runs, rows


def _parquet(history: History, chosen: Filter, path: Path) -> tuple[int, int]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {name: pa.float64() if name in NUMBERS else pa.dictionary(pa.int32(), pa.string()) for name in COLUMNS}
    schema = pa.schema(list(kinds.items()))
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:

        def write(rows: list[Row]) -> None:
            columns = {name: [row.get(name) for row in rows] for name in COLUMNS}
            writer.write_table(pa.table(columns, schema=schema))

        return _write(history, chosen, write)


def _csv(history: History, chosen: Filter, path: Path) -> tuple[int, int]:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)

        def write(rows: list[Row]) -> None:
            writer.writerows([_cell(name, row.get(name)) for name in COLUMNS] for row in rows)

        return _write(history, chosen, write)


def _write(history: History, chosen: Filter, write: Callable[[list[Row]], None]) -> tuple[int, int]:
    runs = counted = 0
    for rows in rows_of_runs(history, chosen):
        for part in _parts(rows):
            write(part)
        runs, counted = runs + 1, counted + len(rows)
    return runs, counted


def _parts(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield the rows in parts of about PART rows, with the rows of a trial in one part."""
    begin = 0
    for end in range(PART, len(rows)):
        if end - begin >= PART and rows[end].get("trial") != rows[end - 1].get("trial"):
            yield rows[begin:end]
            begin = end
    yield rows[begin:]


def _cell(name: str, value: Any) -> Any:
    """Return a cell of a CSV file: a text that a spreadsheet would execute begins with an apostrophe."""
    if name in WORDS:
        return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
    return value if value is None or math.isfinite(value) else str(value)
