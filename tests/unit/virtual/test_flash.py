"""The flash controller's rules (RM0455, FLASH)."""

from __future__ import annotations

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.flash_power import FlashCut

from . import programs
from .conftest import Board

KEYR, CR, SR, CCR = 0x52002004, 0x5200200C, 0x52002010, 0x52002014
BANK2 = 0x100
LOCK, PG, SER, BER, START = 1, 2, 4, 8, 32
EOP, DBECCERR, PGSERR = 1 << 16, 1 << 26, 1 << 18
FREE = 0x08004000
SCB_CCR, CFSR, BFAR, BFHFNMIGN, PRECISERR, BFARVALID = 0xE000ED14, 0xE000ED28, 0xE000ED38, 1 << 8, 1 << 9, 1 << 15


def unlock(board: Board, bank: int = 0) -> None:
    board.bus_write(KEYR + bank, 0x45670123)
    board.bus_write(KEYR + bank, 0xCDEF89AB)


def program_word(board: Board, address: int, words: tuple[int, int, int, int]) -> None:
    """Let the core program one flash word from RAM."""
    machine = board.load(programs.LOOP)
    machine.core.poke(0x20000000, programs.PROGRAM)
    for register, value in zip((0, 4, 5, 6, 7), (address, *words), strict=True):
        machine.core.set(c.R[register], value)
    machine.core.set(c.PC, 0x20000001)
    board.run()
    assert machine.fault is None


def test_erased_words_take_what_is_programmed(bare_board: Board) -> None:
    before = bare_board.chip.clock.now
    program_word(bare_board, FREE, (0x11111111, 2, 3, 0xFFFFFFFF))
    assert bare_board.chip.flash.array[0x4000:0x4010].tobytes().hex() == "111111110200000003000000ffffffff"
    assert bare_board.bus_read(SR) == EOP
    assert bare_board.chip.clock.now - before > 100_000_000  # the time it takes has passed


def test_programming_clears_bits_only_and_spoils_the_ecc_of_a_word_that_is_not_erased(bare_board: Board) -> None:
    program_word(bare_board, FREE, (0x0F0F0F0F, 0, 0, 0))
    program_word(bare_board, FREE, (0x3333FFFF, 5, 0, 0))
    assert bare_board.chip.flash.array[0x4000:0x4008].tobytes().hex() == "0f0f030300000000"
    assert not bare_board.bus_read(SR) & DBECCERR, "the error shows when the word is read"
    load(bare_board, FREE + 8)
    assert bare_board.chip.fault is not None and "ECC of this flash word is wrong" in str(bare_board.chip.fault)
    assert bare_board.bus_read(SR) & DBECCERR and bare_board.bus_read(CFSR) == PRECISERR | BFARVALID
    assert bare_board.bus_read(BFAR) == FREE + 8
    bare_board.bus_write(CCR, DBECCERR)
    assert not bare_board.bus_read(SR) & DBECCERR


def load(board: Board, address: int, faultmask: int = 0, control: int = 0x40200) -> None:
    """Let the core load a word of flash."""
    board.load(programs.LOAD)
    board.bus_write(SCB_CCR, control)
    board.chip.core.set(c.FAULTMASK, faultmask)
    board.chip.core.set(c.R[0], address)
    board.run()


@pytest.mark.parametrize(("faultmask", "control", "stops"), [(1, BFHFNMIGN, False), (0, BFHFNMIGN, True), (1, 0, True)])
def test_a_wrong_ecc_is_ignored_with_faultmask_and_bfhfnmign_only(
    bare_board: Board, faultmask: int, control: int, stops: bool
) -> None:
    cut(bare_board, FREE, 1)
    program_word(bare_board, FREE, (1, 2, 3, 4))
    load(bare_board, FREE, faultmask, 0x40200 | control)
    assert (bare_board.chip.fault is not None) == stops and bare_board.bus_read(SR) & DBECCERR
    assert stops or bare_board.r(1) == 1


def test_an_erased_sector_has_a_right_ecc_again_and_its_neighbours_always_had(bare_board: Board) -> None:
    cut(bare_board, FREE, 1)
    program_word(bare_board, FREE, (1, 2, 3, 4))
    load(bare_board, FREE + 16)
    assert bare_board.chip.fault is None
    unlock(bare_board)
    bare_board.bus_write(CR, SER | 2 << 6 | START)
    load(bare_board, FREE)
    assert bare_board.chip.fault is None and bare_board.r(1) == 0xFFFFFFFF


def test_a_store_without_pg_stops_the_chip(bare_board: Board) -> None:
    bare_board.load(programs.STORE)
    bare_board.chip.core.set(c.R[0], FREE)
    bare_board.run()
    assert bare_board.chip.fault is not None and bare_board.chip.fault.address == FREE
    assert (bare_board.chip.flash.array[0x4000:0x4010] == 0xFF).all()


def test_a_wrong_key_stops_the_chip(bare_board: Board) -> None:
    with pytest.raises(ModelFault, match="out of sequence"):
        bare_board.bus_write(KEYR, 0x12345678)


def test_a_locked_bank_ignores_its_control_register(bare_board: Board) -> None:
    bare_board.chip.flash.array[:] = 0
    bare_board.bus_write(CR, LOCK | BER | START)
    assert bare_board.bus_read(CR) == LOCK
    assert not bare_board.chip.flash.array.any()
    assert any("locked" in line for line in bare_board.log)


@pytest.mark.parametrize(("bank", "sector"), [(0, 0), (0, 5), (1, 127)])
def test_a_sector_erase_erases_that_sector(bare_board: Board, bank: int, sector: int) -> None:
    array = bare_board.chip.flash.array
    array[:] = 0
    unlock(bare_board, bank * BANK2)
    bare_board.bus_write(CR + bank * BANK2, SER | sector << 6)
    bare_board.bus_write(CR + bank * BANK2, SER | START | sector << 6)
    first = bank * 0x100000 + sector * 0x2000
    expected = np.zeros_like(array)
    expected[first : first + 0x2000] = 0xFF
    assert (array == expected).all()
    busy = bare_board.bus_read(SR + bank * BANK2)
    assert busy & 5 == 5 and bare_board.bus_read(SR + bank * BANK2) == EOP


def test_a_bank_erase_leaves_the_other_bank(bare_board: Board) -> None:
    array = bare_board.chip.flash.array
    array[:] = 0
    unlock(bare_board, BANK2)
    bare_board.bus_write(CR + BANK2, BER | START)
    assert not array[:0x100000].any() and (array[0x100000:] == 0xFF).all()


def test_start_without_a_request_is_a_sequence_error(bare_board: Board) -> None:
    unlock(bare_board)
    bare_board.bus_write(CR, START)
    assert bare_board.bus_read(SR) & PGSERR


def cut(board: Board, address: int, operation: int) -> list[str]:
    """Let the supply fail in the middle of an operation; return what takes a word when it does."""
    failed: list[str] = []
    board.chip.flash_power.cut_short(FlashCut(address, operation, lambda: failed.append("failed")))
    return failed


def test_a_supply_that_fails_leaves_the_word_half_programmed(bare_board: Board) -> None:
    failed = cut(bare_board, FREE, 2)
    program_word(bare_board, FREE, (1, 2, 3, 4))
    assert not failed
    program_word(bare_board, FREE + 16, (5, 6, 7, 8))
    assert failed == ["failed"]
    assert bare_board.chip.flash.array[0x4000:0x4020].view("<u4").tolist() == [1, 2, 3, 4, 5, 6, 0xFFFFFFFF, 0xFFFFFFFF]
    program_word(bare_board, FREE + 32, (9, 9, 9, 9))  # which begins with a reset
    assert bare_board.chip.flash.array[0x4020:0x4030].view("<u4").tolist() == [9, 9, 9, 9]


def test_a_supply_that_fails_leaves_a_sector_half_erased(bare_board: Board) -> None:
    array = bare_board.chip.flash.array
    array[:] = 0
    failed = cut(bare_board, 0x08000000, 1)
    unlock(bare_board)
    bare_board.bus_write(CR, SER | 2 << 6)
    bare_board.bus_write(CR, SER | 2 << 6 | START)
    assert failed == ["failed"]
    assert (array[0x4000:0x5000] == 0xFF).all() and not array[0x5000:0x6000].any()
    bare_board.bus_write(CR, SER | 3 << 6)
    bare_board.bus_write(CR, SER | 3 << 6 | START)
    assert not array[0x6000:0x8000].any(), "without a supply nothing is erased"


def test_operations_below_the_address_are_not_counted(bare_board: Board) -> None:
    failed = cut(bare_board, FREE + 16, 1)
    program_word(bare_board, FREE, (1, 2, 3, 4))
    assert not failed
    program_word(bare_board, FREE + 16, (1, 2, 3, 4))
    assert failed == ["failed"]
