"""SysTick while it is stopped and started again (ARM DDI 0403E.e, B3.3.1; the same in ARM DDI 0419)."""

from __future__ import annotations

from types import SimpleNamespace

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.systick import SysTick

HZ = 125_000_000
CSR, RVR, CVR = 0x10, 0x14, 0x18


def test_a_stopped_counter_keeps_its_value_and_counts_on_from_it():
    executed = [0]
    tick = SysTick(Clock(lambda: executed[0], HZ), SimpleNamespace(pend=lambda number: None))
    tick.reset()
    tick.write(RVR, 4, 0xFFFFFF)
    tick.write(CVR, 4, 0)
    tick.write(CSR, 4, 5)
    executed[0] = 1_000
    tick.write(CSR, 4, 4)
    stopped = tick.read(CVR, 4)
    assert 0xFFFFFF - 1_000 <= stopped <= 0x1000000 - 1_000
    executed[0] = 50_000
    assert tick.read(CVR, 4) == stopped, "it counts nothing while it is stopped"
    tick.write(CSR, 4, 5)
    executed[0] = 50_500
    assert tick.read(CVR, 4) == stopped - 500


def test_a_counter_that_was_cleared_begins_with_its_reload_value():
    executed = [0]
    tick = SysTick(Clock(lambda: executed[0], HZ), SimpleNamespace(pend=lambda number: None))
    tick.reset()
    tick.write(RVR, 4, 999)
    tick.write(CSR, 4, 5)
    executed[0] = 300
    tick.write(CSR, 4, 4)
    tick.write(CVR, 4, 0)
    assert tick.read(CVR, 4) == 0
    tick.write(CSR, 4, 5)
    executed[0] = 400
    assert tick.read(CVR, 4) == 900


def test_a_halted_core_s_counter_stands_still():
    executed = [0]
    clock = Clock(lambda: executed[0], HZ)
    tick = SysTick(clock, SimpleNamespace(pend=lambda number: None))
    tick.reset()
    tick.write(RVR, 4, 0xFFFFFF)
    tick.write(CVR, 4, 0)
    tick.write(CSR, 4, 5)
    executed[0] = 1_000
    before = tick.read(CVR, 4)
    tick.stand_still(100_000_000)
    clock.wait_until(clock.now + 100_000_000)
    assert tick.read(CVR, 4) == before
    executed[0] = 1_500
    assert tick.read(CVR, 4) == before - 500
