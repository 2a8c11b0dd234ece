"""Registers of the virtual RP2040: resets, atomic views, clocks, timer, pins, divider, UART."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.rp2 import pl011 as u

from . import rp2040_programs as programs
from .pico import BEHIND_START, TIMER_0, Pico, behind_start, image

RESETS, RESET_DONE = 0x4000C000, 0x4000C008
CLK_REF, CLK_SYS, CLK_SYS_SELECTED, CLK_PERI = 0x40008030, 0x4000803C, 0x40008044, 0x40008048
CLK_USB, PLL_USB = 0x40008054, 0x4002C000
XOSC_CTRL, XOSC_STATUS = 0x40024000, 0x40024004
CS, PWR, FBDIV, PRIM = (0x40028000 + i for i in (0, 4, 8, 12))
TIMER = 0x40054000
UART = 0x40034000
DR, FR, IBRD, FBRD, LCR_H, CR, IFLS, IMSC, RIS, MIS, ICR = (
    UART + i for i in (0, 0x18, 0x24, 0x28, 0x2C, 0x30, 0x34, 0x38, 0x3C, 0x40, 0x44)
)
SET, CLR, XOR = 0x2000, 0x3000, 0x1000
BYTE_PS = 10 * 10**12 // 921600


@pytest.fixture
def chip() -> Pico:
    """At power-on, before the boot ROM."""
    return Pico()


@pytest.fixture
def running() -> Pico:
    """With clocks, pins and UART0 set up by START, asleep behind it."""
    chip = Pico()
    chip.load(image(behind_start(b"\x30\xbf")))
    chip.run()
    assert chip.chip.fault is None and chip.chip.clock.hz == 125_000_000
    return chip


# resets and the bus


@pytest.mark.parametrize("address", [UART, TIMER, 0x50000000, 0x40014000, 0x4001C000, CS, 0x40000000, 0x40018000])
def test_what_is_held_in_reset_is_out_of_reach(chip: Pico, address: int) -> None:
    with pytest.raises(ModelFault, match=r"held in reset; clear RESETS_RESET\.\w+ first"):
        chip.read(address)
    chip.write(RESETS + CLR, 0x1FFFFFF)
    assert chip.read(RESET_DONE) == 0x1FFFFFF
    chip.read(address)


def test_a_reset_forgets(chip: Pico) -> None:
    chip.write(RESETS, 0)
    chip.write(TIMER + 0x38, 5)
    chip.write(RESETS + SET, 1 << 21)
    chip.write(RESETS + CLR, 1 << 21)
    assert chip.read(TIMER + 0x38) == 0


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFF))
@settings(max_examples=30, deadline=None)
def test_atomic_views(old: int, bits: int) -> None:
    chip = CHIP
    scratch = 0x4005800C
    for view, expected in ((XOR, old ^ bits), (SET, old | bits), (CLR, old & ~bits)):
        chip.write(scratch, old)
        chip.write(scratch + view, bits)
        assert chip.read(scratch) == chip.read(scratch + view) == expected


CHIP = Pico()


def test_atomic_views_keep_to_the_registers_bits(chip: Pico) -> None:
    with pytest.raises(ModelFault, match="reserved bits 0x80000000"):
        chip.write(RESETS + SET, 1 << 31)
    with pytest.raises(ModelFault, match="no peripheral"):
        chip.write(0xD0000010 + SET, 1)  # SIO has none
    chip.write(RESETS, 0)
    chip.write(TIMER + 0x2C, 7)
    assert chip.read(TIMER + 0x2C) == 7


def test_narrow_writes_are_refused_and_narrow_reads_are_not(chip: Pico) -> None:
    with pytest.raises(ModelFault, match="repeats over the word"):
        chip.chip.bus.write(0x4005800C, 1, 5)
    chip.write(0x4005800C, 0x11223344)
    assert chip.chip.bus.read(0x4005800D, 1) == 0x33


@pytest.mark.parametrize("address", [0x40038000, 0x50200000, 0x4004C000, 0x40004000, 0x60000000])
def test_peripherals_that_are_not_modelled_say_so(chip: Pico, address: int) -> None:
    with pytest.raises(ModelFault, match="no peripheral there"):
        chip.read(address)


def test_every_register_takes_its_reset_value_back(chip: Pico) -> None:
    chip.write(RESETS, 0)
    refused = []
    for block in (
        *chip.chip._always,
        *chip.chip.resets.held.values(),
        chip.chip.sio,
        chip.chip.ssi,
        chip.chip.xip_control,
    ):
        for register in block.REGISTERS:
            if register.acting:
                continue
            try:
                block.write(register.offset, 4, block.read(register.offset, 4) & ~register.clearing)
            except ModelFault as fault:
                refused.append(str(fault))
    assert refused == []


# clocks


def start_xosc(chip: Pico) -> None:
    chip.write(RESETS, 0)
    chip.write(XOSC_CTRL, 0xFABAA0)
    assert not chip.read(XOSC_STATUS) >> 31
    chip.wait(5_000_000_000)
    assert chip.read(XOSC_STATUS) >> 31


def start_pll(chip: Pico, feedback: int = 125, post: int = 0x62000) -> None:
    start_xosc(chip)
    chip.write(FBDIV, feedback)
    chip.write(PRIM, post)
    chip.write(PWR + CLR, 0x21)
    assert not chip.read(CS) >> 31
    chip.wait(200_000_000)
    assert chip.read(CS) >> 31
    chip.write(PWR + CLR, 8)


@pytest.mark.parametrize(
    ("feedback", "post", "hz"), [(125, 0x62000, 125_000_000), (133, 0x62000, 133_000_000), (63, 0x77000, 15_428_571)]
)
def test_the_system_clock_follows_the_pll(chip: Pico, feedback: int, post: int, hz: int) -> None:
    start_pll(chip, feedback, post)
    assert chip.chip.clock.hz == 6_500_000
    chip.write(CLK_SYS, 1)
    assert chip.chip.clock.hz == hz and chip.read(CLK_SYS_SELECTED) == 2
    chip.write(CLK_SYS + CLR, 1)
    chip.write(CLK_REF, 2)
    assert chip.chip.clock.hz == 12_000_000


@pytest.mark.parametrize(
    ("feedback", "message"), [(62, "VCO would run at 744000000"), (134, "VCO would run at 1608"), (15, "outside 16")]
)
def test_a_pll_outside_its_ranges_is_refused(chip: Pico, feedback: int, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        start_pll(chip, feedback)


def test_a_pll_without_its_crystal_is_refused(chip: Pico) -> None:
    chip.write(RESETS, 0)
    chip.write(FBDIV, 125)
    with pytest.raises(ModelFault, match=r"wait for XOSC_STATUS\.STABLE"):
        chip.write(PWR + CLR, 0x21)


def test_more_than_133_mhz_is_refused(chip: Pico) -> None:
    start_pll(chip, 125, 0x52000)
    with pytest.raises(ModelFault, match="clk_sys at 150000000 Hz"):
        chip.write(CLK_SYS, 1)


@pytest.mark.parametrize(("address", "value", "message"), [
    (CLK_SYS, 0x61, "AUXSRC changes while clk_sys"), (FBDIV, 100, "running clock comes from this PLL"), (PWR, 0x2D, "powers down"),
    (RESETS, 1 << 12, "source that does not run"), (CLK_REF, 1, "clk_ref is switched to a source that does not run"),
    (XOSC_CTRL, 0xD1EAA0, "source that does not run"), (XOSC_CTRL, 0x123AA0, "neither"), (CLK_PERI, 0x880, "glitches"),
])  # fmt: skip
def test_what_would_stop_or_glitch_a_running_clock(running: Pico, address: int, value: int, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        running.write(address, value)


@pytest.mark.parametrize(
    ("source", "divider", "hz"),
    [(1, 1, 125_000_000), (1, 2, 62_500_000), (1, 0, 31_250_000), (3, 1, 12_000_000), (0, 1, 0), (4, 1, 0)],
)
def test_clk_usb_has_a_source_and_a_divider(running: Pico, source: int, divider: int, hz: int) -> None:
    """RP2040 data sheet, 2.15.7: PLL_SYS is source 1, the crystal 3; PLL_USB, 0, is off. A divider of 0 is 4."""
    running.write(CLK_USB + 4, divider << 8)
    running.write(CLK_USB, source << 5)
    assert running.chip.clocks.usb_hz() == 0, "not enabled"
    running.write(CLK_USB, source << 5 | 1 << 11)
    assert running.chip.clocks.usb_hz() == hz
    with pytest.raises(ModelFault, match=r"CLK_USB_CTRL\.AUXSRC changes while the clock is on"):
        running.write(CLK_USB, (source ^ 2) << 5 | 1 << 11)


def test_clk_usb_keeps_its_pll_on(running: Pico) -> None:
    running.write(RESETS + CLR, 1 << 13)
    for offset, value in ((8, 100), (4, 0), (0xC, 5 << 16 | 5 << 12)):
        running.write(PLL_USB + offset, value)
    running.wait(1_000_000_000)
    running.write(CLK_USB, 1 << 11)
    assert running.chip.clocks.usb_hz() == 48_000_000
    with pytest.raises(ModelFault, match="PLL_USB_PWR powers down a PLL that a running clock comes from"):
        running.write(PLL_USB + 4, 0x2D)


# timer


def test_the_timer_counts_microseconds(running: Pico) -> None:
    start = running.read(TIMER + 0x28)
    running.wait(1_234_567_000_000)
    assert running.read(TIMER + 0x28) - start in (1_234_567, 1_234_568)
    running.write(TIMER + 4, 0xFFFFFFF0)
    running.write(TIMER, 1)
    running.wait(20_000_000)
    assert running.read(TIMER + 0x0C) == 4 and running.read(TIMER + 8) == 2
    running.write(TIMER + 0x30, 1)
    running.wait(1_000_000_000)
    assert running.read(TIMER + 0x28) == 4


def test_without_its_tick_the_timer_stands(chip: Pico) -> None:
    chip.write(RESETS, 0)
    chip.wait(1_000_000_000)
    assert chip.read(TIMER + 0x28) == 0
    chip.write(0x4005802C, 0x200 | 13)
    chip.wait(2_000_000_000)
    assert chip.read(TIMER + 0x28) == 1000  # 6.5 MHz / 13


def test_alarms_wake_a_sleeping_core() -> None:
    chip = Pico()
    chip.load(image(behind_start(programs.ALARM), {TIMER_0: BEHIND_START + 0x40}))
    chip.run()
    assert chip.chip.fault is None and chip.r(7) == 4
    assert chip.chip.clock.asleep_ps == pytest.approx(1e9, rel=0.01)


def test_an_alarm_can_be_taken_back_and_one_in_the_past_is_far_away(running: Pico) -> None:
    running.write(TIMER + 0x38, 3)
    now = running.read(TIMER + 0x28)
    running.write(TIMER + 0x10, now + 100)
    running.write(TIMER + 0x14, now - 1)
    assert running.read(TIMER + 0x20) == 3
    running.write(TIMER + 0x20, 1)
    running.wait(10**12)
    running.chip.timer.update(running.chip.clock.now)
    assert running.read(TIMER + 0x34) == 0 and running.read(TIMER + 0x20) == 2
    running.wait(4295 * 10**12)
    running.chip.timer.update(running.chip.clock.now)
    assert running.read(TIMER + 0x40) == 2 and running.chip.nvic.lines == 1 << 17
    running.write(TIMER + 0x34, 2)
    assert running.chip.nvic.lines == 0


# pins and the divider


def test_a_pin_moves_only_where_everything_lets_it(running: Pico) -> None:
    running.write(0xD0000014, 1 << 2 | 1 << 3)
    assert [edge[:3] for edge in running.edges] == [("GP", 2, 1)]  # GP3 has no function and is no output
    running.write(0x4001C004 + 8, 0xD6)  # output disable of the pad
    running.write(0x4001C004 + 8, 0x56)
    running.write(0xD0000028, 1 << 2)
    assert [edge[2] for edge in running.edges] == [1, 0, 1, 0]
    assert running.read(0xD0000004) & 4 == 0


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFFFFFF))
@settings(max_examples=60, deadline=None)
def test_the_divider(dividend: int, divisor: int) -> None:
    CHIP.write(0xD0000060, dividend)
    CHIP.write(0xD0000064, divisor)
    expected = (dividend // divisor, dividend % divisor) if divisor else (0xFFFFFFFF, dividend)
    assert (CHIP.read(0xD0000070), CHIP.read(0xD0000074)) == expected
    signed = [v - (v >> 31 << 32) for v in (dividend, divisor)]
    CHIP.write(0xD0000068, dividend)
    CHIP.write(0xD000006C, divisor)
    quotient, remainder = CHIP.read(0xD0000070), CHIP.read(0xD0000074)
    if divisor:
        truncated = int(signed[0] / signed[1]) if abs(signed[0]) < 1 << 31 else None
        assert truncated is None or quotient == truncated & 0xFFFFFFFF
        assert (quotient * divisor + remainder) & 0xFFFFFFFF == dividend


# UART


def pass_time(chip: Pico, ps: int) -> None:
    chip.wait(ps)
    chip.chip.uart0.update(chip.chip.clock.now)


def reconfigure(chip: Pico, integer: int = 8, fraction: int = 31, line: int = 0x70, latch: bool = True) -> None:
    chip.write(CR, 0)
    chip.write(IBRD, integer)
    chip.write(FBRD, fraction)
    if latch:
        chip.write(LCR_H, line)
    chip.write(CR, 0x301)


def test_the_receive_interrupt_comes_at_its_level_and_with_silence(running: Pico) -> None:
    running.write(IFLS, 2 << 3)
    running.write(IMSC, u.RX | u.RT)
    start = running.chip.clock.now
    running.chip.uart0.feed(bytes(range(20)))
    assert running.chip.uart0.next_event() == start + 16 * BYTE_PS
    pass_time(running, 16 * BYTE_PS)
    assert running.read(MIS) == u.RX and running.chip.nvic.lines == 1 << 36
    assert [running.read(DR) for _ in range(16)] == list(range(16))
    assert running.read(MIS) == 0 and running.chip.nvic.lines == 0
    pass_time(running, 4 * BYTE_PS)
    assert running.read(MIS) == 0
    event = running.chip.uart0.next_event()
    assert event is not None and event == pytest.approx(start + 20 * BYTE_PS + 3.2 * BYTE_PS, abs=BYTE_PS // 50)
    pass_time(running, event - running.chip.clock.now)
    assert running.read(MIS) == u.RT
    for _ in range(4):
        running.read(DR)
    assert running.read(MIS) == 0 and running.read(FR) & u.RXFE


def test_the_thirty_third_byte_overruns(running: Pico) -> None:
    running.write(IMSC, u.OE)
    running.chip.uart0.feed(bytes(range(40)))
    pass_time(running, 32 * BYTE_PS)
    assert running.read(FR) & u.RXFF and running.read(RIS) & u.OE == 0
    pass_time(running, BYTE_PS)
    assert running.read(MIS) == u.OE
    pass_time(running, 8 * BYTE_PS)
    assert [running.read(DR) for _ in range(32)] == list(range(32))
    running.chip.uart0.feed(b"\x55")
    pass_time(running, BYTE_PS)
    assert running.read(DR) == 0x55 | u.DR_OE
    running.write(ICR, u.OE)
    assert running.read(RIS) & u.OE == 0


def test_the_transmit_interrupt_comes_when_the_level_is_crossed(running: Pico) -> None:
    running.write(IFLS, 2)  # half full
    running.write(IMSC, u.TX)
    assert running.read(MIS) == 0  # an empty FIFO alone does not ask
    for byte in range(20):
        running.write(DR, byte)
    pass_time(running, 4 * BYTE_PS)
    assert running.read(MIS) == u.TX
    running.write(ICR, u.TX)
    assert running.read(MIS) == 0
    pass_time(running, 17 * BYTE_PS)
    assert bytes(running.sent) == bytes(range(20)) and not running.read(FR) & u.BUSY


def test_a_full_transmit_fifo_says_so_and_loses_no_byte_silently(running: Pico) -> None:
    for byte in range(33):
        assert not running.read(FR) & u.TXFF
        running.write(DR, byte)
    assert running.read(FR) & u.TXFF
    with pytest.raises(ModelFault, match="transmit FIFO is full"):
        running.write(DR, 0)


@pytest.mark.parametrize(
    ("integer", "fraction", "whole"), [(8, 31, True), (8, 20, True), (8, 45, True), (9, 0, False), (7, 60, False)]
)
def test_the_baud_rate_is_held_against_the_lines(running: Pico, integer: int, fraction: int, whole: bool) -> None:
    reconfigure(running, integer, fraction)
    running.chip.uart0.feed(b"U")
    running.write(DR, 0x41)
    pass_time(running, 2 * BYTE_PS)
    word = running.read(DR)
    assert (word == ord("U")) == whole == (bytes(running.sent) == b"A")
    assert bool(word & u.DR_FE) != whole and bool(running.log) != whole


def test_divisors_are_taken_with_lcr_h(running: Pico) -> None:
    reconfigure(running, 1, 0, latch=False)
    running.chip.uart0.feed(b"U")
    pass_time(running, BYTE_PS)
    assert running.read(DR) == ord("U")


@pytest.mark.parametrize(("do", "message"), [
    (lambda c: reconfigure(c, 0, 0), "divisor of 0"), (lambda c: reconfigure(c, line=0x50), "words of 7 bits"),
    (lambda c: (c.write(CR, 0), c.write(CLK_PERI, 0), c.write(CR, 0x301)), "clk_peri is off"),
    (lambda c: c.write(LCR_H, 0x78), "clear UARTEN first"), (lambda c: (c.write(CR, 0), c.write(DR, 1)), "transmitter is off"),
    (lambda c: c.write(UART + 0x48, 2), "TXDMAE, which this model does not have"),
])  # fmt: skip
def test_what_must_not_be_done_to_the_uart(running: Pico, do: object, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        do(running)


def test_pins_without_their_function_are_dead(running: Pico) -> None:
    running.write(0x40014004, 0x1F)
    running.write(0x4001400C, 0x1F)
    running.write(DR, 65)
    running.chip.uart0.feed(b"x")
    pass_time(running, 2 * BYTE_PS)
    assert running.sent == b"" and running.read(FR) & u.RXFE


def test_a_program_echoes() -> None:
    chip = Pico()
    chip.load(image(behind_start(programs.ECHO)))
    for _ in range(10):
        chip.chip.advance(10_000)
    chip.chip.uart0.feed(bytes(range(100)))
    for _ in range(300):
        chip.chip.advance(1000)
    assert chip.chip.fault is None and bytes(chip.sent) == bytes(range(100))


def test_an_edge_of_an_input_interrupts_core_0_until_it_is_ended(chip: Pico) -> None:
    """RP2040 data sheet, 2.19.6.1: INTR, INTE and INTS of GPIO24 are the lowest four bits of the fourth words; the interrupt is number 13."""
    intr, inte, ints, pending = 0x400140FC, 0x4001410C, 0x4001412C, 0xE000E200
    chip.write(0x4000F000, 1 << 5 | 1 << 8)
    chip.chip.sio.connect(24, 1)
    assert chip.read(0xD0000004) >> 24 & 1 and chip.read(intr) == 8 and chip.read(ints) == 0
    chip.write(intr, 8)
    chip.write(inte, 0xC)
    assert chip.read(intr) == 0 and not chip.read(pending) >> 13 & 1
    chip.chip.sio.connect(24, 1)
    assert chip.read(intr) == 0, "no edge"
    chip.chip.sio.connect(24, 0)
    assert not chip.read(0xD0000004) >> 24 & 1
    assert chip.read(intr) == chip.read(ints) == 4 and chip.read(pending) >> 13 & 1
    chip.write(intr, 4)
    assert chip.read(ints) == 0
