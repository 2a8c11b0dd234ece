"""The driver of the Keithley DMM6500 and DMM7510 on its virtual twin, through the real PyVISA."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from hil.energy.capture import joined
from hil.energy.data_sheet import load_data_sheet
from hil.energy.marker_interval import IntervalSums
from hil.errors import Blocked
from hil.meters import keithley_dmm
from hil.meters.keithley_dmm import KeithleyDmm
from hil.meters.meter import InvalidWindow
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keithley_dmm import LIMITS, VirtualKeithleyDmm
from tests.unit.meters.board import NO_ERRORS, Board, energy_between_edges, served

SHEET = load_data_sheet("keithley-dmm6500")
WITHIN_S = 30.0


def board_at(rate_hz: float, **how) -> Board:
    board = Board(**how)
    board.setting = replace(board.setting, interval_s=1 / rate_hz)
    return board


@contextlib.contextmanager
def metered(board: Board, errors: Flaws = NO_ERRORS, seed: int = 1, model: str = "DMM6500"):
    twin = VirtualKeithleyDmm(board.truth, errors, np.random.default_rng(seed), board.time, model)
    with served(twin, SHEET.name) as session:
        yield KeithleyDmm(session, replace(SHEET, identity=f"MODEL {model}"), board.host), twin


def captured(board: Board, errors: Flaws = NO_ERRORS, model: str = "DMM6500"):
    with metered(board, errors, model=model) as (meter, _):
        meter.configure(board.setting)
        meter.arm()
        return meter.capture(WITHIN_S)


@pytest.mark.parametrize(("rate", "model"), [(1_000, "DMM6500"), (50_000, "DMM6500"), (200_000, "DMM7510")])
def test_energy_and_edges_are_true_at_any_rate(rate, model):
    board = board_at(rate)
    capture = captured(board, model=model)
    assert capture.aperture_s == pytest.approx(1 / rate) == capture.interval_s
    assert [edge.high for edge in capture.edges] == [True, False] and capture.lost == 0
    between = capture.edges[1].t_s - capture.edges[0].t_s
    assert between == pytest.approx((board.fall - board.rise) / 1e12, abs=1.01 / rate)
    assert energy_between_edges(capture) == pytest.approx(board.energy(), abs=1.01 / rate * 0.06 * 3.3)
    assert np.all(capture.voltage_v == 3.3) and np.all(np.diff(capture.t_s) > 0)


@pytest.mark.parametrize("seed", range(4))
def test_an_instrument_within_its_data_sheet_reads_within_it(seed):
    board = board_at(20_000)
    capture = captured(board, Flaws.draw(LIMITS, np.random.default_rng(seed)))
    limit = LIMITS.gain * board.energy() + (LIMITS.offset_a * 0.51 + 0.06 / 20_000) * 3.3
    assert energy_between_edges(capture) == pytest.approx(board.energy(), abs=limit)


def test_what_was_set_before_does_not_matter():
    board = board_at(10_000)
    with metered(board) as (meter, twin):
        for command in (
            ':DIG:FUNC "CURR"', ":DIG:CURR:SRAT 1000", ":DIG:CURR:APER 1e-6", ":FORM REAL", ":FORM:BORD NORM", ':TRAC:MAKE "steps", 10', ":NO:SUCH 1",
            ":TRIG:EXT:IN:EDGE EITH", ':TRIG:BLOC:MDIG 1, "steps", INF', ":INIT",
        ):  # fmt: skip
            twin.execute(command)
        meter.configure(board.setting)
        meter.arm()
        capture = meter.capture(WITHIN_S)
    assert energy_between_edges(capture) == pytest.approx(board.energy(), rel=1e-3)


def test_beyond_the_range_is_spoiled_and_says_so():
    board = board_at(10_000, awake_a=0.2)
    with metered(board) as (meter, _), pytest.raises(InvalidWindow, match="beyond its current range") as caught:
        meter.configure(board.setting)
        meter.arm()
        meter.capture(WITHIN_S)
    assert caught.value.beyond_range


def test_lost_samples_show_by_their_time_stamps():
    board = board_at(10_000)
    with metered(board) as (meter, twin):
        meter.configure(board.setting)
        twin.lost_share = 0.0005
        meter.arm()
        capture = meter.capture(WITHIN_S)
        assert 0 < capture.lost == round(capture.t_s[-1] * 10_000) + 1 - len(capture.t_s)
        twin.lost_share = 0.01
        meter.configure(board.setting)
        board.truth._edges = [(time + board.time.ps, level) for time, level in board.truth._edges]
        meter.arm()
        with pytest.raises(InvalidWindow, match=r"lost \d+ of"):
            meter.capture(WITHIN_S)


def test_a_range_that_changes_within_a_window_is_spoiled():
    board = board_at(10_000)
    with metered(board) as (meter, twin), pytest.raises(InvalidWindow, match="was changed within a window"):
        meter.configure(board.setting)
        meter.arm()
        twin.execute(":DIG:CURR:RANG 1")
        meter.capture(WITHIN_S)


def test_a_window_longer_than_expected_or_than_its_memory():
    board = board_at(10_000, busy_s=3.0)
    with metered(board) as (meter, _), pytest.raises(InvalidWindow, match="'steps' of the Keithley DMM6500 is full"):
        meter.configure(replace(board.setting, window_s=0.05))
        meter.arm()
        meter.capture(WITHIN_S)
    with metered(board) as (meter, _), pytest.raises(Blocked, match="overflows the Keithley DMM6500"):
        meter.configure(replace(board.setting, idle_s=1000))
    with metered(board) as (meter, _):
        meter.configure(replace(board.setting, interval_s=1e-5, window_s=10.0))  # what is spare has to fit as well


def test_edges_that_never_come_and_another_instrument_block():
    board = board_at(10_000, rise_s=100.0)
    with metered(board) as (meter, _), pytest.raises(Blocked, match="to its external trigger input"):
        meter.configure(board.setting)
        meter.arm()
        meter.capture(2.0)
    with (
        pytest.raises(Blocked, match="DMM7510.*not a Keithley DMM6500"),
        served(
            VirtualKeithleyDmm(board.truth, NO_ERRORS, np.random.default_rng(1), model="DMM7510"), SHEET.name
        ) as session,
    ):
        KeithleyDmm(session, SHEET, board.host)


@pytest.fixture
def small(monkeypatch):
    """An instrument that keeps 2000 readings of a window; the driver reads along whenever 300 wait."""
    for name, value in (("MOST_READINGS", 10_000), ("RING", 2_000), ("PIECE", 300)):
        monkeypatch.setattr(keithley_dmm, name, value)


@pytest.mark.parametrize("rise_s", [0.2034567, 3.3])  # in the second, the buffer before the edge has gone round too
def test_a_window_longer_than_its_memory_is_read_while_it_lasts(small, rise_s):
    """Twelve times the ring: every reading is there once and in order, what the pieces sum up to is the truth, and no piece is long."""
    board = board_at(10_000, rise_s=rise_s, busy_s=2.4056789)
    with metered(board, Flaws(0, 0, 0, 0, 0, 1e-9, 0, 0)) as (meter, _):
        meter.configure(board.setting)
        assert meter._buffers.ring and meter._buffers.sizes["steps"] == 2_000
        meter.arm()
        running, pieces = IntervalSums(), []
        for piece in meter.pieces(WITHIN_S):
            pieces.append(piece)
            running.add(piece)
    found, whole = running.result(), joined(pieces)
    assert max(len(piece.t_s) for piece in pieces[1:-1]) <= 300 and len(pieces) > 80
    assert np.diff(whole.t_s) == pytest.approx(1e-4, rel=1e-3) and whole.lost == 0
    assert found.duration_s == pytest.approx(2.4056789, abs=1.01e-4) and found.readings == pytest.approx(24057, abs=2)
    assert found.energy_j == pytest.approx(board.energy(), abs=1.01e-4 * 0.06 * 3.3)
    at_once = IntervalSums()
    at_once.add(whole)
    assert found.energy_j == pytest.approx(at_once.result().energy_j, rel=1e-12)


@pytest.mark.parametrize("where", ["between", "SEC, FRAC", "READ, REL"])
def test_a_host_that_stands_still_while_a_ring_fills_spoils_the_window(small, where):
    """Between two pieces, or between two queries of one: what it reads then looks well, and is of another time than it says."""
    board = board_at(10_000, busy_s=2.4)
    with (
        metered(board) as (meter, twin),
        pytest.raises(InvalidWindow, match=r"was not read for 0\.\d+ s, in which readings may have been overwritten"),
    ):
        meter.configure(board.setting)
        meter.arm()
        execute, asked = twin.execute, []

        def slow(line: str):
            asked.append(line)
            if where in line and len([one for one in asked if where in one]) == 20:
                board.time.sleep(0.19)
            return execute(line)

        twin.execute = slow
        for number, _ in enumerate(meter.pieces(WITHIN_S)):
            board.time.sleep(0.19 if where == "between" and number == 20 else 0.0)


def test_time_stamps_that_go_back_spoil_the_window(monkeypatch):
    read = KeithleyDmm._read

    def turned(self, name, places):
        rows = read(self, name, places)
        rows[3:5, 1] = rows[[4, 3], 1]
        return rows

    monkeypatch.setattr(KeithleyDmm, "_read", turned)
    with pytest.raises(InvalidWindow, match="out of order"):
        captured(board_at(10_000))
