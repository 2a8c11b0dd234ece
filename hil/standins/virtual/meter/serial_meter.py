"""An instrument on a serial line: bytes in, bytes out, and what it sends on its own as virtual time goes on.

`SerialServer` puts it on a pseudo-terminal; `Wire` is the same without one, for studies of a thousand windows.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Protocol

from hil.standins.virtual.uart import SerialPort


class SerialMeter(Protocol):
    """An instrument. Not thread-safe."""

    def take(self, data: bytes) -> bytes:
        """Take bytes from the host; return what it answers at once."""
        ...

    def due(self) -> bytes:
        """Return what it has sent on its own up to now."""
        ...


class SerialServer:
    """A serial instrument on a pseudo-terminal.

    Args:
        meter: the instrument.
        log: receives a line when the host does not read.
    """

    def __init__(self, meter: SerialMeter, log: Callable[[str], None] = print) -> None:
        self._meter, self._lock = meter, Lock()
        self._port = SerialPort(self._receive, log)

    @property
    def path(self) -> str:
        """The device to open."""
        return self._port.path

    def start(self) -> None:
        self._port.start()

    def _receive(self) -> None:
        while self._port.received:
            data = self._port.received.popleft()
            with self._lock:
                answer = self._meter.take(data)
                if answer:
                    self._port.send(answer)

    def pump(self) -> None:
        """Send what the instrument has to say by now; from the thread that lets time go on."""
        with self._lock:
            data = self._meter.due()
            if data:
                self._port.send(data)

    def hang_up(self) -> None:
        """Let the instrument vanish."""
        self._port.hang_up()

    def close(self) -> None:
        self._port.close()


class Wire:
    """The instrument's own end of a line, in one process: write, read, reopen, close. A command and its answer take no time.

    Args:
        meter: the instrument.
    """

    def __init__(self, meter: SerialMeter) -> None:
        self._meter = meter
        self._waiting = b""

    def write(self, data: bytes) -> None:
        self._waiting += self._meter.due() + self._meter.take(data)

    def read(self) -> bytes:
        data, self._waiting = self._waiting + self._meter.due(), b""
        return data

    def discard(self) -> None:
        self.read()

    def reopen(self) -> None:
        self.read()

    def close(self) -> None:
        self.reopen()
