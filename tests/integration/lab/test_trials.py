"""Trials on virtual boards behind labgrid's exporters: verdicts, while coordinator, exporter and rig are killed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")
pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")

from hil import boards
from hil.commands.doctor import OK, WRONG, examine
from hil.images import image_of
from hil.rig import Rig
from hil.rig_toml import Bench, BenchBoard, LabgridEntry
from hil.standins import start_virtual
from hil.training.trial.stages import Watch
from hil.trial import TrialSpec, run_trial
from hil.trial.outcome import Outcome

from .processes import Lab, resources

pytestmark = pytest.mark.tier("nightly")
BOARD, STEPS = "stm32h7b3", 12


@dataclass
class Seat:
    """A lab with a virtual board at the place `h7 bench 3`."""

    lab: Lab

    def bench(self, place: str = "h7 bench 3") -> Bench:
        entry = LabgridEntry(coordinator=self.lab.address)
        return Bench(board=[BenchBoard(name=BOARD, place=place)], labgrid=entry)


@pytest.fixture(scope="module")
def seat(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seat]:
    started = start_virtual(boards.load(BOARD), image_of(BOARD), tmp_path_factory.mktemp("board") / "log")
    lab.export("h7 exporter 3", {"h7": resources(started.endpoints)})
    lab.place("h7 bench 3", "h7 exporter 3/h7/*", board=BOARD)
    yield Seat(lab)
    started.stop()


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
