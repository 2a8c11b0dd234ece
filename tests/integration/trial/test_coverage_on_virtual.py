"""Trials on a virtual board record what it executed: a good one, one that fails, one whose board ends, and own firmware."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hil.images import image_of
from hil.images.line_map import line_map
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec, run_trial
from hil.trial.outcome import Outcome

pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
SPEC = TrialSpec("stm32h7b3", "cls1", steps=2, evaluate=0)


def run(rig: Rig, folder: Path, spec: TrialSpec = SPEC, **options: object) -> Outcome:
    folder.mkdir(exist_ok=True)
    return run_trial(spec, rig, folder, **options)  # type: ignore[arg-type]


def share(outcome: Outcome, name: str) -> float:
    """Return the share of lines that a trial reached in the files whose names begin so."""
    assert outcome.executed is not None and outcome.prepared is not None
    found = line_map(outcome.prepared.image).reached(outcome.executed)
    lines = [reached for file, of_file in found.items() if file.startswith(name) for reached in of_file.values()]
    return sum(lines) / len(lines)


@pytest.fixture(scope="module")
def first(virtual_rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run(virtual_rig, tmp_path_factory.mktemp("first"))


def test_a_trial_reaches_what_it_trains(first: Outcome) -> None:
    assert first.verdict == "pass", first.reason
    assert share(first, "methods/elasticzo_int8.c") > 0.6
    assert share(first, "methods/fqt") == 0
    assert share(first, "ports/stm32h7b3/clock.c") > 0.8, "the start is recorded"
    assert first.notes == []


def test_the_next_trial_of_a_kept_board_begins_anew(first: Outcome, virtual_rig: Rig, tmp_path: Path) -> None:
    fp32 = TrialSpec(
        "stm32h7b3", "cls2", network="lenet5-float32", method="elasticzo-fp32", batch=2, steps=2, evaluate=0
    )
    second = run(virtual_rig, tmp_path, fp32)
    assert (first.verdict, second.verdict) == ("pass", "pass"), first.reason + second.reason
    assert share(first, "methods/elasticzo_fp32.c") == share(second, "methods/elasticzo_int8.c") == 0
    assert share(second, "methods/elasticzo_fp32.c") > 0.6


def test_a_trial_that_fails_has_its_coverage(tmp_path: Path) -> None:
    """A bit of a weight flips: board and reference differ, and the trial traces where."""
    prepared = prepare(SPEC)
    arena, (weights, *_) = prepared.image.symbols["__arena_start"], prepared.method.plan.places(prepared.plan)
    with Rig(Bench(), reality="virtual") as rig:
        outcome = run(rig, tmp_path, inject=(f"ram_flip:{arena + weights}:6:30000000",))
    assert outcome.verdict == "fail"
    assert share(outcome, "engine/trace.c") > 0.3, "only a difference is traced"


def test_a_board_that_has_ended_has_none(tmp_path: Path) -> None:
    with Rig(Bench(), reality="virtual") as rig:
        outcome = run(rig, tmp_path, inject=("exit_after:30000000",))
    assert (outcome.verdict, outcome.executed) == ("blocked", None)
    assert any(note.startswith("no coverage: the board does not say") for note in outcome.notes)


def test_a_reset_in_a_trial_keeps_what_was_executed_before(tmp_path: Path) -> None:
    with Rig(Bench(), reality="virtual") as rig:
        outcome = run(rig, tmp_path, inject=("reset:40000000",))
    assert outcome.executed is not None
    assert share(outcome, "ports/stm32h7b3/clock.c") > 0.8 and share(outcome, "agent/link.c") > 0.5


def test_firmware_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.elf"
    own.write_bytes(image_of("stm32h7b3").path.read_bytes() + b"\0")
    with Rig(Bench(), reality="virtual") as rig:
        outcome = run(rig, tmp_path, elf=own)
    assert outcome.prepared is not None and outcome.prepared.image.own
    assert share(outcome, "methods/elasticzo_int8.c") > 0.6


@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is not installed")
def test_qemu_records_none(tmp_path: Path) -> None:
    with Rig(Bench(), reality="qemu") as rig:
        outcome = run(rig, tmp_path, TrialSpec("mps2-an386", "cls1", steps=1, evaluate=0))
    assert outcome.verdict == "pass", outcome.reason
    assert outcome.executed is None and outcome.notes == []
