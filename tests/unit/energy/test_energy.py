"""Windows evaluated against a truth that only the test knows; the whole path, with instruments behind PyVISA, is tested in tests/unit/benchmarks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hil.energy.capture import Capture, Edge
from hil.energy.conditions import Conditions
from hil.energy.data_sheet import load_data_sheet
from hil.energy.step_budget import GROSS, IDLE, NET, Metering, budget
from hil.energy.step_energy import MeasuredTask, energy_of_windows
from hil.energy.uncertainty import combined
from hil.energy.window import window_of
from hil.energy.window_planning import MOST_WINDOWS, _expanded, more_windows, plan_windows, reached
from hil.errors import Blocked

pytest.importorskip("llvmlite", reason="the scene is the virtual board's, of the extra `virtual`")
from hil.benchmarks.energy.simulated_board import Load
from hil.standins.virtual.meter.errors import Flaws
from tests.unit.energy.energy_scene import NONE, Scene

SHEET = load_data_sheet("keithley-2450")
USED = SHEET.ranges[1]
DRAWS = 20_000
LOAD = Load(0.0137, (0.2, 0.5, 0.3), (0.06, 0.09, 0.045), 0.02, 0.0, 3.3)
IDLE_S, STEPS = 0.1, 40


def evaluate(captures, steps=STEPS, sheet=SHEET, **task):
    idle_s = max(IDLE_S, 12 * captures[0].interval_s)
    return energy_of_windows(
        captures, MeasuredTask(steps, idle_s, 3.3, **task), sheet, USED, {"name": "test"}, "modelled", DRAWS
    )


def windows(n=6, load=LOAD, interval_s=0.001, aperture_s=0.001, **scene):
    seen = Scene(load, scene.pop("seed", 1), interval_s, aperture_s, **scene)
    return [seen.window(STEPS, max(IDLE_S, 12 * interval_s)) for _ in range(n)]


def gross_of(load):
    return load.net(0.0) + load.volt * load.idle_a * load.step_s


@pytest.mark.parametrize("seed", range(5))
def test_readings_that_cover_the_time_give_the_net_energy_whatever_the_edges(seed):
    """Nothing but rounding to picoseconds is left, though the edges are known to half a millisecond only."""
    for capture in windows(seed=seed):
        window = window_of(capture, IDLE_S)
        assert window.net / STEPS == pytest.approx(LOAD.net(0.0), rel=1e-9)
        blurred = replace(capture, edges=tuple(Edge(edge.t_s + 0.4e-3, 1e-3, edge.high) for edge in capture.edges))
        assert window_of(blurred, IDLE_S).net == pytest.approx(window.net, rel=1e-9)


def test_gross_and_idle_energy_take_the_edges_times_the_idle_power():
    captures = windows(sharp=True)
    for capture in captures:
        window = window_of(capture, IDLE_S)
        assert window.gross / STEPS == pytest.approx(gross_of(LOAD), rel=1e-9)
        assert window.idle == pytest.approx(3.3 * 0.02 * STEPS * LOAD.step_s, rel=1e-9)
        assert window.charge == pytest.approx(window.gross / 3.3, rel=1e-9)
        assert window.active_power == pytest.approx(gross_of(LOAD) / LOAD.step_s, rel=1e-9)


def test_an_offset_and_a_steady_drift_leave_the_net_energy():
    errors = replace(NONE, offset_a=1e-3, drift_a_per_s=1e-3)
    for capture in windows(errors=errors, sharp=True):
        window = window_of(capture, IDLE_S)
        lever = window.lever * 1e-3 * 3.3 * window.duration
        assert abs(window.net / STEPS - LOAD.net(0.0)) <= 1.1 * lever / STEPS + 1e-12
        assert window.lever < 0.01, "the sleep on both sides is of one length"
        assert window.gross / STEPS > gross_of(LOAD) * 1.01


def test_the_budget_s_sensitivities_are_those_of_the_evaluation():
    """Each limit of error alone, at its full size: the change that it makes is the root of three times its standard uncertainty."""
    clean = [window_of(capture, IDLE_S) for capture in windows(sharp=True)]
    for source, field, limit in (
        ("current gain", "gain", USED.gain), ("voltage gain", "voltage_gain", SHEET.voltage_gain), ("time base", "timebase", SHEET.timebase),
        ("voltage offset", "voltage_offset_v", SHEET.voltage_offset_v), ("current offset", "offset_a", USED.offset_a),
    ):  # fmt: skip
        off = [window_of(capture, IDLE_S) for capture in windows(sharp=True, errors=replace(NONE, **{field: limit}))]
        for figure in (NET, GROSS, IDLE):
            change = np.mean([getattr(window, figure) for window in off]) - np.mean(
                [getattr(window, figure) for window in clean]
            )
            part = next(
                one
                for one in budget(clean, STEPS, figure, Metering(SHEET, USED, 3.3, 0.001))
                if one.source.split(" (")[0] == source
            )
            assert change / STEPS == pytest.approx(part.standard * 3**0.5, rel=2e-3, abs=1e-10), (source, figure)


def test_half_of_the_burden_is_taken_off_and_half_is_its_limit():
    ohm = 2.0
    result = energy_of_windows(
        windows(sharp=True),
        MeasuredTask(STEPS, IDLE_S, 3.3),
        SHEET,
        replace(USED, burden_v=ohm * USED.amperes),
        {},
        "modelled",
        DRAWS,
    )
    assert result.per_step == pytest.approx(LOAD.net(ohm / 2), rel=2e-3)
    part = next(one for one in result.contributions if one.source.startswith("burden"))
    assert part.standard == pytest.approx((LOAD.net(0.0) - LOAD.net(ohm)) / 2 / 3**0.5, rel=0.03)


def test_means_that_hide_how_the_current_swings_take_more_of_the_burden():
    """Of a current that is anywhere between half of its largest and its largest, whose mean square is 28/27 of the square of its mean."""
    load = Load(0.002, tuple([0.01] * 100), tuple(0.09 * (0.5 + (np.arange(100) + 0.5) / 200)), 0.02, 0.0, 3.3)
    ohm = 1.0
    capture = Scene(load, 1, 0.02, 0.02).window(1000, 1.0)
    true = (load.net(0.0) - load.net(ohm)) * 1000
    assert window_of(capture, 1.0, ohm, 1000).burden == pytest.approx(true, rel=1e-3)
    assert window_of(capture, 1.0, ohm).burden == pytest.approx(true / 28 * 27, rel=5e-3), (
        "of one long step that the readings resolve"
    )


@pytest.mark.parametrize("spread", [0.0, 3e-3])
def test_both_intervals_cover_the_truth(spread):
    """Sixty instruments within the data sheet; at 95 % fewer than 52 hits have a chance of 0.5 %."""
    hits = [0, 0]
    for seed in range(60):
        rng = np.random.default_rng([9, seed])
        errors = Flaws(*[float(rng.uniform(-limit, limit)) for limit in (USED.gain, USED.offset_a, SHEET.voltage_gain, SHEET.voltage_offset_v, SHEET.timebase)], USED.noise_a, 0.0, 0.0)  # fmt: skip
        result = evaluate(windows(load=replace(LOAD, spread=spread), errors=errors, seed=seed))
        true = LOAD.net(USED.burden_v / USED.amperes * float(rng.uniform(0, 1)))
        hits[0] += result.limits[0] <= true <= result.limits[1]
        hits[1] += abs(result.per_step - true) <= result.expanded
        assert 0.9 < 2 * result.expanded / (result.limits[1] - result.limits[0]) < 1.3
    assert min(hits) >= 52


def test_six_windows_that_hold_the_same_count_of_readings_do_not_claim_to_be_sure():
    """10 S/s over 2.02 s: most windows hold 20 readings, none 20.2. Without what is known of the pauses their scatter would be nothing."""
    load, missed = Load(2.02, (1.0,), (0.09,), 0.02, 0.0, 3.3), 0
    for seed in range(40):
        seen = Scene(load, seed, 0.1, 0.0)
        result = energy_of_windows(
            [seen.window(1, 2.0) for _ in range(6)],
            MeasuredTask(1, 2.0, 3.3),
            SHEET,
            replace(USED, burden_v=0.0),
            {},
            "modelled",
            DRAWS,
        )
        missed += not result.limits[0] <= load.net(0.0) <= result.limits[1]
    assert missed <= 6


@pytest.mark.parametrize(("scatter", "share"), [(0.0, 1.0), (0.3, 0.9539), (0.6, 0.0), (2.0, 0.0)])
def test_a_scatter_that_chance_may_give_is_believed_and_one_below_is_brought_up_to_what_is_known(scatter, share):
    """Six windows: chi squared of five degrees of freedom is below 0.229 of its mean once in twenty times, and 0.6^2 is above, 0.3^2 below."""
    window = window_of(Scene(LOAD, 1, 0.001, 0.0).window(STEPS, IDLE_S), IDLE_S)
    nets = window.net + scatter * window.ends_u * np.array([-1, 1, -1, 1, -1, 1]) * np.sqrt(5 / 6)
    parts = budget([replace(window, net=net) for net in nets], STEPS, NET, Metering(SHEET, USED, 3.3, 0.0))
    hidden = next(one for one in parts if one.source.startswith("what the scatter does not show"))
    assert window.ends_u > 0 and hidden.standard == pytest.approx(share * window.ends_u / STEPS / np.sqrt(6), rel=1e-3)


def test_a_polled_commensurate_step_is_flagged_every_time_and_jitter_cures_it():
    load = Load(0.01, (0.3, 0.5, 0.2), (0.09, 0.03, 0.06), 0.02, 1e-3, 3.3)
    missed = 0
    for seed in range(20):
        plain, jittered = (Scene(load, seed, 0.01, 0.0005, jitter=jitter) for jitter in (0.0, 1.0))
        told = [
            energy_of_windows(
                [scene.window(200, 0.5) for _ in range(6)],
                MeasuredTask(200, 0.5, 3.3),
                SHEET,
                replace(USED, burden_v=0.0),
                {},
                "modelled",
                DRAWS,
            )
            for scene in (plain, jittered)
        ]
        assert told[0].aliased and any(flag.startswith("aliased") for flag in told[0].flags)
        assert not told[1].aliased
        missed += not told[1].limits[0] <= load.net(0.0) <= told[1].limits[1]
    assert missed <= 4


def test_steps_that_readings_cover_or_meet_everywhere_are_not_aliased():
    assert not evaluate(windows(interval_s=0.0137, aperture_s=0.0137)).aliased, "commensurate, and covered"
    assert not evaluate(windows(interval_s=0.0011, aperture_s=0.0)).aliased
    assert evaluate(windows(interval_s=0.0137 / 3, aperture_s=0.0)).aliased, "three places of each step"


def test_the_rules_of_mlperf_tiny_give_the_median_of_the_gross_energies():
    load = replace(LOAD, spread=0.05)
    result = evaluate(windows(5, load, sharp=True), rules="mlperf-tiny", batch=8, epoch=1000)
    grosses = [window.gross / STEPS for window in result.windows]
    assert result.per_step == pytest.approx(np.median(grosses), rel=1e-4) and result.per_step not in (np.mean(grosses),)
    said = result.to_json()
    assert (said["statistic"], said["subtracts_idle"], said["rules"]) == ("median", False, "mlperf-tiny")
    assert said["per_sample"]["value"] == pytest.approx(result.per_step / 8)
    assert said["per_epoch"]["value"] == pytest.approx(result.per_step * 125)
    assert said["per_step"]["interval"][0] < said["per_step"]["value"] < said["per_step"]["interval"][1]


def test_what_differs_between_windows_is_counted_once():
    """The scatter holds the noise: an instrument of the noise that its data sheet tells has an uncertainty of its scatter, not of twice that."""
    noisy = replace(USED, noise_a=1e-4, gain=0.0, offset_a=0.0)
    sheet = replace(SHEET, voltage_gain=0.0, voltage_offset_v=0.0, timebase=0.0)
    captures = windows(12, errors=replace(NONE, noise_a=1e-4))
    task = MeasuredTask(STEPS, IDLE_S, 3.3, conditions=Conditions(supply_error=0.0))
    result = energy_of_windows(captures, task, sheet, noisy, {}, "modelled", DRAWS)
    scatter = next(one for one in result.contributions if one.kind == "A")
    noise = next(one for one in result.contributions if one.source.startswith("noise"))
    assert combined(result.contributions) == pytest.approx(scatter.standard, rel=0.05)
    assert not noise.counted and 0.4 < scatter.standard / noise.standard < 2.5


def test_an_uncertainty_that_more_or_longer_windows_give_is_planned_and_one_below_the_gain_is_not():
    result = evaluate(windows(load=replace(LOAD, spread=0.02)))
    share = result.expanded / result.per_step
    more = plan_windows(result, share * 0.6)
    assert (
        not reached(result, share * 0.6)
        and more is not None
        and 6 < more.windows <= MOST_WINDOWS
        and more.steps == STEPS
    )
    longer = plan_windows(result, share * 0.2)
    assert longer is not None and longer.windows == 6 and longer.steps > 2 * STEPS
    assert plan_windows(result, 1e-5) is None, "the gain alone is more"
    assert reached(result, share * 1.01)


def test_how_many_more_windows_would_decide_a_budget():
    result = evaluate(windows(load=replace(LOAD, spread=0.02)))
    half = 0.5 * result.expanded
    more = more_windows(result, half)
    assert more is not None and 6 < more < 60, "half the scatter needs about four times the windows"
    assert _expanded(result, 6 + more, 1.0) <= half < _expanded(result, 6 + more - 1, 1.0)
    assert more_windows(result, 0.999 * result.expanded) == 1
    assert more_windows(result, 1e-6 * result.per_step) is None, "the gain alone is more"


def test_every_unit_has_its_energies_and_its_time():
    """Gross, idle and net of a step, a sample and an epoch: each is the step's times a count, and gross is the sum."""
    per = evaluate(windows(sharp=True), batch=8, epoch=1000).to_json()["per"]
    for unit, times in (("step", 1.0), ("sample", 1 / 8), ("epoch", 125.0)):
        found = {name: figure["value"] for name, figure in per[unit].items()}
        assert found["net"] == pytest.approx(times * LOAD.net(0.0), rel=1e-4)
        assert found["gross"] == pytest.approx(times * gross_of(LOAD), rel=1e-4)
        assert found["gross"] == pytest.approx(found["net"] + found["idle"], rel=1e-9)
        assert found["time"] == pytest.approx(times * LOAD.step_s, rel=1e-6)
        assert per[unit]["gross"]["uncertainty"] == pytest.approx(times * per["step"]["gross"]["uncertainty"])


def test_edges_by_the_host_s_clock_do_not_shrink_with_windows():
    """What link and host take is alike in all windows: in the gross energy at its full size, not in the net one, and never in the scatter."""
    sure = windows(sharp=True)
    hosted = [
        replace(one, edges=tuple(replace(edge, half_s=0.002) for edge in one.edges), synchronisation="host")
        for one in sure
    ]
    by_host = "both edges, dated by the host (alike in all windows)"
    parts = {
        figure: budget([window_of(one, IDLE_S) for one in hosted], STEPS, figure, Metering(SHEET, USED, 3.3, 0.001))
        for figure in (NET, GROSS)
    }
    found = next(one for one in parts[GROSS] if one.source == by_host)
    assert (
        found.standard == pytest.approx(0.002 * (2 / 3) ** 0.5 * 3.3 * LOAD.idle_a / STEPS, rel=1e-6) and found.counted
    )
    assert all(
        one.source != by_host
        for one in (
            *parts[NET],
            *budget([window_of(one, IDLE_S) for one in sure], STEPS, GROSS, Metering(SHEET, USED, 3.3, 0.001)),
        )
    )
    told = evaluate(hosted).to_json()["windows"][0]
    assert (told["synchronisation"], told["temperature_c"]) == ("host", None)


def some(t_s, power_w, edges, **more):
    power = np.asarray(power_w, float)
    fields = {"aperture_s": 0.01, "interval_s": 0.01, "range_a": 0.1, "lost": 0}
    return Capture(np.asarray(t_s), power, power / 3.3, np.full(len(power), 3.3), edges=edges, **(fields | more))


UP, DOWN = Edge(0.5, 0.0, True), Edge(1.0, 0.0, False)


def test_windows_that_cannot_be_evaluated_block():
    t = np.arange(0, 1.5, 0.01)
    power = np.where((t >= 0.5) & (t < 1.0), 0.3, 0.1)
    for edges, said in (((UP,), "went up within"), ((UP, DOWN, UP), "went up and down and up"), ((), "went nowhere")):
        with pytest.raises(Blocked, match=said):
            window_of(some(t, power, edges), 0.4)
    with pytest.raises(Blocked, match="5 readings while the board slept .* a longer sleep"):
        window_of(some(t, power, (UP, DOWN)), 0.05)
    with pytest.raises(Blocked, match="1 window has no scatter"):
        evaluate([some(t, power, (UP, DOWN))])


def test_missing_readings_are_a_limit_and_flagged_and_a_meter_that_cannot_tell_says_so():
    captures = windows()
    kept = np.ones(len(captures[0].t_s), bool)
    kept[300:303] = False
    arrays = ("t_s", "power_w", "current_a", "voltage_v")
    gappy = [
        replace(one, lost=3, **{name: getattr(one, name)[kept[: len(one.t_s)]] for name in arrays}) for one in captures
    ]
    result = evaluate(gappy)
    assert (
        "up to 3 readings of a window are missing; their time was shared by their neighbours, and what the board did in it is unknown."
        in result.flags
    )
    limit = next(one for one in result.contributions if one.source.startswith("lost")).standard * 3**0.5 * 6**0.5
    assert 0.003 * 3.3 * 0.045 / 2 / STEPS <= limit <= 0.003 * 3.3 * 0.07 / 2 / STEPS, (
        "three readings, between the least and the most that were read"
    )
    assert abs(result.per_step - LOAD.net(0.0)) <= limit
    assert (
        f"the {SHEET.name} cannot tell whether readings were lost."
        in evaluate([replace(one, lost=None) for one in captures]).flags
    )


def test_what_the_reader_must_know_is_flagged():
    t = np.arange(0, 1.5, 0.01)
    power = np.where((t >= 0.5) & (t < 1.0), 0.3, np.where(t < 0.5, 0.1, 0.11))
    noise = np.random.default_rng(1).normal(0, 1e-4, (3, len(t)))
    captures = [some(t, power + row, (UP, DOWN), aperture_s=0.0) for row in noise]
    result = energy_of_windows(
        captures,
        MeasuredTask(20, 0.4, 3.3),
        replace(SHEET, timestamps="host", voltage_gain=0.0, voltage_offset_v=0.0),
        USED,
        {},
        "measured",
    )
    said = " ".join(result.flags)
    for words in (
        "only 2.5 readings a step",
        "only 3 windows",
        "idle power drifts by 10%",
        "dated by the host's clock",
        "unverified: fastest_hz",
    ):
        assert words in said, words
    assert any("reads no voltage" in flag for flag in result.flags)


def test_windows_whose_energy_is_below_0_are_blocked_also_if_net_energy_is_above():
    """The leads are exchanged, and the board draws more while it sleeps."""
    load = replace(LOAD, levels_a=(0.01, 0.01, 0.01), idle_a=0.02)
    turned = [replace(one, power_w=-one.power_w, current_a=-one.current_a) for one in windows(2, load)]
    assert window_of(turned[0], IDLE_S).net > 0
    with pytest.raises(Blocked, match="has read an energy below 0"):
        evaluate(turned)
    assert evaluate(windows(2, load)).per_step < 0  # a step may draw less than sleep
