"""Energy windows through the real PyVISA on the virtual meter, against the truth that only the test knows."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

import numpy as np
import pytest

from hil.errors import Blocked
from hil.measure.data_sheet import load_data_sheet
from hil.measure.energy import energy_of_window, energy_of_windows
from hil.measure.uncertainty import Contribution, combined, coverage_factor, effective_dof
from hil.measure.window import Readings, WindowTrace
from hil.targets.meter import open_meter

pytest.importorskip("numba", reason="the virtual meter needs the extra `virtual`")
from hil.standins.virtual.meter.instrument import SourceMeter
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.supply import Activity, Currents, Supply

SECOND = 10**12
IDLE_S = 0.1
CURRENTS = Currents(0.09, 0.03, 0.01, 3.3, "of this test")
SHEET = load_data_sheet("keithley-2450")


class Board:
    """A board in virtual time: it sleeps, raises the marker, is busy for a while, lowers it, sleeps."""

    def __init__(self, seed: int, currents: Currents = CURRENTS) -> None:
        self.now, self.sleeps = 0, []
        self.supply = Supply(currents, lambda: Activity(self.now, tuple(self.sleeps), False, False))
        self.meter = SourceMeter(self.supply, seed)
        self.rng = np.random.default_rng(seed)

    def sleep(self, seconds: float) -> None:
        end = self.now + int(seconds * SECOND)
        self.sleeps.append((self.now, end))
        self.now = end

    def window(self, busy_s: float) -> float:
        """Live through one window; return its true net energy."""
        self.sleep(IDLE_S + float(self.rng.uniform(0, 0.002)))
        self.meter.edge(self.now, 1)
        begin, self.now = self.now, self.now + int(busy_s * SECOND)
        true = self.supply.energy(self.supply.observe(), begin, self.now)
        self.meter.edge(self.now, 1)
        self.sleep(IDLE_S + 0.05)
        currents = self.supply.currents
        return true - currents.asleep_a * currents.volt * busy_s


@contextlib.contextmanager
def metered(board: Board):
    server = InstrumentServer(board.meter)
    server.start()
    try:
        with open_meter(server.resource, 3.3) as meter:
            yield meter
    finally:
        server.close()


def measure(board: Board, windows: int = 6, steps: int = 2, busy_s: float = 0.28):
    """Measure as a trial does, the range found first; return the result and the true net energy of a step."""
    traces, true = [], []
    with metered(board) as meter:
        while len(traces) < windows:
            meter.arm(IDLE_S)
            net = board.window(busy_s)
            trace = meter.read(2.0)
            traces, true = ([*traces, trace], [*true, net]) if trace is not None else ([], [])
        result = energy_of_windows(traces, steps, IDLE_S, meter.sheet, meter.used, {"name": "test"}, "modelled")
    return result, float(np.mean(true)) / steps


def test_the_energy_of_a_step_is_the_true_one_within_its_uncertainty():
    """Twenty instruments, each with errors of its own within the data sheet; 95 % are to be within two uncertainties."""
    missed = 0
    for seed in range(20):
        result, true = measure(Board(seed))
        said = result.to_json()["per_step"]
        missed += abs(said["value"] - true) > said["coverage_factor"] * said["uncertainty"]
        assert abs(said["value"] - true) < 4 * said["uncertainty"], seed
        assert 1e-4 < said["uncertainty"] / true < 0.01
    assert missed <= 3


def test_an_instrument_worse_than_its_data_sheet_is_seen():
    board = Board(3)
    board.meter._gain = 0.05
    result, true = measure(board)
    said = result.to_json()["per_step"]
    assert abs(said["value"] - true) > 4 * said["uncertainty"]


def test_the_range_is_found_and_the_offset_cancels():
    board = Board(5)
    board.meter._offset = 5e-6  # within the sheet, and large beside the idle current's share
    with metered(board) as meter:
        assert meter.used.amperes == 0.01
        meter.arm(IDLE_S)
        board.window(0.2)
        assert meter.read(2.0) is None, "90 mA on the 10 mA range"
        assert meter.used.amperes == 0.1
    result, true = measure(board)
    assert result.per_step == pytest.approx(true, rel=0.005)
    assert result.to_json()["meter"] == {"name": "test"}


def test_a_board_beyond_every_range_blocks():
    board = Board(1, replace(CURRENTS, awake_a=1.5))
    with pytest.raises(Blocked, match="more than 1 A, the largest range of the Keithley 2450"), metered(board) as meter:
        for _ in range(4):
            meter.arm(IDLE_S)
            board.window(0.2)
            meter.read(2.0)


def test_edges_that_never_come_block():
    board = Board(2)
    with metered(board) as meter, pytest.raises(Blocked, match=r"has not seen both edges .* digital line 1"):
        meter.arm(IDLE_S)
        meter.read(0.1)


def test_another_instrument_blocks(monkeypatch):
    board = Board(2)
    monkeypatch.setattr(board.meter, "execute", lambda line: "ACME,MODEL 1,1,1" if line == "*IDN?" else None)
    with pytest.raises(Blocked, match="the meter is 'ACME,MODEL 1,1,1', not a Keithley 2450"), metered(board):
        pass


def test_a_meter_that_dies_blocks():
    board = Board(2)
    server = InstrumentServer(board.meter)
    server.start()
    with pytest.raises(Blocked, match="did not take"), open_meter(server.resource, 3.3) as meter:
        board.meter.execute = None
        meter.arm(IDLE_S)


def test_too_few_readings_block_and_few_are_flagged():
    result, _ = measure(Board(1), windows=3, steps=30)
    assert [flag.split(":")[0] for flag in result.flags] == ["only 4 readings a step", "only 3 windows"]
    short = WindowTrace(*(Readings(*(np.array([0.0, 0.1, 0.2]),) * 3),) * 3, interval_s=0.1, aperture_s=0.1)
    with pytest.raises(Blocked, match="choose a shorter aperture"):
        energy_of_window(short, 0.3)


def test_lost_readings_are_flagged():
    t = np.arange(0, 0.3, 0.00225)
    keep = np.ones(len(t), bool)
    keep[50:53] = False
    power = np.full(len(t), 0.09)
    steps = Readings(t[keep], power[keep], np.full(keep.sum(), 3.3))
    idle = [Readings(t + shift, np.full(len(t), 0.03), np.full(len(t), 3.3)) for shift in (-0.3, 0.3)]
    trace = WindowTrace(idle[0], steps, idle[1], 0.00225, 0.002)
    result = energy_of_windows([trace] * 6, 2, 0.3, SHEET, SHEET.ranges[1], {}, "measured")
    assert "up to 3 readings of a window are missing; their time was given to the readings before them." in result.flags
    assert result.per_step == pytest.approx(0.06 * 3.3 * 0.3 / 2, rel=0.01)


def test_uncertainties_are_combined_as_the_guide_says():
    parts = [Contribution("a", "A", 3.0, 5), Contribution("b", "B", 4.0)]
    assert combined(parts) == 5.0
    assert effective_dof(parts) == pytest.approx(5**4 / (3**4 / 5))
    assert effective_dof(parts[1:]) == math.inf
    assert (coverage_factor(5), coverage_factor(11), coverage_factor(math.inf)) == (2.65, 2.28, 2.0)
