"""The virtual board of an nRF52840 DK as a process: pyOCD's own target flashes, reads back, resets, and meets a locked debug port."""

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
from hil.errors import Blocked
from hil.images import image_of
from hil.targets import connect_options
from hil.targets.probe import Probe
from tests.unit.virtual.nrf import CODE, NVMC, SLEEP, image

APPROTECT, PSELRESET = 0x10001208, 0x10001200
# movs r0, #1; movs r1, #2; adds r0, r0, r1; movs r2, #4; then sleep
COUNTING = bytes.fromhex("0120 0221 4018 0422".replace(" ", "")) + SLEEP


@pytest.fixture(scope="module")
def virtual_board() -> Iterator[VirtualBoard]:
    one = VirtualBoard(board="nrf52840")
    try:
        yield one
    finally:
        one.stop()


@contextlib.contextmanager
def session(virtual_board: VirtualBoard, **more: Any) -> Iterator[Any]:
    options = connect_options.options(boards.load("nrf52840")) | {"hide_programming_progress": True} | more
    one = ConnectHelper.session_with_chosen_probe(
        unique_id=virtual_board.said["probe"],
        blocking=False,
        return_first=False,
        target_override="nrf52840",
        options=options,
    )
    assert one is not None
    with one:
        yield one


def flash(session: Any, address: int, data: bytes) -> None:
    session.target.reset_and_halt()  # whatever ran before, random bytes perhaps, has stopped
    loader = FlashLoader(session)
    loader.add_data(address, data)
    loader.commit()


def holds(session: Any, address: int, data: bytes) -> bool:
    return bytes(session.target.read_memory_block8(address, len(data))) == data


def test_the_chip_is_reset_through_its_core_and_never_unlocked() -> None:
    options = connect_options.options(boards.load("nrf52840"))
    assert (options["connect_mode"], options["reset_type"]) == ("halt", "sysresetreq")
    assert options["auto_unlock"] is False


def test_it_is_programmed_read_back_and_programmed_again(virtual_board: VirtualBoard) -> None:
    data = os.urandom(20_000)
    with session(virtual_board) as one:
        assert one.target.part_number == "NRF52840"
        flash(one, 0, data)
        flash(one, 0x80000, data[:100])
        one.target.reset_and_halt()
        assert holds(one, 0, data) and holds(one, 0x80000, data[:100])
        flash(one, 0x1000, data[:3000])
        assert holds(one, 0, data[:0x1000]) and holds(one, 0x1000, data[:3000])
        assert holds(one, 0x80000, data[:100] + b"\xff" * 100)


def test_stepping_and_breakpoints(virtual_board: VirtualBoard) -> None:
    with session(virtual_board) as one:
        flash(one, 0, image(COUNTING))
        target = one.target
        target.reset_and_halt()
        target.set_breakpoint(CODE + 4, Target.BreakpointType.HW)
        target.resume()
        deadline = time.monotonic() + 5
        while target.get_state() is not Target.State.HALTED and time.monotonic() < deadline:
            pass
        assert (target.read_core_register("pc"), target.read_core_register("r0")) == (CODE + 4, 1)
        target.remove_breakpoint(CODE + 4)
        target.step()
        assert (target.read_core_register("pc"), target.read_core_register("r0")) == (CODE + 6, 3)
        target.resume()
        time.sleep(0.1)
        assert target.get_state() is Target.State.SLEEPING
        target.write_memory_block8(0x20030001, list(b"trainrig"))
        assert bytes(target.read_memory_block8(0x20030001, 8)) == b"trainrig"


def test_the_floating_point_unit_is_seen(virtual_board: VirtualBoard) -> None:
    with session(virtual_board) as one:
        one.target.reset_and_halt()
        one.target.write_core_register("s7", 0.5)
        assert one.target.read_core_register("s7") == 0.5


def test_the_committed_image_is_flashed_once_and_kept(virtual_board: VirtualBoard) -> None:
    probe = Probe(boards.load("nrf52840"), virtual_board.said["probe"])
    try:
        assert probe.program(image_of("nrf52840"))
        assert not probe.program(image_of("nrf52840"))
    finally:
        probe.close()


def test_a_locked_port_blocks_and_nothing_is_erased() -> None:
    """Whoever wants to lose what is in a locked chip must say so: the rig never does."""
    virtual_board = VirtualBoard(board="nrf52840")
    try:
        with session(virtual_board) as one:
            flash(one, 0, image(SLEEP))
            one.target.write32(NVMC + 0x504, 1)
            for address, word in ((PSELRESET, 0x7FFFFFD2), (PSELRESET + 4, 0x7FFFFFD2), (APPROTECT, 0xFFFFFF00)):
                one.target.write32(address, word)
            one.probe.reset()  # the reset pin, which works now, closes the port
            with pytest.raises(Exception, match=r"(?i)fault|error"):
                one.target.read32(0)
        with pytest.raises(Blocked, match=r"is locked \(APPROTECT\).*`nrfjprog --recover`"):
            Probe(boards.load("nrf52840"), virtual_board.said["probe"])
        with session(virtual_board, auto_unlock=True) as one:  # what the rig does not do, and a user may
            assert holds(one, 0, b"\xff" * 16)
            assert one.target.read32(APPROTECT) & 0xFF == 0x5A
    finally:
        virtual_board.stop()
    assert virtual_board.process.returncode == 0
