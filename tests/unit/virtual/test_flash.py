"""The flash controller's rules (RM0455, FLASH)."""

from __future__ import annotations

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault

from . import programs
from .conftest import Board

KEYR, CR, SR, CCR = 0x52002004, 0x5200200C, 0x52002010, 0x52002014
BANK2 = 0x100
LOCK, PG, SER, BER, START = 1, 2, 4, 8, 32
EOP, DBECCERR, PGSERR = 1 << 16, 1 << 26, 1 << 18
FREE = 0x08004000


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


def test_programming_clears_bits_only_and_flags_a_word_that_is_not_erased(bare_board: Board) -> None:
    program_word(bare_board, FREE, (0x0F0F0F0F, 0, 0, 0))
    program_word(bare_board, FREE, (0x3333FFFF, 5, 0, 0))
    assert bare_board.chip.flash.array[0x4000:0x4008].tobytes().hex() == "0f0f030300000000"
    assert bare_board.bus_read(SR) & DBECCERR
    bare_board.bus_write(CCR, DBECCERR)
    assert not bare_board.bus_read(SR) & DBECCERR


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
