"""The driver of the Keysight 34465A on its virtual twin, through the real PyVISA."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest

from hil.energy.capture import Edge
from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked
from hil.meters.keysight_34465a import Keysight34465A
from hil.meters.meter import Host, HostMarked, InvalidWindow
from hil.meters.window_edges import with_both_edges
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.keysight_34465a import LIMITS, VirtualKeysight34465A
from tests.unit.meters.board import NO_ERRORS, SECOND, Board, energy_between_edges, served

SHEET = load_data_sheet("keysight-34465a")
WITHIN_S = 30.0


def board_at(interval_s: float, **how) -> Board:
    board = Board(**how)
    board.setting = replace(board.setting, interval_s=interval_s)
    return board


@contextlib.contextmanager
def metered(board: Board, errors: Flaws = NO_ERRORS, seed: int = 1):
    twin = VirtualKeysight34465A(board.truth, errors, np.random.default_rng(seed), board.time)
    with served(twin, SHEET.name) as session:
        yield Keysight34465A(session, SHEET, board.host), twin


def captured(board: Board, errors: Flaws = NO_ERRORS, before=lambda twin: None, between=lambda twin: None):
    with metered(board, errors) as (meter, twin):
        before(twin)
        meter.configure(board.setting)
        meter.arm()
        between(twin)
        return meter.capture(WITHIN_S)


def energy(board: Board, capture) -> float:
    """The energy up to the true end of the window, which a trigger does not tell."""
    (edge,) = capture.edges
    end = Edge(edge.t_s + (board.fall - board.rise) / 1e12, 0.0, False)
    return energy_between_edges(replace(capture, edges=(edge, end)))


@pytest.mark.parametrize("interval", [0.0003, 0.001, 0.005])
def test_a_window_begins_at_its_one_edge(interval):
    board = board_at(interval)
    capture = captured(board)
    (edge,) = capture.edges
    assert edge.high and edge.half_s == pytest.approx(interval / 2, rel=0.05)
    assert (
        capture.interval_s == pytest.approx(interval, abs=20e-6)
        and 0.8 * interval < capture.aperture_s < capture.interval_s
    )
    began = board.rise / 1e12 - edge.t_s  # of its first reading, by the trigger
    assert np.all(capture.current_a[capture.t_s + began < board.rise / 1e12 - interval] == pytest.approx(0.02))
    assert edge.t_s == pytest.approx(0.095, abs=2 * interval) and capture.t_s[-1] > edge.t_s + 0.6
    assert energy(board, capture) == pytest.approx(board.energy(), abs=(2 * edge.half_s * 0.06 * 3.3))
    assert capture.lost == 0


@pytest.mark.parametrize("seed", range(4))
def test_an_instrument_within_its_data_sheet_reads_within_it(seed):
    board = board_at(0.001)
    capture = captured(board, Flaws.draw(LIMITS, np.random.default_rng(seed)))
    assert energy(board, capture) == pytest.approx(board.energy(), abs=0.001 * 0.06 * 3.3 + 0.001 * board.energy())


def test_what_was_set_before_does_not_matter():
    def leave(twin) -> None:
        for command in (
            "CURR:NULL:STAT ON", "CURR:NULL:VAL 0.05", "CURR:APER 0.5", "CURR:ZERO:AUTO ON", "SAMP:SOUR TIM", "SAMP:TIM 1", "TRIG:SOUR EXT", "SAMP:COUN 9",
            "SAMP:COUN:PRET 3", "TRIG:SLOP NEG", "INIT", "NO:SUCH 1",
        ):  # fmt: skip
            twin.execute(command)

    board = board_at(0.001)
    assert energy(board, captured(board, before=leave)) == pytest.approx(board.energy(), rel=0.005)


def test_a_memory_that_overflows_spoils_the_window_although_all_readings_come():
    board = board_at(0.001)
    with pytest.raises(InvalidWindow, match="memory of the Keysight 34465A overflowed"):
        captured(board, before=lambda twin: setattr(twin, "memory", 650))


def test_an_interval_that_it_cannot_keep_spoils():
    board = board_at(0.001)
    with pytest.raises(InvalidWindow, match="could not keep an interval of 0.001 s"):
        captured(board, between=lambda twin: twin.execute("CURR:ZERO:AUTO ON"))


def test_beyond_the_range_is_spoiled_and_says_so():
    with pytest.raises(InvalidWindow, match="beyond the range") as caught:
        captured(board_at(0.001, awake_a=0.2))
    assert caught.value.beyond_range


def test_a_range_that_changes_and_not_a_number_are_spoiled(monkeypatch):
    with pytest.raises(InvalidWindow, match="was changed within a window"):
        captured(board_at(0.001), between=lambda twin: twin.execute("CURR:RANG 1"))
    monkeypatch.setattr(Flaws, "current", lambda self, true, *_: np.where(np.arange(len(true)) == 3, np.nan, true))
    with pytest.raises(InvalidWindow, match="not numbers"):
        captured(board_at(0.001))


def test_a_trigger_before_the_reserved_readings_is_understood():
    board = board_at(0.001, rise_s=0.0354321)
    capture = captured(board)
    assert capture.edges[0].t_s == pytest.approx(0.0354, abs=0.001)
    assert energy(board, capture) == pytest.approx(board.energy(), abs=0.001 * 0.06 * 3.3)


def captured_where_time_stops(board: Board, expected_s: float, *, told: bool):
    """A board whose time stands still behind the window and its sleep, as that of a virtual one does; it took less than expected."""
    end, host_s = board.fall + round(board.setting.idle_s * SECOND), [0.0]
    with metered(board) as (meter, _):

        def sleep(seconds: float) -> None:
            host_s[0] += seconds
            board.time.ps = min(board.time.ps + round(seconds * SECOND), end)
            if told and board.time.ps == end and isinstance(meter, HostMarked):
                meter.mark(False)

        meter._host = Host(lambda: host_s[0], sleep)
        meter.configure(replace(board.setting, window_s=expected_s))
        meter.arm()
        return meter.capture(WITHIN_S)


@pytest.mark.parametrize("expected_s", [0.47, 0.5056789, 0.52, 0.55, 0.8])
def test_a_window_that_is_over_before_all_readings_are_made_begins_where_the_marker_rose(expected_s):
    board = board_at(0.001)
    capture = captured_where_time_stops(board, expected_s, told=True)
    (edge,) = capture.edges
    steps = capture.current_a > 0.03
    assert edge.t_s == pytest.approx(capture.t_s[np.argmax(steps)], abs=0.001)
    assert energy(board, capture) == pytest.approx(board.energy(), abs=0.001 * 0.06 * 3.3)


def test_readings_that_are_still_to_come_are_waited_for_and_not_taken_for_made():
    with pytest.raises(Blocked, match="has not read a window within 30 s"):
        captured_where_time_stops(board_at(0.001), 0.52, told=False)


def test_a_window_that_is_over_without_a_trigger_blocks_at_once():
    board = board_at(0.001)
    board.truth._edges = []
    with pytest.raises(Blocked, match="in a window that is over: wire the board's marker pin"):
        captured_where_time_stops(board, 0.52, told=True)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("rise_s", "spike_s"), [(0.2034567, None), (0.2034567, 0.15), (0.1434567, 0.06)])
def test_a_trigger_that_is_not_where_the_power_rises_spoils_the_window(rise_s, spike_s, told):
    """The last of them comes before as much is read as is kept for what is before it."""
    board = board_at(0.001, rise_s=rise_s)
    if spike_s is not None:
        spike = round(spike_s * SECOND)
        board.truth._edges = [(spike, 1), (spike + SECOND // 10**4, 0), *board.truth._edges]
    capture = captured_where_time_stops(board, 0.5056789, told=True) if told else captured(board)
    if spike_s is not None:
        with pytest.raises(InvalidWindow, match="check the marker's wire"):
            with_both_edges(capture, board.setting.idle_s)
        return
    up, down = with_both_edges(capture, board.setting.idle_s).edges
    assert up == capture.edges[0] and down.t_s - up.t_s == pytest.approx(0.5056789, abs=up.half_s + down.half_s)


def test_it_says_whether_it_waits_measures_or_is_through():
    board = board_at(0.001)
    with metered(board) as (meter, twin):
        assert twin.execute("STAT:OPER:COND?") == b"+0"
        meter.configure(board.setting)
        meter.arm()
        assert int(twin.execute("STAT:OPER:COND?")) & 32
        board.time.ps = board.rise + SECOND // 100
        assert twin.execute("STAT:OPER:COND?") == b"+16"
        through = board.rise + round(meter._after * meter._interval_s * SECOND)
        board.time.ps = through - SECOND // 100
        assert twin.execute("STAT:OPER:COND?") == b"+16"
        board.time.ps = through + SECOND // 100
        assert twin.execute("STAT:OPER:COND?") == b"+0"
        meter.arm()
        twin.execute("ABOR")
        assert twin.execute("STAT:OPER:COND?") == b"+0"


def test_one_that_was_stopped_at_its_front_panel_is_spoiled():
    with pytest.raises(InvalidWindow, match="stopped after 0 readings of a window"):
        captured(board_at(0.001), between=lambda twin: twin.execute("ABOR"))


def test_no_edge_another_instrument_and_too_long_a_window_block():
    board = board_at(0.001, rise_s=100.0)
    with (
        metered(board) as (meter, _),
        pytest.raises(Blocked, match="wire the board's marker pin to its external trigger"),
    ):
        meter.configure(board.setting)
        meter.arm()
        meter.capture(2.0)
    with metered(board) as (meter, _), pytest.raises(Blocked, match="overflows the Keysight 34465A"):
        meter.configure(replace(board.setting, window_s=60.0))
    with (
        pytest.raises(Blocked, match="not a Keysight"),
        served(VirtualKeysight34465A(board.truth, NO_ERRORS, np.random.default_rng(1)), "Keysight") as session,
    ):
        Keysight34465A(session, replace(SHEET, identity="34470A"), board.host)


def test_an_answer_that_is_cut_short_blocks(monkeypatch):
    board = board_at(0.001)

    def cut(twin) -> None:
        whole = twin.execute
        monkeypatch.setattr(twin, "execute", lambda line: whole(line)[:-5] if line.startswith("R?") else whole(line))

    with pytest.raises(Blocked, match="characters arrived"):
        captured(board, before=cut)
