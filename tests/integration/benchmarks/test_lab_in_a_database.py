"""The trials of a simulated night in SQLite and in PostgreSQL: each is there once, and a real history is left alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, select, text, update

from hil.benchmarks.lab.model import Lab, SimulatedRun, runs_of
from hil.benchmarks.lab.reading import read
from hil.benchmarks.lab.store import Verdicts, missing_or_double, prepare, write
from hil.errors import RigError
from hil.history.address import Address, address_of
from hil.history.live import IDLE_S, LiveHistory
from hil.history.models import quantities, trials
from tests.history_records import record
from tests.history_year import facts
from tests.postgresql import Server, started

RUNS = runs_of(Lab(trials=24, runs=4))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = started()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'history.sqlite'}"
    return str(request.getfixturevalue("server").database())


def verdicts(runs: list[SimulatedRun]) -> Verdicts:
    return {run.number: dict.fromkeys(range(len(run.durations)), "pass") for run in runs}


def change(address: Address, statement: object) -> None:
    engine = address.engine()
    with engine.begin() as connection:
        connection.execute(statement)  # type: ignore[call-overload]
    engine.dispose()


def test_every_trial_is_there_once_until_one_is_lost(url: str, tmp_path: Path) -> None:
    address = address_of(url, tmp_path)
    prepare(address)
    found = write(url, tmp_path, 0, RUNS, verdicts(RUNS), writers=2)
    assert (found.trials, found.runs, found.problems) == (24, 4, [])
    assert found.transactions >= 2 * 24 and found.bytes > 24 * 1000
    assert missing_or_double(address, 0, RUNS, verdicts(RUNS)) == []
    assert read(address).trials == 24
    first = select(trials.c.id).order_by(trials.c.id).limit(1).scalar_subquery()
    change(address, update(trials).where(trials.c.id == first).values(folder="another"))
    said = missing_or_double(address, 0, RUNS, verdicts(RUNS))
    assert said == ["1 trials are not in the database", "1 trials in it were not run"]
    change(address, delete(quantities).where(quantities.c.trial_id == first))
    change(address, delete(trials).where(trials.c.folder == "another"))
    assert missing_or_double(address, 0, RUNS, verdicts(RUNS)) == ["1 trials are not in the database"]


def test_made_up_runs_never_come_into_a_history_that_is_there(url: str, tmp_path: Path) -> None:
    prepare(address_of(url, tmp_path))
    with pytest.raises(RigError, match="has runs: give `hil bench lab` an empty database, for its runs are made up"):
        prepare(address_of(url, tmp_path))


def test_a_run_that_trains_keeps_no_connection_of_the_server(server: Server, tmp_path: Path) -> None:
    """PostgreSQL gives out 100, and a lab has more runs than that at once."""
    url, run = server.database(), tmp_path / "run"
    run.mkdir()
    live = LiveHistory(url, run, facts(0))
    first, second = record(0), record(1)
    live.trial(first)
    end = time.monotonic() + 60
    while connections(url) != 0 or count(url) != 1:
        assert time.monotonic() < end, "the run keeps its connection while it has nothing to send"
        time.sleep(IDLE_S / 4)
    live.trial(second)
    assert live.finish(facts(0), [], [first, second], 60.0) == []
    assert count(url) == 2


def connections(url: str) -> int:
    question = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    return asked(url, question)


def count(url: str) -> int:
    try:
        return asked(url, "SELECT count(*) FROM trials")
    except Exception:  # there are no tables yet
        return 0


def asked(url: str, question: str) -> int:
    engine = address_of(url, Path()).engine(read_only=True)
    try:
        with engine.connect() as connection:
            return int(connection.execute(text(question)).scalar_one())
    finally:
        engine.dispose()
