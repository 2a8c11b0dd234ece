"""A simulated year of nights: how large the history is, and how long its questions take."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from hil.history.address import Address, address_of
from hil.history.queries import History
from hil.history.since_last_good import since_last_good
from tests.history_year import NIGHTS, TRIALS, simulate
from tests.postgresql import started

MOST_BYTES = 200_000_000
COMMAND = [sys.executable, "-m", "hil.commands.main", "history", "--json", "--reports"]


def test_a_week_of_nights_grows_no_faster_than_a_year_may(tmp_path: Path) -> None:
    address = address_of(None, tmp_path)
    simulate(address, nights=3)
    few = address.path.stat().st_size
    with History.open(address) as history:
        assert [sum(run.trials.values()) for run in history.runs] == [TRIALS] * 3
        assert len(history.series(["step_time_s"])) == TRIALS
    assert few / 3 * NIGHTS < MOST_BYTES


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_a_year_is_small_and_is_listed_quickly(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with history_url(kind) as url:
        address = address_of(url, tmp_path)
        simulate(address)
        size = bytes_of(address)
        assert size < MOST_BYTES
        (tmp_path / "rig.toml").write_text(f'[history]\nurl = "{url}"\n' if url is not None else "")
        times = []
        for _ in range(3):
            begun = time.perf_counter()
            subprocess.run([*COMMAND, str(tmp_path)], check=True, capture_output=True, cwd=tmp_path)
            times.append(time.perf_counter() - begun)
        compared = []
        for _ in range(3):
            begun = time.perf_counter()
            with History.open(address) as history:
                found = since_last_good(history, history.runs[-1].uid)
            compared.append(time.perf_counter() - begun)
            assert found["compared"] == TRIALS
    with capsys.disabled():
        print(
            f"\na year of {NIGHTS} x {TRIALS} trials in {kind}: {size / 1e6:.0f} MB; best of 3: `hil history` in "
            f"{min(times):.2f} s, what changed since the last good night in {min(compared):.2f} s"
        )


@contextlib.contextmanager
def history_url(kind: str) -> Iterator[str | None]:
    """Yield the URL of an empty history for rig.toml; None for the file in the folder of the runs."""
    if kind == "SQLite":
        yield None
        return
    server = started()
    try:
        yield server.database()
    finally:
        server.close()


def bytes_of(address: Address) -> int:
    """Return the size of a history: of the file, or of the whole database with what PostgreSQL itself keeps in it."""
    if address.is_file:
        return address.path.stat().st_size
    with address.engine(read_only=True).connect() as connection:
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
