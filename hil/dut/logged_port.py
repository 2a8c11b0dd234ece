"""A serial port that writes all its traffic, with times, to a log."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np

from hil.errors import RigError, message_of, not_written, shown
from hil.steady_clock import steady_s
from hil.targets.serial_port import SerialPort

RECEIVED, SENT, ABOUT = "<", ">", "!"
LARGEST = 16 << 20  # bytes of a log: a device that prints without end must not fill the disk


class TrafficLog:
    """Writes bytes that came (`<`) and went (`>`): seconds since the log began, direction, and the bytes as a literal.

    One line of the log for each line of text, or for each piece in which bytes came: `12.345678 < 'ready 12\\r\\n'`.

    A log of 16 MB is full, and says so in its last line, which has the direction `!`.

    Args:
        path: file that is appended to; None writes nothing.

    Attributes:
        received: bytes that came.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.received = 0
        try:
            self._file = path.open("a", encoding="ascii") if path is not None else None
        except OSError as error:
            raise not_written(cast(Path, path), error) from error
        self._room = LARGEST - (self._file.tell() if self._file is not None else 0)
        self._began = steady_s()

    def note(self, direction: str, data: bytes) -> None:
        """Count and write some bytes. Raises Blocked if the disk does not take them: it is no error of the port."""
        self.received += len(data) if direction == RECEIVED else 0
        if self._file is None or not data or self._room <= 0:
            return
        try:
            self._write(self._file, direction, data)
        except OSError as error:
            self.close()
            raise not_written(cast(Path, self.path), error) from error

    def _write(self, file: TextIO, direction: str, data: bytes) -> None:
        now = steady_s() - self._began
        for line in data.splitlines(keepends=True):
            self._room -= file.write(f"{now:.6f} {direction} {repr(line)[1:]}\n")
            if self._room <= 0:
                file.write(f"{now:.6f} {ABOUT} the log is full ({LARGEST >> 20} MB): what follows is not in it\n")
                break
        file.flush()  # the log of a test that is killed says how far it came

    def close(self) -> None:
        """Close the file; a full disk has been said by `note`, as every line is written there at once."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()


class LoggedPort:
    """An open port of pyserial: every attribute of it, with `read` and `write` logged.

    Args:
        port: the open port.
        log: what its traffic is written to.
    """

    inner: SerialPort

    def __init__(self, port: SerialPort, log: TrafficLog) -> None:
        self.__dict__.update(inner=port, _log=log)

    def read(self, size: int = 1) -> bytes:
        """Return up to `size` bytes, after the time-out of the port at most."""
        data: bytes = self.inner.read(size)
        self._log.note(RECEIVED, data)
        return data

    def write(self, data: bytes) -> int:
        """Send bytes and return their number."""
        sent: int = self.inner.write(data)
        self._log.note(SENT, bytes(data))
        return sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self.inner, name)  # a misspelt name is an error here, as pyserial would keep it as a new attribute
        if name == "baudrate" and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1):
            raise RigError(f"the serial port has no rate of {shown(value)}: give a whole number, such as 115200.")
        try:
            setattr(self.inner, name, value)
        except (TypeError, ValueError) as error:
            raise RigError(
                f"the serial port takes no {name} {shown(value)} ({message_of(error)}): correct it."
            ) from error
