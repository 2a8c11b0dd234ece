"""Energy windows in a trial: what is thrown away, which range is taken, when it gives up, and what the record says."""

from __future__ import annotations

import queue
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hil.errors import Blocked
from hil.measure.data_sheet import load_data_sheet
from hil.meters.meter import Spoiled

pytest.importorskip("numba", reason="the scene is the virtual bench's, of the extra `virtual`")
from hil.bench.energy.scene import Load
from hil.trial.energy import MOST_SPOILED, measure_windows
from hil.trial.spec import EnergyWindows
from tests.unit.measure.energy_scene import NONE, Bench

SHEET = load_data_sheet("keithley-2450")
LOAD = Load(0.0137, (0.2, 0.5, 0.3), (0.06, 0.09, 0.045), 0.02, 2e-3, 3.3)
CYCLES = {"perturb": 100_000, "forward": 600_000, "backward": 500_000, "update": 170_000, "digest": 0, "total": 1_370_000}


class FakeMeter:
    """Sees what the board lives through; `script` says of each window whether it is spoiled, and how."""

    def __init__(self, sheet=SHEET, script=()) -> None:
        self.sheet, self.identity, self.script = sheet, "a fake", list(script)
        self.windows, self.settings, self.armed = queue.Queue(), [], 0

    def configure(self, setting) -> None:
        self.settings.append(setting)

    def arm(self) -> None:
        self.armed += 1

    def capture(self, deadline_s):
        seen = self.windows.get(timeout=10)
        fate = self.script.pop(0) if self.script else None
        if isinstance(fate, Exception):
            raise fate
        if np.max(seen.current_a) > 1.05 * self.settings[-1].range_a:
            raise Spoiled("overload", beyond_range=True)
        return replace(seen, range_a=self.settings[-1].range_a)


class FakeTrial:
    """Board and reference that agree, in a scene."""

    def __init__(self, meter, load=LOAD, wrong_at=None) -> None:
        self.bench = Bench(load, 1, 0.0025, 0.0025, NONE)
        self.meter, self.wrong_at, self.runs = meter, wrong_at, []
        board = SimpleNamespace(supply_v=3.3)
        weight = SimpleNamespace(name="conv1")
        self.p = SimpleNamespace(
            slots=8, settings=SimpleNamespace(batch=8), board=board, data=SimpleNamespace(train_images=np.zeros(800)),
            subject=SimpleNamespace(tensors=[weight]),
        )  # fmt: skip
        self.outcome = SimpleNamespace(
            steps=[SimpleNamespace(cycles=CYCLES)], clock_hz=100_000_000, reality="virtual", difference=None, autonomous=0, final_digests=(), energy=None, power=[], laps_s=[]
        )  # fmt: skip
        self.witness, self.next_step = None, 5
        self.reference = SimpleNamespace(step=lambda images, labels: SimpleNamespace(digests=(7,)))
        self.device = SimpleNamespace(samples=lambda images, labels: None, run=self.run, laps=lambda: [(100_000, 1_000_000, 170_000, 100_000)] * min(self.runs[-1][1], 32))

    def next_batch(self):
        return np.zeros((8, 1)), np.zeros(8)

    def run(self, first, steps, count, idle_ms, quiet_s):
        self.runs.append((first, steps, idle_ms))
        self.meter.windows.put(self.bench.window(steps, idle_ms / 1000))
        return {"digests": (8 if self.wrong_at == len(self.runs) else 7,)}


def measured(script=(), wanted=None, **trial):
    meter = FakeMeter(script=script)
    fake = FakeTrial(meter, **trial)
    measure_windows(fake, meter, wanted or EnergyWindows(steps=20), "JP5")
    return fake, meter


def test_one_window_warms_up_and_finds_the_range_and_six_count():
    fake, meter = measured()
    assert [setting.range_a for setting in meter.settings] == [1.0, 0.1] and len(fake.runs) == 7
    assert [first for first, _, _ in fake.runs] == [5 + 20 * n for n in range(7)], "no step is trained twice"
    said = fake.outcome.energy.to_json()
    assert said["per_step"]["value"] == pytest.approx(LOAD.net(0.0), rel=0.01)
    assert (said["meter"]["measuring_point"], said["meter"]["supply_v"], said["meter"]["range"]) == ("JP5", 3.3, 0.1)
    assert said["per_epoch"]["value"] == pytest.approx(100 * said["per_step"]["value"])
    assert len(fake.outcome.power) == 6 and len(fake.outcome.laps_s) == 20
    assert said["phases"]["seconds"]["perturb"] == pytest.approx(1e-3)
    assert "the phase 'perturb' takes 1 ms a step and a reading 2.5 ms" in said["phases"]["refused"]


def test_spoiled_windows_are_measured_again():
    fake, _ = measured([None, Spoiled("2 readings were lost"), None, Spoiled("2 readings were lost")])
    assert len(fake.runs) == 9 and len(fake.outcome.energy.windows) == 6


def test_windows_on_two_ranges_do_not_count_together():
    fake, meter = measured([None, None, None, Spoiled("overload", beyond_range=True)])
    assert [setting.range_a for setting in meter.settings] == [1.0, 0.1, 1.0]
    assert len(fake.runs) == 10, "one warms up, two are thrown away with the third, six count"
    assert fake.outcome.energy.to_json()["meter"]["range"] == 1.0


def test_too_many_spoiled_windows_block_with_the_last_reason():
    with pytest.raises(Blocked, match=f"{MOST_SPOILED + 1} windows were thrown away, the last because the buffer is full: run again"):
        measured([None] + [Spoiled("the buffer is full.")] * (MOST_SPOILED + 1))


def test_a_board_beyond_every_range_blocks():
    with pytest.raises(Blocked, match=r"more than 1 A, the largest range of the Keithley 2450"):
        measured(load=replace(LOAD, levels_a=(1.2, 1.3, 1.1)))


def test_a_difference_ends_the_measurement():
    fake, _ = measured(wrong_at=3)
    assert fake.outcome.difference is not None and fake.outcome.energy is None and len(fake.runs) == 3


def test_a_batch_that_streams_blocks():
    meter = FakeMeter()
    fake = FakeTrial(meter)
    fake.p.slots = 4
    with pytest.raises(Blocked, match="cannot be trained without talking"):
        measure_windows(fake, meter, EnergyWindows())


def test_an_uncertainty_is_reached_by_more_or_longer_windows_or_said_not_to_be():
    plain, _ = measured(load=replace(LOAD, spread=0.02))
    fake, _ = measured(load=replace(LOAD, spread=0.02), wanted=EnergyWindows(steps=20, uncertainty=0.012))
    assert len(fake.runs) > len(plain.runs) and fake.outcome.energy.asked["reached"]
    assert fake.outcome.energy.expanded <= 0.012 * fake.outcome.energy.per_step < plain.outcome.energy.expanded
    fake, _ = measured(wanted=EnergyWindows(steps=20, uncertainty=1e-5))
    assert fake.outcome.energy.to_json()["asked"]["reached"] is False
    assert any("an uncertainty of 0.00% was asked for" in flag for flag in fake.outcome.energy.flags)


def test_the_rules_of_mlperf_tiny_take_five_windows_of_ten_seconds():
    fake, _ = measured(wanted=EnergyWindows(rules="mlperf-tiny"))
    said = fake.outcome.energy.to_json()
    assert len(fake.runs) == 6 and len(said["windows"]) == 5
    assert all(window["duration"] >= 10.0 for window in said["windows"]) and said["subtracts_idle"] is False
    gross = LOAD.net(0.0) + 3.3 * LOAD.idle_a * LOAD.step_s
    assert said["per_step"]["value"] == pytest.approx(gross, rel=0.01)
