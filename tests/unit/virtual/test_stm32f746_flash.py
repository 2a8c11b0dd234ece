"""The flash controller's rules of STM32F746 (RM0385, FLASH)."""

from __future__ import annotations

import numpy as np
import pytest

from hil.standins.virtual.chip import core_registers as c
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.stm32f746.flash import SECTORS

from . import programs
from .f746 import F746, FLASH

KEYR, SR, CR = FLASH + 4, FLASH + 12, FLASH + 16
PG, SER, MER, STRT, LOCK, X32 = 1, 2, 4, 1 << 16, 1 << 31, 2 << 8
EOP, ERSERR, BSY = 1, 1 << 7, 1 << 16
FREE, RAM = 0x08004000, 0x20002000


def unlock(chip: F746) -> None:
    chip.write(KEYR, 0x45670123)
    chip.write(KEYR, 0xCDEF89AB)


def store(chip: F746, value: int, address: int = FREE, code: bytes = programs.STORE) -> None:
    """Let the core store r1 at an address, from RAM."""
    machine = chip.chip
    machine.core.poke(RAM, code)
    machine.core.set(c.R[0], address)
    machine.core.set(c.R[1], value)
    machine.core.set(c.PC, RAM | 1)
    machine.wake()
    chip.rest()


def word(chip: F746, address: int = FREE) -> int:
    return int.from_bytes(chip.chip.core.peek(address, 4), "little")


def test_words_are_programmed_and_bits_only_cleared(f746: F746) -> None:
    unlock(f746)
    f746.write(CR, X32 | PG)
    before = f746.chip.clock.now
    store(f746, 0x12345678)
    assert f746.read(SR) == BSY and f746.read(SR) == 0  # EOP comes up with its interrupt only
    assert word(f746) == 0x12345678 and f746.chip.clock.now - before > 16_000_000
    store(f746, 0xFFFF0000)
    f746.read(SR)
    assert word(f746) == 0x12340000 and any("without being erased" in line for line in f746.log)
    f746.write(CR, LOCK)
    store(f746, 0)
    assert f746.chip.fault is not None and word(f746) == 0x12340000


def test_a_store_without_pg_stops_the_chip(f746: F746) -> None:
    unlock(f746)
    f746.write(CR, X32)
    store(f746, 0)
    assert f746.chip.fault is not None and "PG is not set" in str(f746.chip.fault)


def test_a_store_of_another_size_than_psize_stops_the_chip(f746: F746) -> None:
    unlock(f746)
    f746.write(CR, PG)  # PSIZE: 8 bits
    store(f746, 0)
    assert "while FLASH_CR.PSIZE is 0" in str(f746.chip.fault)


def test_a_wrong_key_stops_the_chip(f746: F746) -> None:
    f746.write(KEYR, 0x45670123)
    with pytest.raises(ModelFault, match="out of sequence"):
        f746.write(KEYR, 0x45670123)


def test_a_locked_flash_ignores_its_control_register(f746: F746) -> None:
    f746.chip.flash.array[:] = 0
    f746.write(CR, LOCK | MER | STRT)
    assert f746.read(CR) == LOCK and not f746.chip.flash.array.any()


@pytest.mark.parametrize("sector", range(8))
def test_a_sector_erase_erases_that_sector(f746: F746, sector: int) -> None:
    """RM0385, flash memory organization: 4 sectors of 32 Kbytes, one of 128, three of 256."""
    starts = [0x0000, 0x8000, 0x1_0000, 0x1_8000, 0x2_0000, 0x4_0000, 0x8_0000, 0xC_0000, 0x10_0000]
    array = f746.chip.flash.array
    array[:] = 0
    unlock(f746)
    before = f746.chip.clock.now
    f746.write(CR, X32 | SER | sector << 3 | STRT)
    expected = np.zeros_like(array)
    expected[starts[sector] : starts[sector + 1]] = 0xFF
    assert (array == expected).all()
    assert f746.read(SR) == BSY and f746.read(SR) == 0 and not f746.read(CR) & STRT
    assert f746.chip.clock.now - before >= SECTORS[sector] * 7_000_000  # some 8 s for 1 MB


@pytest.mark.parametrize("control", [0, SER | 8 << 3, PG | MER])
def test_an_erase_that_asks_for_nothing_is_a_sequence_error(f746: F746, control: int) -> None:
    f746.chip.flash.array[:] = 0
    unlock(f746)
    f746.write(CR, control | STRT)
    assert f746.read(SR) == ERSERR and not f746.chip.flash.array.any()
    f746.write(SR, ERSERR)
    assert f746.read(SR) == 0


def test_a_mass_erase_erases_all(f746: F746) -> None:
    f746.chip.flash.array[:] = 0
    unlock(f746)
    f746.write(CR, MER | STRT)
    assert (f746.chip.flash.array == 0xFF).all()
