"""Registers of the virtual RP2350: the map, resets, clocks, pads with latches, timers, watchdog, locks, DMA."""

from __future__ import annotations

import pytest

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.registers import Block
from hil.standins.virtual.chip.rp2 import pl011 as u

from . import rp2350_programs as programs
from .pico2 import TIMER0_0, Pico2, behind_start, image, started
from .rp2350_registers import HEADERS

RESETS, CLOCKS, XOSC, PLL_SYS, PLL_USB = 0x40020000, 0x40010000, 0x40048000, 0x40050000, 0x40058000
CLK_REF, CLK_SYS, SYS_DIV, SYS_SELECTED, CLK_PERI, PERI_DIV = (CLOCKS + i for i in (0x30, 0x3C, 0x40, 0x44, 0x48, 0x4C))
CLK_USB = CLOCKS + 0x60
IO_BANK0, PADS_BANK0, SIO = 0x40028000, 0x40038000, 0xD0000000
TIMER0, TICKS, WATCHDOG, PSM = 0x400B0000, 0x40108000, 0x400D8000, 0x40018000
UART, DMA, ACCESSCTRL, BOOTRAM = 0x40070000, 0x50000000, 0x40060000, 0x400E0000
XOR, SET, CLR = 0x1000, 0x2000, 0x3000
ISO, IE = 1 << 8, 1 << 6
BYTE_PS = 10 * 10**12 // 921600
# Registers whose reset value a chip has or gets before its program can read it: DONE of PSM, and the identification.
OWN_VALUES = {("PSM", 0xC), ("SYSINFO", 0x0), ("SYSINFO", 0x4), ("SYSINFO", 0x8)}


@pytest.fixture
def chip() -> Pico2:
    """At power-on, before the boot ROM."""
    return Pico2()


@pytest.fixture
def running() -> Pico2:
    """With clocks, pins and UART0 set up by START, asleep behind it."""
    pico = started()
    assert pico.chip.fault is None and pico.chip.clock.hz == 150_000_000
    return pico


def blocks(chip: Pico2) -> dict[str, Block]:
    rp = chip.chip
    found: list[Block] = [*rp._always, rp.psm, rp.resets, *rp.resets.held.values(), rp.access, rp.boot_ram]
    return {block.name: block for block in found}


@pytest.mark.parametrize("name", HEADERS)
def test_the_register_map_is_that_of_the_headers(chip: Pico2, name: str) -> None:
    """Bits that the model adds or lacks are read only, or reserved with a reset value of 1."""
    known = {register.offset: register for register in blocks(chip)[name].REGISTERS}
    for row in HEADERS[name].split():
        offset, bits, reset = row.split(":")
        register = known.pop(int(offset, 16))
        read_only = ~(register.stored | register.clearing | register.acting | register.absent)
        odd = (~register.reserved ^ int(bits, 16)) & 0xFFFFFFFF & ~read_only & ~register.reset
        assert not odd, (register.name, hex(odd))
        if reset != "-" and (name, register.offset) not in OWN_VALUES:
            assert register.reset == int(reset, 16), register.name
    assert not known


@pytest.mark.parametrize("address", [UART, TIMER0, DMA, IO_BANK0, PADS_BANK0, PLL_SYS, 0x40000000])
def test_what_is_held_in_reset_is_out_of_reach(chip: Pico2, address: int) -> None:
    with pytest.raises(ModelFault, match=r"held in reset; clear RESETS_RESET\.\w+ first"):
        chip.read(address)
    chip.write(RESETS + CLR, 0x1FFFFFFF)
    assert chip.read(RESETS + 8) == 0x1FFFFFFF
    chip.read(address)


@pytest.mark.parametrize(
    "address", [0x40080000, 0x400A0000, 0x40100000, 0x40120000, 0x50200000, 0xD0020000, 0x40078000]
)
def test_what_has_no_model_faults(running: Pico2, address: int) -> None:
    with pytest.raises(ModelFault):
        running.read(address)


# clocks


def test_the_clocks_after_power_on(chip: Pico2) -> None:
    clocks = chip.chip.clocks
    assert (
        clocks.sys_hz() == clocks.ref_hz() == chip.chip.rosc.hz and chip.read(SYS_SELECTED) == 2
    )  # its auxiliary source
    assert clocks.peri_hz() == 0


@pytest.mark.parametrize(
    ("divider", "hz"), [(1 << 16, 150e6), (2 << 16, 75e6), (3 << 15, 100e6), (0x8000, 150e6 / 65536.5)]
)
def test_the_divider_of_clk_sys_has_16_bits_of_fraction(running: Pico2, divider: int, hz: float) -> None:
    running.write(SYS_DIV, divider)
    assert running.chip.clock.hz == int(hz)


@pytest.mark.parametrize(("divider", "share"), [(1, 1), (2, 2), (3, 3), (0, 4)])
def test_the_divider_of_clk_peri(running: Pico2, divider: int, share: int) -> None:
    running.write(PERI_DIV, divider << 16)
    assert running.chip.clocks.peri_hz() == 150_000_000 // share
    assert running.read(CLK_PERI) == 1 << 11 | 1 << 28  # ENABLED follows ENABLE


@pytest.mark.parametrize(
    ("source", "divider", "hz"),
    [(1, 1, 150_000_000), (1, 15, 10_000_000), (1, 0, 9_375_000), (3, 1, 12_000_000), (0, 1, 0), (4, 1, 0)],
)
def test_clk_usb_has_a_source_and_a_divider(running: Pico2, source: int, divider: int, hz: int) -> None:
    """pico-sdk, clocks.h of rp2350: PLL_SYS is source 1, the crystal 3; PLL_USB, 0, is off. A divider of 0 is 16."""
    running.write(CLK_USB + 4, divider << 16)
    running.write(CLK_USB, source << 5)
    assert running.chip.clocks.usb_hz() == 0, "not enabled"
    running.write(CLK_USB, source << 5 | 1 << 11)
    assert running.chip.clocks.usb_hz() == hz
    with pytest.raises(ModelFault, match=r"CLK_USB_CTRL\.AUXSRC changes while the clock is on"):
        running.write(CLK_USB, (source ^ 2) << 5 | 1 << 11)


def test_clk_usb_keeps_its_pll_on(running: Pico2) -> None:
    running.write(RESETS + CLR, 1 << 15)
    for offset, value in ((8, 100), (4, 0), (0xC, 5 << 16 | 5 << 12)):
        running.write(PLL_USB + offset, value)
    running.wait(1_000_000_000)
    running.write(CLK_USB, 1 << 11)
    assert running.chip.clocks.usb_hz() == 48_000_000
    with pytest.raises(ModelFault, match="PLL_USB_PWR powers down a PLL that a running clock comes from"):
        running.write(PLL_USB + 4, 0x2D)


def test_clk_sys_above_150_mhz_is_a_fault(running: Pico2) -> None:
    running.write(CLOCKS + 0x303C, 1)  # clk_sys to clk_ref
    running.write(PLL_SYS + 0xC, 5 << 16 | 1 << 12)
    running.write(CLOCKS + 0x3048, 1 << 11)
    with pytest.raises(ModelFault, match="300000000 Hz, clk_peri at 0 Hz: the chip allows 150000000 Hz"):
        running.write(CLOCKS + 0x203C, 1)


def test_a_pll_without_its_crystal_is_a_fault(chip: Pico2) -> None:
    chip.write(RESETS + CLR, 1 << 14)
    chip.write(PLL_SYS + 8, 125)
    with pytest.raises(ModelFault, match=r"wait for XOSC_STATUS\.STABLE"):
        chip.write(PLL_SYS + 4, 0)


# pins


def test_an_isolated_pad_keeps_its_level(running: Pico2) -> None:
    del running.edges[:]
    running.write(PADS_BANK0 + 4 + 8, 0x56 | ISO)
    running.write(SIO + 0x18, 4)  # GPIO_OUT_SET
    assert not running.edges
    running.write(PADS_BANK0 + 4 + 8, 0x56)
    assert [edge[:3] for edge in running.edges] == [("GP", 2, 1)]


@pytest.mark.parametrize(("pad", "value"), [(1, 0x56 | ISO), (1, 0x56 & ~IE)])
def test_uart0_does_not_hear_through_an_isolated_or_deaf_pad(running: Pico2, pad: int, value: int) -> None:
    running.write(PADS_BANK0 + 4 + 4 * pad, value)
    running.chip.uart0.feed(b"x")
    running.wait(2 * BYTE_PS)
    assert running.read(UART + 0x18) & u.RXFE


def test_uart0_is_not_heard_through_an_isolated_pad(running: Pico2) -> None:
    for value in (0x56 | ISO, 0x56):
        running.write(PADS_BANK0 + 4, value)
        running.write(UART, 0x41)
        running.wait(2 * BYTE_PS)
        running.read(UART + 0x18)
    assert bytes(running.sent) == b"A"


def test_pins_of_the_larger_package_are_not_there(running: Pico2) -> None:
    with pytest.raises(ModelFault, match="reserved"):
        running.write(SIO + 0x18, 1 << 30)


def test_the_marker_rises_and_falls(running: Pico2) -> None:
    pico = started(programs.MARKER)
    assert [edge[:3] for edge in pico.edges] == [("GP", 2, level) for level in (1, 0, 1, 0)]
    assert pico.edges[1][3] - pico.edges[0][3] == pytest.approx(202 / 150e6 * 1e12, rel=0.02)


# timers, ticks and watchdog


def test_alarms_wake_the_core_in_time() -> None:
    pico = Pico2()
    pico.load(image(behind_start(programs.ALARM), {TIMER0_0: 0x140 + 0x40}))
    pico.run()
    assert pico.r(7) == 4 and pico.read(TIMER0 + 0x28) == pytest.approx(1000, abs=5)


def test_a_timer_counts_its_tick_or_clk_sys(running: Pico2) -> None:
    for source, count in ((0, 1_000), (1, 150_000)):
        running.write(TIMER0 + 0x38, source)
        start = running.read(TIMER0 + 0x28)
        running.wait(10**9)
        assert running.read(TIMER0 + 0x28) - start == pytest.approx(count, abs=1)
    running.write(TIMER0 + 0x38, 0)
    running.write(TICKS + CLR + 0x18, 1)
    stopped = running.read(TIMER0 + 0x28)
    running.wait(10**9)
    assert running.read(TIMER0 + 0x28) == stopped


def test_a_locked_timer_keeps_its_time(running: Pico2) -> None:
    running.write(TIMER0 + 0x34, 1)
    for offset in (0x0, 0x4, 0x30, 0x34, 0x38):
        with pytest.raises(ModelFault, match="while LOCKED is set"):
            running.write(TIMER0 + offset, 0)
    running.write(TIMER0 + 0x10, 5)  # an alarm is free


def count_down(pico: Pico2, wdsel: int) -> None:
    pico.write(TICKS + 0x34, 12)
    pico.write(TICKS + 0x30, 1)
    pico.write(PSM + 8, wdsel)
    pico.write(WATCHDOG + 0xC, 0x12345678)
    pico.write(WATCHDOG + 4, 5000)
    pico.write(WATCHDOG, 1 << 30)


def test_the_watchdog_counts_microseconds_and_restarts_the_chip(running: Pico2) -> None:
    count_down(running, 0x1FFFFFE)
    running.wait(4 * 10**9)
    assert running.read(WATCHDOG) & 0xFFFFFF == pytest.approx(1000, abs=1)
    running.write(WATCHDOG + 4, 3000)
    start = running.chip.clock.now
    running.run()  # through the restart, to the program's sleep
    assert running.chip.clock.now - start > 3 * 10**9
    assert running.read(WATCHDOG + 8) == 1 and running.read(WATCHDOG + 0xC) == 0x12345678
    assert running.chip.clock.hz == 150_000_000 and running.chip.fault is None
    running.chip.power_on()
    assert running.read(WATCHDOG + 8) == running.read(WATCHDOG + 0xC) == 0


def test_the_watchdog_resets_nothing_that_is_not_selected(running: Pico2) -> None:
    count_down(running, 0)
    running.run()
    assert running.chip.fault is not None and "PSM_WDSEL does not select the cores" in str(running.chip.fault)


def test_a_forced_reset_is_told_from_the_countdown(running: Pico2) -> None:
    running.write(PSM + 8, 0x1FFFFFE)
    running.write(WATCHDOG, 1 << 31)
    running.run()
    assert running.read(WATCHDOG + 8) == 2


# locks and rights


def test_a_spinlock_is_taken_once(running: Pico2) -> None:
    assert [running.read(SIO + 0x100 + 4 * 7) for _ in range(2)] == [1 << 7, 0]
    assert running.read(SIO + 0x5C) == 1 << 7
    running.write(SIO + 0x100 + 4 * 7, 0)
    assert running.read(SIO + 0x5C) == 0


def test_a_boot_lock_is_taken_once(running: Pico2) -> None:
    assert [running.read(BOOTRAM + 0x80C) for _ in range(2)] == [1, 0] and running.read(BOOTRAM + 0x808) == 0xFE
    running.write(BOOTRAM + 0x80C, 0)
    assert running.read(BOOTRAM + 0x808) == 0xFF


def test_access_rights_need_the_password(running: Pico2) -> None:
    uart0 = ACCESSCTRL + 0xA0
    assert running.read(uart0) == 0xFC
    with pytest.raises(ModelFault, match="no 0xACCE in bits 31:16"):
        running.write(uart0, 0xFF)
    running.write(uart0, 0xACCE00FF)
    assert running.read(uart0) == 0xFF
    running.write(ACCESSCTRL + 8, 0xACCE0001)
    assert running.read(uart0) == 0xFC


# DMA

RECEIVE = 29 << 17 | 1 << 12 | 6 << 8 | 1 << 6 | 1  # UART0_RX, ring of 64 bytes that is written, EN
RING = 0x20004000


def test_the_dma_brings_bytes_into_a_ring_and_interrupts(running: Pico2) -> None:
    running.write(RESETS + CLR, 1 << 2)
    for offset, value in ((0, UART), (4, RING), (0x10, RECEIVE), (0x43C - 8, 1)):
        running.write(DMA + offset, value)  # the last is INTE3
    running.write(UART + 0x48, u.RXDMAE)
    running.write(DMA + 0x1C, 100)
    running.chip.uart0.feed(bytes(range(100)))
    running.wait(100 * BYTE_PS)
    running.chip.uart0.update(running.chip.clock.now)
    held = bytes(range(64, 100)) + bytes(range(36, 64))
    assert running.chip.core.peek(RING, 64) == held
    assert running.chip.nvic.lines >> 16 & 0xF << 10 == 1 << 13 and running.read(DMA + 0x43C) == 1
    running.write(DMA + 0x43C, 1)
    assert running.chip.nvic.lines >> 16 & 0xF << 10 == 0


def test_a_count_with_a_mode_is_not_modelled(running: Pico2) -> None:
    running.write(RESETS + CLR, 1 << 2)
    with pytest.raises(ModelFault):
        running.write(DMA + 8, 1 << 28 | 5)
