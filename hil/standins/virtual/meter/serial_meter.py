"""Instruments on a serial line, which also send bytes on their own as virtual time advances.

`SerialServer` connects an instrument to a pseudo-terminal; `LiveSerialServer` also sends by itself what is due. `Wire`
connects it in the same process, for studies of a thousand windows.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Protocol

from hil.standins.virtual.uart import SerialPort

PUMP_S = 0.005  # of wall time, between two looks at what is due


class SerialMeter(Protocol):
    """An instrument on a serial line. Not thread-safe."""

    def take(self, data: bytes) -> bytes:
        """Receive bytes from the host; return the immediate answer."""
        ...

    def due(self) -> bytes:
        """Return the bytes that it has sent on its own since the last call, up to now."""
        ...


class SerialServer:
    """A serial instrument on a pseudo-terminal.

    Args:
        meter: the instrument.
        log: receives one line when bytes are dropped because the host does not read.
    """

    def __init__(self, meter: SerialMeter, log: Callable[[str], None] = print) -> None:
        self._meter, self._lock = meter, Lock()
        self._port = SerialPort(self._receive, log)

    @property
    def path(self) -> str:
        """Path of the device to open."""
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
        """Send the bytes that are due. The caller may not hold what `due` waits for.

        Nothing is made while the host does not read: virtual time may run ahead of it, as no real time does.
        """
        with self._lock:
            data = b"" if self._port.full else self._meter.due()
            if data:
                self._port.send(data)

    def disconnect(self) -> None:
        """Remove the device."""
        self._port.disconnect()

    def close(self) -> None:
        self._port.close()


class LiveSerialServer(SerialServer):
    """A serial instrument on a pseudo-terminal, which sends what is due by itself.

    Args:
        meter, log: see SerialServer.
    """

    def __init__(self, meter: SerialMeter, log: Callable[[str], None] = print) -> None:
        super().__init__(meter, log)
        self._end = Event()
        self._thread = Thread(target=self._run, name="serial meter", daemon=True)

    @property
    def resource(self) -> str:
        """What a driver opens, named as InstrumentServer names it."""
        return self.path

    def start(self) -> None:
        super().start()
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(PUMP_S):
            self.pump()

    def close(self) -> None:
        self._end.set()
        self._thread.join()
        super().close()


class MeterWire:
    """A line to an instrument in the same process. A command and its answer take no time.

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
