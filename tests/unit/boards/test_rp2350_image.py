"""The committed image of the rp2350 on the emulated chip: it comes up from every state in which a debugger's reset finds the chip."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rp2_agent import Pico

from hil import boards
from hil.images import image_of
from hil.link.frames import LinkFrame, parse
from hil.link.messages import description

SET, CLEAR = 0x2000, 0x3000  # atomic aliases (RP2350 data sheet, atomic register access)
RESETS, CLK_REF, CLK_SYS, CLK_PERI, PLL_USB = 0x40020000, 0x40010030, 0x4001003C, 0x40010048, 0x40058000
DMA, IO_BANK0, IO_QSPI, PADS_BANK0, PADS_QSPI, PLL_SYS, TIMER0, UART0 = (
    1 << bit for bit in (2, 6, 7, 9, 10, 14, 23, 26)
)
EVERYTHING = (1 << 29) - 1
PAD_OF_GP0, ISOLATED, INPUT = 0x40038004, 1 << 8, 1 << 6
MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_RLAR = 0xE000ED94, 0xE000ED98, 0xE000ED9C, 0xE000EDA0


def power_on(_: Pico) -> None:
    """Nothing came before."""


def itself(pico: Pico) -> None:
    """The agent was running."""
    pico.reset_core()


def other_clocks(pico: Pico) -> None:
    """A program had clk_sys and clk_peri from PLL_USB, through dividers, as USB applications do."""
    pico.write(RESETS + CLEAR, 1 << 15)
    pico.write(PLL_USB + 0x0, 1)
    pico.write(PLL_USB + 0x8, 100)
    pico.write(PLL_USB + 0x4 + CLEAR, 1 << 5 | 1 << 0)
    pico.chip.clock.wait_until(pico.chip.clock.now + 10**9)
    pico.write(PLL_USB + 0xC, 5 << 16 | 5 << 12)
    pico.write(PLL_USB + 0x4 + CLEAR, 1 << 3)
    pico.write(CLK_SYS + CLEAR, 1)
    pico.write(CLK_SYS, 1 << 5)
    pico.write(CLK_SYS + SET, 1)
    pico.write(CLK_SYS + 4, 3 << 16)
    pico.write(CLK_REF + 4, 2 << 16)
    pico.write(CLK_PERI + CLEAR, 1 << 11)
    pico.write(CLK_PERI, 2 << 5)
    pico.write(CLK_PERI + SET, 1 << 11)
    assert (pico.chip.clock.hz, pico.chip.clocks.peri_hz()) == (16_000_000, 48_000_000)


def everything_on(pico: Pico) -> None:
    """A program had every block out of reset: its DMA would go on writing to SRAM."""
    pico.write(RESETS + CLEAR, EVERYTHING)


@pytest.mark.parametrize("earlier", [power_on, itself, other_clocks, everything_on])
def test_the_agent_comes_up_whatever_ran_before(earlier: Callable[[Pico], None]) -> None:
    pico = Pico("rp2350")
    earlier(pico)
    pico.reset_core()
    entry = boards.load("rp2350")
    said = pico.hello()
    assert said["board"].rstrip(b"\0") == b"rp2350"
    assert said["image_digest"] == image_of("rp2350").digest
    assert said["clock_hz"] == entry.clock_hz == pico.chip.clock.hz == pico.chip.clocks.peri_hz()
    assert pico.chip.ticks.hz("TIMER0") == 1_000_000
    used = DMA | IO_BANK0 | IO_QSPI | PADS_BANK0 | PADS_QSPI | PLL_SYS | TIMER0 | UART0
    assert pico.chip.bus.read(RESETS, 4) == EVERYTHING & ~used
    pads = [pico.chip.bus.read(PAD_OF_GP0 + 4 * pin, 4) for pin in range(4)]
    assert [pad & ISOLATED for pad in pads] == [0, 0, 0, ISOLATED], "RP2350 data sheet, pad isolation latches"
    assert pads[1] & INPUT


def test_the_regions_are_the_memories_and_only_what_is_never_written_is_executed() -> None:
    """ARM DDI 0553B.l, MPU_RBAR and MPU_RLAR; RP2350 data sheet, address map. No region lies on another, which PMSAv8 refuses."""
    pico = Pico("rp2350")
    pico.hello()
    bus, regions = pico.chip.bus, []
    for number in range(8):
        bus.write(MPU_RNR, 4, number)
        base, limit = bus.read(MPU_RBAR, 4), bus.read(MPU_RLAR, 4)
        if limit & 1:
            regions.append((base & ~0x1F, (limit | 0x1F) + 1, bool(base & 1), base >> 1 & 3))
    assert bus.read(MPU_CTRL, 4) == 0b011, "on, at the priority of faults too, and nothing beside the regions"
    assert all(before[1] <= after[0] for before, after in zip(sorted(regions), sorted(regions)[1:], strict=False))
    for memory in boards.load("rp2350").memory:
        inside = [one for one in regions if memory.start <= one[0] < memory.start + memory.size]
        assert sum(end - start for start, end, *_ in inside) == memory.size
        wanted = (False, 3) if memory.kind == "flash" else (True, 1)
        assert all((never, access) == wanted for _, _, never, access in inside)
    assert all(never and access == 1 for start, _, never, access in regions if start >= 0x4000_0000)


def test_it_leaves_for_usb_boot_once_it_has_answered() -> None:
    pico = Pico("rp2350")
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
    assert "boot loader" in pico.log[-1] and pico.chip.fault is None
    assert ask("echo", 3) == [], "nobody is there any more"
    pico.reset_core()  # once: the next start is from flash
    assert pico.hello()["image_digest"] == image_of("rp2350").digest
