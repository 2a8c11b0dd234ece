"""Wear of flash sectors, and the file that keeps it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil.errors import RigError
from hil.standins.virtual.chip.flash_cells import ENDURANCE, FlashCells
from hil.standins.virtual.virtual_board import cells_file, load_cells

from .conftest import Board
from .test_flash import CR, SER, START, unlock


def test_a_worn_sector_keeps_a_bit_and_its_neighbours_none() -> None:
    log: list[str] = []
    cells = FlashCells(log.append)
    for _ in range(3):
        assert cells.erased(0x2000, 0x2000, 0x1000, endurance=3) == b"\xff" * 0x2000
    assert cells.erased(0x4000, 0x1000, 0x1000, endurance=3) == b"\xff" * 0x1000 and not log
    for _ in range(2):
        after = cells.erased(0x2000, 0x1000, 0x1000, endurance=3)
        assert sum(bin(0xFF ^ byte).count("1") for byte in after) == 1
    assert len(log) == 1 and "0x2000 is worn: more than 3" in log[0]
    assert cells.cycles == {0x2000: 5, 0x3000: 3, 0x4000: 1}


def test_an_erase_that_is_cut_short_is_a_cycle_too() -> None:
    cells = FlashCells(lambda line: None)
    assert cells.erased(0x2000, 0x800, 0x1000) == b"\xff" * 0x800 and cells.erased(0x2000, 0, 0x1000) == b""
    assert cells.cycles == {0x2000: 1}


def test_the_flash_controller_wears_its_sectors(bare_board: Board) -> None:
    bare_board.chip.flash_cells.cycles[0x4000] = ENDURANCE
    unlock(bare_board)
    for _ in range(2):
        bare_board.bus_write(CR, SER | 2 << 6 | START)
        bare_board.bus_write(CR, SER | 3 << 6 | START)
    assert bare_board.chip.flash_cells.cycles == {0x4000: ENDURANCE + 2, 0x6000: 2}
    assert (bare_board.chip.flash.array[0x4000:0x6000] != 0xFF).sum() == 1
    assert (bare_board.chip.flash.array[0x6000:0x8000] == 0xFF).all()


def test_a_file_beside_the_flash_file_keeps_the_cells(tmp_path: Path) -> None:
    kept, again = FlashCells(lambda line: None), FlashCells(lambda line: None)
    kept.erased(0x2000, 0x2000, 0x1000)
    kept.wrong_ecc.add(0x40)
    file = cells_file(tmp_path / "flash.bin")
    load_cells(again, file)
    assert not again.cycles
    file.write_text(json.dumps(kept.as_json()))
    load_cells(again, file)
    assert (again.cycles, again.wrong_ecc) == (kept.cycles, kept.wrong_ecc)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"cycles": {"x": 1}, "wrong_ecc": []}', '{"cycles": [], "wrong_ecc": 1}']
)
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "flash.bin.cells.json"
    file.write_text(text)
    with pytest.raises(RigError, match="delete it"):
        load_cells(FlashCells(lambda line: None), file)
