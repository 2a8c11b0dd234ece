"""Trials on virtual boards behind labgrid's exporters: verdicts, while coordinator, exporter and rig are killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")
pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")

from hil import boards
from hil.commands.main import main
from hil.images import image_of
from hil.rig import Rig
from hil.rig.doctor import OK, WRONG, examine
from hil.rig_toml import Bench, BenchBoard, LabgridEntry, read_bench
from hil.standins import StandIn, start_virtual
from hil.trial import TrialSpec, run_trial
from hil.trial.callbacks import Watch
from hil.trial.outcome import Outcome

from .processes import Lab

pytestmark = pytest.mark.tier("nightly")
BOARD, STEPS = "stm32h7b3", 12


@dataclass
class Seat:
    """A lab with two virtual boards, at the places `h7 bench 3` and `h7 bench 4`, each behind an exporter of its own."""

    lab: Lab

    def bench(self, place: str = "h7 bench 3") -> Bench:
        entry = LabgridEntry(coordinator=self.lab.address)
        return Bench(board=[BenchBoard(name=BOARD, place=place)], labgrid=entry)


@pytest.fixture(scope="module")
def seat(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seat]:
    started: list[StandIn] = []
    for number in (3, 4):
        log = tmp_path_factory.mktemp("board") / "log"
        started.append(start_virtual(boards.load(BOARD), image_of(BOARD), log))
        ends = started[-1].endpoints
        host, port = (ends.probe or "").removeprefix("remote:").rsplit(":", 1)
        server = {"cls": "NetworkService", "address": host, "port": int(port), "username": "none"}
        lab.export(f"h7 exporter {number}", {"h7": {"RawSerialPort": {"port": ends.serial}, "pyocd": server}})
        lab.place(f"h7 bench {number}", f"h7 exporter {number}/h7/*", board=BOARD)
    yield Seat(lab)
    for each in started:
        each.stop()


def trial(seat: Seat, rig: Rig, folder: Path, watch: Watch | None = None) -> Outcome:
    folder.mkdir()
    spec = TrialSpec(BOARD, "cls1", steps=STEPS, evaluate=0)
    return run_trial(spec, rig, folder, watch=watch or Watch())


def test_a_trial_at_a_place(seat: Seat, tmp_path: Path) -> None:
    with Rig(seat.bench()) as rig:
        outcome = trial(seat, rig, tmp_path / "trial")
        assert outcome.verdict == "pass", outcome.reason
        assert seat.lab.holder("h7 bench 3").endswith(f":trainrig-{os.getpid()}")
    seat.lab.await_holder("h7 bench 3", "")


def test_a_held_place_blocks_its_trials(seat: Seat, tmp_path: Path) -> None:
    seat.lab.admin.acquire("h7 bench 3")
    seat.lab.await_holder("h7 bench 3", "desk/admin")
    try:
        with Rig(seat.bench()) as rig:
            outcome = trial(seat, rig, tmp_path / "trial")
    finally:
        seat.lab.admin.release("h7 bench 3", "desk/admin")
    assert outcome.verdict == "blocked"
    assert "held by desk/admin" in outcome.reason


def after_step(number: int, act: Callable[[], None]) -> Watch:
    """Do something once, after this step was compared."""
    left = [number]

    def step(_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            act()

    return Watch(step=step)


def test_an_exporter_killed_during_a_trial_blocks_it_and_the_next_one_passes(seat: Seat, tmp_path: Path) -> None:
    """The line ends with the exporter."""
    exporter = seat.lab.exporters["h7 exporter 3"]
    with Rig(seat.bench()) as rig:
        outcome = trial(seat, rig, tmp_path / "cut", after_step(STEPS // 2, exporter.kill))
        assert outcome.verdict == "blocked", outcome.reason
        assert "lacks h7 exporter 3/h7/*, which no exporter offers now" in outcome.reason
        assert len(outcome.steps) >= STEPS // 2
        exporter.start()
        outcome = trial(seat, rig, tmp_path / "next")
        assert outcome.verdict == "pass", outcome.reason
    seat.lab.await_holder("h7 bench 3", "")


def test_a_coordinator_killed_during_a_trial_blocks_it_and_the_next_one_passes(seat: Seat, tmp_path: Path) -> None:
    """labgrid's exporter ends its lines when its coordinator is gone."""
    seat.lab.await_saved("h7 bench 3")
    with Rig(seat.bench()) as rig:
        outcome = trial(seat, rig, tmp_path / "cut", after_step(STEPS // 2, seat.lab.coordinator.kill))
        assert outcome.verdict in ("blocked", "pass"), outcome.reason  # pass: it was done before the exporter noticed
        if outcome.verdict == "blocked":
            assert "the labgrid coordinator at" in outcome.reason
        seat.lab.start_again()
        outcome = trial(seat, rig, tmp_path / "next")
        assert outcome.verdict == "pass", outcome.reason
    seat.lab.await_holder("h7 bench 3", "")


def test_the_doctor_looks_at_what_the_place_has(seat: Seat) -> None:
    """Whether the board holds the firmware already depends on the tests before, so that is not looked at."""
    checks = {check.subject: check for check in examine(seat.bench(), []) if check.board}
    assert list(checks) == ["place", "probe", "probe opens", "port opens", "agent answers", "flash"]
    assert [checks[subject].state for subject in ("place", "probe", "port opens")] == [OK] * 3, checks
    seat.lab.await_holder("h7 bench 3", "")
    (check,) = [check for check in examine(seat.bench("h7 bench 5"), []) if check.board]
    assert (check.subject, check.state) == ("place", WRONG)


def test_the_trials_of_a_board_spread_over_its_places(seat: Seat, tmp_path: Path) -> None:
    """`hil init --labgrid` writes the bench; pytest with three workers uses both places, and gives both back."""
    assert main(["init", f"--rig={tmp_path / 'rig.toml'}", f"--labgrid={seat.lab.address}"]) == 0
    assert {each.name: each.board for each in read_bench(tmp_path / "rig.toml").board}[BOARD] == f"any:{BOARD}"
    (tmp_path / "test_spread.py").write_text(
        "import pytest\nfrom hil.trial import TrialSpec\n\n\n"
        "@pytest.mark.parametrize('seed', range(4))\n"
        "def test_a_trial(hil_board, hil_trial, seed):\n"
        "    assert hil_trial(TrialSpec(hil_board, 'cls1', steps=2, evaluate=0, seed=seed)).verdict == 'pass'\n"
    )
    seen: set[str] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            places = seat.lab.admin.snapshot.places
            seen.update(name for name in ("h7 bench 3", "h7 bench 4") if places[name].holder)

    watcher = threading.Thread(target=watch)
    watcher.start()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:labgrid", "-p", "no:cacheprovider", f"--board={BOARD}"]
    try:
        ran = subprocess.run(
            [*command, "-n", "3", "test_spread.py"], cwd=tmp_path, capture_output=True, text=True, timeout=900
        )
    finally:
        done.set()
        watcher.join()
    assert ran.returncode == 0 and "4 passed" in ran.stdout, ran.stdout[-3000:]
    assert seen == {"h7 bench 3", "h7 bench 4"}
    for name in seen:
        seat.lab.await_holder(name, "")
