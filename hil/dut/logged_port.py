"""A serial port that writes all its traffic, with times, to a log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
        self._file = path.open("a", encoding="ascii") if path is not None else None
        self._room = LARGEST - (self._file.tell() if self._file is not None else 0)
        self._began = steady_s()

    def note(self, direction: str, data: bytes) -> None:
        """Count and write some bytes."""
        self.received += len(data) if direction == RECEIVED else 0
        if self._file is None or not data or self._room <= 0:
            return
        now = steady_s() - self._began
        for line in data.splitlines(keepends=True):
            self._room -= self._file.write(f"{now:.6f} {direction} {repr(line)[1:]}\n")
            if self._room <= 0:
                self._file.write(f"{now:.6f} {ABOUT} the log is full ({LARGEST >> 20} MB): what follows is not in it\n")
                break
        self._file.flush()  # the log of a test that is killed says how far it came

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


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
        setattr(self.inner, name, value)
