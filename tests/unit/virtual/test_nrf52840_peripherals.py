"""Peripherals of the virtual nRF52840: events and tasks, timers, flash, pins, protection."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.nrf52840.events import Times
from hil.standins.virtual.chip.nrf52840.timer import HZ

from .nrf import NVMC, OUTSET, P0, P1, PIN_CNF, POWER, US, Dk, timer

START, STOP, COUNT, CAPTURE, COMPARE, CC = (0x0, 0x4, 0x8, 0x40, 0x140, 0x540)
T_SHORTS, T_INTENSET, MODE, BITMODE, PRESCALER = (0x200, 0x304, 0x504, 0x508, 0x510)


@pytest.fixture
def dk() -> Dk:
    return Dk()


# what all peripherals have in common


def test_the_chip_has_nothing_else(dk: Dk) -> None:
    for address in (0x40001000, 0x4000B000, 0x40028000, NVMC + 0x800, P1 + PIN_CNF + 4 * 16, 0x10000200):
        with pytest.raises(ModelFault):
            dk.read(address)


def test_an_event_is_cleared_by_0_and_never_set_by_software(dk: Dk) -> None:
    dk.start_crystal()
    assert dk.read(POWER + 0x100) == 1
    with pytest.raises(ModelFault, match="events are made by the peripheral"):
        dk.write(POWER + 0x104, 1)
    dk.write(POWER + 0x100, 0)
    assert dk.read(POWER + 0x100) == 0


def test_an_interrupt_lasts_as_long_as_its_event(dk: Dk) -> None:
    dk.write(POWER + 0x304, 1)
    assert dk.read(POWER + 0x304) == dk.read(POWER + 0x308) == 1
    dk.start_crystal()
    assert dk.chip.nvic.lines == 1 << 16
    dk.write(POWER + 0x308, 1)
    assert dk.chip.nvic.lines == 0 and dk.read(POWER + 0x100) == 1
    dk.write(POWER + 0x304, 1)
    assert dk.chip.nvic.lines == 1 << 16
    dk.write(POWER + 0x100, 0)
    assert dk.chip.nvic.lines == 0


def test_a_task_that_is_not_modelled_is_refused(dk: Dk) -> None:
    with pytest.raises(ModelFault, match="TASKS_LFCLKSTART"):
        dk.write(POWER + 0x008, 1)
    dk.write(POWER + 0x008, 0)


def test_the_crystal_takes_its_time(dk: Dk) -> None:
    dk.write(POWER, 1)
    assert (dk.read(POWER + 0x408), dk.read(POWER + 0x40C)) == (1, 1 << 16)
    dk.wait(400 * US)
    assert dk.read(POWER + 0x40C) == 1 << 16 | 1
    assert dk.chip.clock.hz == 64_000_000


# timers


@settings(deadline=None, max_examples=60)
@given(
    prescaler=st.integers(0, 9),
    compare=st.integers(1, 3000),
    shorts=st.booleans(),
    pieces=st.lists(st.integers(1, 10**8), max_size=6),
)
def test_a_timer_compares_as_arithmetic_says(prescaler: int, compare: int, shorts: bool, pieces: list[int]) -> None:
    """However time is cut into pieces: value, number of compares and whether it runs."""
    dk, t = Dk(), timer(3)
    compares: list[int] = []
    dk.chip.timers[3]._fire = lambda _event, times: compares.append(times.first)
    for register, value in (
        (BITMODE, 3),
        (PRESCALER, prescaler),
        (CC + 20, compare),
        (T_SHORTS, 0x20 if shorts else 0),
    ):
        dk.write(t + register, value)
    begin = dk.chip.clock.now
    dk.write(t + START, 1)
    for piece in pieces:
        dk.wait(piece)
    ticks = (dk.chip.clock.now - begin) * HZ // (10**12 << prescaler)
    dk.write(t + CAPTURE, 1)
    count = ticks // compare if shorts else int(ticks >= compare)
    assert dk.read(t + CC) == (ticks % compare if shorts else ticks)
    assert compares == [begin + (i + 1) * ((compare << prescaler) * 10**12 // HZ) for i in range(count)]


@pytest.mark.parametrize(("bitmode", "bits"), [(0, 16), (1, 8), (2, 24), (3, 32)])
def test_a_counter_wraps_at_its_width(dk: Dk, bitmode: int, bits: int) -> None:
    t = timer(1)
    dk.write(t + MODE, 2)
    dk.write(t + BITMODE, bitmode)
    dk.write(t + CC + 4, 3)
    dk.write(t + START, 1)
    dk.chip.timers[1].task_count(Times(0, 0, (1 << bits) - 1))
    dk.write(t + COMPARE + 4, 0)
    for expected, compared in ((0, 0), (1, 0), (2, 0), (3, 1)):
        dk.write(t + COUNT, 1)
        dk.write(t + CAPTURE, 1)
        assert (dk.read(t + CC), dk.read(t + COMPARE + 4)) == (expected, compared)


def test_a_timer_is_set_up_while_it_stands(dk: Dk) -> None:
    t = timer(0)
    dk.write(t + START, 1)
    for register in (MODE, BITMODE, PRESCALER):
        with pytest.raises(ModelFault, match="stop it first"):
            dk.write(t + register, 1)
    dk.write(t + STOP, 1)
    dk.write(t + BITMODE, 3)


def test_a_compare_wakes_and_stops(dk: Dk) -> None:
    t = timer(2)
    for register, value in ((BITMODE, 3), (CC, 25), (T_SHORTS, 0x101), (T_INTENSET, 1 << 16), (START, 1)):
        dk.write(t + register, value)
    assert dk.chip.timers[2].next_event() == dk.chip.clock.now + 25 * US
    dk.wait(25 * US - 1)
    assert not dk.chip.nvic.lines
    dk.wait(1)
    assert dk.chip.nvic.lines == 1 << 16 + 10 and dk.chip.timers[2].next_event() is None


# pins


def test_a_pin_is_driven_where_it_is_an_output(dk: Dk) -> None:
    dk.write(P1 + OUTSET, 1 << 10)
    assert dk.edges == []
    dk.write(P1 + PIN_CNF + 40, 3)
    assert [edge[:3] for edge in dk.edges] == [("1", 10, 1)]
    assert dk.read(P1 + 0x514) == dk.read(P1 + 0x504) == dk.read(P1 + 0x50C) == 1 << 10
    dk.write(P1 + 0x50C, 1 << 10)
    dk.write(P1 + 0x51C, 1 << 10)
    assert dk.read(P1 + PIN_CNF + 40) == 2 and dk.edges[-1][:3] == ("1", 10, 0)
    dk.write(P0 + PIN_CNF + 4 * 8, 3 << 2)
    assert dk.read(P0 + 0x510) == 1 << 8


# flash and UICR


def test_uicr_is_written_by_the_nvmc_alone_and_clears_bits_only(dk: Dk) -> None:
    with pytest.raises(ModelFault, match=r"NVMC_CONFIG\.WEN is not set"):
        dk.write(0x10001080, 0)
    dk.write(NVMC + 0x504, 1)
    dk.write(0x10001080, 0xFFFF0F0F)
    assert (dk.read(NVMC + 0x400), dk.read(NVMC + 0x400)) == (0, 1)
    dk.write(0x10001080, 0xF0F0F0F0)
    assert dk.read(0x10001080) == 0xF0F00000
    assert "programmed without being erased" in dk.log[-1]
    with pytest.raises(ModelFault, match="is not Een"):
        dk.write(NVMC + 0x514, 1)
    dk.write(NVMC + 0x504, 2)
    dk.write(NVMC + 0x514, 1)
    assert dk.read(0x10001080) == 0xFFFFFFFF


def test_a_page_is_erased_and_no_more(dk: Dk) -> None:
    dk.chip.nvmc.array[:] = 0
    dk.write(NVMC + 0x504, 2)
    for wrong in (0x1004, 0x100000):
        with pytest.raises(ModelFault, match="no page of the flash"):
            dk.write(NVMC + 0x508, wrong)
    before = dk.chip.clock.now
    dk.write(NVMC + 0x508, 0x3000)
    assert dk.read(NVMC + 0x400) == 0 and dk.chip.clock.now - before == 85_000 * US
    assert set(dk.chip.contents[0x3000:0x4000]) == {0xFF}
    assert not dk.chip.contents[:0x3000].any() and not dk.chip.contents[0x4000:].any()
    with pytest.raises(ModelFault, match="neither read only, write nor erase"):
        dk.write(NVMC + 0x504, 3)


# reset and protection


def test_the_reset_pin_works_where_uicr_says_so(dk: Dk) -> None:
    dk.load(b"\x00\xbe")
    dk.chip.hold_reset(True)
    assert not dk.chip.reset_line and "PSELRESET" in dk.log[-1]
    for word in (0x200, 0x204):
        dk.chip.uicr.words[word >> 2] = 0x7FFFFFD2
    dk.chip.hold_reset(True)
    assert dk.chip.reset_line and dk.chip.protection.locked
    dk.chip.hold_reset(False)
    assert dk.read(POWER + 0x400) == 1


def test_a_soft_reset_keeps_reasons_flash_and_protection(dk: Dk) -> None:
    dk.write(POWER + 0x51C, 0x42)
    dk.write(POWER + 0x558, 0x5A)
    dk.chip.power_on()
    assert dk.chip.protection.locked
    dk.write(POWER + 0x558, 0x5A)
    dk.chip.request_reset()
    dk.chip.advance()
    assert not dk.chip.protection.locked
    assert (dk.read(POWER + 0x400), dk.read(POWER + 0x51C), dk.read(POWER + 0x558)) == (4, 0x42, 0)
    dk.write(POWER + 0x400, 4)
    assert dk.read(POWER + 0x400) == 0
