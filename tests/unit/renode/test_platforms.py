"""The tables of the boards, as far as they can be judged without Renode."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from hil import boards
from hil.errors import Blocked
from hil.standins.renode import modelled
from hil.standins.renode.platform import description, load_platform


@pytest.fixture(params=modelled())
def board(request: pytest.FixtureRequest) -> boards.Board:
    return boards.load(request.param)


NOT_TRIED = {"rp2350"}  # there was no Renode on which its table could have been run


def test_there_are_boards() -> None:
    virtual = {name for name in boards.names() if boards.load(name).stand_in == "virtual"}
    assert virtual == {*modelled(), *NOT_TRIED}


def test_nothing_lies_on_anything_else(board: boards.Board) -> None:
    platform = load_platform(board)
    ranges = [(region.start, region.size) for region in board.memory]
    ranges += [(start, size) for _, start, size in platform.registers]
    ranges += [(int(a, 16), int(n, 16)) for a, n in re.findall(r"address: (\w+); size: (\w+)", platform.peripherals)]
    ranges += [(int(a, 16), 0x400) for a in re.findall(r"@ sysbus (0x\w+)", platform.peripherals)]
    ranges += [(0xE0001000, 0x1000), (0xE000E000, 0x1000)]
    ranges.sort()
    for (start, size), (following, _) in itertools.pairwise(ranges):
        assert start + size <= following, hex(following)


def test_every_value_has_a_register_to_go_to(board: boards.Board) -> None:
    platform = load_platform(board)
    holds = [range(start, start + size) for _, start, size in platform.registers]
    for address, value in platform.values:
        assert any(address in held for held in holds), hex(address)
        assert 0 <= value < 2**32
    for stage in platform.boot:
        assert all(any(address in held for held in holds) for address, _ in stage.write)
    assert any(
        "@" in platform.peripherals and platform.uart + ":" in line for line in platform.peripherals.splitlines()
    )


def test_the_catalogue_gives_memories_clock_and_counter(board: boards.Board) -> None:
    text = description(board, load_platform(board))
    for region in board.memory:
        assert (
            f"{region.name}: Memory.MappedMemory @ sysbus 0x{region.start:08X}\n    size: 0x{region.size:X}\n" in text
        )
    assert f"PerformanceInMips: {board.clock_hz // 1_000_000}\n" in text
    assert board.clock_hz % 1_000_000 == 0, "else DWT and SysTick count something else than instructions"
    assert ("Miscellaneous.DWT" in text) == (board.counter == "dwt")


def test_nothing_is_downloaded_and_nothing_of_renodes_own_is_included(board: boards.Board) -> None:
    text = description(board, load_platform(board))
    assert not re.search(r"http|ApplySVD|using ", text)


def test_a_table_may_say_why_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rp2040.toml").write_text('cannot = "it is too small"')
    monkeypatch.setattr("hil.standins.renode.platform.PLATFORMS", tmp_path)
    monkeypatch.setattr("hil.standins.renode.start.PLATFORMS", tmp_path)
    assert modelled() == []
    with pytest.raises(Blocked, match=r"Renode cannot stand in for rp2040 \(it is too small\): use --reality=virtual"):
        load_platform(boards.load("rp2040"))


def test_a_board_without_a_table_says_so() -> None:
    with pytest.raises(
        Blocked, match=r"Renode cannot stand in for mps2-an500 \(it has no platform file\): use --reality=qemu"
    ):
        load_platform(boards.load("mps2-an500"))
