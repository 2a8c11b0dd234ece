"""Energy windows in a trial: what is thrown away, which range is taken, when it gives up, and what the record says."""

from __future__ import annotations

import json
import queue
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest

from hil.energy.data_sheet import load_data_sheet
from hil.energy.mlperf_tiny import form
from hil.errors import Blocked
from hil.link.replies import Stepped
from hil.meters.meter import InvalidWindow
from hil.record import schema

pytest.importorskip("llvmlite", reason="the scene is the virtual board's, of the extra `virtual`")
from hil.benchmarks.energy.simulated_board import Load
from hil.training.methods.figures import LeastCycles
from hil.training.trial.batch import Batch
from hil.training.trial.energy import measure_windows
from hil.training.trial.energy_record import energy_json
from hil.training.trial.energy_windows import MOST_SPOILED
from hil.training.trial.latency_counts import LAP_PHASES
from hil.training.trial.second_sources.checks import Checks
from hil.training.trial.second_sources.figures import Figures
from hil.training.trial.spec import EnergyWindows, TrialSpec
from hil.training.trial.stages import Watch
from tests.unit.energy.energy_scene import NONE, Scene

SHEET = load_data_sheet("keithley-2450")
LOAD = Load(0.0137, (0.2, 0.5, 0.3), (0.04, 0.06, 0.03), 0.015, 2e-3, 3.3)
CYCLES = {"perturb": 274_000, "forward": 685_000, "backward": 0, "update": 411_000, "digest": 0, "total": 1_370_000}
CLOCK_HZ = 100_000_000
LEAST = {"perturb": 1, "forward": 1, "backward": 0, "update": 1}


class FakeMeter:
    """Sees what the board lives through; `script` says of each window whether it is spoiled, and how."""

    falling_only = False

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
            raise InvalidWindow("overload", beyond_range=True)
        edges = tuple(replace(edge, t_s=np.float64(edge.t_s)) for edge in seen.edges)  # as drivers have them
        return replace(seen, range_a=self.settings[-1].range_a, edges=edges)


class FakeTrial:
    """Board and reference that agree, in a scene."""

    def __init__(self, meter, load=LOAD, wrong_at=None, reality="virtual", interval_s=0.0025, stretches=True) -> None:
        self.scene = Scene(load, 1, interval_s, interval_s, NONE)
        self.meter, self.wrong_at, self.runs, self.pulses = meter, wrong_at, [], 0
        board = SimpleNamespace(supply_v=3.3)
        weight = SimpleNamespace(name="conv1")
        self.p = SimpleNamespace(
            slots=8, settings=SimpleNamespace(batch=8), board=board, data=SimpleNamespace(train_images=np.zeros(800)),
            image=None, plan=None,
            method=SimpleNamespace(plan=SimpleNamespace(tensors=[weight], layers=("all",)), figures=SimpleNamespace(least_cycles=lambda: LeastCycles((1,), LEAST))),
        )  # fmt: skip
        self.outcome = SimpleNamespace(
            steps=[SimpleNamespace(cycles=CYCLES)], clock_hz=CLOCK_HZ, reality=reality, difference=None, autonomous=0, final_digests=(), energy=None, power=[], figures=Figures(),
        )  # fmt: skip
        self.probe_check, self.next_step, self.powers = None, 5, []
        self.watch = Watch(power=self.powers.append)
        self.reference = SimpleNamespace(step=lambda images, labels: SimpleNamespace(digests=(7,)))
        told = [(phase, CYCLES[phase]) for phase in ("perturb", "forward", "update")] if stretches else []
        self.device = SimpleNamespace(
            fill=lambda batch: None, run=self.run, laps=lambda steps: [tuple(self.cycles[phase] for phase in LAP_PHASES)] * min(steps, 32),
            stretches=lambda: (len(told), told), mark_by_pulses=self.mark_by_pulses,
            identity=SimpleNamespace(counter="dwt"), clock_hz=CLOCK_HZ, profile=lambda layers: ((self.runs[-1][1] * self.cycles["forward"],), (0,)),
        )  # fmt: skip
        self.checks = Checks(self.p, self.device, None, self.outcome.figures, silicon=False)

    def mark_by_pulses(self):
        self.pulses += 1

    def next_batch(self):
        return Batch(np.zeros((8, 1)), np.zeros(8))

    @property
    def cycles(self):
        """What a step takes now."""
        return CYCLES

    def run(self, first, steps, count, idle_ms, quiet_s):
        self.runs.append((first, steps, idle_ms))
        self.meter.windows.put(self.scene.window(steps, idle_ms / 1000))
        now = self.cycles
        cycles = {phase: steps * count for phase, count in now.items()}
        cycles |= {"total": steps * now["total"] + 5000, "digest": 5000}
        return Stepped(first + steps - 1, 0.0, 0.0, cycles, (8 if self.wrong_at == len(self.runs) else 7,), 1)


class Faster(FakeTrial):
    """Steps take less time behind the warm-up: fewer errors are left to propagate."""

    SHARE = 0.8

    @property
    def cycles(self):
        return CYCLES if len(self.runs) < 2 else {name: int(self.SHARE * count) for name, count in CYCLES.items()}

    def run(self, first, steps, count, idle_ms, quiet_s):
        if len(self.runs) == 1:
            self.scene = Scene(replace(LOAD, step_s=self.SHARE * LOAD.step_s), 1, 0.0025, 0.0025, NONE)
        return super().run(first, steps, count, idle_ms, quiet_s)


def measured(script=(), wanted=None, sheet=SHEET, meter=FakeMeter, ambient_c=None, of=FakeTrial, **trial):
    meter = meter(sheet, script)
    fake = of(meter, **trial)
    measure_windows(fake, meter, wanted or EnergyWindows(steps=20), "JP5", ambient_c)
    return fake, meter


def test_the_power_and_the_request_of_every_window_that_counts_are_told():
    """What `hil tail` shows, and what places the log beside the trace."""
    fake, _ = measured()
    said = fake.outcome.energy.to_json()
    assert len(fake.powers) == 6 == len(fake.outcome.power)
    assert np.mean(fake.powers) == pytest.approx(said["active_power"]["value"], rel=0.02)
    for capture in fake.outcome.power:
        assert capture.request.answered_s >= capture.request.asked_s > 1e9 and capture.request.idle_s >= 0.1


def test_one_window_warms_up_and_finds_the_range_and_six_count():
    fake, meter = measured()
    assert [setting.range_a for setting in meter.settings] == [1.0, 0.1] and len(fake.runs) == 7
    assert [first for first, _, _ in fake.runs] == [5 + 20 * n for n in range(7)], "no step is trained twice"
    said = fake.outcome.energy.to_json()
    assert said["per_step"]["value"] == pytest.approx(LOAD.net(0.0), rel=0.01)
    assert (said["meter"]["measuring_point"], said["meter"]["supply_v"], said["meter"]["range"]) == ("JP5", 3.3, 0.1)
    assert said["per_epoch"]["value"] == pytest.approx(100 * said["per_step"]["value"])
    assert len(fake.outcome.power) == 6 and len(fake.outcome.energy.task.laps_s) == 20
    assert (
        said["phases"]["seconds"] == pytest.approx({"perturb": 2.74e-3, "forward": 6.85e-3, "update": 4.11e-3})
        and said["phases"]["split"] == {}
    )
    assert "the phase 'perturb' takes 2.74 ms a step and a reading 2.5 ms" in said["phases"]["refused"]
    assert said["meter"]["power_cycled"].startswith("no: rig.toml names nothing") and said["temperature"] is None


def test_spoiled_windows_are_measured_again():
    fake, _ = measured([None, InvalidWindow("2 readings were lost"), None, InvalidWindow("2 readings were lost")])
    assert len(fake.runs) == 9 and len(fake.outcome.energy.windows) == 6


def test_windows_on_two_ranges_do_not_count_together():
    fake, meter = measured([None, None, None, InvalidWindow("overload", beyond_range=True)])
    assert [setting.range_a for setting in meter.settings] == [1.0, 0.1, 1.0]
    assert len(fake.runs) == 10, "one warms up, two are thrown away with the third, six count"
    assert fake.outcome.energy.to_json()["meter"]["range"] == 1.0


def test_too_many_spoiled_windows_block_with_the_last_reason():
    with pytest.raises(
        Blocked, match=f"{MOST_SPOILED + 1} windows were discarded, the last because the buffer is full: run again"
    ):
        measured([None] + [InvalidWindow("the buffer is full.")] * (MOST_SPOILED + 1))


def test_a_board_beyond_every_range_blocks():
    with pytest.raises(
        Blocked, match=r"overload; 1 A is the largest range of the Keithley 2450: use another meter or supply"
    ):
        measured(load=replace(LOAD, levels_a=(1.2, 1.3, 1.1)))


def test_a_difference_ends_the_measurement():
    fake, _ = measured(wrong_at=3)
    assert fake.outcome.difference is not None and fake.outcome.energy is None and len(fake.runs) == 3


def test_a_batch_that_streams_blocks():
    meter = FakeMeter()
    fake = FakeTrial(meter)
    fake.p.slots = 4
    with pytest.raises(Blocked, match="cannot be trained while the line is silent"):
        measure_windows(fake, meter, EnergyWindows())


def test_an_uncertainty_is_reached_by_more_or_longer_windows_or_said_not_to_be():
    plain, _ = measured(load=replace(LOAD, spread=0.02))
    fake, _ = measured(load=replace(LOAD, spread=0.02), wanted=EnergyWindows(steps=20, uncertainty=0.012))
    assert len(fake.runs) > len(plain.runs) and fake.outcome.energy.asked["reached"]
    assert fake.outcome.energy.expanded <= 0.012 * fake.outcome.energy.per_step < plain.outcome.energy.expanded
    fake, _ = measured(wanted=EnergyWindows(steps=20, uncertainty=1e-5))
    assert fake.outcome.energy.to_json()["asked"]["reached"] is False
    assert any("an uncertainty of 0.00% was asked for" in flag for flag in fake.outcome.energy.flags)


def test_windows_that_become_too_short_for_the_rules_are_taken_again_with_more_steps():
    fake, _ = measured(wanted=EnergyWindows(rules="mlperf-tiny"), of=Faster, stretches=False)
    said = fake.outcome.energy.to_json()
    steps = [steps for _, steps, _ in fake.runs]
    assert len(steps) == 7 and steps[1] < steps[2] and len(set(steps[2:])) == 1, "a warm-up, one too short, and five"
    assert len(said["windows"]) == 5 and all(window["duration"] >= 10.0 for window in said["windows"])


def test_the_rules_of_mlperf_tiny_take_five_windows_of_ten_seconds():
    fake, _ = measured(wanted=EnergyWindows(rules="mlperf-tiny"))
    said = fake.outcome.energy.to_json()
    assert len(fake.runs) == 6 and len(said["windows"]) == 5
    assert all(window["duration"] >= 10.0 for window in said["windows"]) and said["subtracts_idle"] is False
    gross = LOAD.net(0.0) + 3.3 * LOAD.idle_a * LOAD.step_s
    assert said["per_step"]["value"] == pytest.approx(gross, rel=0.01)
    told = form(fake.outcome.energy)
    assert told["median_uj"] == pytest.approx(1e6 * gross, rel=0.01) and told["median_uj"] == pytest.approx(
        1e6 * said["per_step"]["value"], rel=1e-9
    )
    assert [row["iterations"] for row in told["windows"]] == [said["steps_per_window"]] * 5 and all(
        row["long_enough"] for row in told["windows"]
    )
    row = told["windows"][0]
    assert (
        row["per_iteration_uj"] * row["iterations"]
        == pytest.approx(row["total_uj"])
        == pytest.approx(1e3 * row["power_mw"] * row["elapsed_s"])
    )
    assert "no silicon: the figures are modelled" in told["differs"] and "not an inference" in told["differs"][0]


@pytest.mark.parametrize(
    ("rules", "accuracy", "fastest_hz"), [("", 0.5, 400), ("", 0.9, 10_000), ("mlperf-tiny", None, 400)]
)
def test_the_whole_entry_of_the_record_fits_its_schema(rules, accuracy, fastest_hz):
    wanted = EnergyWindows(steps=20, rules=rules, accuracy=accuracy)
    fake, _ = measured(wanted=wanted, sheet=replace(SHEET, fastest_hz=fastest_hz), interval_s=1 / fastest_hz)
    curve = [{"step": 0, "board": 0.1, "reference": 0.1, "n": 50}, {"step": 5, "board": 0.6, "reference": 0.6, "n": 50}]
    entry = json.loads(
        json.dumps(energy_json(fake.outcome.energy, curve, TrialSpec("stm32h7b3", "cls1", energy=wanted)))
    )
    jsonschema.validate(entry, {"$ref": "#/$defs/Energy", "$defs": schema()["$defs"]})
    assert (entry["goal"] or {}).get("reached") == {0.5: True, 0.9: False, None: None}[accuracy]
    assert (entry["mlperf_tiny"] is None) == (not rules) and bool(entry["phases"]["split"]) == (fastest_hz > 400)


def test_phases_are_split_where_the_meter_is_fast_enough_and_together_are_the_step():
    fast = replace(SHEET, fastest_hz=10_000)
    fake, _ = measured(sheet=fast, interval_s=1e-4)
    said = fake.outcome.energy.to_json()
    phases = said["phases"]
    assert list(phases["split"]) == ["perturb", "forward", "update"] and phases["refused"] is None
    for (name, phase), share, level in zip(phases["split"].items(), LOAD.shares, LOAD.levels_a, strict=True):
        assert phase["energy"]["provenance"] == "modelled"
        assert phase["energy"]["value"] == pytest.approx(3.3 * share * LOAD.step_s * (level - LOAD.idle_a), rel=0.02), (
            name
        )
        assert phase["power"]["value"] == pytest.approx(3.3 * level, rel=0.02)
    assert sum(phase["energy"]["value"] for phase in phases["split"].values()) == pytest.approx(
        said["per_step"]["value"], rel=0.005
    )
    assert any("capacitors" in sentence for sentence in said["assumptions"])
    assert [name for name, _ in phases["first_window"][:3]] == ["perturb", "forward", "update"]


def test_a_firmware_that_does_not_tell_its_phases_is_told_so():
    fake, _ = measured(stretches=False)
    assert "does not know the request 'stretches'" in fake.outcome.energy.phases["refused"]


@pytest.mark.parametrize("key", ["keysight-n6705c", "rs-ngu401", "tc66c", "polled-scpi"])
def test_what_the_host_dates_is_refused_on_a_board_with_a_time_of_its_own(key):
    with pytest.raises(
        Blocked, match="a virtual board has its own time: measure it with a meter that dates both itself"
    ):
        measured(sheet=load_data_sheet(key))
    fake, _ = measured(sheet=replace(load_data_sheet(key), ranges=SHEET.ranges), reality="hardware")
    assert fake.outcome.energy.provenance == "measured"


class HostDated(FakeMeter):
    """Its edges are the host's, though its data sheet does not say so."""

    def capture(self, deadline_s):
        return replace(super().capture(deadline_s), synchronisation="host")


def test_edges_that_the_host_dated_are_refused_in_the_window_too():
    with pytest.raises(Blocked, match="the edges of a window were dated by this computer's clock"):
        measured(meter=HostDated)
    fake, _ = measured(meter=HostDated, reality="hardware")
    assert {window.synchronisation for window in fake.outcome.energy.windows} == {"host"}


class Astray(FakeMeter):
    """Its first edge is early by a third of the window."""

    def capture(self, deadline_s):
        seen = super().capture(deadline_s)
        up, down = seen.edges
        return replace(seen, edges=(replace(up, t_s=up.t_s - (down.t_s - up.t_s) / 3), down))


def test_edges_that_the_board_s_count_contradicts_are_not_believed():
    with pytest.raises(
        Blocked,
        match=r"the edges are 0\.36\d* s apart by the meter, and the board counted 0\.274 s of steps between them",
    ):
        measured(meter=Astray)


class Listening(FakeMeter):
    """Takes the host's word for when a window was."""

    def __init__(self, *more) -> None:
        super().__init__(*more)
        self.words = []

    def mark(self, begins, duration_s=float("inf"), half_s=0.0):
        self.words.append((begins, duration_s, half_s))


def test_a_meter_without_a_marker_is_told_how_long_the_steps_took():
    _, meter = measured(meter=Listening)
    seconds = 20 * CYCLES["total"] / CLOCK_HZ
    assert meter.words[:2] == [
        (True, float("inf"), 0.0),
        (False, pytest.approx(seconds), pytest.approx(0.01 * seconds)),
    ], "the digests are no step"


class FallingOnly(FakeMeter):
    """As an older LPM01A."""

    falling_only = True


def test_a_meter_that_sees_falling_edges_only_gets_pulses_once():
    fake, _ = measured(meter=FallingOnly)
    assert fake.pulses == 1
    assert measured()[0].pulses == 0


class Thermometer(FakeMeter):
    """Has a sensor."""

    def capture(self, deadline_s):
        return replace(super().capture(deadline_s), temperature_c=26.0 + self.armed)


def test_temperatures_stand_beside_the_windows():
    fake, _ = measured(meter=Thermometer, ambient_c=23.5)
    said = fake.outcome.energy.to_json()
    assert said["temperature"] == {"ambient_c": 23.5, "meter_c": pytest.approx(30.5)}, (
        "the one that warms up does not count"
    )
    assert [window["temperature_c"] for window in said["windows"]] == [28.0, 29.0, 30.0, 31.0, 32.0, 33.0]


def test_sleeps_grow_with_their_windows_unless_no_idle_is_subtracted():
    fake, _ = measured(wanted=EnergyWindows(steps=400))
    window_ms = 1000 * 400 * LOAD.step_s
    assert [idle for _, _, idle in fake.runs[1:]] == [pytest.approx(window_ms / 4, abs=1)] * 6
    fake, _ = measured(wanted=EnergyWindows(rules="mlperf-tiny"))
    assert fake.runs[-1][2] < 1000


def test_the_warm_up_is_fast_on_the_largest_range_and_the_peak_chooses_the_range():
    """0.07 A in its largest reading: 0.1 A would hold it, with less than half as much room above."""
    fake, meter = measured(load=replace(LOAD, levels_a=(0.04, 0.07, 0.03)))
    first, last = meter.settings[0], meter.settings[-1]
    assert (
        (first.range_a, last.range_a) == (1.0, 1.0)
        and first.interval_s == SHEET.apertures_s[0]
        and last.interval_s == 1 / SHEET.fastest_hz
    )
    assert not any("were not looked for" in flag for flag in fake.outcome.energy.flags)


def test_a_declared_supply_and_a_warm_room_are_in_the_budget():
    ammeter = replace(SHEET, voltage_gain=0.0, voltage_offset_v=0.0)
    plain, _ = measured(sheet=ammeter)
    assert "supply_error" in " ".join(plain.outcome.energy.flags)
    meter = FakeMeter(ammeter)
    fake = FakeTrial(meter)
    measure_windows(fake, meter, EnergyWindows(steps=20), "JP5", 35.0, supply_error=0.01)
    found = fake.outcome.energy.to_json()
    rows = {row["source"]: row["standard_uncertainty"] for row in found["budget"]}
    gross = found["gross"]["value"] / found["steps_per_window"]
    assert rows["supply voltage, declared within 1.00%"] == pytest.approx(0.01 / 2**0.5 * gross)
    assert rows["temperature, 7.0 degrees beyond the data sheet's"] > 0
    assert "supply_error" not in " ".join(fake.outcome.energy.flags)


def test_bursts_are_looked_for_at_the_fastest_rate_however_long_the_windows_are():
    """Windows of 20 s would read a hundred times slower than the meter can; the one that looks for bursts is shorter instead."""
    _, meter = measured(wanted=EnergyWindows(steps=2000, windows=2))
    first, last = meter.settings[0], meter.settings[-1]
    assert first.interval_s == SHEET.apertures_s[0] < last.interval_s and first.window_s <= 20_000 * first.interval_s
