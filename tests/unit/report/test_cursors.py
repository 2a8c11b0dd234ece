"""What the cursors, the histogram and the log of a power trace are made of: sums, limits of error, places in time."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import pytest

from hil.energy.capture import Capture, Edge, WindowRequest
from hil.energy.conditions import Conditions
from hil.energy.data_sheet import load_data_sheet
from hil.energy.marker_interval import IntervalSums, burden_j, interval_budget
from hil.energy.uncertainty import combined
from hil.record.power_trace import TraceWriter, read_requests
from hil.report import render
from hil.report.cursors import cursor_data, limits_of
from hil.report.log_lines import log_lines, time_scale
from hil.report.power import MOST_POINTS, Trace, read_trace
from hil.report.power_histogram import power_histogram

from .conftest import ENERGY, WHOLE, WINDOW, figure_of, make_captures, make_steps, make_trace, make_trial
from .rendered import trial_of

REQUEST = WindowRequest(1_000_000.0, 1_000_002.0, 3600.0, 0.1)


def noisy(n: int = 60_000, aperture_s: float = 1e-4, volts: float = np.nan) -> Trace:
    """A long window at 10 kS/s, asleep for its first and last tenth."""
    rng = np.random.default_rng(5)
    t = (np.arange(n) - n // 10) * 1e-4
    end_s = (n - 2 * (n // 10)) * 1e-4
    busy = (t >= 0) & (t < end_s)
    power = np.where(busy, 0.3, 0.1) * rng.lognormal(0, 0.3, n)
    phase = np.where(t < 0, "idle before", np.where(busy, "steps", "idle after"))
    columns = {"t_s": t, "power_w": power, "current_a": power / 3.3, "voltage_v": np.full(n, volts), "phase": phase}
    return Trace(columns, (Edge(0.0, 1e-5, True), Edge(end_s, 1e-5, False)), aperture_s)


def pieces(trace: Trace, a: float, b: float, column: str) -> float:
    """Integrate between two times by hand: every reading stands for the 0.1 ms from its own time on."""
    t, values = trace.power["t_s"], trace.power[column]
    return float(np.sum(values * np.clip(np.minimum(t + 1e-4, b) - np.maximum(t, a), 0, None)))


def test_sums_between_any_two_places_are_those_of_all_readings():
    trace = noisy()
    first, last = trace.edges
    trace = replace(trace, edges=(replace(first, t_s=0.00003), replace(last, t_s=last.t_s - 0.00004)))
    data = cursor_data(trace, [1.00005, 2.5], None)
    t = data["t"]
    assert len(t) < 1.2 * MOST_POINTS < len(trace.power["t_s"]) and np.all(np.diff(t) > 0)
    assert {0.00003, trace.end_s, 1.00005, 2.5} <= set(t), "edges and ends of steps are places"
    rng = np.random.default_rng(1)
    for _ in range(30):
        a, b = np.sort(rng.choice(len(t), 2, replace=False))
        for name, column in (("energy", "power_w"), ("charge", "current_a")):
            found = data[name][b] - data[name][a]
            assert found == pytest.approx(pieces(trace, t[a], t[b], column), rel=1e-9), name


def test_places_are_the_readings_that_are_drawn():
    trace = noisy()
    drawn = np.concatenate([places for _, places in trace.kept()])
    assert set(trace.power["t_s"][drawn]) <= set(cursor_data(trace, [], None)["t"])
    power = trace.power["power_w"]
    assert {power.argmax(), power.argmin()} <= set(drawn) and len(drawn) <= MOST_POINTS + 6


def test_instants_are_joined_by_lines():
    trace = noisy(n=200, aperture_s=0.0)
    data = cursor_data(trace, [], None)
    t, power = trace.power["t_s"], trace.power["power_w"]
    assert data["energy"][-1] == pytest.approx(np.trapezoid(power, t), rel=1e-9)


def test_a_meter_without_current_and_voltage_has_no_charge():
    trace = noisy(n=200)
    trace = replace(trace, power=trace.power | {"current_a": np.full(len(trace.power["t_s"]), np.nan)})
    assert cursor_data(trace, [], None)["charge"] is None
    trace = replace(trace, power=trace.power | {"voltage_v": np.full(len(trace.power["t_s"]), 3.3)})
    assert cursor_data(trace, [], None)["charge"][-1] * 3.3 == pytest.approx(cursor_data(trace, [], None)["energy"][-1])


@pytest.mark.parametrize("key", ["keithley-2450", "keysight-34465a", "joulescope-js220"])
def test_the_limits_are_those_of_the_budget_of_such_an_interval(key):
    """`hil measure` between the same two times gives the same uncertainty; noise and burden apart."""
    trace, sheet = noisy(), load_data_sheet(key)
    used = sheet.ranges[-2]
    supply = 0.05 / np.sqrt(2) * 0.088 / 2
    budget = [
        {"source": "supply voltage, assumed within 5.00%", "kind": "B", "standard_uncertainty": supply, "share": 0.5}
    ]
    read = bool(sheet.voltage_gain)
    energy = ENERGY | {
        "meter": {"data_sheet": key, "range": used.amperes, "supply_v": 3.3}, "budget": [] if read else budget,
        "gross": figure_of(0.088, "J"),
    }  # fmt: skip
    limits = limits_of(energy)
    sums = IntervalSums()
    capture = replace(trace.capture(), range_a=used.amperes, lost=0)
    sums.add(replace(capture, voltage_v=np.full(len(capture.t_s), 3.3)))
    found = sums.result()
    rows = interval_budget(found, sheet, Conditions(), voltage_read=read)
    wanted = combined(
        [
            row
            for row in rows
            if row.source.split()[0] not in ("burden", "both")
            and "noise" not in row.source
            and "drift" not in row.source
        ]
    )
    e, seconds = found.energy_j, found.duration_s
    steady = combined([row for row in rows if row.source in ("current offset", "current resolution")])
    at_board = (e - burden_j(found, sheet)[0]) / found.charge_c  # the budget's voltage
    assert limits.watts * seconds / 3.3 == pytest.approx(steady / at_board, rel=1e-6)
    assert limits.amperes * 3.3 == pytest.approx(limits.watts)
    assert np.hypot(limits.energy * e, limits.watts * seconds) == pytest.approx(wanted, rel=2e-2)


@pytest.mark.parametrize(
    "meter",
    [
        {},
        {"data_sheet": "mine", "range": 0.1},
        {"data_sheet": "keithley-2450", "range": "wide"},
        {"data_sheet": "keithley-2450", "range": 0.123},
    ],
)
def test_a_meter_that_is_not_known_has_no_limits(meter):
    assert limits_of(ENERGY | {"meter": meter}) is None


def test_the_histogram_has_all_of_the_time_once():
    asleep_and_working = power_histogram(noisy())["data"]
    shares = {bar["name"]: bar["y"].sum() for bar in asleep_and_working}
    assert shares["steps"] == pytest.approx(80) and shares["asleep"] == pytest.approx(20)
    mean = sum(float(np.sum(bar["x"] * bar["y"])) for bar in asleep_and_working) / 100
    assert mean == pytest.approx(1e3 * noisy().power["power_w"].mean(), rel=0.02)


# The log.


def clock(at_s: float) -> str:
    """The time of day in the log of a host that is an hour ahead of UTC."""
    return datetime.fromtimestamp(at_s + 3600, timezone.utc).strftime("%H:%M:%S.%f")[:-3]


def log_of(tmp_path, *lines: tuple[float, str]):
    (tmp_path / "log").mkdir(exist_ok=True)
    text = "".join(f"{clock(at)} hil.training.trial.energy_windows: {line}\n" for at, line in lines)
    (tmp_path / "log" / "energy.log").write_text(f"Traceback\n{text}")
    return tmp_path


def test_log_lines_are_placed_in_proportion_between_request_and_reply(tmp_path):
    """Two seconds of the host are one of the board: 0.1 s of sleep, 0.8 s of work, 0.1 s of sleep."""
    folder = log_of(
        tmp_path,
        (999_999.0, "early"),
        (1_000_000.0, "asked"),
        (1_000_001.0, "amid"),
        (1_000_002.0, "answered"),
        (1_000_003.0, "late"),
    )
    assert time_scale(REQUEST, 0.8) == pytest.approx(2.0)
    found = [(round(line.t_s, 3), line.text.split(": ")[1]) for line in log_lines(folder, REQUEST, 0.8)]
    assert found == [(-0.1, "asked"), (0.4, "amid"), (0.9, "answered")]


def test_a_window_over_midnight_has_its_lines(tmp_path):
    midnight = 1_000_000 - (1_000_000 + 3600) % 86_400
    request = WindowRequest(midnight - 1.0, midnight + 1.0, 3600.0, 0.5)
    folder = log_of(tmp_path, (midnight - 1, "asked"), (midnight + 0.5, "next day"))
    assert [round(line.t_s, 3) for line in log_lines(folder, request, 1.0)] == [-0.5, 1.0]


def test_a_log_behind_a_link_or_missing_is_not_read(tmp_path):
    assert log_lines(tmp_path, REQUEST, 0.8) == ()
    elsewhere = log_of(tmp_path / "a" if (tmp_path / "a").mkdir() is None else tmp_path, (1_000_001.0, "secret"))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "log").symlink_to(elsewhere / "log")
    assert log_lines(tmp_path / "b", REQUEST, 0.8) == ()


def test_a_request_goes_through_the_record(tmp_path):
    capture = Capture(
        np.arange(20) * 0.1, np.ones(20), np.ones(20), np.ones(20), 0.1, 0.1, (Edge(0.5, 0.0, True), Edge(1.5, 0.0, False)), 1.0, 0,
        request=REQUEST,
    )  # fmt: skip
    with TraceWriter(tmp_path / "power.parquet", {}) as writer:
        writer.append(capture.from_first_edge(), 0)
        writer.append(replace(capture, request=None), 1)
    assert read_requests(tmp_path / "power.parquet") == {0: REQUEST}
    assert read_trace(tmp_path / "power.parquet").request == REQUEST


def test_a_trace_of_a_short_window_keeps_every_reading():
    trace = make_trace()
    assert sum(len(places) for _, places in trace.kept()) == len(trace.power["t_s"])


def test_the_page_says_that_a_line_is_thinned_and_that_another_is_not(record):
    t = np.arange(-1.0, 3.0, 1e-4)
    power = np.where((t >= 0) & (t < 2), 0.3, 0.1) * np.random.default_rng(3).uniform(0.9, 1.1, len(t))
    long = Capture(
        t, power, power / 3.3, np.full(len(t), 3.3), 1e-4, 1e-4, (Edge(0.0, 0.0, True), Edge(2.0, 0.0, False)), 0.1, 0
    )
    long_windows = {"windows": [WINDOW | {"duration": 2.0}] * 6, "duration": figure_of(2.0, "s")}
    energy = {"energy": ENERGY | {"laps_s": [1.0, 1.0]} | long_windows}
    page = trial_of(record((make_trial(**WHOLE | energy), make_steps(60)), power=[long]))
    said = re.search(r"it has ([\d,]+) of ([\d,]+)\s+readings", page)
    shown, of = (int(number.replace(",", "")) for number in said.groups())
    assert 3_000 < shown <= MOST_POINTS + 6 and of == len(t)
    assert len(page) < 1_000_000
    assert "thinned: it has" not in trial_of(record((make_trial(**WHOLE), make_steps(60)), power=make_captures()))


def test_the_log_of_the_window_stands_beside_its_trace(record, tmp_path):
    """Its lines are marks in the figure and a table below it."""
    capture = replace(make_captures()[0], request=REQUEST)
    folder = record((make_trial(**WHOLE), make_steps(60)), power=[capture])
    (trial,) = (path.parent for path in folder.glob("*/power.parquet"))
    log_of(trial, (1_000_001.0, "amid <b>the</b> window"))
    render(folder)
    page = trial_of(folder)
    assert "amid &lt;b&gt;the&lt;/b&gt; window" in page and '"log line"' in page
    assert "a second of the board took 4.16 s here" in page
