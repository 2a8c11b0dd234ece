"""Find what rig.toml names among what is attached: by full serial numbers, never by order."""

from __future__ import annotations

import serial.tools.list_ports

from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.rig.config import BenchBoard


def endpoints_of(named: BenchBoard) -> Endpoints:
    """Return the endpoints of an attached board.

    Raises:
        Blocked: its serial port is not there, or not the only one of that serial number.
    """
    path = named.serial
    if path is not None and not is_path(path):
        path = port_of(path, named.name)
    return Endpoints(named.name, "hardware", probe=named.probe, serial=path, meter=named.meter)


def is_path(serial_port: str) -> bool:
    """Whether a `serial` of rig.toml is the name of a port and not a USB serial number."""
    return serial_port.startswith("/") or serial_port.upper().startswith("COM")


def port_of(serial_number: str, board: str) -> str:
    """Return the port whose USB device has a serial number.

    Raises:
        Blocked: there is none, or more than one.
    """
    ports = [port.device for port in serial.tools.list_ports.comports() if port.serial_number == serial_number]
    if len(ports) != 1:
        found = "is not attached" if not ports else f"is found {len(ports)} times ({', '.join(sorted(ports))})"
        raise Blocked(
            "bench",
            f"the serial port {serial_number} that rig.toml names for {board} {found}: plug the board in, or put rig.toml right.",
        )
    return ports[0]
