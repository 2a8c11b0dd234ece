"""Open the meter that rig.toml or --meter names: choose the driver of its model."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import serial.tools.list_ports

from hil.energy.data_sheet import DataSheet, load_data_sheet
from hil.errors import Blocked, RigError
from hil.meters.fnb58 import Fnb58, open_fnb58
from hil.meters.joulescope import Joulescope, open_driver
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.keithley_dmm import KeithleyDmm
from hil.meters.keysight_34465a import Keysight34465A
from hil.meters.keysight_n6705c import KeysightN6705C
from hil.meters.lpm01a import Lpm01a
from hil.meters.meter import Host, Meter, Setting
from hil.meters.otii import PORT, Otii, open_otii
from hil.meters.polled_scpi import PolledScpi
from hil.meters.ppk2 import Ppk2, open_ppk2
from hil.meters.rigol_dp800 import RigolDP800
from hil.meters.rs_ngu import RsNGU
from hil.meters.serial_line import SerialLine
from hil.meters.siglent_sdm3065x import SiglentSDM3065X
from hil.meters.tc66c import Tc66c
from hil.meters.yokogawa_wt310 import YokogawaWT310
from hil.visa import VisaSession

DEFAULT_MODEL = "keithley-2450"  # if rig.toml names no model
FEEDING_TIMES_S = (0.1, 0.1)  # sleep and window of a meter that for now only feeds the board

VISA_DRIVERS: dict[str, Callable[..., Meter]] = {
    "keithley-2450": Keithley2450,
    "keithley-dmm6500": KeithleyDmm,
    "keithley-dmm7510": KeithleyDmm,
    "keysight-34465a": Keysight34465A,
    "keysight-n6705c": KeysightN6705C,
    "polled-scpi": PolledScpi,
    "rigol-dp832a": RigolDP800,
    "rs-ngu401": RsNGU,
    "siglent-sdm3065x": SiglentSDM3065X,
    "yokogawa-wt310": YokogawaWT310,
}


def _on_serial_port(driver: type[Lpm01a] | type[Tc66c], address: str, sheet: DataSheet, host: Host) -> Meter:
    return driver(SerialLine(_port(address, sheet.name), driver.baud, sheet.name), sheet, host)


def _otii(address: str, sheet: DataSheet, host: Host) -> Meter:
    name, _, where = address.partition("@")
    server, _, port = where.partition(":")
    if port and not port.isdecimal():
        raise RigError(f"{address!r} is not an address of an Otii: write name@host:port.")
    return Otii(open_otii(server or "127.0.0.1", int(port or PORT)), name, sheet, host)


def _ppk2(address: str, sheet: DataSheet, host: Host) -> Meter:
    return Ppk2(open_ppk2(_port(address, sheet.name)), sheet, host)


WITHOUT_VISA: dict[str, Callable[[str, DataSheet, Host], Meter]] = {
    "fnb58": lambda address, sheet, host: Fnb58(open_fnb58(address), sheet, host),
    "joulescope-js220": lambda address, sheet, host: Joulescope(open_driver(), address, sheet, host),
    "lpm01a": partial(_on_serial_port, Lpm01a),
    "otii-ace": _otii,
    "otii-arc": _otii,
    "ppk2-ampere": _ppk2,
    "ppk2-source": _ppk2,
    "tc66c": partial(_on_serial_port, Tc66c),
}

MODELS = sorted([*VISA_DRIVERS, *WITHOUT_VISA])


@contextlib.contextmanager
def open_meter(
    address: str, volt: float, model: str | None = None, host: Host | None = None, **driver: Any
) -> Iterator[Meter]:
    """Open a meter, let it feed the board if it is a supply, and close it at the end.

    Args:
        address: VISA resource name. LPM01A, PPK2 and TC66C: a serial port, or the USB serial number of one. FNB58 and
            Joulescope: a USB serial number. Otii: its name, or `name@host:port` of the program that it is connected
            to. Empty: the only one attached, except through VISA or for a serial port.
        volt: supply of the board in volts.
        model: key of its data sheet, or path of your own data sheet with a table [dialect]; None for DEFAULT_MODEL.
        host: the host's clock.
        driver: further arguments of a VISA driver, such as a dialect.

    Raises:
        RigError: the model is unknown or has no driver, or its library is not installed.
        Blocked: the instrument does not answer, or is another one.
    """
    key, host = model or DEFAULT_MODEL, host or Host()
    sheet, by_visa = load_data_sheet(key), VISA_DRIVERS.get(key)
    if key not in MODELS:
        if not sheet.dialect:
            raise RigError(
                f"{key} does not say how to query the instrument: add a table [dialect], as in "
                "hil/meters/data_sheets/polled-scpi.toml."
            )
        by_visa = PolledScpi
    if by_visa is not None and not address:
        raise RigError(
            f"the {sheet.name} is reached through VISA: name its address with --meter or in rig.toml, "
            "such as TCPIP0::192.168.1.7::5025::SOCKET."
        )
    meter = (
        by_visa(VisaSession(address, sheet.name), sheet, host, **driver)
        if by_visa is not None
        else WITHOUT_VISA[key](address, sheet, host)
    )
    try:
        if sheet.feeds:
            meter.configure(Setting(volt, sheet.ranges[-1].amperes, 1 / sheet.fastest_hz, *FEEDING_TIMES_S))
        yield meter
    finally:
        meter.close()


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
