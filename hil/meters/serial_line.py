"""A serial line to a meter through pyserial. Every failure raises `Blocked`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import serial

from hil.errors import Blocked
from hil.port_errors import PORT_ERRORS

WAIT_S = 0.01  # timeout of the first byte of a read


class SerialLine:
    """A serial port opened through pyserial. Every method raises `Blocked` at stage `meter` if the line is gone.

    Args:
        path: of the port.
        baud: its baud rate; a USB CDC port ignores it.
        name: of the meter, for messages.

    Raises:
        Blocked: the port is missing, or another program holds it.
    """

    def __init__(self, path: str, baud: int, name: str) -> None:
        self.path, self.name, self._baud = path, name, baud
        self._port = self._open()

    def _open(self) -> serial.Serial:
        try:
            port = serial.Serial(self.path, baudrate=self._baud, timeout=WAIT_S, write_timeout=2.0, exclusive=True)
            port.reset_input_buffer()
        except (*PORT_ERRORS, ValueError) as error:
            raise Blocked(
                "meter",
                f"the port {self.path} of the {self.name} cannot be opened ({error}): plug the meter in, "
                "or end the program that holds the port.",
            ) from error
        return port

    def write(self, data: bytes) -> None:
        """Send bytes."""
        with self._attached():
            self._port.write(data)

    def read(self) -> bytes:
        """Return the bytes that have arrived, after a short wait; empty if there are none."""
        with self._attached():
            first = self._port.read(1)
            return bytes(first + self._port.read(self._port.in_waiting)) if first else b""

    def discard(self) -> None:
        """Discard the bytes that have arrived."""
        with self._attached():
            self._port.reset_input_buffer()

    def reopen(self) -> None:
        """Close and reopen the line. Bytes in transit, such as a late reply, are discarded."""
        self.close()
        self._port = self._open()

    def close(self) -> None:
        """Close the line."""
        with contextlib.suppress(*PORT_ERRORS):
            self._port.close()

    @contextlib.contextmanager
    def _attached(self) -> Iterator[None]:
        try:
            yield
        except (*PORT_ERRORS, TypeError) as error:  # TypeError: pyserial, if the port was closed meanwhile
            reason = f"the {self.name} at {self.path} is gone ({error}): check its cable and its power."
            raise Blocked("meter", reason) from error
