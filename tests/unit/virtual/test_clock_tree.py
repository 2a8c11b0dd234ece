"""Supply, clocks and flash timing: the way to 280 MHz, and what the chip does not allow on it."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.chip.fault import ModelFault

from . import programs
from .conftest import CODE, STACK, Board

CR3, CSR1, SRDCR = 0x5802480C, 0x58024804, 0x58024818
RCC_CR, CFGR, CDCFGR1, CDCFGR2, SRDCFGR = 0x58024400, 0x58024410, 0x58024418, 0x5802441C, 0x58024420
PLLCKSELR, PLLCFGR, PLL1DIVR, ACR = 0x58024428, 0x5802442C, 0x58024430, 0x52002000
VOS1, VOS0 = 2 << 14, 3 << 14
STEPS = ("supply", "vos1", "vos0", "pll", "dividers", "latency", "switch")


def wait(board: Board, address: int, bit: int) -> None:
    for _ in range(1000):
        if board.bus_read(address) >> bit & 1:
            return
        board.chip.clock.wait_until(board.chip.clock.now + 1_000_000)
    pytest.fail(f"bit {bit} of 0x{address:08X} never comes")


def take(board: Board, step: str) -> None:
    if step == "supply":
        board.bus_write(CR3, 4)
        wait(board, CSR1, 13)
    elif step in ("vos1", "vos0"):
        board.bus_write(SRDCR, VOS1 if step == "vos1" else VOS0)
        wait(board, SRDCR, 13)
    elif step == "pll":
        board.bus_write(PLLCKSELR, 0x02020080)
        board.bus_write(PLLCFGR, 0x01FF000C)
        board.bus_write(PLL1DIVR, 69 | 1 << 9)
        board.bus_write(RCC_CR, 0x01000001)
        wait(board, RCC_CR, 25)
    elif step == "dividers":
        board.bus_write(CDCFGR1, 4 << 4)
        board.bus_write(CDCFGR2, 4 << 4 | 4 << 8)
        board.bus_write(SRDCFGR, 4 << 4)
    elif step == "latency":
        board.bus_write(ACR, 0x36)
    elif step == "switch":
        board.bus_write(CFGR, 3)


def test_the_way_to_280_mhz(bare_board: Board) -> None:
    for step in STEPS:
        take(bare_board, step)
    assert bare_board.chip.clock.hz == 280_000_000
    assert bare_board.chip.rcc.apb_hz(2) == bare_board.chip.rcc.usart1_hz() == 140_000_000
    assert bare_board.bus_read(CFGR) == 3 | 3 << 3


@pytest.mark.parametrize(
    ("left_out", "message"),
    [("supply", "before the supply is chosen"), ("vos1", "scale 0 is only allowed"), ("vos0", "scale 1 allows 225000000"),
     ("pll", "before that clock is ready"), ("dividers", "APB1 runs at 280000000"), ("latency", "flash at 280000000")],
)  # fmt: skip
def test_no_step_may_be_left_out(bare_board: Board, left_out: str, message: str) -> None:
    with pytest.raises(ModelFault, match=message):
        for step in STEPS:
            if step != left_out:
                take(bare_board, step)


def test_the_supply_is_chosen_once_and_survives_reset(bare_board: Board) -> None:
    take(bare_board, "supply")
    bare_board.bus_write(CR3, 2)
    assert bare_board.bus_read(CR3) == 4
    bare_board.chip.reset()
    assert bare_board.bus_read(CR3) == 4 and bare_board.bus_read(CSR1) >> 13 & 1


def test_an_invalid_supply_is_named(bare_board: Board) -> None:
    with pytest.raises(ModelFault, match="not a supply configuration"):
        bare_board.bus_write(CR3, 0)


def test_a_pll_outside_its_ranges_is_refused(bare_board: Board) -> None:
    bare_board.bus_write(PLLCKSELR, 0x02020010)  # 64 MHz into the phase detector
    with pytest.raises(ModelFault, match="input 64000000 Hz is outside"):
        bare_board.bus_write(RCC_CR, 0x01000001)


def store(board: Board, at: int, pc: int = CODE) -> None:
    """Let the core, after power-on, store to RAM by an instruction at `pc`, in flash or in RAM."""
    board.chip.flash.array[:8] = list(struct.pack("<II", STACK, pc | 1))
    board.chip.flash.array[0x400 : 0x400 + len(programs.STORE)] = list(programs.STORE)
    board.chip.core.poke(0x20000000, programs.STORE)
    board.chip.core.code_changed()
    board.chip.reset()
    board.chip.core.set(c.R[0], at)
    board.chip.core.set(c.R[1], 0x600D)


@pytest.mark.parametrize("at", [0x20000100, 0x24000100])
def test_ram_is_not_written_before_the_supply_is_chosen(bare_board: Board, at: int) -> None:
    store(bare_board, at)
    before = bare_board.chip.core.peek(at, 4)
    bare_board.run()
    assert bare_board.chip.fault is not None and "ACTVOSRDY" in str(bare_board.chip.fault)
    assert bare_board.chip.fault.address == at and bare_board.chip.core.peek(at, 4) == before


def test_ram_is_written_after_the_supply_is_ready(bare_board: Board) -> None:
    take(bare_board, "supply")
    store(bare_board, 0x24000100)
    bare_board.run()
    assert bare_board.chip.fault is None and bare_board.chip.core.peek(0x24000100, 2) == b"\x0d\x60"


def test_a_flash_algorithm_in_ram_may_write_ram_at_any_time(bare_board: Board) -> None:
    store(bare_board, 0x24000100, pc=0x20000000)
    bare_board.run()
    assert bare_board.chip.fault is None and bare_board.chip.core.peek(0x24000100, 2) == b"\x0d\x60"


def test_after_the_supply_was_off_ram_is_closed_again(bare_board: Board) -> None:
    take(bare_board, "supply")
    store(bare_board, 0x24000100)
    bare_board.chip.switch(False, np.random.default_rng(1))
    bare_board.chip.switch(True, np.random.default_rng(1))
    bare_board.chip.core.set(c.R[0], 0x24000100)
    bare_board.run()
    assert bare_board.chip.fault is not None and "ACTVOSRDY" in str(bare_board.chip.fault)


def test_deadlines_and_counts_agree() -> None:
    count = 0
    clock = Clock(lambda: count, 280_000_000)
    for deadline in (1, 3571, 3572, 10_000_000_001):
        count = clock.count_at(deadline)
        assert clock.now >= deadline
        count -= 1
        assert clock.now < deadline


def test_the_unique_id_and_the_device_id_can_be_read(bare_board: Board) -> None:
    assert bare_board.bus_read(0x5C001000) & 0xFFF == 0x480
    assert len({bare_board.bus_read(0x08FFF800 + i) for i in (0, 4, 8)}) == 3
