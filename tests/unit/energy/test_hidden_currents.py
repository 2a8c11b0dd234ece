"""What readings hide: bursts shorter than one, spikes, a pace that all windows share, a supply that gives way, work that draws less than the sleep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.energy.aliasing import is_aliased, pace_flags
from hil.energy.bursts import ALONE, count_isolated, fast_of, roughness
from hil.energy.capture import Capture, Edge
from hil.energy.conditions import ASSUMED_SUPPLY, Conditions, degrees_beyond, rows
from hil.energy.data_sheet import load_data_sheet
from hil.energy.monte_carlo import MEAN, interval
from hil.energy.provenance import provenance_of
from hil.energy.step_energy import MeasuredTask, energy_of_windows
from hil.energy.window import window_of
from hil.meters.polling import refresh_s

pytest.importorskip("llvmlite", reason="the scene is the virtual board's, of the extra `virtual`")
from hil.benchmarks.energy.simulated_board import Load
from tests.unit.energy.energy_scene import Scene

AMMETER, USED = load_data_sheet("keysight-34465a"), load_data_sheet("keysight-34465a").ranges[2]
DRAWS, IDLE_S, VOLT = 20_000, 0.1, 3.3
STEADY = Load(0.02, (0.5, 0.5), (0.06, 0.05), 0.02, 1e-3, VOLT)
BURSTS = Load(1e-3, (0.05, 0.95), (0.3, 0.03), 0.02, 1e-3, VOLT)  # 0.3 A for 50 us of every ms
LESS = Load(0.02, (0.5, 0.5), (0.02, 0.03), 0.05, 1e-3, VOLT)


def taken(
    load: Load, steps: int, seed: int = 1, interval_s: float = 1e-3, aperture_s: float | None = None, n: int = 6
) -> list[Capture]:
    scene = Scene(load, seed, interval_s, interval_s if aperture_s is None else aperture_s)
    return [scene.window(steps, IDLE_S) for _ in range(n)]


def evaluate(captures, steps, sheet=AMMETER, used=USED, **task):
    task = {"conditions": Conditions(supply_error=0.0)} | task
    return energy_of_windows(captures, MeasuredTask(steps, IDLE_S, VOLT, **task), sheet, used, {}, "modelled", DRAWS)


def holds(result, true: float) -> bool:
    return result.limits[0] <= true <= result.limits[1]


@pytest.mark.parametrize("ohm", [0.05, 0.2, 0.4, 0.6, 0.75])
def test_bursts_shorter_than_a_reading_are_in_the_interval_where_a_fast_capture_showed_them(ohm):
    """Readings of a whole step hide them; those of 10 us do not. What the shunt takes is of the mean square, which is several times as large."""
    fast = fast_of(Scene(BURSTS, 5, 1e-5, 1e-5).window(400, IDLE_S))
    assert fast.peak_a == pytest.approx(0.3, rel=0.01)
    levels, shares = np.array(BURSTS.levels_a), np.array(BURSTS.shares)
    assert fast.hidden(1e-3) >= shares @ levels**2 / (shares @ levels) ** 2 - 1
    captures, true = taken(BURSTS, 400), BURSTS.net(ohm)
    assert holds(evaluate(captures, 400, fast=fast), true)
    blind = evaluate(captures, 400)
    assert any("bursts shorter than a reading of 1 ms were not looked for" in flag for flag in blind.flags)


@pytest.mark.parametrize("every_s", [0.05, 0.1])
def test_a_display_that_repeats_itself_scatters_the_net_energy_by_the_time_between_two_new_readings(every_s):
    """Brute force: 600 windows of a steady load, each with the display's phase and the window's length drawn."""
    rng, rise_w, poll_s, idle_s = np.random.default_rng(3), 2.0, 0.01, 0.6
    errors = []
    for _ in range(600):
        up, down = 1.0, 3.0 + rng.uniform(0, every_s)
        t = np.arange(0.3, down + 0.7, poll_s) + rng.uniform(0, 0.3 * poll_s)
        phase = rng.uniform(0, every_s)
        renewed = np.floor((t - phase) / every_s) * every_s + phase
        current = np.where((renewed >= up) & (renewed < down), 0.02 + rise_w / VOLT, 0.02)
        t = t - every_s / 2
        edges = Edge(up, every_s / 2, True), Edge(down, every_s / 2, False)
        capture = Capture(
            t, current * VOLT, current, np.full(len(t), VOLT), 0.0, poll_s, edges, 1.0, None, renewed_s=every_s
        )
        window = window_of(capture, idle_s)
        errors.append(window.net - rise_w * (down - up))
    assert window.ends_u == pytest.approx(np.std(errors), rel=0.1)
    assert window_of(replace(capture, renewed_s=0.0), idle_s).ends_u < 0.3 * window.ends_u, (
        "of polls alone it would be smaller"
    )


def test_bursts_that_even_the_fastest_readings_blur_are_flagged():
    fast = fast_of(Scene(BURSTS, 5, 2e-4, 2e-4).window(400, IDLE_S))
    found = evaluate(taken(BURSTS, 400), 400, fast=fast)
    assert any(flag.startswith("bursts: even readings of 200 us swing") for flag in found.flags)
    calm = evaluate(taken(STEADY, 20), 20, fast=fast_of(Scene(STEADY, 5, 1e-4, 1e-4).window(20, IDLE_S)))
    assert not any("burst" in flag for flag in calm.flags)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 999), st.floats(0.001, 0.01), st.floats(4.0, 20.0))
def test_spikes_are_flagged_and_counted(seed, share, times):
    rng = np.random.default_rng(seed)
    captures = taken(STEADY, 20)
    spiked, count = [], 0
    for one in captures:
        at = np.flatnonzero(rng.random(len(one.t_s)) < share)
        at = at[(at > 0) & (at < len(one.t_s) - 1)]
        at = at[np.diff(at, prepend=-9) > 1]
        current = one.current_a.copy()
        current[at] *= times
        count += len(at)
        spiked.append(replace(one, current_a=current, power_w=current * VOLT))
    flags = [flag for flag in evaluate(spiked, 20).flags if "stand alone" in flag]
    found = sum(count_isolated(one.current_a) for one in spiked)
    assert found <= count and (times <= ALONE * 3 or found == count) and len(flags) == bool(found)


@given(st.floats(0.001, 1.0), st.integers(2, 50))
def test_a_steady_current_has_no_roughness(level, n):
    assert roughness(np.full(n, level)) == 0.0 and count_isolated(np.full(n, level)) == 0


def test_windows_at_one_pace_with_pauses_are_flagged_and_those_at_several_are_not():
    """A current that bursts in every pause: at one pace each window is wrong alike, at several they scatter, and the interval holds the truth."""
    alike = taken(STEADY, 20, interval_s=1e-3, aperture_s=0.95e-3)
    assert "at that interval" in pace_flags(alike)[0] and any(
        "(aliasing)" in flag for flag in evaluate(alike, 20).flags
    )
    varied = [taken(STEADY, 20, interval_s=1e-3 * (1 + k / 50), aperture_s=0.95e-3, n=1)[0] for k in range(6)]
    assert pace_flags(varied) == [] and pace_flags(taken(STEADY, 20)) == [], "readings without a pause see everything"


def test_a_step_that_is_a_whole_number_of_readings_is_never_seen_in_their_pauses():
    load = replace(STEADY, step_s=0.01)
    assert is_aliased(taken(load, 60, aperture_s=0.95e-3, n=1)[0], [0.01] * 60)
    assert not is_aliased(taken(load, 60, interval_s=1.037e-3, aperture_s=0.985e-3, n=1)[0], [0.01] * 60)
    assert not is_aliased(taken(load, 60, n=1)[0], [0.01] * 60)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ohm", [0.0, 0.5, 1.0])
def test_a_supply_that_gives_way_is_in_the_interval_and_named(ohm, seed):
    """A supply of an ohm gives the board less than it was set to; the ammeter's driver multiplies by that."""
    captures, true = taken(STEADY, 20, seed), STEADY.net(ohm)
    found = evaluate(captures, 20, used=replace(USED, burden_v=0.0), conditions=Conditions())
    assert holds(found, true) and any("supply_error" in one for one in found.flags)
    row = next(one for one in found.contributions if one.source.startswith("supply voltage, assumed within"))
    gross = sum(one.gross for one in found.windows) / len(found.windows) / 20
    assert row.standard == pytest.approx(ASSUMED_SUPPLY / 2**0.5 * gross), "a supply may give way under load only"
    assert not any(one.source.startswith("supply") and one.standard for one in evaluate(captures, 20).contributions)


@given(st.floats(-40, 125))
def test_a_room_beyond_the_data_sheet_s_widens_the_interval(ambient_c):
    beyond = degrees_beyond(ambient_c, AMMETER)
    assert beyond == max(18.0 - ambient_c, ambient_c - 28.0, 0.0)


def test_the_temperature_is_a_row():
    captures = taken(STEADY, 20)
    warm = evaluate(captures, 20, conditions=Conditions(0.0, 38.0))
    row = next(one for one in warm.contributions if one.source.startswith("temperature, 10.0 degrees"))
    assert row.standard == pytest.approx(0.15 * 10 * 0.002 / 3**0.5 * warm.per_step)
    assert not any("the room is assumed" in one for one in warm.assumptions)


@pytest.mark.parametrize("ohm", [0.05, 0.4, 0.75])
def test_work_that_draws_less_than_the_sleep_has_an_interval_too(ohm):
    found = evaluate(taken(LESS, 20), 20)
    assert found.per_step < 0 and found.limits[0] < found.limits[1] and holds(found, LESS.net(ohm))


def test_a_shunt_that_was_measured_has_a_narrower_row():
    captures = taken(STEADY, 20)
    known = replace(USED, least_burden_v=0.95 * USED.burden_v)
    rows = [
        next(one for one in evaluate(captures, 20, used=used).contributions if one.source.startswith("burden"))
        for used in (USED, known)
    ]
    assert rows[1].standard == pytest.approx(rows[0].standard * 0.05, rel=0.01)
    assert holds(evaluate(captures, 20, used=known), STEADY.net(0.975 * USED.burden_ohm))


@settings(deadline=None, max_examples=40)
@given(st.floats(0.03, 0.6), st.integers(0, 99))
def test_a_display_that_repeats_its_readings_is_found_out(every_s, seed):
    rng = np.random.default_rng(seed)
    t = np.cumsum(0.01 * rng.uniform(0.5, 1.5, round(20 * every_s / 0.01)))
    shown = rng.normal(0, 1, 100)[(t / every_s).astype(int)]
    assert every_s - 0.016 <= refresh_s(t, shown[:, None]) <= every_s + 0.03
    assert refresh_s(t, rng.normal(0, 1, (len(t), 1))) == 0.0
    assert refresh_s(t, np.zeros((len(t), 2))) == 0.0


@pytest.mark.parametrize(("reality", "identity", "word"), [
    ("hardware", "KEITHLEY INSTRUMENTS,MODEL 2450,04,1.7", "measured"), ("hardware", "trainrig,virtual MODEL 2450,1,1", "modelled"),
    ("hardware", "RIGOL TECHNOLOGIES,DP832A,VIRTUAL,00.01.14", "modelled"), ("virtual", "KEITHLEY INSTRUMENTS,MODEL 2450,04,1.7", "modelled"),
])  # fmt: skip
def test_measured_is_of_a_real_instrument_at_a_real_board(reality, identity, word):
    assert provenance_of(reality, identity).value == word


def test_an_edge_moved_by_capacitors_takes_nothing_from_the_net_energy():
    """A tail of 0.3 ms after the work is of the work."""
    t = np.arange(0, 0.7, 1e-4)
    rise, fall = (np.exp(-np.maximum(t - at, 0.0) / 2e-4) for at in (0.1, 0.6))
    current = 0.02 + 0.05 * np.where(t < 0.1, 0.0, np.where(t < 0.6, 1 - rise, fall))
    edges = (Edge(0.1, 0.0, True), Edge(0.6, 0.0, False))
    capture = Capture(t, current * VOLT, current, np.full(len(t), VOLT), 1e-4, 1e-4, edges, 0.1, 0)
    found = evaluate([capture, capture], 10, used=replace(USED, burden_v=0.0))
    assert found.per_step == pytest.approx(0.05 * VOLT * 0.05, rel=2e-4)


def test_an_error_at_its_declared_limit_is_in_the_interval():
    """An arc sine distribution: 95 % of it reaches to sin(0.95 pi / 2) = 0.997 of its limit, where a rectangular one ends at 0.95."""
    row = rows(Conditions(supply_error=0.02), AMMETER, 1.0, 1.5, voltage_read=False)[0]
    assert (row.shape, row.standard) == ("arcsine", pytest.approx(0.03 / 2**0.5))
    low, high = interval(1.0, [row], 6, MEAN, 20_000)
    assert (low, high) == (pytest.approx(1 - 0.997 * 0.03, abs=2e-4), pytest.approx(1 + 0.997 * 0.03, abs=2e-4))
