"""Read runs of another bench into the history: folders of runs, or a Parquet file of `hil export`.

They are data of a stranger. A file or link outside the folder is never read, no run that is in the history already is
changed, and nothing in them is more than text or a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from hil.errors import RigError
from hil.history.failures import HistoryError
from hil.history.folders import Count, import_run, run_folders
from hil.history.rows import LARGEST_INTEGER, Row, TrialFigure, TrialRows, digest_of, name_of, number, text_of, time_of
from hil.history.store import Store, Writer
from hil.history.table import COLUMNS, OF_QUANTITY, WORDS
from hil.number_text import whole_number
from hil.quantity import Provenance
from hil.record.parquet import row_groups
from hil.record.safe_paths import check_name
from hil.record.verdicts import VERDICTS

STATES = ("running", "ended", "interrupted")
MOST_ROWS = 1 << 18  # of a group; `hil export` writes fewer unless one trial has more
CURE = "export it again with `hil export`"


def import_runs(store: Store, source: Path, bench: str) -> Count:
    """Read runs from a folder or a file into the history.

    Args:
        store: an open history.
        source: a run, a folder of runs, or a Parquet file of `hil export`.
        bench: name of the bench for runs that name none.

    Raises:
        HistoryError: the history cannot be written.
        RigError: there are no runs, or the file is damaged.
    """
    if not source.is_dir():
        return _import_file(store, source, bench)
    folders, count = run_folders(source), Count()
    if not folders:
        raise RigError(f"{source} holds no run: name a folder of runs, such as reports, or a file of `hil export`.")
    for folder in folders:
        try:
            import_run(store, folder, bench, count)
        except HistoryError:
            raise
        except RigError as error:
            count.problems.append(f"{folder.name} was not imported: {error}")
    return count


def _import_file(store: Store, path: Path, bench: str) -> Count:
    count = Count()
    seen: dict[str, bool] = {}  # whether a run may be written, by its identity
    for rows in _groups(path):
        try:
            with store.transaction() as writer:
                for uid, of_run in _by(rows, "run_uid"):
                    _import_rows(writer, name_of(uid), of_run, bench, count, seen)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise RigError(f"{path} is damaged ({error}): {CURE}.") from error
    return count


def _groups(path: Path) -> Iterator[list[Row]]:
    """Yield the rows of the file, a group of rows at a time."""
    for table in row_groups(path, WORDS, CURE):
        if table.num_rows and set(table.column_names) != set(COLUMNS):
            raise RigError(f"{path} is no table of `hil export`, or of another version of it: {CURE}.")
        if table.num_rows > MOST_ROWS:
            raise RigError(f"{path} has a group of {table.num_rows:,} rows, more than {MOST_ROWS:,}: {CURE}.")
        columns = {name: _values(table[name]) for name in table.column_names}
        yield [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _values(column: Any) -> list[Any]:
    """Return the values of a column. Equal words are one object: a small file may say a long word very often."""
    import pyarrow as pa

    found: list[Any] = []
    for chunk in column.chunks:
        if isinstance(chunk, pa.DictionaryArray):
            words = chunk.dictionary.to_pylist()
            found += [None if number is None else words[number] for number in chunk.indices.to_pylist()]
        else:
            found += chunk.to_pylist()
    return found


def _by(rows: list[Row], name: str) -> Iterator[tuple[Any, list[Row]]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[name], []).append(row)
    yield from groups.items()


def _import_rows(writer: Writer, uid: str, rows: list[Row], bench: str, count: Count, seen: dict[str, bool]) -> None:
    row = _run_row(uid, rows[0], bench)
    if uid not in seen:
        found = writer.find_run(uid)
        seen[uid] = found is None or found[1]
        if seen[uid]:
            count.runs += 1
        else:
            count.problems.append(f"{row['name']} is a run of this history already: nothing of it was imported.")
    if not seen[uid]:
        return
    run = writer.run(row)
    for test, of_test in _by(rows, "test"):
        first = of_test[0]
        if test is not None and first["test_verdict"] is not None:
            writer.tests(run, [_test_row(first)])
    for folder, of_trial in _by(rows, "trial"):
        if folder is not None:
            count.trials += 1
            count.written += writer.trial(run, _trial_rows(of_trial), replace=False)


def _run_row(uid: str, row: Row, bench: str) -> Row:
    if not uid:
        raise ValueError("a run has no identity")
    return {
        "uid": uid,
        "name": check_name(row["run"], "the name of a run"),
        "bench": name_of(row["bench"] or bench),
        "after": _name(row["after"]),
        "started": _time(row["started"]),
        "ended": _time(row["ended"]),
        "commit": _name(row["commit"]),
        "host": name_of(row["host"]),
        "version": name_of(row["version"]),
        "command": text_of(row["command"]),
        "state": _one_of(row["state"], STATES),
        "whole": _flag(row["whole"]),
        "exit_code": _code(row["exit_code"]),
        "imported": True,
        "path": None,
    }


def _test_row(row: Row) -> Row:
    return {
        "test": name_of(row["test"]),
        "board": _name(row["test_board"]),
        "verdict": _one_of(row["test_verdict"], VERDICTS),
        "expected": _flag(row["test_expected"]),
        "reason": text_of(row["test_reason"]),
    }


def _trial_rows(rows: list[Row]) -> TrialRows:
    first = rows[0]
    settings = text_of(first["settings"])
    row: Row = {
        name: name_of(first[name]) for name in ("board", "network", "method", "variant", "data", "stage", "content")
    }
    row |= {name: _name(first[name]) for name in ("reality", "final_digest", "image")}
    row |= {
        "folder": check_name(first["trial"], "the folder of a trial"),
        "test": name_of(first["test"]),
        # A digest is believed only if it is that of the settings: another one would rename those of all trials.
        "settings": digest_of(settings)[:16],
        "verdict": _one_of(first["verdict"], VERDICTS),
        "reason": text_of(first["reason"]),
    }
    figures: dict[tuple[str, str, str], TrialFigure] = {}
    for each in rows:
        name, value, uncertainty, unit, provenance = (each[column] for column in OF_QUANTITY)
        if name is not None:
            figure = TrialFigure(
                name_of(name), name_of(unit), Provenance(provenance).value, number(value), _finite(uncertainty)
            )
            figures[figure.kind] = figure
    return TrialRows(row, settings, tuple(figures[kind] for kind in sorted(figures)))


def _name(text: str | None) -> str | None:
    return None if text is None else name_of(text)


def _time(text: str | None) -> datetime | None:
    return None if text is None else time_of(text)


def _code(text: str | None) -> int | None:
    """Return an exit code; of one that no system has nothing is kept."""
    code = None if text is None else whole_number(text)
    return code if code is not None and abs(code) <= LARGEST_INTEGER else None


def _flag(word: str) -> bool:
    return _one_of(word, ("true", "false")) == "true"


def _one_of(word: str, known: tuple[str, ...]) -> str:
    if word not in known:
        raise ValueError(f"{str(word)[:40]!r} is none of {', '.join(known)}")
    return word


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else number(value)
