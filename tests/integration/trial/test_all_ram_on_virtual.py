"""All RAM of a board in a trial: an own section is counted, and layers have a second source where there is a probe."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from hil.images import image_of
from hil.report.memory import memory_bars
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.training.trial.recording import trial_record
from hil.trial import LatencySteps, TrialSpec, run_trial
from tests.unit.images.test_ram_map import HIDDEN, hidden_section

NIGHTLY = pytest.mark.tier("nightly")
SHORT: dict[str, Any] = {"steps": 1, "batch": 2, "evaluate": 0}


def test_a_section_of_ones_own_is_in_the_total_and_in_the_budget(virtual_rig: Rig, tmp_path: Path) -> None:
    elf = bytearray(image_of("stm32h7b3").path.read_bytes())
    hidden_section(0x3000_1000)(elf)
    mine = tmp_path / "mine.elf"
    mine.write_bytes(elf)
    plain = run_trial(TrialSpec("stm32h7b3", "cls1", **SHORT), virtual_rig, tmp_path)
    assert plain.verdict == "pass" and plain.sram is not None
    spec = TrialSpec("stm32h7b3", "cls1", **SHORT, budgets={"sram": f"{plain.sram.total + HIDDEN - 1} B"})
    hidden = run_trial(spec, virtual_rig, tmp_path, mine)
    assert hidden.sram is not None and hidden.sram.total == plain.sram.total + HIDDEN
    assert hidden.verdict == "fail" and hidden.reason.startswith("SRAM in use is"), hidden.reason
    record = trial_record(hidden)
    assert {"memory": "ahb_sram1", "claimed_by": "section .ARM.attributes", "start": 0x3000_1000, "size": HIDDEN, "used": HIDDEN} in record.sram["regions"]  # fmt: skip
    assert record.sram["total"] == sum(row["used"] for row in record.sram["regions"])
    assert [bar["x"][0] for bar in memory_bars(record)["data"] if bar.get("name") == "sections"] == [HIDDEN / 1024]


@pytest.mark.parametrize("board", ["stm32h7b3", pytest.param("rp2040", marks=NIGHTLY)])  # CYCCNT, and SysTick
def test_the_probe_sees_the_cycles_of_layers(board: str, virtual_rig: Rig, tmp_path: Path) -> None:
    outcome = run_trial(TrialSpec(board, "cls1", **SHORT, latency=LatencySteps(1)), virtual_rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    sources = outcome.figures.sources
    assert (sources["layer_cycles"], sources["layer_cycles_backward"]) == (["probe"], [])


def test_without_a_probe_unclaimed_ram_is_not_compared_and_the_record_says_so(tmp_path: Path) -> None:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("QEMU is not installed: apt install qemu-system-arm")
    with Rig(Bench()) as rig:
        outcome = run_trial(TrialSpec("mps2-an386", "cls1", **SHORT, latency=LatencySteps(1)), rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    record = trial_record(outcome)
    assert [row["used"] for row in record.sram["regions"] if row["claimed_by"] == "unclaimed"] == [None]
    assert record.sram["unclaimed"] is None
    assert any("RAM that nothing claims was not compared" in warning for warning in record.warnings)
    assert record.second_sources["unclaimed_ram"] == record.second_sources["layer_cycles"] == []
