"""A serial line to a meter through pyserial: what arrives is taken in pieces, and every failure is `Blocked`."""

from __future__ import annotations

import contextlib
from typing import Protocol

import serial

from hil.errors import Blocked
from hil.port_errors import PORT_ERRORS

WAIT_S = 0.01  # for the first byte of a read


class Line(Protocol):
    """Bytes to and from a meter. Every method raises `Blocked` at stage `meter` when the line has gone."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def read(self) -> bytes:
        """Return what has arrived, after a short wait; nothing if nothing has."""

    def discard(self) -> None:
        """Throw away what has arrived."""

    def reopen(self) -> None:
        """Close the line and open it again: what was under way, a late answer too, is gone."""

    def close(self) -> None:
        """Let go of the line."""


class SerialLine:
    """A serial port opened through pyserial.

    Args:
        path: of the port.
        baud: its speed; a USB CDC port takes any.
        name: the meter's, for messages.

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
                f"the port {self.path} of the {self.name} cannot be opened ({error}): plug the meter in, or end the program that holds the port.",
            ) from error
        return port

    def write(self, data: bytes) -> None:
        """Send bytes."""
        try:
            self._port.write(data)
        except PORT_ERRORS as error:
            raise self._gone(error) from error

    def read(self) -> bytes:
        """Return what has arrived, after a short wait; nothing if nothing has."""
        try:
            first = self._port.read(1)
            return bytes(first + self._port.read(self._port.in_waiting)) if first else b""
        except (*PORT_ERRORS, TypeError) as error:  # pyserial, port closed under it: TypeError
            raise self._gone(error) from error

    def discard(self) -> None:
        """Throw away what has arrived."""
        try:
            self._port.reset_input_buffer()
        except PORT_ERRORS as error:
            raise self._gone(error) from error

    def reopen(self) -> None:
        """Close the line and open it again: what was under way, a late answer too, is gone."""
        self.close()
        self._port = self._open()

    def close(self) -> None:
        """Let go of the line."""
        with contextlib.suppress(*PORT_ERRORS):
            self._port.close()

    def _gone(self, error: Exception) -> Blocked:
        return Blocked("meter", f"the {self.name} at {self.path} is gone ({error}): check its cable and its power.")
