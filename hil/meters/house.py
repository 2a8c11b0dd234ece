"""The meters of this package: driver and data sheet of each, as a plugin offers its own."""

from __future__ import annotations

from functools import partial

import serial.tools.list_ports

from hil.energy.data_sheet import FOLDER, DataSheet
from hil.energy.meter_kind import MeterKind
from hil.errors import Blocked, RigError
from hil.meters.fnb58 import Fnb58, open_fnb58
from hil.meters.joulescope import Joulescope, open_driver
from hil.meters.keithley_2450 import Keithley2450
from hil.meters.keithley_dmm import KeithleyDmm
from hil.meters.keysight_34465a import Keysight34465A
from hil.meters.keysight_n6705c import KeysightN6705C
from hil.meters.lpm01a import Lpm01a
from hil.meters.meter import Host, Meter
from hil.meters.otii import PORT, Otii, open_otii
from hil.meters.polled_scpi import PolledScpi
from hil.meters.ppk2 import Ppk2, open_ppk2
from hil.meters.rigol_dp800 import RigolDP800
from hil.meters.rs_ngu import RsNGU
from hil.meters.serial_line import SerialLine
from hil.meters.siglent_sdm3065x import SiglentSDM3065X
from hil.meters.tc66c import Tc66c
from hil.meters.yokogawa_wt310 import YokogawaWT310


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


fnb58 = MeterKind(lambda address, sheet, host: Fnb58(open_fnb58(address), sheet, host), FOLDER)
joulescope_js220 = MeterKind(lambda address, sheet, host: Joulescope(open_driver(), address, sheet, host), FOLDER)
keithley_2450 = MeterKind(Keithley2450, FOLDER, visa=True)
keithley_dmm6500 = keithley_dmm7510 = MeterKind(KeithleyDmm, FOLDER, visa=True)
keysight_34465a = MeterKind(Keysight34465A, FOLDER, visa=True)
keysight_n6705c = MeterKind(KeysightN6705C, FOLDER, visa=True)
lpm01a = MeterKind(partial(_on_serial_port, Lpm01a), FOLDER)
otii_ace = otii_arc = MeterKind(_otii, FOLDER)
polled_scpi = MeterKind(PolledScpi, FOLDER, visa=True)
ppk2_ampere = ppk2_source = MeterKind(_ppk2, FOLDER)
rigol_dp832a = MeterKind(RigolDP800, FOLDER, visa=True)
rs_ngu401 = MeterKind(RsNGU, FOLDER, visa=True)
siglent_sdm3065x = MeterKind(SiglentSDM3065X, FOLDER, visa=True)
tc66c = MeterKind(partial(_on_serial_port, Tc66c), FOLDER)
yokogawa_wt310 = MeterKind(YokogawaWT310, FOLDER, visa=True)
