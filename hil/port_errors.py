"""Exceptions that pyserial raises on each system when a port is gone, and that of a port on a network."""

from __future__ import annotations

import serial

try:
    import termios

    PORT_ERRORS: tuple[type[Exception], ...] = (serial.SerialException, OSError, termios.error)
except ImportError:  # Windows has no termios
    PORT_ERRORS = (serial.SerialException, OSError)


class ConnectionCut(serial.SerialException):  # type: ignore[misc]
    """The connection to a serial port on a network has ended; the message is one sentence with its cure."""
