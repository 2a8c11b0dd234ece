"""The driver of the Keithley 2450 on its virtual twin, through the real PyVISA."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.meter import InvalidWindow
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from hil.standins.virtual.meter.keithley_2450 import LIMITS, VirtualKeithley2450
from tests.unit.meters.board import NO_ERRORS, Board, energy_between_edges, served

SHEET = load_data_sheet("keithley-2450")
WITHIN_S = 30.0


@contextlib.contextmanager
def metered(board: Board, errors: Flaws = NO_ERRORS, seed: int = 1):
    """Yield driver and twin, wired to a board."""
    twin = VirtualKeithley2450(board.truth, errors, np.random.default_rng(seed), board.time)
    with served(twin, SHEET.name) as session:
        yield Keithley2450(session, SHEET, board.host), twin


def captured(board: Board, errors: Flaws = NO_ERRORS):
    with metered(board, errors) as (meter, _):
        meter.configure(board.setting)
        meter.arm()
        return meter.capture(WITHIN_S)


def test_a_window_is_parted_by_the_edges_and_its_energy_is_true():
    board = Board()
    capture = captured(board)
    assert [edge.high for edge in capture.edges] == [True, False]
    between = capture.edges[1].t_s - capture.edges[0].t_s
    halves = sum(edge.half_s for edge in capture.edges)
    assert abs(between - (board.fall - board.rise) / 1e12) <= halves == pytest.approx(0.00225, rel=1e-3)
    assert energy_between_edges(capture) == pytest.approx(board.energy(), abs=halves * 0.06 * 3.3)
    assert (capture.lost, capture.range_a, capture.aperture_s) == (0, 0.1, pytest.approx(0.002))
    assert np.all(np.diff(capture.t_s) > 0) and capture.t_s[-1] - capture.edges[1].t_s == pytest.approx(
        0.095, abs=0.005
    )


@pytest.mark.parametrize("seed", range(8))
def test_an_instrument_within_its_data_sheet_reads_within_it(seed):
    board = Board()
    errors = Flaws.draw(LIMITS, np.random.default_rng(seed))
    capture = captured(board, errors)
    steps = (capture.t_s > capture.edges[0].t_s) & (capture.t_s < capture.edges[1].t_s - capture.interval_s)
    limit = 0.0004 * 0.06 + 600e-9 + 5 * LIMITS.noise_a / 0.002**0.5
    assert np.all(capture.current_a[steps] <= 0.06 + limit) and np.all(capture.current_a[steps] >= 0.036 - limit)
    assert energy_between_edges(capture) == pytest.approx(board.energy(), rel=0.01)


def test_a_board_that_takes_its_time_to_begin_is_waited_for():
    board = Board(rise_s=6.0123)
    capture = captured(board)
    assert capture.edges[0].half_s < 0.0012 and len(capture.t_s) < 2500, (
        "the oldest readings have gone, the latest are there"
    )
    assert energy_between_edges(capture) == pytest.approx(board.energy(), rel=0.01)


def test_a_fast_clock_shows_in_the_time_stamps():
    board = Board(busy_s=0.5)
    errors = Flaws(0, 0, 0, 0, 0.1, 0, 0, 0)
    capture = captured(board, errors)
    assert capture.edges[1].t_s - capture.edges[0].t_s == pytest.approx(0.55, abs=0.0023)


def test_what_was_set_before_does_not_matter():
    board = Board()
    with metered(board) as (meter, twin):
        for command in (
            ":SENS:CURR:NPLC 10", ":SENS:CURR:REL 0.05", ":SENS:CURR:REL:STAT ON", ":SENS:CURR:AZER ON", ':SENS:FUNC "VOLT"', ":FORM REAL",
            ':TRAC:MAKE "steps", 10', ":OUTP ON", ':TRIG:BLOC:MEAS 1, "steps", INF', ":INIT", ":SENS:CURR:RANG:AUTO ON", ":NO:SUCH 1",
        ):  # fmt: skip
            twin.execute(command)
        meter.configure(board.setting)
        meter.arm()
        capture = meter.capture(WITHIN_S)
    assert energy_between_edges(capture) == pytest.approx(board.energy(), rel=0.01)


def test_another_range_keeps_the_board_fed():
    board = Board()
    with metered(board) as (meter, twin):
        meter.configure(replace(board.setting, range_a=0.01))
        assert twin.execute(":OUTP?") == b"1"
        resets = []
        twin.preset = lambda: resets.append(1)
        meter.configure(board.setting)
        meter.arm()
        assert meter.capture(WITHIN_S).range_a == 0.1 and not resets


def test_the_line_frequency_is_asked_for():
    board = Board()
    with metered(board) as (meter, twin):
        twin.mainframe_hz = 60.0
        meter.configure(board.setting)
        assert float(twin.execute(":SENS:CURR:NPLC?")) == pytest.approx(0.12)
        meter.arm()
        assert meter.capture(WITHIN_S).interval_s == pytest.approx(0.00225, rel=1e-3)


def test_beyond_the_range_is_spoiled_and_says_so():
    board = Board(awake_a=0.2)
    with metered(board) as (meter, _), pytest.raises(InvalidWindow, match="beyond its current range") as caught:
        meter.configure(board.setting)
        meter.arm()
        meter.capture(WITHIN_S)
    assert caught.value.beyond_range


def test_few_lost_readings_are_counted_and_many_spoil():
    board = Board(busy_s=20.0)
    with metered(board) as (meter, twin):
        meter.configure(board.setting)
        twin.lost_share = 0.0003
        meter.arm()
        capture = meter.capture(WITHIN_S)
        expected = round((capture.t_s[-1] - capture.t_s[0]) / capture.interval_s) + 1 - len(capture.t_s)
        assert 0 < capture.lost == expected
    board = Board()
    with metered(board) as (meter, twin), pytest.raises(InvalidWindow, match=r"lost \d+ of"):
        meter.configure(board.setting)
        twin.lost_share = 0.05
        meter.arm()
        meter.capture(WITHIN_S)


def test_a_window_longer_than_expected_is_spoiled():
    board = Board(busy_s=12.0)
    with metered(board) as (meter, _), pytest.raises(InvalidWindow, match="'steps' of the Keithley 2450 is full"):
        meter.configure(replace(board.setting, window_s=0.1))
        meter.arm()
        meter.capture(WITHIN_S)


def test_a_range_that_changes_within_a_window_is_spoiled_and_the_next_window_has_it_fixed():
    board = Board()
    with metered(board) as (meter, twin):
        meter.configure(board.setting)
        meter.arm()
        twin.execute(":SENS:CURR:RANG:AUTO ON")
        with pytest.raises(InvalidWindow, match="range of the Keithley 2450 was changed"):
            meter.capture(WITHIN_S)
        meter.arm()
        assert twin.execute(":SENS:CURR:RANG:AUTO?") == b"0"


def test_not_a_number_is_spoiled(monkeypatch):
    board = Board()
    with metered(board) as (meter, _), pytest.raises(InvalidWindow, match="not numbers"):
        monkeypatch.setattr(Flaws, "current", lambda self, true, *_: np.where(np.arange(len(true)) == 3, np.nan, true))
        meter.configure(board.setting)
        meter.arm()
        meter.capture(WITHIN_S)


def test_edges_that_never_come_block():
    board = Board(rise_s=1000.0)
    with metered(board) as (meter, _), pytest.raises(Blocked, match=r"has not seen both edges .* digital line 1"):
        meter.configure(board.setting)
        meter.arm()
        meter.capture(5.0)


def test_another_instrument_blocks():
    with (
        pytest.raises(Blocked, match="'trainrig,virtual MODEL 2450.*not a Other"),
        served(VirtualKeithley2450(Board().truth, NO_ERRORS, np.random.default_rng(1)), "Other") as session,
    ):
        Keithley2450(session, replace(SHEET, identity="MODEL 2460"), Board().host)


def test_a_refused_command_blocks():
    board = Board()
    with metered(board) as (meter, twin), pytest.raises(Blocked, match="reports -222"):
        meter.configure(replace(board.setting, volt=12.0))
    assert twin.execute(":OUTP?") is not None


def test_a_window_beyond_its_memory_blocks():
    board = Board()
    with metered(board) as (meter, _), pytest.raises(Blocked, match="overflows the Keithley 2450"):
        meter.configure(replace(board.setting, window_s=10_000.0))


def test_limits_outside_the_data_sheet_are_seen():
    board = Board()
    wide = FlawLimits(0.05, 0, 0, 0, 0, 0)
    errors = Flaws.draw(wide, np.random.default_rng(3))
    assert abs(energy_between_edges(captured(board, errors)) / board.energy() - 1) == pytest.approx(
        abs(errors.gain), abs=0.005
    )
