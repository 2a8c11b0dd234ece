"""Find what rig.toml names among what is attached: by full serial numbers, never by order."""

from __future__ import annotations

from hil.endpoints import Endpoints
from hil.rig.config import BenchBoard
from hil.targets.serial_port import port_of


def endpoints_of(named: BenchBoard) -> Endpoints:
    """Return the endpoints of an attached board.

    Raises:
        Blocked: its serial port is not there, or not the only one of that serial number.
    """
    path, number = named.serial, None
    if path is not None and not is_path(path):
        path, number = port_of(path, named.name), path
    return Endpoints(named.name, "hardware", named.probe, path, named.meter, number, named.pack, named.loader, named.meter_model, named.measuring_point)


def is_path(serial_port: str) -> bool:
    """Whether a `serial` of rig.toml is the name of a port and not a USB serial number."""
    return serial_port.startswith("/") or serial_port.upper().startswith("COM")
