"""Power requests of a debug port: access ports need them, and the true supply has their current."""

from __future__ import annotations

import numpy as np
import pytest
from pyocd.core import exceptions

from hil.standins.virtual.debug_port import DebugPort, PortId
from hil.standins.virtual.meter.debug_power import DebugPower
from hil.standins.virtual.meter.supply import Activity, Currents, Supply

POWER_UP, S = 0x50000000, 10**12
CURRENTS = Currents(0.09, 0.03, 0.01, 3.3, "of this test", debug_a=0.002)


class Scratch:
    """An access port with one value."""

    def __init__(self) -> None:
        self.value = 7

    def read(self, _register: int) -> int:
        return self.value

    def write(self, _register: int, value: int) -> None:
        self.value = value


def test_an_access_port_answers_only_while_power_is_requested() -> None:
    changes: list[bool] = []
    port = DebugPort(PortId(0x6BA02477), {0: Scratch()})
    port.on_power = changes.append
    for access in (lambda: port.read_ap(0), lambda: port.write_ap(0, 1), lambda: port.read_ap_multiple(0, 2)):
        with pytest.raises(exceptions.TransferFaultError, match="CDBGPWRUPREQ"):
            access()
    port.write_dp(4, POWER_UP)
    assert port.read_dp(4) >> 28 == 0xF and port.read_ap_multiple(0, 2) == [7, 7]
    port.write_dp(4, POWER_UP | 0x20)
    port.write_dp(4, 0)
    assert changes == [True, False] and port.read_dp(4) == 0
    with pytest.raises(exceptions.TransferFaultError):
        port.read_ap(0)


def test_only_access_ports_that_the_chip_has_answer() -> None:
    port = DebugPort(PortId(0x6BA02477), {0: Scratch(), 2: Scratch()})
    port.write_dp(4, POWER_UP)
    found = []
    for number in range(4):
        port.write_dp(8, number << 24)
        found.append(port.read_ap(0))
    assert found == [7, 0, 7, 0]


def test_the_debug_logic_draws_its_current_from_the_request_until_it_is_taken_back() -> None:
    times = iter((1 * S, 5 * S, 8 * S))  # asked at changes only
    log: list[str] = []
    debug = DebugPower(lambda: next(times), log.append)
    supply = Supply(CURRENTS, lambda: Activity(10 * S, ((0, 10 * S),), False, False), debug)
    for wanted in (True, True, False, False, True):
        debug.request(wanted)
    # Requested from 1 to 5 s and from 8 s on: by brute force, second for second.
    each = np.array([0, 1, 1, 1, 1, 0, 0, 0, 1, 1]) * CURRENTS.debug_a + CURRENTS.asleep_a
    supply.now()
    assert np.allclose(np.diff(supply.charge(np.arange(11) * S)), each)
    assert np.allclose(supply.current(np.arange(10) * S), each)
    seen = supply.observe()
    for begin in range(10):
        for end in range(begin + 1, 11):
            assert supply.energy(seen, begin * S, end * S) == pytest.approx(3.3 * each[begin:end].sum())
    assert supply.present(seen) == pytest.approx(CURRENTS.awake_a + CURRENTS.debug_a)
    assert len(log) == 3
