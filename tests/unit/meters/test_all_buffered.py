"""What holds for every buffered meter: on a virtual board's supply, when it answers late, when it vanishes and comes back."""

from __future__ import annotations

import time as wall
from dataclasses import replace

import numpy as np
import pytest

from hil.energy.capture import Edge
from hil.energy.data_sheet import load_data_sheet
from hil.errors import Blocked, RigError
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.keithley_dmm import KeithleyDmm
from hil.meters.keysight_34465a import Keysight34465A
from hil.meters.keysight_n6705c import KeysightN6705C
from hil.meters.meter import Host, Setting
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.meter.supply import Activity, Currents, Supply
from hil.standins.virtual.meter.truth import VirtualTime
from hil.standins.virtual.meter.twins import find_virtual_meter
from hil.visa import VisaSession
from tests.unit.meters.board import NO_ERRORS, Board, energy_between_edges, served

DRIVERS = {
    "keithley-2450": Keithley2450, "keithley-dmm6500": KeithleyDmm, "keithley-dmm7510": KeithleyDmm, "keysight-34465a": Keysight34465A,
    "keysight-n6705c": KeysightN6705C,
}  # fmt: skip
SECOND = 10**12


class SleepyBoard:
    """A board whose core sleeps, works with naps while the marker is up (not in step with any meter: most are blind between readings), and sleeps again."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.rise, self.fall, end = int(0.2034567 * SECOND), int(0.7034567 * SECOND), 2 * SECOND
        naps = [(at, at + 300_000_000) for at in range(self.rise, self.fall - 300_000_000, 937_123_456)]
        self._sleeps = [(0, self.rise), *naps, (self.fall, end)]
        self.supply = Supply(Currents(0.06, 0.02, 0.01, 3.3, "of this test"), self._activity)
        self.supply.edge(self.rise, 1)
        self.supply.edge(self.fall, 0)

    def _activity(self) -> Activity:
        now = self.time.ps
        past = [(begin, min(end, now)) for begin, end in self._sleeps if begin < now]
        return Activity(now, past, False, False)

    def energy(self) -> float:
        self.supply.now()
        begin, end = self.supply.charge(np.array([self.rise, self.fall]))
        return float(end - begin) * 3.3


@pytest.mark.parametrize("key", DRIVERS)
def test_every_twin_reads_a_virtual_board(key):
    board, sheet = SleepyBoard(), load_data_sheet(key)
    twin = find_virtual_meter(key)
    rng = np.random.default_rng(5)
    instrument = twin.make(board.supply, Flaws.draw(replace(twin.limits, timebase=0.0), rng), rng)
    with served(instrument, sheet.name) as session:
        meter = DRIVERS[key](session, sheet, Host(board.time.seconds, board.time.sleep))
        meter.configure(Setting(3.3, 0.1, 0.002, 0.1, 0.5))
        meter.arm()
        capture = meter.capture(10.0)
    edges = capture.edges
    if sheet.marker == "trigger":
        edges = (edges[0], Edge(edges[0].t_s + 0.5, 0.0, False))
    true = board.energy()
    assert true == pytest.approx((0.06 - 0.04 * 0.3 / 0.937) * 3.3 * 0.5, rel=1e-3)
    slack = sum(edge.half_s for edge in edges) * 0.06 * 3.3 + 4 * 0.002 * true
    assert energy_between_edges(replace(capture, edges=edges)) == pytest.approx(true, abs=slack)
    assert sheet.kind == "integrating" and capture.aperture_s > 0
    assert meter.identity.startswith("trainrig,virtual") and sheet.identity in meter.identity


@pytest.mark.parametrize("key", DRIVERS)
def test_the_twin_keeps_within_the_data_sheet_of_what_it_imitates(key):
    sheet, limits = load_data_sheet(key), find_virtual_meter(key).limits
    for one in sheet.ranges:
        assert limits.gain <= one.gain and limits.offset_a <= one.offset_a and limits.noise_a <= one.noise_a
    assert (
        limits.voltage_gain <= sheet.voltage_gain
        and limits.voltage_offset_v <= sheet.voltage_offset_v
        and limits.timebase <= sheet.timebase
    )
    assert limits.noise_v <= sheet.voltage_noise_v


def test_a_meter_without_a_twin_is_refused():
    with pytest.raises(RigError, match=r"no virtual meter 'keithley-2540'.*keithley-2450"):
        find_virtual_meter("keithley-2540")


class Late:
    """An instrument that takes its time for one query, once."""

    def __init__(self, instrument, query: str, seconds: float) -> None:
        self._instrument, self._query, self._seconds = instrument, query, seconds

    def execute(self, line: str):
        answer = self._instrument.execute(line)
        if self._query and self._query in line:
            self._query = ""
            wall.sleep(self._seconds)
        return answer


@pytest.mark.parametrize(("key", "query"), [
    ("keithley-2450", "TRAC:DATA?"), ("keithley-dmm6500", "TRAC:DATA?"), ("keysight-34465a", "R? "), ("keysight-n6705c", "FETC:ELOG?"),
])  # fmt: skip
def test_a_late_answer_blocks_and_the_next_window_is_right(key, query):
    board, sheet = Board(), load_data_sheet(key)
    twin = find_virtual_meter(key).make(board.truth, NO_ERRORS, np.random.default_rng(1))
    with served(Late(twin, query, 0.4), sheet.name, timeout_ms=200) as session:
        meter = DRIVERS[key](session, sheet, board.host)
        meter.configure(board.setting)
        meter.arm()
        with pytest.raises(Blocked, match="did not take"):
            meter.capture(10.0)
        wall.sleep(0.3)
        again = board.time.ps
        board.truth._edges = [(time + again, level) for time, level in board.truth._edges]
        board.truth._times = board.truth._times + again
        meter.configure(board.setting)
        meter.arm()
        capture = meter.capture(10.0)
    edges = (
        capture.edges
        if sheet.marker != "trigger"
        else (capture.edges[0], Edge(capture.edges[0].t_s + 0.5056789, 0.0, False))
    )
    assert energy_between_edges(replace(capture, edges=edges)) == pytest.approx(
        float(np.diff(board.truth.charge(np.array([board.rise, board.fall]) + again))[0]) * 3.3, rel=0.015
    )


@pytest.mark.parametrize("key", DRIVERS)
def test_an_instrument_that_loses_its_power_blocks_and_is_set_up_anew(key):
    board, sheet = Board(), load_data_sheet(key)

    def make():
        return find_virtual_meter(key).make(board.truth, NO_ERRORS, np.random.default_rng(1))

    class Outlet:
        instrument = make()

        def execute(self, line: str):
            if self.instrument is None:
                raise ConnectionError
            return self.instrument.execute(line)

    outlet = Outlet()
    server = InstrumentServer(outlet)
    server._server.handle_error = lambda *_: None
    server.start()
    try:
        session = VisaSession(server.resource, sheet.name, 200)
        meter = DRIVERS[key](session, sheet, board.host)
        meter.configure(board.setting)
        outlet.instrument = None
        with pytest.raises(Blocked, match="did not take"):
            meter.arm()
        outlet.instrument = make()
        with pytest.raises(Blocked):  # it does not know its settings any more, and says so
            meter.arm()
            meter.capture(1.0)
            pytest.fail("read without being set up")
        for _ in range(2):  # what it refuses while it is believed to feed the board makes the next configure begin anew
            try:
                meter.configure(board.setting)
                break
            except Blocked:
                continue
        begin = board.time.ps
        board.truth._edges = [(time + begin, level) for time, level in board.truth._edges]
        meter.arm()
        assert len(meter.capture(10.0).t_s) > 100
    finally:
        session.close()
        server.close()
