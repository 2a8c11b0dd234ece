"""A test of a stranger on a virtual board: weights through the probe, firmware and budgets from rig.toml, workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.foreign import build

BOARD = "stm32f746"
MINE = r"""
import numpy as np
import pytest
from hil.trial import TrialSpec


class Reference:
    def __init__(self):
        self.w = np.zeros((4, 3), np.float32)

    def step(self, index):
        self.w = self.w + np.float32(0.5) * (np.arange(4, dtype=np.float32)[:, None] + np.float32(index + 1))
        return {"fc1_weights": self.w, "steps": np.uint32(index + 1)}


def test_weights(hil_dut, hil_compare, hil_figure):
    hil_dut.serial.expect("ready")
    run = hil_compare(Reference(), exact=True)
    for step in range(2):
        hil_dut.serial.write(b"t")
        hil_dut.serial.expect("step .*\n")
        run.step(step, {"fc1_weights": hil_dut.read("fc1_weights"), "steps": hil_dut.read("steps")})
    hil_figure("sram", hil_dut.stack_peak + 48, "B", provenance="counted")
    hil_figure("step_time", 0.001, "s", provenance="measured")


def test_hangs(hil_dut):
    hil_dut.serial.expect("ready 12 parameters\r\n")
    hil_dut.serial.write(b"h")
    hil_dut.serial.expect("step", timeout=2)


def test_trial_beside(hil_board, hil_trial, hil_figure):
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, evaluate=0, batch=1))
    hil_figure("tries", 1)


def test_trial_on_the_same_device(hil_dut, hil_board, hil_trial):
    hil_dut.serial.expect("ready")
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, evaluate=0, batch=1))
"""
RIG = f'[budgets]\nsram = "1 MiB"\nstep_time = "1 us"\n\n[[board]]\nname = "{BOARD}"\nelf = "foreign.elf"\n'


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, strange: Callable):
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    folder: Path = tmp_path_factory.mktemp("stranger")
    build(folder, BOARD)
    (folder / "rig.toml").write_text(RIG)
    return strange(folder, MINE, f"--board={BOARD}", "--reality=virtual", "-n", "2")


def test_weights_are_read_through_the_probe_and_judged(done):
    assert done.verdict("test_weights") == ("pass", "")
    entry = done.entry("test_weights")
    assert (entry.reality, entry.core, entry.flash) == ("virtual", "cortex-m7", "programmed") and entry.reads == 5
    assert entry.image is not None and entry.image["file"] == "foreign.elf"  # of rig.toml
    (comparison,) = entry.comparisons
    assert [each["shape"] for each in comparison["tensors"]] == [[4, 3], []] and comparison["elements"] == 26


def test_budgets_of_rig_toml_hold_for_figures_of_the_same_name(done):
    figures = {each["name"]: each for each in done.entry("test_weights").figures}
    assert figures["sram"]["budgets"][0]["verdict"] == "pass"
    assert figures["sram"]["budgets"][0]["source"] == "in rig.toml"
    time = figures["step_time"]  # 1 ms, and 1 us allowed: but nothing of a stand-in was measured
    assert time["provenance"] == "modelled" and time["budgets"][0]["verdict"] == "not judged"


def test_a_hang_is_the_devices_fault_with_its_place(done):
    verdict, reason = done.verdict("test_hangs")
    assert verdict == "fail" and "spin_for_ever" in reason and "train_badly" in reason and "foreign.c" in reason


def test_a_trial_cannot_use_the_device_of_the_test(done):
    words = f"hil_dut has {BOARD} in this test: run the trial in a test of its own."
    assert done.verdict("test_trial_on_the_same_device") == ("refused", words)


def test_the_prebuilt_image_stays_that_of_trials_unless_elf_is_given(done):
    assert done.verdict("test_trial_beside") == ("pass", "")
    assert done.entry("test_trial_beside").judged == ["the trials of the test; nothing else was compared by the rig."]
    results = done.results
    assert len(results["device_tests"]) == 4 and len(results["trials"]) == 1 and results["run"]["whole"]
    assert json.loads((done.run / results["device_tests"][0]["folder"] / "device_test.json").read_text())
