"""The trials of a night, written to a real database by the code that writes the history of every run.

The virtual night took hours; its trials are written as fast as several writers can.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event, func, inspect, select, text

from hil.benchmarks.lab.model import SimulatedRun
from hil.benchmarks.lab.records import facts_of, folder_of, name_of, records_of
from hil.errors import RigError
from hil.history.address import Address, address_of
from hil.history.live import LiveHistory
from hil.history.models import runs, trials
from hil.history.store import Store
from hil.threads import start

LOOK_S = 0.1
PATIENCE_S = 3600.0
SUMS = ("trials", "runs", "seconds", "processor_s", "transactions", "bytes")
Verdicts = dict[int, dict[int, str]]  # of each trial, by the numbers of its run and of the trial in it


@dataclass
class Written:
    """What writing took, measured on this computer.

    Attributes:
        seconds: wall time; `processor_s`: processor time of the writers, without that of a server.
        transactions: that the writers committed; `runs` that they are of.
        bytes: of the database, after less before.
        connections: most at once; `lock_waits`: share of looks at a connection at which it waited for a lock. Of a
            server only.
        problems: what the history had to say.
    """

    trials: int
    runs: int
    seconds: float
    processor_s: float
    transactions: int
    bytes: int
    connections: int = 0
    lock_waits: float = 0.0
    problems: list[str] = field(default_factory=list)


def prepare(address: Address) -> None:
    """Make the tables.

    Raises:
        RigError: the database is not empty. Made-up runs have no place among real ones.
    """
    engine = address.engine()
    there = inspect(engine).has_table("runs")
    engine.dispose()
    if there:
        raise RigError(f"{address.shown} has runs: give `hil bench lab` an empty database, for its runs are made up.")
    Store(address).close()


def write(
    url: str, reports: Path, night: int, shares: Sequence[SimulatedRun], verdicts: Verdicts, writers: int
) -> Written:
    """Write a night with so many writers at once, each in a process of its own."""
    address = address_of(url, reports)
    before = size_of(address)
    with _ConnectionWatch(address) as watch, ProcessPoolExecutor(writers, multiprocessing.get_context("spawn")) as pool:
        parts = [list(shares[number::writers]) for number in range(writers)]
        jobs = [
            pool.submit(_write_runs, url, reports, night, part, {run.number: verdicts[run.number] for run in part})
            for part in parts
        ]
        found = [job.result() for job in jobs]
    count = sum(len(each) for each in verdicts.values())
    return Written(
        trials=count, runs=len(shares), seconds=max(each[0] for each in found),
        processor_s=sum(each[1] for each in found), transactions=sum(each[2] for each in found),
        bytes=size_of(address) - before, connections=watch.most, lock_waits=watch.waits / max(1, watch.seen),
        problems=[problem for each in found for problem in each[3]],
    )  # fmt: skip


def together(parts: Sequence[Written]) -> Written:
    """Return what writing several parts took, one after the other."""
    sums = {name: sum(getattr(part, name) for part in parts) for name in SUMS}
    problems = [problem for part in parts for problem in part.problems]
    most = {name: max(getattr(part, name) for part in parts) for name in ("connections", "lock_waits")}
    return Written(**sums, **most, problems=problems)


def _write_runs(
    url: str, reports: Path, night: int, shares: Sequence[SimulatedRun], verdicts: Verdicts
) -> tuple[float, float, int, list[str]]:
    """Write runs, one after the other; return wall time, processor time, transactions and problems."""
    committed: list[Any] = []
    event.listen(Engine, "commit", committed.append)
    began, problems = time.perf_counter(), []
    for run in shares:
        folder, facts = reports / name_of(run, night), facts_of(run, night)
        folder.mkdir(parents=True)
        live = LiveHistory(url, folder, facts | {"state": "running", "ended": None, "exit_code": None})
        records, tests = [], []
        for record, test in records_of(run, verdicts[run.number]):
            live.trial(record)
            live.test(test)
            records.append(record)
            tests.append(test)
        problems += live.finish(facts, tests, records, PATIENCE_S)
    return time.perf_counter() - began, sum(os.times()[:2]), len(committed), problems


def missing_or_double(address: Address, night: int, shares: Sequence[SimulatedRun], verdicts: Verdicts) -> list[str]:
    """Return what the database lacks of a night, and what it has too much."""
    question = select(runs.c.name, trials.c.folder, func.count()).join(trials, trials.c.run_id == runs.c.id)
    question = question.where(runs.c.name.startswith(f"night-{night:03d}-")).group_by(runs.c.name, trials.c.folder)
    with address.engine(read_only=True).connect() as connection:
        found = {(run, folder): count for run, folder, count in connection.execute(question)}
    wanted = {(name_of(run, night), folder_of(run, index)) for run in shares for index in verdicts[run.number]}
    lacking, others = len(wanted - found.keys()), len(found.keys() - wanted)
    twice = sum(count != 1 for count in found.values())
    said = {"trials are not in the database": lacking, "trials in it were not run": others, "are there twice": twice}
    return [f"{count} {words}" for words, count in said.items() if count]


def size_of(address: Address) -> int:
    """Return the bytes of the database. The log of a file is empty once the last writer has closed it."""
    if address.is_file:
        return address.path.stat().st_size
    engine = address.engine(read_only=True)
    with engine.connect() as connection:
        found = int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    engine.dispose()
    return found


class _ConnectionWatch:
    """Looks at the connections of a server while a block runs."""

    QUESTION = """SELECT count(*), count(*) FILTER (WHERE wait_event_type = 'Lock') FROM pg_stat_activity
        WHERE application_name = 'trainrig' AND datname = current_database() AND pid <> pg_backend_pid()"""

    def __init__(self, address: Address) -> None:
        self._address, self._over = address, threading.Event()
        self._thread = threading.Thread(target=self._look, name="connections", daemon=True)
        self.most = self.seen = self.waits = 0

    def __enter__(self) -> _ConnectionWatch:
        if not self._address.is_file:
            start(self._thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _look(self) -> None:
        engine = self._address.engine(read_only=True)
        while not self._over.wait(LOOK_S):
            with engine.connect() as connection:
                count, waiting = connection.execute(text(self.QUESTION)).one()
            self.most, self.seen, self.waits = max(self.most, count), self.seen + count, self.waits + waiting
        engine.dispose()
