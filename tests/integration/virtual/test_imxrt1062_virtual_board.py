"""The virtual board of a Teensy as a process: pyOCD's own target for the i.MX RT1060 flashes it through the boot ROM's routines, reads back and resets."""

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
from hil.targets import connect_options
from tests.unit.virtual.teensy import FLASH, REST, image

TARGET = "mimxrt1060"
BOOT_ROM = 0x00200200  # the first instruction of the model's


@pytest.fixture(scope="module")
def virtual_board() -> Iterator[VirtualBoard]:
    one = VirtualBoard(board="imxrt1062")
    try:
        yield one
    finally:
        one.stop()


@contextlib.contextmanager
def session(virtual_board: VirtualBoard) -> Iterator[Any]:
    options = connect_options.options(boards.load("imxrt1062")) | {"hide_programming_progress": True}
    one = ConnectHelper.session_with_chosen_probe(
        unique_id=virtual_board.said["probe"],
        blocking=False,
        return_first=False,
        target_override=TARGET,
        options=options,
    )
    assert one is not None
    with one:
        yield one


def flash(session: Any, data: bytes) -> None:
    loader = FlashLoader(session)
    loader.add_data(FLASH, data)
    loader.commit()


def holds(session: Any, data: bytes) -> bool:
    return bytes(session.target.read_memory_block8(FLASH, len(data))) == data


def test_a_teensy_is_halted_as_it_runs_and_never_erased_unasked() -> None:
    options = connect_options.options(boards.load("imxrt1062"))
    assert (options["connect_mode"], options["auto_unlock"], options["chip_erase"]) == ("halt", False, "sector")


def test_a_new_chip_is_programmed_and_read_back_across_blocks(virtual_board: VirtualBoard) -> None:
    assert (virtual_board.said["board"], virtual_board.said["target"]) == ("imxrt1062", TARGET)
    data = os.urandom(0x10000 + 3000)
    with session(virtual_board) as one:
        one.target.reset_and_halt()
        assert not holds(one, data)
        flash(one, data)
        one.target.reset_and_halt()
        assert holds(one, data)
        flash(one, data[:5000])
        assert holds(one, data[:5000])


def test_a_program_is_flashed_and_runs(virtual_board: VirtualBoard) -> None:
    program = image(REST)
    with session(virtual_board) as one:
        for _ in range(2):  # the second time over the running one
            flash(one, program)
            one.target.reset_and_halt()
            assert one.target.read_core_register("pc") == BOOT_ROM, "a reset of the core alone, caught in the boot ROM"
            assert holds(one, program), "and the FlexSPI still reads the flash"
            one.target.reset()
            assert one.target.get_state() in (Target.State.RUNNING, Target.State.SLEEPING)
        one.target.write_memory_block8(0x20210000, list(b"trainrig"))
        assert bytes(one.target.read_memory_block8(0x20210000, 8)) == b"trainrig"


def test_a_reset_of_the_whole_chip_leaves_the_flash_out_of_reach_until_the_rom_has_run(
    virtual_board: VirtualBoard,
) -> None:
    with session(virtual_board) as one:
        flash(one, image(REST))
        one.target.reset_and_halt(reset_type=Target.ResetType.SYSRESETREQ)
        assert 0x00200000 <= one.target.read_core_register("pc") < 0x00220000
        assert not holds(one, image(REST))
        flash(one, image(REST))  # its algorithm sets clocks and FlexSPI up by itself
        assert holds(one, image(REST))
