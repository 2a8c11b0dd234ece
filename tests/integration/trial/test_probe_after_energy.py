"""A board whose energy was measured well, and that the probe does not find again: its core sleeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hil import boards
from hil.dut import KEPT_POWER, opened
from hil.errors import Blocked
from hil.images import image_of
from hil.rig import Bench, Rig
from hil.targets.probe import Probe
from hil.training.trial.device import Device
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial import EnergyWindows, TrialSpec, run_trial

pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
SPEC = TrialSpec(
    "stm32h7b3", "cls1", steps=2, evaluate=0, settings={"scope": "batch"}, energy=EnergyWindows(windows=2, steps=2)
)
ASLEEP = Blocked("connect", "the core sleeps, and its memory could not be read: reset the board.")


def asleep(probe: Probe, wake: object = None) -> None:
    raise ASLEEP


def test_a_good_measurement_stays_good_if_the_probe_does_not_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Probe, "attach", asleep)
    with Rig(Bench()) as rig:
        outcome = run_trial(SPEC, rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    record = trial_record(outcome)
    assert record.energy is not None and record.energy["per_step"]["value"] > 0
    assert record.energy["meter"]["probe_detached"] is True
    assert [note for note in outcome.notes if "could not connect" in note] == [
        "the probe could not connect to the board again after its energy was measured, so that it has checked nothing "
        "of the end of this trial (the core sleeps, and its memory could not be read: reset the board)."
    ]


def test_the_agent_is_kept_busy_while_the_probe_connects_and_a_port_that_kept_its_power_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attach, detach, wakes = Probe.attach, Probe.detach, []

    def watched(probe: Probe, wake=None) -> None:
        assert wake is not None

        def counted() -> None:
            wake()
            wakes.append(1)

        attach(probe, counted)

    monkeypatch.setattr(Probe, "attach", watched)
    monkeypatch.setattr(Probe, "detach", lambda probe: detach(probe) and False)
    with Rig(Bench()) as rig:
        outcome = run_trial(SPEC, rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    assert wakes
    record = trial_record(outcome)
    assert record.energy is not None and record.energy["meter"]["probe_detached"] is False
    assert KEPT_POWER in record.energy["flags"]


def test_another_failure_in_the_windows_is_not_hidden_by_that_of_the_probe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(windows: object) -> None:
        raise Blocked("energy", "the meter has burnt.")

    monkeypatch.setattr(Probe, "attach", asleep)
    monkeypatch.setattr("hil.training.trial.energy_windows.Windows.measure", fails)
    with Rig(Bench()) as rig:
        outcome = run_trial(SPEC, rig, tmp_path)
    assert (outcome.verdict, outcome.stage, outcome.reason) == ("blocked", "energy", "the meter has burnt.")


def test_the_agent_of_a_device_is_kept_busy_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board, image, prepared = boards.load(SPEC.board), image_of(SPEC.board), prepare(replace(SPEC, energy=None))
    attach, wakes = Probe.attach, []

    def watched(probe: Probe, wake=None) -> None:
        assert wake is not None
        attach(probe, lambda: wakes.append(wake()))

    monkeypatch.setattr(Probe, "attach", watched)
    with Rig(Bench()) as rig, opened(rig, board, image, tmp_path) as dut:
        dut.flash()
        device = Device(dut.agent, board, image)
        device.load(prepared.blob)
        device.configure(prepared.method.request.configuration(prepared.settings, prepared.slots, 0))
        device.samples(prepared.data.train_images[:8], prepared.data.train_labels[:8])
        assert dut.probe
        with dut.energy(window_s=0.1) as work:
            device.run(0, 1, 8, 500, 10.0)
        assert work.energy.value > 0 and wakes
        assert not any("could not connect" in each for each in dut.record.warnings)
        assert dut.probe.read(image.symbols["__arena_start"], 4)
