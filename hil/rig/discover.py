"""List attached probes, serial ports, meters and boot loaders, with USB serial number and physical path."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import serial.tools.list_ports
from serial.tools.list_ports_common import ListPortInfo

from hil import boards
from hil.targets import uf2_drives
from hil.targets.own_usb import is_agent
from hil.targets.uf2_drives import line_of
from hil.targets.usb_places import MADE_UP, PREFIX, made_up_ids

KINDS = ("probe", "port", "meter", "boot loader")
TEST_AND_MEASUREMENT = ("fe", "03")  # USB interface class and subclass of USBTMC (USBTMC 1.0, table 43)


@dataclass(frozen=True)
class AttachedDevice:
    """One attached device.

    Attributes:
        kind: one of `KINDS`.
        name: that the device reports.
        identity: its name in rig.toml: full USB serial number, or VISA resource name. Without a serial number: of a
            port, its path; of a probe, `usb:` and the USB bus and ports, or empty if they are unknown.
        path: USB bus and ports at which it is plugged in, or mount point; empty if unknown.
        device: path of a serial port; empty for other devices.
        target: pyOCD's target name for the chip on the probe's board; empty if the probe does not report it.
        board: board of the catalogue whose agent makes this port on the chip's own USB; empty of any other.
    """

    kind: str
    name: str
    identity: str
    path: str = ""
    device: str = ""
    target: str = ""
    board: str = ""


def attached() -> list[AttachedDevice]:
    """Return all attached devices, in the order of `KINDS`."""
    return [*probes(), *ports(), *meters(), *boot_loaders()]


def probes() -> list[AttachedDevice]:
    """Return the debug probes that pyOCD finds."""
    from pyocd.core.helpers import ConnectHelper  # imported here because it is slow and only probes need it

    logging.getLogger("pyocd").setLevel(logging.ERROR)
    places = {usb["serial"]: usb["path"] for usb in _usb_devices()}
    nameless = made_up_ids()
    found = []
    for probe in ConnectHelper.get_all_connected_probes(blocking=False, print_wait_message=False):
        name, place = f"{probe.vendor_name} {probe.product_name}", places.get(probe.unique_id, "")
        board = probe.associated_board_info
        target = (board.target or "") if board is not None else ""
        identity = probe.unique_id
        if identity in nameless or (MADE_UP.fullmatch(identity) and identity not in places):
            name, place = f"{name} (no serial number)", nameless.get(identity, "")
            identity = f"{PREFIX}{place}" if place else ""
        found.append(AttachedDevice("probe", name, identity, place, target=target))
    return found


def ports() -> list[AttachedDevice]:
    """Return the serial ports of USB devices; other ports have no identity."""
    return [_port(port) for port in sorted(serial.tools.list_ports.comports()) if port.vid is not None]


def _port(port: ListPortInfo) -> AttachedDevice:
    name, number = _name_of(port), port.serial_number or port.device
    return AttachedDevice("port", name, number, port.location or "", port.device, board=_agent_of(port))


def _agent_of(port: ListPortInfo) -> str:
    """Return the board whose agent has made a port; empty if another program has, or the port is no chip's own."""
    return next((board.name for board in boards.working()[0] if is_agent(board, port)), "")


def _name_of(port: ListPortInfo) -> str:
    words = [word for word in (port.manufacturer, port.product or port.description) if word]
    return " ".join(words) or f"{port.vid:04X}:{port.pid:04X}"


def meters() -> list[AttachedDevice]:
    """Return the USBTMC instruments; instruments on a network cannot be discovered and are named in rig.toml."""
    return [
        AttachedDevice("meter", usb["name"], usb["visa"], usb["path"])
        for usb in _usb_devices()
        if TEST_AND_MEASUREMENT in usb["interfaces"]
    ]


def boot_loaders(mounts: Path = uf2_drives.MOUNTS) -> list[AttachedDevice]:
    """Return the mounted UF2 drives and the Teensys in their boot loader (HalfKay)."""
    found = [
        AttachedDevice("boot loader", f"Teensy HalfKay {usb['name']}".strip(), usb["serial"], usb["path"])
        for usb in _usb_devices()
        if usb["ids"] == ("16c0", "0478")
    ]
    return found + [
        AttachedDevice("boot loader", each.model, each.board_id, str(each.place)) for each in uf2_drives.drives(mounts)
    ]


def _usb_devices(root: Path = Path("/sys/bus/usb/devices")) -> list[dict[str, Any]]:
    """Return the properties of every USB device in Linux's sysfs; empty on other systems, which would need pyusb."""
    return [_usb_device(each.parent) for each in sorted(root.glob("*/idVendor"))]


def _usb_device(folder: Path) -> dict[str, Any]:
    names = ("idVendor", "idProduct", "manufacturer", "product", "serial")
    vendor, product, maker, name, serial_number = (line_of(folder / each) for each in names)
    interfaces = folder.glob(f"{folder.name}:*")
    return {
        "path": folder.name,
        "ids": (vendor, product),
        "name": f"{maker} {name}".strip(),
        "serial": serial_number,
        "interfaces": [
            (line_of(each / "bInterfaceClass"), line_of(each / "bInterfaceSubClass")) for each in interfaces
        ],
        "visa": f"USB0::0x{vendor.upper()}::0x{product.upper()}::{serial_number}::0::INSTR",  # VPP-4.3, section 4.3
    }
