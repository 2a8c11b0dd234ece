"""The tables of fixtures/hazards: every firmware has its row, with a place in a manual and the ways to see it."""

from __future__ import annotations

from pathlib import Path

from hil import boards
from tests.hazards import FOLDER, WAYS, read_hazards

PARTS = {"line", "dma"}  # of every firmware of a board


def firmwares() -> set[str]:
    sources = (path for path in FOLDER.glob("*/*.c") if path.stem not in PARTS)
    return {str(path.relative_to(FOLDER)) for path in sources}


def test_every_firmware_has_a_row_and_every_row_a_firmware():
    assert {row.firmware for row in read_hazards()} == firmwares() and len(firmwares()) >= 30


def test_a_row_is_of_its_board_and_named_after_its_firmware():
    rows = read_hazards()
    for row in rows:
        boards.load(row.board)
        folder = Path(row.firmware).parent.name
        assert folder in (row.board, "shared")
        assert row.id == f"{row.board}-{Path(row.firmware).stem.replace('_', '-')}"
    assert len({row.id for row in rows}) == len(rows)


def test_a_row_says_where_it_is_written_and_how_it_is_seen():
    for row in read_hazards():
        assert row.title and row.manual and row.expect and set(row.expect) <= set(WAYS)
        assert row.seen is (row.because == ""), row.id


def test_each_firmware_has_both_twins_and_names_a_source():
    for name in firmwares():
        text = (FOLDER / name).read_text(encoding="utf-8")
        assert text.startswith("/*") and "RIGHT" in text, name
