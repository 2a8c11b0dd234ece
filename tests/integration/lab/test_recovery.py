"""Coordinator, exporter and database of a lab are killed while a session runs trials: how soon the next one is taken.

A trial has its board when the log of its stage `bench` ends, so the times are those of these files.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")
pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
pytest.importorskip("psycopg", reason="pip install 'trainrig[postgresql]'")

from hil import boards
from hil.history.address import address_of
from hil.history.queries import History
from hil.history.unsent import waiting
from hil.images import image_of
from hil.rig.places import BACK_WITHIN_S
from hil.standins import start_virtual
from tests.postgresql import Server, started

from .processes import Lab, resources, running

pytestmark = pytest.mark.tier("nightly")
BOARD, PLACE, MOST, DEADLINE_S = "stm32f746", "f7", 200, 300.0
TRIALS = f"""
import pathlib
import pytest
from hil.trial import TrialSpec


@pytest.mark.parametrize("seed", range({MOST}))
def test_a_trial(hil_board, hil_trial, seed):
    if pathlib.Path("enough").exists():
        pytest.skip("everything was killed")
    hil_trial(TrialSpec(hil_board, "cls1", batch=2, steps=6, evaluate=0, seed=seed))
"""


class Session:
    """A pytest that runs trials one after another in a folder, and what it has written so far."""

    def __init__(self, folder: Path, lab: Lab, database: str) -> None:
        self.folder = folder
        (folder / "test_many.py").write_text(TRIALS)
        (folder / "rig.toml").write_text(
            f'[[board]]\nname = "{BOARD}"\nplace = "{PLACE}"\n'
            f'[labgrid]\ncoordinator = "{lab.address}"\n[history]\nurl = "{database}"\n'
        )
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:labgrid", "-p", "no:cacheprovider"]
        with (folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*command, f"--board={BOARD}", "test_many.py"], cwd=folder, stdout=log, stderr=log
            )

    def taken(self) -> list[float]:
        """Return when each trial that got the board got it, as seconds since the epoch."""
        logs = self.folder.glob(f"reports/2*/{BOARD}-*/log/bench.log")
        return sorted(log.stat().st_mtime for log in logs if log.read_text().endswith("done\n"))

    def await_taken(self, count: int = 1, after: float | None = None) -> float:
        """Wait until so many trials have got the board after a moment, now by default; return when the first did."""
        after = time.time() if after is None else after
        until = time.monotonic() + DEADLINE_S
        while len(found := [when for when in self.taken() if when > after]) < count:
            assert self.process.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.05)
        return found[0] - after

    def end(self) -> int:
        """Let the rest of the trials be skipped, and return the exit code."""
        (self.folder / "enough").touch()
        return self.process.wait(DEADLINE_S)


@pytest.fixture
def seat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Server]]:
    """A lab of its own with a virtual board, and a PostgreSQL server."""
    server = started()
    board = start_virtual(boards.load(BOARD), image_of(BOARD), tmp_path_factory.mktemp("board") / "log")
    try:
        with running(tmp_path_factory.mktemp("lab")) as lab:
            lab.export("exporter", {"group": resources(board.endpoints)})
            lab.place(PLACE, "exporter/group/*")
            lab.await_saved(PLACE)
            yield lab, server
    finally:
        board.stop()
        server.close()


def test_trials_go_on_within_ten_seconds_of_the_return_of_what_was_killed(
    seat: tuple[Lab, Server], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    lab, server = seat
    url = server.database()
    session = Session(tmp_path, lab, url)
    exporter = lab.exporters["exporter"]
    back: dict[str, float] = {}
    try:
        session.await_taken(2)
        exporter.kill()
        time.sleep(4)
        exporter.start()
        back["exporter"] = session.await_taken()
        session.await_taken(2)
        lab.coordinator.kill()
        time.sleep(BACK_WITHIN_S + 4)  # a trial has waited in vain
        lab.start_again()
        back["coordinator and exporter"] = session.await_taken()
        session.await_taken(2)
        server.stop()
        back["while the database is away"] = session.await_taken(3)
        server.start()
        back["database"] = session.await_taken()
        session.await_taken(2)
    finally:
        code = session.end()
    assert code == 1, "pytest's own code: some tests were blocked, and others passed"
    for name, seconds in back.items():
        record_property(f"next trial after the return of: {name}, in s", round(seconds, 2))
    assert max(back.values()) < BACK_WITHIN_S, back
    record = json.loads((tmp_path / "reports/latest/results.json").read_text())
    tests = record["tests"]
    verdicts = Counter(test["verdict"] for test in tests)
    assert len(tests) == MOST and set(verdicts) == {"pass", "blocked", "skipped"} and verdicts["pass"] >= 10, verdicts
    blocked = [test["reason"] for test in tests if test["verdict"] == "blocked"]
    assert all(f"labgrid place {PLACE}" in reason or "labgrid coordinator at" in reason for reason in blocked), blocked
    assert all(trial["bit_exact"] for trial in record["trials"] if trial["verdict"] == "pass")
    assert waiting(tmp_path / "reports") == []
    with History.open(address_of(url, tmp_path)) as history:
        (entry,) = history.runs
        assert entry.trials == {name: verdicts[name] for name in ("pass", "blocked")}
        assert len(history.trials()) == len(record["trials"]) == verdicts["pass"] + verdicts["blocked"]
    lab.await_holder(PLACE, "")
