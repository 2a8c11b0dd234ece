"""Samples that stay on the board change no bit and no verdict, on boards, formats and ways to train; and spare the line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hil.rig import Rig
from hil.training.trial.outcome import Outcome
from hil.trial import EnergyWindows, LatencySteps, Selection, TrialSpec, Watch, run_trial

SMALL = "fashion-mnist-1k@40"
POOR: dict[str, Any] = {
    "variant": "weight", "network": "resnet-tiny", "method": "poor-mans-training", "settings": {"queries": 2, "eta": 0.1}
}  # fmt: skip
TRIALS: dict[str, dict[str, Any]] = {
    "bfp8": {"variant": "cls1"},
    "requests": {"variant": "cls1", "requests": True, "steps": 2},
    "streamed": {"variant": "cls1", "batch": 7, "slots": 3},
    "schedule": {"variant": "cls2", "schedule": ((1, {"b_bp": 4}), (2, {"b_zo": 2}))},
    "latency": {"variant": "cls1", "latency": LatencySteps(3)},
    "tflite8": POOR,
    "network in flash": POOR | {"network_in": "flash", "batch": 3, "slots": 2},
    "selected": POOR | {"variant": "selected", "batch": 1, "steps": 2, "selection": Selection(2, 10)},
    "float32": {"variant": "cls1", "network": "lenet5-float32", "method": "elasticzo-fp32", "steps": 2},
    "w16a8": {"variant": "full", "network": "lenet5-w16a8", "method": "qzo-ff", "steps": 2},
    "affine8": {"variant": "uint8", "network": "fqt-cnn-uint8", "method": "fqt", "steps": 2},
}
BOARDS = dict.fromkeys(TRIALS, "stm32h7b3") | {
    "bfp8": "rp2040", "tflite8": "nrf52840", "latency": "imxrt1062", "network in flash": "stm32f746"
}  # fmt: skip
AT_NIGHT = {
    "requests",
    "schedule",
    "latency",
    "tflite8",
    "selected",
}  # the gate has each format, a network in flash, and three boards


def run(rig: Rig, folder: Path, keep: str | None, **fields: Any) -> Outcome:
    spec = TrialSpec(**{"batch": 4, "steps": 3, "evaluate": 6, "data": SMALL, "keep": keep} | fields)
    return run_trial(spec, rig, folder)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.tier("nightly") if name in AT_NIGHT else ()) for name in TRIALS]
)
def test_bits_and_verdicts_are_the_same(virtual_rig: Rig, tmp_path: Path, name: str) -> None:
    fields = {"board": BOARDS[name]} | TRIALS[name]
    plain, *kept = (run(virtual_rig, tmp_path, keep, **fields) for keep in (None, "ram", "flash"))
    assert plain.verdict == "pass", plain.reason
    for one in kept:
        assert (one.verdict, one.reason, one.final_digests) == ("pass", "", plain.final_digests)
        assert [(row.digest, row.loss_plus, row.loss_minus) for row in one.steps] == [
            (row.digest, row.loss_plus, row.loss_minus) for row in plain.steps
        ]
        assert (one.accuracy_before, one.accuracy_after) == (plain.accuracy_before, plain.accuracy_after)
        assert one.figures.wrong == {}
    in_ram, in_flash = kept
    assert in_ram.prepared is not None and in_ram.sram is not None and plain.sram is not None
    assert in_flash.sram == plain.sram
    if in_ram.prepared.method == plain.prepared.method and in_ram.prepared.slots == plain.prepared.slots:  # type: ignore[union-attr]
        assert in_ram.sram.total - plain.sram.total == in_ram.prepared.plan.front


def test_windows_of_energy_are_measured_on_kept_samples(virtual_rig: Rig, tmp_path: Path) -> None:
    """Each ends on the weights of the reference, which has the samples from the data set."""
    for keep in ("ram", "flash"):
        energy = EnergyWindows(windows=2, steps=2)
        outcome = run(virtual_rig, tmp_path, keep, board="stm32h7b3", variant="cls1", batch=2, energy=energy)
        assert outcome.verdict == "pass" and outcome.energy is not None, outcome.reason
        assert outcome.compared is not None and outcome.compared.autonomous >= 4


def test_an_epoch_sends_a_hundredth_of_the_bytes(virtual_rig: Rig, tmp_path: Path) -> None:
    """Of 200 samples; counted by the host between the first step and the last."""
    sent = {}
    for keep in (None, "ram"):
        counts: list[int] = []
        watch = Watch(agreed=lambda trial, counts=counts: counts.append(trial.device._session.counters.bytes_sent))  # type: ignore[misc]
        spec = TrialSpec("stm32h7b3", "cls1", steps=26, evaluate=0, data="fashion-mnist-1k@200", keep=keep)
        assert run_trial(spec, virtual_rig, tmp_path, watch=watch).verdict == "pass"
        sent[keep] = counts[-1] - counts[0]
    step, frame = 16, 10  # bytes of `step`; of a frame around a body: header, CRC, COBS code, zero byte
    samples = 25 * 8
    # COBS has up to four more codes in a frame of 796 bytes
    assert 0 <= sent[None] - 25 * step - samples * (frame + 4 + 784) <= 4 * samples
    assert sent["ram"] == 25 * (step + frame + 2 + 4 * 8)
