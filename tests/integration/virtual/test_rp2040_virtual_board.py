"""The virtual board of a Pico as a process: pyOCD's own RP2040 target flashes, reads back, resets; the serial port echoes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from board_process import VirtualBoard
from pyocd.core.helpers import ConnectHelper
from pyocd.core.target import Target
from pyocd.flash.loader import FlashLoader

from hil import boards
from hil.targets import connect_options
from tests.unit.virtual import rp2040_programs as programs
from tests.unit.virtual.pico import CODE, XIP, behind_start, image


@pytest.fixture(scope="module")
def virtual_board() -> Iterator[VirtualBoard]:
    one = VirtualBoard(board="rp2040")
    try:
        yield one
    finally:
        one.stop()


@contextlib.contextmanager
def session(virtual_board: VirtualBoard, target: str = "rp2040") -> Iterator[Any]:
    options = connect_options.options(boards.load("rp2040")) | {"hide_programming_progress": True}
    one = ConnectHelper.session_with_chosen_probe(
        unique_id=virtual_board.said["probe"],
        blocking=False,
        return_first=False,
        target_override=target,
        options=options,
    )
    assert one is not None
    with one:
        yield one


def flash(session: Any, data: bytes) -> None:
    loader = FlashLoader(session)
    loader.add_data(XIP, data)
    loader.commit()


def holds(session: Any, data: bytes) -> bool:
    return bytes(session.target.read_memory_block8(XIP, len(data))) == data


def test_a_pico_is_not_connected_under_a_reset_that_its_probe_cannot_give() -> None:
    assert (
        connect_options.options(boards.load("rp2040"))["connect_mode"]
        == connect_options.options(boards.load("nrf52840"))["connect_mode"]
        == "halt"
    )
    assert connect_options.options(boards.load("stm32h7b3"))["connect_mode"] == "under-reset"
    assert connect_options.options(boards.load("rp2040"))["auto_unlock"] is False


def test_a_new_chip_is_programmed_and_read_back(virtual_board: VirtualBoard) -> None:
    assert (virtual_board.said["board"], virtual_board.said["target"]) == ("rp2040", "rp2040")
    data = os.urandom(20_000)
    with session(virtual_board) as one:
        assert not holds(one, data)
        flash(one, data)
        one.target.reset_and_halt()
        assert holds(one, data)
        flash(one, data[:5000])
        assert holds(one, data[:5000])


def test_a_program_is_flashed_over_a_running_one_and_runs(virtual_board: VirtualBoard) -> None:
    for _ in range(2):  # the second time it replaces itself, at 125 MHz and with its UART on
        with session(virtual_board) as one:
            flash(one, image(behind_start(programs.ECHO)))
            one.target.reset()
            assert one.target.get_state() is Target.State.RUNNING
            with virtual_board.port() as port:
                for length in (1, 1000):
                    data = os.urandom(length)
                    port.write(data)
                    assert port.read(length) == data
            one.target.write_memory_block8(0x20030000, list(b"trainrig"))
            assert bytes(one.target.read_memory_block8(0x20030000, 8)) == b"trainrig"


def test_stepping_and_breakpoints(virtual_board: VirtualBoard) -> None:
    with session(virtual_board) as one:
        flash(one, image(programs.FAULT))
        target = one.target
        target.reset_and_halt()
        target.set_breakpoint(XIP + CODE + 4, Target.BreakpointType.HW)
        target.resume()
        deadline = time.monotonic() + 5
        while target.get_state() is not Target.State.HALTED and time.monotonic() < deadline:
            pass
        assert (target.read_core_register("pc"), target.read_core_register("r0")) == (XIP + CODE + 4, 0x20000000)
        target.step()
        assert (target.read_core_register("pc"), target.read_core_register("r0")) == (XIP + CODE + 6, 0x20000001)
        target.remove_breakpoint(XIP + CODE + 4)


def test_core_1_is_found_asleep_and_disturbs_nothing(virtual_board: VirtualBoard) -> None:
    with session(virtual_board) as one:
        flash(one, image(behind_start(programs.ECHO)))
        one.target.reset()
    with session(virtual_board, "rp2040_core1") as one:
        assert one.target.get_state() is Target.State.HALTED
        assert one.target.read_core_register("pc") < 0x4000
        one.target.resume()
        assert one.target.get_state() is Target.State.SLEEPING
    with virtual_board.port() as port:
        port.write(b"still here")
        assert port.read(10) == b"still here"
