"""The virtual board as a process, used as a lab would use it: pyOCD, pyserial and PyVISA, none of them modified."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pyvisa
import serial
from board_process import VirtualBoard
from pyocd.core.target import Target
from pyocd.flash.loader import FlashLoader

from hil.standins.virtual.server import main
from tests.unit.virtual import programs

FLASH, CODE_OFFSET = 0x08000000, 0x400
ARENA = 0x24000000


@contextlib.contextmanager
def running(*options: str) -> Iterator[VirtualBoard]:
    virtual_board = VirtualBoard(*options)
    try:
        yield virtual_board
    finally:
        virtual_board.stop()


@pytest.fixture(scope="module")
def virtual_board() -> Iterator[VirtualBoard]:
    with running() as one:
        yield one


def image(program: bytes) -> bytes:
    return struct.pack("<256I", 0x20010000, FLASH + CODE_OFFSET | 1, *[0] * 254) + program


def flash(session: Any, data: bytes, address: int = FLASH) -> None:
    loader = FlashLoader(session)
    loader.add_data(address, data)
    loader.commit()


def test_it_announces_its_endpoints(virtual_board: VirtualBoard) -> None:
    assert virtual_board.said["board"] == "stm32h7b3" and virtual_board.said["reality"] == "virtual"
    assert virtual_board.said["pid"] == virtual_board.process.pid
    assert Path(virtual_board.said["serial"]).exists()


def test_pyocd_programs_and_reads_back(virtual_board: VirtualBoard) -> None:
    data = os.urandom(96 * 1024)
    with virtual_board.session() as session:
        assert session.target.get_state() is Target.State.HALTED
        flash(session, data)
        assert bytes(session.target.read_memory_block8(FLASH, len(data))) == data
        flash(session, data[:100], FLASH + 0x100000)
        assert bytes(session.target.read_memory_block8(FLASH + 0x100000, 112)) == data[:100] + b"\xff" * 12


def test_bytes_come_back_through_the_serial_port(virtual_board: VirtualBoard) -> None:
    with virtual_board.session() as session:
        flash(session, image(programs.ECHO))
        session.target.reset()
        with virtual_board.port() as port:
            for length in (1, 100, 1000):
                data = os.urandom(length)
                port.write(data)
                assert port.read(length) == data
        # The core is busy polling, and its memory can be read all the same.
        assert session.target.get_state() is Target.State.RUNNING
        session.target.write_memory_block8(ARENA, list(b"trainrig"))
        assert bytes(session.target.read_memory_block8(ARENA, 8)) == b"trainrig"


def test_stepping_and_breakpoints(virtual_board: VirtualBoard) -> None:
    with virtual_board.session() as session:
        flash(session, image(programs.LOOP))
        target = session.target
        target.reset_and_halt()
        start = FLASH + CODE_OFFSET
        assert target.read_core_register("pc") == start
        target.step()
        assert target.read_core_register("pc") == start + 2
        target.set_breakpoint(start + 8)
        target.resume()
        deadline = time.monotonic() + 5
        while target.get_state() is not Target.State.HALTED and time.monotonic() < deadline:
            pass
        assert (target.read_core_register("pc"), target.read_core_register("r0")) == (start + 8, 1)
        target.remove_breakpoint(start + 8)


def test_the_meter_answers_through_pyvisa(virtual_board: VirtualBoard) -> None:
    with virtual_board.session() as session:  # awake, whatever test ran before
        flash(session, image(programs.ECHO))
        session.target.reset()
    manager = pyvisa.ResourceManager("@py")
    try:
        meter = manager.open_resource(
            virtual_board.said["meter"], read_termination="\n", write_termination="\n", timeout=3000
        )
        assert "trainrig" in meter.query("*IDN?")
        assert 0.01 < float(meter.query(":MEAS:CURR?")) < 0.2
        meter.write("WHAT:IS:THIS")
        assert meter.query(":SYST:ERR?").startswith("-113,")
        meter.close()
    finally:
        manager.close()


def test_one_byte_is_dropped_and_a_fault_is_reported_and_the_flash_is_kept(tmp_path: Path) -> None:
    kept = tmp_path / "flash.bin"
    with running("--inject", "uart_rx_drop:4", "--flash", str(kept)) as virtual_board:
        with virtual_board.session() as session, virtual_board.port() as port:
            flash(session, image(programs.ECHO))
            session.target.reset()
            port.write(b"abcdefgh")
            assert port.read(7) == b"abcefgh"
            flash(session, image(programs.LOAD + b"\0\0"))
            session.target.reset_and_halt()
            session.target.write_core_register("r0", 0x70000000)
            session.target.resume()
            fault = virtual_board.line()["fault"]
        assert fault["address"] == "0x70000000" and fault["access"] == "read"
        assert fault["pc"] == f"0x{FLASH + CODE_OFFSET + 2:08X}" and "nothing there" in fault["message"]
        assert virtual_board.stop() == 0
    assert kept.read_bytes().startswith(image(programs.LOAD))


def test_it_dies_where_it_is_told_to(tmp_path: Path) -> None:
    kept = tmp_path / "flash.bin"
    kept.write_bytes(image(programs.ECHO).ljust(0x200000, b"\xff"))
    with running("--inject", "exit_after:100000", "--flash", str(kept)) as virtual_board:
        assert virtual_board.process.wait(5) == -signal.SIGKILL


def test_a_hang_up_ends_the_serial_port() -> None:
    with (
        running("--inject", "close_serial_after:3") as virtual_board,
        virtual_board.session() as session,
        virtual_board.port() as port,
    ):
        flash(session, image(programs.ECHO))
        session.target.reset()
        port.write(b"abcdef")
        assert port.read(3) == b"abc"
        with pytest.raises((serial.SerialException, OSError)):
            port.read(1)


@pytest.mark.parametrize("options", [["--board", "nonesuch"], ["--board", "stm32h7b3", "--inject", "nonsense"]])
def test_wrong_options_are_named(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(options) == 2
    assert options[-1] in capsys.readouterr().err


def test_it_ends_with_its_parent() -> None:
    """The parent is not waited for when it has gone: its process number is still taken then, and its end of the pipe is not."""
    start = "import subprocess, sys; subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); sys.stdin.read()"
    command = [sys.executable, "-m", "hil.standins.virtual", "--board", "stm32h7b3", "--leashed"]
    parent = subprocess.Popen(
        [sys.executable, "-c", start, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    assert json.loads(parent.stdout.readline())["board"] == "stm32h7b3"
    parent.kill()
    assert parent.stdout.read() == "", (
        "its end comes when the virtual board has closed it too, and it closes it by ending"
    )
    parent.communicate()
