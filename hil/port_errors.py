"""What pyserial raises when a port has gone, on each system."""

from __future__ import annotations

import serial

try:
    import termios

    PORT_ERRORS: tuple[type[Exception], ...] = (serial.SerialException, OSError, termios.error)
except ImportError:  # Windows has none
    PORT_ERRORS = (serial.SerialException, OSError)

WRITE_TIMEOUT: type[Exception] = (
    serial.SerialTimeoutException
)  # nothing took the bytes within the port's `write_timeout`
