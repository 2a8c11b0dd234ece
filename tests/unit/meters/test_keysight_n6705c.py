"""The driver of the Keysight N6705C on its virtual twin, through the real PyVISA."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked
from hil.meters.keysight_n6705c import KeysightN6705C
from hil.meters.meter import Host, InvalidWindow
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keysight_n6705c import LIMITS, VirtualKeysightN6705C
from tests.unit.meters.board import NO_ERRORS, Board, energy_between_edges, served

SHEET = load_data_sheet("keysight-n6705c")
WITHIN_S = 30.0


def board_at(interval_s: float = 0.001, **how) -> Board:
    board = Board(**how)
    board.setting = replace(board.setting, interval_s=interval_s)
    return board


@contextlib.contextmanager
def metered(board: Board, errors: Flaws = NO_ERRORS, seed: int = 1):
    twin = VirtualKeysightN6705C(board.truth, errors, np.random.default_rng(seed), board.time)
    with served(twin, SHEET.name) as session:
        yield KeysightN6705C(session, SHEET, board.host), twin


def captured(
    board: Board,
    errors: Flaws = NO_ERRORS,
    before=lambda twin: None,
    between=lambda twin: None,
    within_s: float = WITHIN_S,
):
    with metered(board, errors) as (meter, twin):
        before(twin)
        meter.configure(board.setting)
        meter.arm()
        between(twin)
        return meter.capture(within_s)


@pytest.mark.parametrize(("interval", "period"), [(0.0001, 204.8e-6), (0.001, 1003.52e-6), (0.01, 9994.24e-6)])
def test_the_log_holds_the_window_and_edges_lie_where_they_are_said_to_be(interval, period):
    board = board_at(interval)
    capture = captured(board)
    assert capture.aperture_s == capture.interval_s == pytest.approx(period) and capture.lost is None
    assert [edge.high for edge in capture.edges] == [True, False]
    for edge, true in zip(capture.edges, (board.rise, board.fall), strict=True):
        assert abs(edge.t_s - true / 1e12) <= edge.half_s < 0.002
    around = sum(edge.half_s for edge in capture.edges) + capture.aperture_s
    assert energy_between_edges(capture) == pytest.approx(board.energy(), abs=around * 0.06 * 3.3)
    assert capture.t_s[-1] > board.fall / 1e12 + 0.08


@pytest.mark.parametrize("seed", range(4))
def test_an_instrument_within_its_data_sheet_reads_within_it(seed):
    board = board_at()
    capture = captured(board, Flaws.draw(LIMITS, np.random.default_rng(seed)))
    for edge, true in zip(capture.edges, (board.rise, board.fall), strict=True):
        assert abs(edge.t_s - true / 1e12) <= edge.half_s
    assert energy_between_edges(capture) == pytest.approx(
        board.energy(), abs=sum(edge.half_s for edge in capture.edges) * 0.2 + 0.002 * board.energy()
    )


def test_a_long_window_is_fetched_before_the_log_overwrites_it():
    board = board_at(0.01, busy_s=45.0, turn_s=0.05)
    board.setting = replace(board.setting, window_s=45.0)
    capture = captured(board, within_s=60.0)
    assert energy_between_edges(capture) == pytest.approx(board.energy(), rel=0.002)


def test_what_was_set_before_does_not_matter():
    def leave(twin) -> None:
        for command in (
            "SENS:ELOG:FUNC:CURR:MINM ON,(@1)", "SENS:ELOG:FUNC:VOLT:MINM ON,(@1)", "SENS:ELOG:CURR:RANG:AUTO ON,(@1)", "FORM ASC", "FORM:BORD SWAP",
            "SENS:ELOG:PER 5,(@1)", "DIG:PIN1:POL NEG", "OUTP ON,(@1)", "SENS:ELOG:FUNC:CURR ON,(@1)", "SENS:ELOG:FUNC:VOLT ON,(@1)", "INIT:ELOG (@1)",
            "TRIG:ELOG (@1)", "NO:SUCH 1",
        ):  # fmt: skip
            twin.execute(command)

    board = board_at()
    assert energy_between_edges(captured(board, before=leave)) == pytest.approx(board.energy(), rel=0.01)


def test_another_range_keeps_the_board_fed():
    board = board_at()
    with metered(board) as (meter, twin):
        meter.configure(board.setting)
        twin.preset = None
        meter.configure(replace(board.setting, range_a=3.0))
        assert twin.execute("OUTP? (@1)") == b"1"


def test_a_host_that_stays_away_spoils_the_window():
    board = board_at(0.01, rise_s=30.0)
    with metered(board) as (meter, _), pytest.raises(InvalidWindow, match="was not fetched for 2"):
        meter.configure(board.setting)
        meter.arm()
        board.time.sleep(25.0)
        meter.capture(WITHIN_S)


@pytest.mark.parametrize("share", [0.1, 0.01])
def test_lost_records_spoil(share):
    with pytest.raises(InvalidWindow, match="some are lost"):
        captured(board_at(busy_s=4.0), between=lambda twin: setattr(twin, "lost_share", share))


def test_beyond_the_range_is_spoiled_and_says_so():
    with pytest.raises(InvalidWindow, match="beyond its current range") as caught:
        captured(board_at(awake_a=0.2))
    assert caught.value.beyond_range


def test_a_range_that_changes_and_not_a_number_are_spoiled(monkeypatch):
    with pytest.raises(InvalidWindow, match="was changed within a window"):
        captured(board_at(), between=lambda twin: twin.execute("SENS:ELOG:CURR:RANG 3,(@1)"))
    with pytest.raises(InvalidWindow, match="was changed within a window"):
        captured(board_at(), between=lambda twin: twin.execute("SENS:ELOG:CURR:RANG:AUTO ON,(@1)"))
    monkeypatch.setattr(Flaws, "current", lambda self, true, *_: np.full(len(true), np.nan))
    with pytest.raises(InvalidWindow, match="not numbers"):
        captured(board_at())


def test_no_edge_and_another_instrument_block():
    board = board_at(rise_s=100.0)
    with (
        metered(board) as (meter, _),
        pytest.raises(Blocked, match="wire the board's marker pin to pin 1 of its digital port"),
    ):
        meter.configure(board.setting)
        meter.arm()
        meter.capture(2.0)
    twin = VirtualKeysightN6705C(board.truth, NO_ERRORS, np.random.default_rng(1))
    with pytest.raises(Blocked, match="not a Keysight"), served(twin, "Keysight") as session:
        KeysightN6705C(session, replace(SHEET, identity="N6715C"), Host())
