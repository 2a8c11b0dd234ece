"""Open the meters that are not reached through VISA, by their address in rig.toml."""

from __future__ import annotations

from collections.abc import Callable

import serial.tools.list_ports

from hil.energy.data_sheet import DataSheet, load_data_sheet
from hil.errors import Blocked, RigError, close_matches
from hil.meters import lpm01a, tc66c
from hil.meters.fnb58 import Fnb58, open_fnb58
from hil.meters.joulescope import Joulescope, open_driver
from hil.meters.meter import Host, Meter
from hil.meters.otii import PORT, Otii, open_otii
from hil.meters.serial_line import SerialLine

Open = Callable[[str, DataSheet, Host], Meter]


def open_without_visa(address: str, model: str, host: Host | None = None) -> Meter:
    """Open a meter that is not reached through VISA.

    Args:
        address: LPM01A and TC66C: a serial port, or the USB serial number of one. FNB58 and Joulescope: a USB serial
            number. Otii: its name, or `name@host:port` of the program that it is connected to. Empty: the only one
            attached, except for a serial port.
        model: name of its data sheet, one of DRIVERS.
        host: clock and sleep.

    Raises:
        RigError: the model is unknown, or its library is not installed.
        Blocked: the instrument does not answer, or is another one.
    """
    if model not in DRIVERS:
        raise RigError(f"a {model!r} is not opened without VISA: {close_matches(model, DRIVERS)}")
    return DRIVERS[model](address, load_data_sheet(model), host or Host())


def _lpm01a(address: str, sheet: DataSheet, host: Host) -> Meter:
    return lpm01a.Lpm01a(SerialLine(_port(address, sheet.name), lpm01a.BAUD, sheet.name), sheet, host)


def _tc66c(address: str, sheet: DataSheet, host: Host) -> Meter:
    return tc66c.Tc66c(SerialLine(_port(address, sheet.name), tc66c.BAUD, sheet.name), sheet, host)


def _otii(address: str, sheet: DataSheet, host: Host) -> Meter:
    name, _, where = address.partition("@")
    server, _, port = where.partition(":")
    if port and not port.isdecimal():
        raise RigError(f"{address!r} is not an address of an Otii: write name@host:port.")
    return Otii(open_otii(server or "127.0.0.1", int(port or PORT)), name, sheet, host)


DRIVERS: dict[str, Open] = {
    "fnb58": lambda address, sheet, host: Fnb58(open_fnb58(address), sheet, host),
    "joulescope-js220": lambda address, sheet, host: Joulescope(open_driver(), address, sheet, host),
    "lpm01a": _lpm01a,
    "otii-ace": _otii,
    "otii-arc": _otii,
    "tc66c": _tc66c,
}


def _port(address: str, name: str) -> str:
    """Return the path of a serial port, given its path or its USB serial number."""
    if "/" in address or address.upper().startswith("COM"):
        return address
    if not address:
        raise RigError(
            f"the {name} is on a serial port: name it with --meter or in rig.toml, such as /dev/ttyACM0 or its USB "
            "serial number."
        )
    found = [port.device for port in serial.tools.list_ports.comports() if port.serial_number == address]
    if len(found) != 1:
        raise Blocked(
            "meter",
            f"{len(found)} serial ports have the USB serial number {address!r} of the {name}: plug it in, "
            "or name its port in rig.toml.",
        )
    return str(found[0])
