"""The virtual board of a 32F746GDISCOVERY as a process: pyOCD halts it under reset, its STM32F767 algorithm programs the sectors of STM32F746."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import pytest
from board_process import VirtualBoard
from pyocd.core.helpers import ConnectHelper
from pyocd.core.target import Target
from pyocd.flash.loader import FlashLoader

from hil import boards
from hil.images import image_of
from hil.targets import connect_options, pyocd_targets
from hil.targets.pyocd_targets.stm32f746xg import STM32F746xG

FLASH = 0x08000000
BOARD = boards.load("stm32f746")


@pytest.fixture(scope="module")
def virtual_board() -> Iterator[VirtualBoard]:
    one = VirtualBoard(board="stm32f746")
    try:
        yield one
    finally:
        one.stop()


@contextlib.contextmanager
def session(virtual_board: VirtualBoard) -> Iterator[Any]:
    pyocd_targets.register(BOARD.pyocd_target)
    options = connect_options.options(BOARD) | {"hide_programming_progress": True}
    one = ConnectHelper.session_with_chosen_probe(
        unique_id=virtual_board.said["probe"],
        blocking=False,
        return_first=False,
        target_override=BOARD.pyocd_target,
        options=options,
    )
    assert one is not None
    with one:
        yield one


def flash(session: Any, pieces: dict[int, bytes]) -> None:
    loader = FlashLoader(session)
    for address, data in pieces.items():
        loader.add_data(address, data)
    loader.commit()


def test_the_target_is_the_catalogue_s_and_is_connected_under_reset(virtual_board: VirtualBoard) -> None:
    assert virtual_board.said["target"] == BOARD.pyocd_target == "stm32f746xg"
    assert connect_options.options(BOARD)["connect_mode"] == "under-reset"
    assert connect_options.options(BOARD)["auto_unlock"] is False
    ram = {(r.start, r.size) for r in BOARD.memory if r.kind == "ram"}
    known = {(r.start, r.length) for r in STM32F746xG.MEMORY_MAP if r.is_ram}
    assert sum(size for _, size in ram) == sum(size for _, size in known) == 336 * 1024


def test_sectors_of_every_size_are_programmed_and_their_neighbours_kept(virtual_board: VirtualBoard) -> None:
    first = {
        address: os.urandom(2000) for address in (FLASH + 0x8000, FLASH + 0x1_F800, FLASH + 0x3_F000, FLASH + 0xC_0000)
    }
    with session(virtual_board) as one:
        assert one.target.get_state() is Target.State.HALTED
        flash(one, first)
        other = {FLASH + 0x1_8000: os.urandom(3000)}  # the sector before the one of 128 KB
        flash(one, other)
        for address, data in (first | other).items():
            if address != FLASH + 0x1_F800:
                assert bytes(one.target.read_memory_block8(address, len(data))) == data, hex(address)
        kept = bytes(one.target.read_memory_block8(FLASH + 0x1_F800, 0x800))
        assert kept == b"\xff" * 0x800, "that sector was erased for the new data"


def test_the_committed_image_runs_over_itself(virtual_board: VirtualBoard) -> None:
    image = image_of("stm32f746")
    for _ in range(2):  # the second time the agent runs at 216 MHz, with its DMA on
        with session(virtual_board) as one:
            flash(one, dict(image.segments))
            one.target.reset_and_halt()
            assert all(bytes(one.target.read_memory_block8(a, len(d))) == d for a, d in image.segments)
            one.target.reset()
            assert one.target.get_state() in (Target.State.RUNNING, Target.State.SLEEPING)
            one.target.write_memory_block8(0x2004F000, list(b"trainrig"))
            assert bytes(one.target.read_memory_block8(0x2004F000, 8)) == b"trainrig"
