"""Over-drive, clocks and flash timing of STM32F746: the way to 216 MHz, and what the chip does not allow on it (RM0385, PWR and RCC)."""

from __future__ import annotations

import pytest

from hil.standins.virtual.chip.fault import ModelFault

from .f746 import ACR, AHB1ENR, APB1ENR, CFGR, CR, CR1, CSR1, F746, GPIOI, PLLCFGR, RCC, USART1

CRYSTAL, PLL = 16, 24  # bits of RCC_CR
M25_N432_P2 = 25 | 432 << 6 | 1 << 22 | 9 << 24 | 1 << 29  # bit 29 is reserved and set after reset
STEPS = ("power", "crystal", "pll", "over-drive", "regulator", "latency", "dividers", "lock", "switch")


def take(chip: F746, step: str) -> None:
    if step == "power":
        chip.write(APB1ENR, 1 << 28)
    elif step == "crystal":
        chip.write(CR, chip.read(CR) | 1 << CRYSTAL)
        chip.wait(CR, CRYSTAL + 1)
    elif step == "pll":
        chip.write(PLLCFGR, M25_N432_P2)
        chip.write(CR, chip.read(CR) | 1 << PLL)
    elif step in ("over-drive", "regulator"):
        bit = 16 if step == "over-drive" else 17
        chip.write(CR1, chip.read(CR1) | 1 << bit)
        chip.wait(CSR1, bit)
    elif step == "latency":
        chip.write(ACR, 7)
    elif step == "dividers":
        chip.write(CFGR, 5 << 10 | 4 << 13)
    elif step == "lock":
        chip.wait(CR, PLL + 1)
    elif step == "switch":
        chip.write(CFGR, chip.read(CFGR) | 2)


def test_the_way_to_216_mhz(f746: F746) -> None:
    for step in STEPS:
        take(f746, step)
    rcc = f746.chip.rcc
    assert f746.chip.clock.hz == 216_000_000
    assert (rcc.apb_hz(1), rcc.apb_hz(2), rcc.usart1_hz()) == (54_000_000, 108_000_000, 108_000_000)
    assert f746.read(CFGR) & 0xF == 2 | 2 << 2
    f746.chip.reset()
    assert f746.chip.clock.hz == 16_000_000 and not f746.read(CR) >> PLL & 3


@pytest.mark.parametrize(("left_out", "message"), [
    ("power", "set RCC_APB1ENR.PWREN first"), ("crystal", "its source, the HSE, does not run"), ("pll lock", "before that clock is ready"),
    ("over-drive", "ODSWEN is set before over-drive is ready"), ("regulator", "runs at 216000000 Hz, .* allow 180000000"),
    ("latency", "needs more wait states than FLASH_ACR = 0x00"), ("dividers", "APB1 runs at 216000000 Hz, it may have 54000000"),
    ("lock", "before that clock is ready"),
])  # fmt: skip
def test_no_step_may_be_left_out(f746: F746, left_out: str, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        for step in STEPS:
            if step not in left_out.split():
                take(f746, step)


@pytest.mark.parametrize("wait_states", range(8))
def test_each_wait_state_buys_30_mhz(f746: F746, wait_states: int) -> None:
    f746.write(ACR, wait_states)
    flash = f746.chip.flash
    assert flash.timing_is_enough(30_000_000 * (wait_states + 1)) and not flash.timing_is_enough(
        30_000_000 * (wait_states + 1) + 1
    )


def test_over_drive_is_entered_before_any_peripheral_has_its_clock(f746: F746) -> None:
    for step in STEPS[:3]:
        take(f746, step)
    f746.write(AHB1ENR, f746.read(AHB1ENR) | 1)
    with pytest.raises(ModelFault, match="enable peripherals after it"):
        take(f746, "over-drive")


def test_over_drive_is_not_left_at_full_speed(f746: F746) -> None:
    for step in STEPS:
        take(f746, step)
    with pytest.raises(ModelFault, match="while the PLL is the system clock"):
        f746.write(CR1, f746.read(CR1) & ~(3 << 16))


@pytest.mark.parametrize(("value", "message"), [
    (M25_N432_P2 & ~0x3F | 8, "input at 3125000 Hz"), (M25_N432_P2 & ~(0x1FF << 6) | 433 << 6, "PLLN is 433"),
    (M25_N432_P2 & ~(0x1FF << 6) | 99 << 6, "VCO at 99000000 Hz"), (M25_N432_P2 & ~(0xF << 24), "PLLQ is 0"),
])  # fmt: skip
def test_a_pll_outside_its_ranges_is_refused(f746: F746, value: int, message: str) -> None:
    take(f746, "crystal")
    f746.write(PLLCFGR, value)
    with pytest.raises(ModelFault, match=message):
        f746.write(CR, f746.read(CR) | 1 << PLL)


def test_the_voltage_scale_is_chosen_before_the_pll_is_on(f746: F746) -> None:
    for step in STEPS[:3]:
        take(f746, step)
    with pytest.raises(ModelFault, match="VOS changes while the PLL is on"):
        f746.write(CR1, 1 << 14)


def test_what_the_system_clock_needs_stays_on(f746: F746) -> None:
    for step in STEPS:
        take(f746, step)
    for bit in (CRYSTAL, PLL):
        with pytest.raises(ModelFault, match="while the system clock needs it"):
            f746.write(CR, f746.read(CR) & ~(1 << bit))
    f746.write(CR, f746.read(CR) & ~1)
    assert not f746.read(CR) & 2


@pytest.mark.parametrize(("address", "message"), [
    (GPIOI, r"RCC_AHB1ENR\.GPIOIEN"), (USART1, r"RCC_APB2ENR\.USART1EN"), (0x40026400, r"RCC_AHB1ENR\.DMA2EN"), (CR1, r"RCC_APB1ENR\.PWREN"),
    (0x40010000, "no peripheral there"), (RCC + 0x1C, "no register there"),
])  # fmt: skip
def test_what_has_no_clock_or_is_not_there_faults(f746: F746, address: int, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        f746.read(address)


def test_the_flash_is_seen_twice_and_the_core_starts_in_the_other_window(f746: F746) -> None:
    f746.put(0x08000000, bytes(range(16)))
    assert f746.chip.core.peek(0x00200000, 16) == f746.chip.core.peek(0x08000000, 16) == bytes(range(16))
    f746.chip.reset()
    assert f746.chip.scb.value["VTOR"] == 0x00200000
    assert (
        f746.chip.core.peek(0x2000FFFE, 4) and f746.chip.core.find(0x2004FFFF, 2) is None
    )  # DTCM and SRAM1 meet, SRAM2 ends


def test_who_the_chip_is(f746: F746) -> None:
    assert f746.read(0xE0042000) & 0xFFF == 0x449
    assert f746.read(0x1FF0F440) >> 16 == 1024  # KB of flash
    assert len({f746.read(0x1FF0F420 + i) for i in (0, 4, 8)}) == 3
    assert f746.read(0xE00FDFE0) | (f746.read(0xE00FDFE4) & 0xF) << 8 == 0x449
