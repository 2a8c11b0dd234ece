"""Open a serial port through pyserial, and open it again after its device was gone."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TypeAlias

import serial
import serial.tools.list_ports

from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.port_errors import PORT_ERRORS
from hil.targets.device_holders import holders
from hil.targets.network_port import open_network

READ_TIMEOUT_S = 0.02
# For one frame. The longest takes 1.2 s at 9,600 baud; a stand-in on a busy computer was seen to need more than 8 s.
WRITE_TIMEOUT_S = 20.0
BACK_WITHIN_S = 10.0  # for a USB device that enumerates again after flashing or power-on
POLL_S = 0.1
PSEUDO_TERMINALS = "/dev/pts/"  # always open in the process of the stand-in, so open files say nothing here

SerialPort: TypeAlias = serial.Serial


def open_serial(path: str, baud: int) -> SerialPort:
    """Open a port with a short read time-out, a write time-out, and empty buffers.

    Raises Blocked if the port is missing, or another program has it open (with or without a lock). A port on a network
    (`socket://`, `rfc2217://`, `hil.targets.network_port`) has no lock: who may use it is decided where it is exported.
    """
    if "://" in path:
        return open_network(path, baud, READ_TIMEOUT_S, WRITE_TIMEOUT_S)
    others = [] if os.path.realpath(path).startswith(PSEUDO_TERMINALS) else holders(path)
    if others:
        raise Blocked("link", f"the serial port {path} is open in {' and '.join(others)}: end that program.")
    try:
        port = serial.Serial(path, baudrate=baud, timeout=READ_TIMEOUT_S, write_timeout=WRITE_TIMEOUT_S, exclusive=True)
        port.reset_input_buffer()
    except (serial.SerialException, OSError) as error:
        raise Blocked(
            "link",
            f"the serial port {path} cannot be opened ({error}): "
            "plug the board in, or end the program that holds the port.",
        ) from error
    return port


def close_and_discard(port: SerialPort) -> None:
    """Close a port and discard unsent data; while flow control holds the line, the system would wait half a minute."""
    with contextlib.suppress(*PORT_ERRORS):
        port.reset_output_buffer()
    port.close()


def emptied(port: SerialPort, endpoints: Endpoints, within_s: float = BACK_WITHIN_S, keep: bool = False) -> SerialPort:
    """Return the open port with empty buffers; if its device was gone, `come_back` with a new one.

    With `keep`, what has come stays in the buffer.
    """
    try:
        if keep:
            _ = port.in_waiting
        else:
            port.reset_input_buffer()
        return port
    except PORT_ERRORS:
        with contextlib.suppress(OSError):
            port.close()
    return come_back(endpoints, port.baudrate, "flashing", within_s)


def come_back(endpoints: Endpoints, baud: int, after: str, within_s: float = BACK_WITHIN_S) -> SerialPort:
    """Wait for a board's port and open it, even under a new name: found by its USB serial number if rig.toml has one.

    Raises Blocked if it did not come back `within_s` seconds after `after`, which made it disappear.
    """
    until = time.monotonic() + within_s
    while True:
        try:
            return open_serial(path_of(endpoints), baud)
        except Blocked as blocked:
            if time.monotonic() > until:
                raise Blocked(
                    "link", f"the serial port did not come back within {within_s:.0f} s after {after}: {blocked.reason}"
                ) from blocked
        time.sleep(POLL_S)


def path_of(endpoints: Endpoints) -> str:
    """Return the current path of a board's serial port. Raises Blocked if there is no such port, or more than one."""
    if endpoints.serial_number is not None:
        return port_of(endpoints.serial_number, endpoints.title)
    if endpoints.serial is None:
        raise Blocked("link", f"{endpoints.board} has no serial port here: name it in rig.toml (`serial = ...`).")
    return endpoints.serial


def port_of(serial_number: str, board: str) -> str:
    """Return the path of the port whose USB device has a serial number. Raises Blocked unless there is exactly one."""
    ports = [port.device for port in serial.tools.list_ports.comports() if port.serial_number == serial_number]
    if len(ports) != 1:
        found = "is not attached" if not ports else f"is found {len(ports)} times ({', '.join(sorted(ports))})"
        raise Blocked(
            "bench",
            f"the serial port {serial_number} that rig.toml names for {board} {found}: "
            "plug the board in, or correct rig.toml.",
        )
    return ports[0]
