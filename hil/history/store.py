"""Write the history: each trial, each test and each state of a run in one transaction."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, Table, bindparam, delete, func, insert, select, update

from hil.history import models, schema
from hil.history.address import Address
from hil.history.failures import Damaged, HistoryError, NoTables, OlderSchema, explained
from hil.history.rescue import rescue_boards

if TYPE_CHECKING:  # the record takes longer to load than a list of the history to make
    from hil.history.rows import Row, TrialFigure, TrialRows

INTERRUPTED = "interrupted"  # the verdict until a trial or a test has ended
LOGS = ("-wal", "-shm")
Kind = tuple[str, str, str]


class Store:
    """An open history. One thread uses it at a time; several processes may each have one.

    Args:
        address: of the history; missing tables are made, old ones upgraded.
        read_only: never write; then the tables must be there.

    Raises:
        HistoryError: it cannot be opened; `Damaged` and `NewerSchema` say so by their type.
        RigError: the library of the server is missing.
    """

    def __init__(self, address: Address, read_only: bool = False) -> None:
        self.address, self.read_only = address, read_only
        self.engine: Engine = address.engine(read_only)
        self._kinds: dict[Kind, int] = {}
        try:
            with explained(address.shown):
                self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def rest(self) -> None:
        """Give back the connection to a server; the next transaction opens another one."""
        if not self.address.is_file:
            self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _prepare(self) -> None:
        """Check the version of the tables, and make or upgrade them."""
        with self.engine.connect() as connection:
            version = schema.version_of(connection)
        schema.check_version(version, self.address.shown)
        if version == schema.HEAD:
            return
        if self.read_only:
            if version is None:
                message = f"{self.address.shown} has no tables of trainrig: `hil history rebuild` makes them."
                raise NoTables(message, "is empty")
            message = f"{self.address.shown} was written by an older trainrig: `hil history rebuild` upgrades it."
            raise OlderSchema(message, "was written by an older trainrig")
        with self.engine.begin() as connection:
            schema.upgrade(connection, self.address.shown)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Writer]:
        """Yield a writer; what it wrote is kept as a whole when the block ends, or not at all after an exception.

        Raises:
            HistoryError: the history cannot be written.
        """
        with explained(self.address.shown):
            with self.engine.begin() as connection:
                writer = Writer(connection, dict(self._kinds))
                yield writer
            self._kinds = writer.kinds


class Writer:
    """Writes within one transaction. What is there already is not written again; `kinds` has the known ones."""

    def __init__(self, connection: Connection, kinds: dict[Kind, int]) -> None:
        self.connection, self.kinds = connection, kinds

    def find_run(self, uid: str) -> tuple[int, bool] | None:
        """Return the number of a run, and whether it was imported; None if there is none."""
        found = self.connection.execute(
            select(models.runs.c.id, models.runs.c.imported).where(models.runs.c.uid == uid)
        ).first()
        return None if found is None else (found[0], found[1])

    def run(self, row: Row) -> int:
        """Write or update a run and return its number. The state of a run that ended is not replaced by `running`."""
        runs = models.runs
        self.insert_new(runs, [row])
        found = self.connection.execute(select(runs.c.id, runs.c.state).where(runs.c.uid == row["uid"])).one()
        if row["state"] != "running" or found.state == "running":
            self.connection.execute(update(runs).where(runs.c.id == found.id).values(row))
        number: int = found.id
        return number

    def tests(self, run: int, rows: Iterable[Row]) -> None:
        """Write or update tests of a run. A verdict is not replaced by `interrupted`, the state before it."""
        tests = models.tests
        for row in rows:
            key = (tests.c.run_id == run, tests.c.test == row["test"])
            self.insert_new(tests, [{"run_id": run, **row}])
            condition = (*key,) if row["verdict"] != INTERRUPTED else (*key, tests.c.verdict == INTERRUPTED)
            self.connection.execute(update(tests).where(*condition).values(row))

    def plan(self, run: int, rows: Iterable[Row]) -> None:
        """Write which tests a run that goes on has yet to end."""
        found = [{"run_id": run, **row} for row in rows]
        if found:
            self.insert_new(models.planned, found)

    def heard(self, run: int, moved: bool = False) -> None:
        """Note that a run has told something, and with `moved` that one of its tests has begun or ended."""
        now = {"heard": func.now()} | ({"moved": func.now()} if moved else {})
        self.connection.execute(update(models.runs).where(models.runs.c.id == run).values(now))

    def unplan(self, run: int, test: str | None = None) -> None:
        """Remove a test of a run that has ended from its plan; None removes all."""
        planned = models.planned
        one = () if test is None else (planned.c.test == test,)
        self.connection.execute(delete(planned).where(planned.c.run_id == run, *one))

    def forget(self, run: int) -> None:
        """Remove a run that has no trials, and its plan."""
        self.unplan(run)
        self.connection.execute(delete(models.runs).where(models.runs.c.id == run))

    def trial(self, run: int, rows: TrialRows, replace: bool = True) -> bool:
        """Write a trial with its quantities; return whether anything changed.

        The same trial twice is one row. Another record of it replaces the first if `replace`, but the record of a
        trial that did not end never replaces that of one that did.
        """
        trials = models.trials
        self.insert_new(models.settings, [{"digest": rows.row["settings"], "text": rows.settings}])
        insertion = self._insertion(trials).values({"run_id": run, **rows.row}).returning(trials.c.id)
        number = self.connection.execute(insertion).scalar()
        if number is not None:
            self._quantities(number, rows.figures)
            return True
        found = self.connection.execute(
            select(trials.c.id, trials.c.content, trials.c.verdict, trials.c.programmed)
            .where(trials.c.run_id == run, trials.c.folder == rows.row["folder"])
            .with_for_update()
        ).one()
        stale = found.verdict != INTERRUPTED and not rows.ended
        # An older version has written the same record without what it did not know of.
        same = found.content == rows.row["content"] and found.programmed == rows.row.get("programmed")
        if same or stale or not replace:
            return False
        self.connection.execute(update(trials).where(trials.c.id == found.id).values(rows.row))
        quantities = models.quantities  # by each kind, because there is no index by trial
        every = quantities.c.kind_id.in_(select(models.kinds.c.id))
        self.connection.execute(delete(quantities).where(every, quantities.c.trial_id == found.id))
        self._quantities(found.id, rows.figures)
        return True

    def _quantities(self, trial: int, figures: tuple[TrialFigure, ...]) -> None:
        if not figures:
            return
        self._learn(figures)
        rows = [
            {"kind_id": self.kinds[each.kind], "trial_id": trial, "value": each.value, "uncertainty": each.uncertainty}
            for each in figures
        ]
        self.connection.execute(insert(models.quantities), rows)

    def _learn(self, figures: tuple[TrialFigure, ...]) -> None:
        """Add the kinds that are not known yet."""
        new = sorted({each.kind for each in figures} - self.kinds.keys())
        if not new:
            return
        kinds, columns = models.kinds, ("name", "unit", "provenance")
        self.insert_new(kinds, [dict(zip(columns, kind, strict=True)) for kind in new])
        lookup = select(kinds.c.id).where(*(kinds.c[name] == bindparam(name) for name in columns))
        for kind in new:
            found = self.connection.execute(lookup, dict(zip(columns, kind, strict=True))).scalar_one()
            self.kinds[kind] = found

    def insert_new(self, table: Table, rows: list[Row]) -> None:
        """Insert the rows whose keys are new; another process may write the same ones."""
        self.connection.execute(self._insertion(table), rows)

    def _insertion(self, table: Table) -> Any:
        # Only the dialect in use: that of PostgreSQL takes a tenth of the time that `hil history` has.
        dialect = import_module(f"sqlalchemy.dialects.{self.connection.dialect.name}")
        return dialect.insert(table).on_conflict_do_nothing()


def open_to_write(address: Address, warn: list[str]) -> Store:
    """Open a history to write it. A damaged file is moved away for a new one, with a sentence in `warn`.

    Raises:
        HistoryError: it cannot be opened.
    """
    before = file_number(address)
    try:
        return Store(address)
    except Damaged as damaged:
        if before is None:
            raise
        moved = set_aside(address, before)
        store = Store(address)
        lost = rescue_boards(moved, store)
        warn.append(f"{str(damaged).rstrip('.')}; it was moved to {moved}{lost}.")
        return store


def set_aside(address: Address, number: int) -> Path:
    """Move the damaged file of a history and its log away, and return its new path.

    `number` is the file's own number (inode): a file that another process has put there meanwhile stays.

    Raises:
        HistoryError: it cannot be moved.
    """
    path = address.path
    others = (path.with_name(f"{path.name}.damaged-{count}") for count in itertools.count(1))
    fresh = next(each for each in others if not each.exists())
    try:
        if file_number(address) == number:
            path.rename(fresh)
            for end in LOGS:  # the log would be taken for that of the new file
                with contextlib.suppress(FileNotFoundError):
                    path.with_name(path.name + end).rename(fresh.with_name(fresh.name + end))
    except OSError as error:
        reason = error.strerror or error
        raise HistoryError(f"{path} is damaged and cannot be moved away ({reason}): move it yourself.") from error
    return fresh


def file_number(address: Address) -> int | None:
    """Return the number of the file (inode); None if there is no file, or a server instead."""
    try:
        return address.path.stat().st_ino if address.is_file else None
    except OSError:
        return None
