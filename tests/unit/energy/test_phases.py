"""The energy of a step's phases, against a scene whose levels are known: three phases, two of them in several stretches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.energy.data_sheet import load_data_sheet
from hil.energy.phase_energy import Counted, PhasesUnknown, seconds_of, split, unresolved
from hil.energy.uncertainty import combined, coverage_factor, effective_dof
from hil.energy.window import window_of

pytest.importorskip("llvmlite", reason="the scene is the virtual board's, of the extra `virtual`")
from hil.benchmarks.energy.simulated_board import Load
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from tests.unit.energy.energy_scene import NONE, Scene

SHEET = load_data_sheet("keithley-dmm6500")
USED = SHEET.range_for(0.1)
NAMES = ("perturb", "forward", "perturb", "forward", "update")
LOAD = Load(0.0137, (0.1, 0.3, 0.1, 0.3, 0.2), (0.06, 0.09, 0.06, 0.09, 0.045), 0.02, 0.0, 3.3)
STEPS, IDLE_S = 20, 0.05


def counted_of(load=LOAD, steps=STEPS, clock=1.0):
    """What a board would have counted, by a clock that is fast by a factor."""
    lengths = [clock * load.step_s * share for share in load.shares]
    stretches = tuple(zip(NAMES, lengths, strict=True))
    lap = {"backward": 0.0} | {name: sum(length for which, length in stretches if which == name) for name in NAMES}
    return Counted(clock * steps * load.step_s, (lap,) * steps, stretches, len(stretches))


def truth(phase, load=LOAD):
    """Return the energy above idle of a phase of one step, in joules."""
    rises = [
        share * (level - load.idle_a)
        for name, share, level in zip(NAMES, load.shares, load.levels_a, strict=True)
        if name == phase
    ]
    return load.volt * load.step_s * sum(rises)


def measured(interval_s=1e-4, seed=1, n=6, errors=NONE, load=LOAD, sharp=True, counted=None):
    scene = Scene(load, seed, interval_s, interval_s, errors, sharp=sharp)
    captures = [scene.window(STEPS, max(IDLE_S, 12 * interval_s)) for _ in range(n)]
    windows = [window_of(capture, max(IDLE_S, 12 * interval_s)) for capture in captures]
    return captures, split(captures, windows, [counted or counted_of(load)] * n, SHEET, USED, 3.3)


@pytest.mark.parametrize("interval_s", [1e-6, 1e-5, 1e-4])
def test_phases_have_their_energy_within_what_their_borders_may_take(interval_s):
    captures, phases = measured(interval_s, n=2)
    assert unresolved([counted_of()] * 2, captures[0]) == {}
    assert list(phases) == ["perturb", "forward", "update"], "a phase that the step has not is none"
    for name, phase in phases.items():
        border = next(one.standard for one in phase.contributions if one.source.startswith("borders")) * 3**0.5
        assert abs(phase.energy - truth(name)) <= border, name
        assert border < 0.1 * truth(name)
    assert sum(phase.energy for phase in phases.values()) == pytest.approx(LOAD.net(0.0), rel=1e-3 + 10 * interval_s)
    assert phases["forward"].power_w == pytest.approx(3.3 * 0.09, rel=0.01) and phases["forward"].stretches == 2


def test_a_board_s_clock_that_is_wrong_is_set_right_by_the_edges():
    _, phases = measured(1e-5, counted=counted_of(clock=1.01))
    assert phases["update"].energy == pytest.approx(truth("update"), rel=0.01)


def test_the_intervals_cover_the_truth():
    """Forty instruments within the data sheet, each with its window of noise; at 95 % fewer than 34 hits of one phase have a chance of 1 %."""
    load = replace(LOAD, spread=3e-3)
    hits = dict.fromkeys(("perturb", "forward", "update"), 0)
    for seed in range(40):
        rng = np.random.default_rng([3, seed])
        limits = FlawLimits(
            USED.gain, USED.offset_a, SHEET.voltage_gain, SHEET.voltage_offset_v, SHEET.timebase, USED.noise_a
        )
        errors = Flaws.draw(limits, rng)
        _, phases = measured(1e-4, seed, errors=errors, load=load, sharp=False)
        for name, phase in phases.items():
            u, k = combined(phase.contributions), coverage_factor(effective_dof(phase.contributions))
            hits[name] += abs(phase.energy - truth(name)) <= k * u
    assert min(hits.values()) >= 34, hits


def test_phases_in_the_wrong_order_are_seen_to_be_wrong():
    """The check above can fail: a board that tells another order is told another energy than its phases had."""
    counted = counted_of()
    wrong = replace(counted, stretches=counted.stretches[::-1])
    _, phases = measured(1e-5, counted=wrong)
    assert abs(phases["update"].energy - truth("update")) > 10 * combined(phases["update"].contributions)


def test_a_meter_that_is_too_slow_is_told_so_phase_by_phase():
    captures, _ = measured(2.5e-4, n=2)
    found = unresolved([counted_of()] * 2, captures[0])
    assert set(found) == {"perturb"}
    assert found["perturb"] == (
        "the phase 'perturb' takes 2.74 ms a step in 2 stretches and a reading 0.25 ms: 10 readings of each are needed."
    )
    assert seconds_of([counted_of()]) == pytest.approx({"perturb": 0.00274, "forward": 0.00822, "update": 0.00274})


def test_edges_that_are_not_sharp_are_as_bad_as_slow_readings():
    captures, _ = measured(1e-5, n=2)
    blurred = replace(captures[0], edges=tuple(replace(edge, half_s=1e-4) for edge in captures[0].edges))
    found = unresolved([counted_of()], blurred)
    assert "an edge is uncertain by 0.2 ms" in found["perturb"] and set(found) == {"perturb"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stretches": (), "made": 0}, "does not know the request 'stretches'"),
        ({"laps": ()}, "does not know the request 'stretches'"),
        ({"made": 133}, "133 stretches of phases, and the firmware reports 5"),
    ],
)
def test_what_is_not_told_is_not_split(changes, reason):
    captures, _ = measured(1e-4, n=2)
    with pytest.raises(PhasesUnknown, match=reason):
        unresolved([replace(counted_of(), **changes)], captures[0])


def test_a_count_of_another_window_is_refused():
    with pytest.raises(PhasesUnknown, match="the board counted 0.28"):
        measured(1e-4, counted=counted_of(clock=1.05))
