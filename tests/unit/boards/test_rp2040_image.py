"""The committed image of the rp2040 on the emulated chip: it comes up from every state in which a debugger's reset finds the chip."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rp2_agent import Pico

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import description

SET, CLEAR = 0x2000, 0x3000  # atomic aliases (RP2040 data sheet, 2.1.2)
RESETS, CLK_REF, CLK_SYS, CLK_PERI, PLL_USB = 0x4000C000, 0x40008030, 0x4000803C, 0x40008048, 0x4002C000
DMA, IO_BANK0, IO_QSPI, PADS_BANK0, PADS_QSPI, PLL_SYS, TIMER, UART0 = (1 << bit for bit in (2, 5, 6, 8, 9, 12, 21, 22))
EVERYTHING = (1 << 25) - 1


def power_on(_: Pico) -> None:
    """Nothing came before."""


def itself(pico: Pico) -> None:
    """The agent was running."""
    pico.reset_core()


def usb_boot(pico: Pico) -> None:
    """The boot ROM was waiting on USB: clk_sys at 48 MHz from PLL_SYS (2.8.1)."""
    pico.chip.flash.array[0] ^= 1  # no second stage any more
    pico.reset_core()
    assert pico.chip.clock.hz == 48_000_000
    pico.chip.flash.array[0] ^= 1
    pico.chip.core.code_changed()


def other_clocks(pico: Pico) -> None:
    """A program had clk_sys and clk_peri from PLL_USB, through dividers, as USB applications do."""
    pico.write(RESETS + CLEAR, 1 << 13)
    pico.write(PLL_USB + 0x0, 1)
    pico.write(PLL_USB + 0x8, 100)
    pico.write(PLL_USB + 0x4 + CLEAR, 1 << 5 | 1 << 0)
    pico.chip.clock.wait_until(pico.chip.clock.now + 10**9)
    pico.write(PLL_USB + 0xC, 5 << 16 | 5 << 12)
    pico.write(PLL_USB + 0x4 + CLEAR, 1 << 3)
    pico.write(CLK_SYS + CLEAR, 1)
    pico.write(CLK_SYS, 1 << 5)
    pico.write(CLK_SYS + SET, 1)
    pico.write(CLK_SYS + 4, 3 << 8)
    pico.write(CLK_REF + 4, 2 << 8)
    pico.write(CLK_PERI + CLEAR, 1 << 11)
    pico.write(CLK_PERI, 2 << 5)
    pico.write(CLK_PERI + SET, 1 << 11)
    assert (pico.chip.clock.hz, pico.chip.clocks.peri_hz()) == (16_000_000, 48_000_000)


def everything_on(pico: Pico) -> None:
    """A program had every block out of reset: its DMA would go on writing to SRAM."""
    pico.write(RESETS + CLEAR, EVERYTHING)


@pytest.mark.parametrize("earlier", [power_on, itself, usb_boot, other_clocks, everything_on])
def test_the_agent_comes_up_whatever_ran_before(earlier: Callable[[Pico], None]) -> None:
    pico = Pico()
    earlier(pico)
    pico.reset_core()
    entry = boards.load("rp2040")
    said = pico.hello()
    assert said["board"].rstrip(b"\0") == b"rp2040"
    assert said["image_digest"] == image_of("rp2040").digest
    assert said["clock_hz"] == entry.clock_hz == pico.chip.clock.hz == pico.chip.clocks.peri_hz()
    assert pico.chip.watchdog.tick_hz() == 1_000_000
    used = DMA | IO_BANK0 | IO_QSPI | PADS_BANK0 | PADS_QSPI | PLL_SYS | TIMER | UART0
    assert pico.chip.bus.read(RESETS, 4) == EVERYTHING & ~used


def test_it_leaves_for_usb_boot_once_it_has_answered() -> None:
    pico = Pico()
    pico.hello()
    before = pico.chip.clock.now

    def ask(name: str, seq: int) -> list[LinkFrame | None]:
        pico.sent.clear()
        pico.chip.uart0.feed(LinkFrame(description().requests[name].id, 0x42, seq).encode())
        pico.rest()
        return [parse(part) for part in bytes(pico.sent).split(b"\0") if part]

    assert ask("echo", 1) == [LinkFrame(0x8C, 0x42, 1)]
    assert ask("boot_loader", 2) == [LinkFrame(0x92, 0x42, 2)]
    assert pico.chip.clock.now - before >= 50e9, "a full queue had the time to leave"
    assert pico.log[-1] == "boot ROM: the program has started the boot loader: the chip waits in USB boot"
    assert pico.chip.clock.hz == 48_000_000 and pico.chip.fault is None
    assert pico.chip.bus.read(RESETS, 4) & UART0
    assert ask("echo", 3) == [], "nobody is there any more"
    pico.reset_core()  # once: the next start is from flash
    assert pico.hello()["image_digest"] == image_of("rp2040").digest


def test_the_flash_is_read_over_four_lines_or_over_one_where_its_quad_bit_is_off() -> None:
    """W25Q16JV data sheet, 8.2: EBh in continuous read mode needs QE; RP2040 data sheet, 4.10: what the SSI sends for a line of the cache."""
    pico = Pico()
    assert pico.chip.flash.continuous
    assert (pico.chip.ssi.field("CTRLR0", "SPI_FRF"), pico.chip.ssi.field("SPI_CTRLR0", "XIP_CMD")) == (2, 0xA0)
    pico.chip.flash._status[1] = 0
    pico.reset_core()
    assert pico.hello()["image_digest"] == image_of("rp2040").digest
    assert not pico.chip.flash.continuous
    assert (pico.chip.ssi.field("CTRLR0", "SPI_FRF"), pico.chip.ssi.field("SPI_CTRLR0", "XIP_CMD")) == (0, 0x03)
