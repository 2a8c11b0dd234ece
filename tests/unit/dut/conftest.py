"""A serial line of two ends: a pseudo-terminal, opened by pyserial as the rig opens a board's port."""

from __future__ import annotations

import os
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hil.dut.dut_serial import DutSerial
from hil.targets.serial_port import open_serial


@dataclass
class Line:
    """The device's end of a line, and the port at the other."""

    device: int
    serial: DutSerial
    log: Path
    fds: list[int]

    def prints(self, data: bytes) -> None:
        os.write(self.device, data)

    def unplug(self) -> None:
        while self.fds:
            os.close(self.fds.pop())


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    master, slave = os.openpty()
    tty.setraw(slave)
    log = tmp_path / "serial.log"
    one = Line(master, DutSerial(open_serial(os.ttyname(slave), 115_200), log), log, [master, slave])
    one.serial.timeout = 0.2
    yield one
    one.serial.close()
    one.unplug()
