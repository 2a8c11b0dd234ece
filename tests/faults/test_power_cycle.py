"""A board that nothing but its power brings back: rig.toml names the supply, and the trial begins again."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hil import boards
from hil.commands.doctor import OK, examine
from hil.endpoints import Endpoints
from hil.rig import Rig
from hil.rig_toml import Bench, BenchBoard, PowerEntry
from hil.standins import StandIn
from hil.targets.connect_options import COMMON
from hil.training.trial import TrialSpec, Watch, lockstep, run_trial
from hil.training.trial.recording import trial_record
from tests.bench_server import BenchServer
from tests.device_at import device_at

IN_THE_FIRST_STEPS = {"rp2040": 60_000_000, "stm32h7b3": 40_000_000}  # instructions
Serve = Callable[..., dict[str, Any]]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a bench that outlives trials, as one on a desk does; returns what it says of itself."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    running: list[StandIn] = []

    def start(board: str, *inject: str) -> dict[str, Any]:
        said: dict[str, Any] = {}

        def announced(line: str) -> Endpoints:
            said.update(json.loads(line))
            return Endpoints(board, "virtual", said["probe"], said["serial"])

        command = [sys.executable, "-m", "hil.standins.virtual", "--board", board, "--leashed"]
        for fault in inject:
            command += ["--inject", fault]
        running.append(BenchServer(command, announced, tmp_path / "bench.log", "bench"))
        return said

    yield start
    for each in running:
        each.stop()


def named(said: dict[str, Any], volts: float | None) -> BenchBoard:
    power = None if volts is None else PowerEntry(supply=said["supply"], channel=1, volts=volts, amps=0.5)
    return BenchBoard(name=said["board"], probe=said["probe"], serial=said["serial"], power=power)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hil.training.trial.device.STEP_DEADLINE_S", 6.0)
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")


@pytest.mark.parametrize("board", ["rp2040", pytest.param("stm32h7b3", marks=pytest.mark.tier("nightly"))])
def test_a_board_that_is_latched_up_is_switched_off_and_on(serve: Serve, tmp_path: Path, board: str) -> None:
    said = serve(board, f"latch_up:{IN_THE_FIRST_STEPS[board]}")
    told: list[str] = []
    with Rig(Bench(board=[named(said, 3.3)])) as rig:
        outcome = run_trial(TrialSpec(board, "cls1", steps=4, evaluate=0), rig, tmp_path, watch=Watch(tell=told.append))
    assert (outcome.verdict, len(outcome.steps)) == ("pass", 4), outcome.reason
    assert outcome.flash is not None and not outcome.flash.programmed, "what is in the flash stays"
    assert outcome.notes == told
    (note,) = outcome.notes
    assert note.startswith(
        f"the trial began again after output 1 of the supply {said['supply']} was switched off and on, because the agent did not answer"
    )
    assert "Nor can the probe say where the core is" in note
    assert trial_record(outcome).warnings[0] == note
    log = (tmp_path / "bench.log").read_text()
    assert log.index("latched up") < log.index("the supply is switched off") < log.index("the supply is switched on")


def test_a_board_that_latches_up_while_it_is_flashed_is_switched_off_and_on(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hil.targets.connect_options.COMMON", COMMON | {"flash.timeout.program": 5.0})
    said = serve("stm32h7b3", "latch_up:300000")
    with Rig(Bench(board=[named(said, 3.3)])) as rig:
        outcome = run_trial(TrialSpec("stm32h7b3", "cls1", steps=1, batch=2, evaluate=0), rig, tmp_path)
    assert (outcome.verdict, len(outcome.steps)) == ("pass", 1), outcome.reason
    (note,) = outcome.notes
    assert "was switched off and on, because the probe" in note and "failed to flash the image" in note


@pytest.mark.tier("nightly")
def test_without_a_name_for_it_nothing_is_switched(serve: Serve, tmp_path: Path) -> None:
    said = serve("rp2040", "latch_up:60000000")
    with Rig(Bench(board=[named(said, None)])) as rig:
        outcome = run_trial(TrialSpec("rp2040", "cls1", steps=4, evaluate=0), rig, tmp_path)
    assert (outcome.verdict, outcome.stage, outcome.notes) == ("blocked", "link", [])
    assert "supply" not in (tmp_path / "bench.log").read_text().split("latched up until")[1].partition("\n")[2]


@pytest.mark.tier("nightly")
def test_a_second_silence_ends_the_trial(serve: Serve, tmp_path: Path) -> None:
    said = serve("rp2040", "latch_up:60000000", "latch_up:61000000")
    with Rig(Bench(board=[named(said, 3.3)])) as rig:
        outcome = run_trial(TrialSpec("rp2040", "cls1", steps=4, evaluate=0), rig, tmp_path)
    assert (outcome.verdict, outcome.stage, len(outcome.notes)) == ("blocked", "link", 1), outcome.reason
    assert (tmp_path / "bench.log").read_text().count("the supply is switched off") == 1, "once a trial"


@pytest.mark.tier("nightly")
def test_a_brown_out_between_two_looks_at_the_memory_is_no_wrong_figure(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = serve("stm32h7b3")
    look = lockstep.through_probe

    def after_a_brown_out(*rest: Any) -> Any:
        _, host, port, _ = said["supply"].split("::")
        with socket.create_connection((host, int(port)), 10.0) as supply:
            supply.sendall(b"OUTP OFF\nOUTP ON\nOUTP?\n")
            supply.recv(16)
        return look(*rest)

    monkeypatch.setattr(lockstep, "through_probe", after_a_brown_out)
    with Rig(Bench(board=[named(said, None)])) as rig:
        outcome = run_trial(TrialSpec("stm32h7b3", "cls1", steps=1, batch=2, evaluate=0), rig, tmp_path)
    assert (outcome.verdict, outcome.stage) == ("blocked", "link"), outcome.reason
    assert "the board was reset" in outcome.reason and "brown-out" in outcome.reason


@pytest.mark.tier("nightly")
def test_a_supply_that_refuses_is_the_reason(serve: Serve, tmp_path: Path) -> None:
    said = serve("rp2040", "latch_up:60000000")
    with Rig(Bench(board=[named(said, 12.0)])) as rig:
        outcome = run_trial(TrialSpec("rp2040", "cls1", steps=4, evaluate=0), rig, tmp_path)
    assert (outcome.verdict, outcome.stage) == ("blocked", "power")
    assert (
        "did not answer" in outcome.reason
        and "Its power could not be switched: the output 1 of the supply" in outcome.reason
    )


def test_the_doctor_looks_at_the_power(serve: Serve) -> None:
    board, said = boards.load("rp2040"), serve("rp2040")
    with device_at(board, Endpoints(board.name, "virtual", said["probe"], said["serial"])) as dut:
        dut.flash()
    checks = {check.subject: check for check in examine(Bench(board=[named(said, 3.3)]), [])}
    assert checks["power"].state == OK
    assert (
        checks["power"].said == f"trainrig,virtual supply,1,1 answers; output 1 of the supply {said['supply']} is on."
    )
    assert checks["agent answers"].state == OK
