"""Open a serial port through pyserial."""

from __future__ import annotations

import serial

from hil.errors import Blocked
from hil.targets.holder import holders

READ_TIMEOUT_S = 0.02
PSEUDO_TERMINALS = "/dev/pts/"  # a stand-in's own process has its end of the line open


def open_serial(path: str, baud: int) -> serial.Serial:
    """Open a port with a short read time-out and empty buffers.

    Raises:
        Blocked: the port is missing or another program has it open, with a lock or without.
    """
    others = [] if path.startswith(PSEUDO_TERMINALS) else holders(path)
    if others:
        raise Blocked("link", f"the serial port {path} is open in {' and '.join(others)}: end that program.")
    try:
        port = serial.Serial(path, baudrate=baud, timeout=READ_TIMEOUT_S, exclusive=True)
        port.reset_input_buffer()
    except (serial.SerialException, OSError) as error:
        raise Blocked(
            "link",
            f"the serial port {path} cannot be opened ({error}): plug the board in, or end the program that holds the port.",
        ) from error
    return port
