"""Open a serial port through pyserial."""

from __future__ import annotations

import serial

from hil.errors import Blocked

READ_TIMEOUT_S = 0.02


def open_serial(path: str, baud: int) -> serial.Serial:
    """Open a port with a short read time-out and empty buffers.

    Raises:
        Blocked: the port is missing or another program holds it.
    """
    try:
        port = serial.Serial(path, baudrate=baud, timeout=READ_TIMEOUT_S, exclusive=True)
        port.reset_input_buffer()
    except (serial.SerialException, OSError) as error:
        raise Blocked(
            "link",
            f"the serial port {path} cannot be opened ({error}): plug the board in, or end the program that holds the port.",
        ) from error
    return port
