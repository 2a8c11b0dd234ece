"""Exceptions that pyserial raises on each system when a port is gone."""

from __future__ import annotations

import serial

try:
    import termios

    PORT_ERRORS: tuple[type[Exception], ...] = (serial.SerialException, OSError, termios.error)
except ImportError:  # Windows has no termios
    PORT_ERRORS = (serial.SerialException, OSError)
