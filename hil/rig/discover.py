"""List attached probes, serial ports, meters and boot loaders, with USB serial number and physical path."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import serial.tools.list_ports
from serial.tools.list_ports_common import ListPortInfo

from hil.targets import uf2_drives

KINDS = ("probe", "port", "meter", "boot loader")
TEST_AND_MEASUREMENT = (0xFE, 0x03)  # USB interface class and subclass of USBTMC (USBTMC 1.0, table 43)


@dataclass(frozen=True)
class Device:
    """One attached device.

    Attributes:
        kind: one of `KINDS`.
        name: name that the device reports.
        identity: its name in rig.toml: full USB serial number, path if it has none, or VISA resource name.
        path: USB bus and ports at which it is plugged in, or mount point; empty if unknown.
        device: path of a serial port; empty for other devices.
        target: pyOCD's target name for the chip on the probe's board; empty if the probe does not report it.
    """

    kind: str
    name: str
    identity: str
    path: str = ""
    device: str = ""
    target: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the fields."""
        return asdict(self)


def attached() -> list[Device]:
    """Return all attached devices, in the order of `KINDS`."""
    return [*probes(), *ports(), *meters(), *boot_loaders()]


def probes() -> list[Device]:
    """Return the debug probes that pyOCD finds."""
    from pyocd.core.helpers import ConnectHelper  # imported here because it is slow and only probes need it

    logging.getLogger("pyocd").setLevel(logging.ERROR)
    places = {usb.get("serial", ""): usb["path"] for usb in _usb_devices()}
    found = ConnectHelper.get_all_connected_probes(blocking=False, print_wait_message=False)
    return [
        Device(
            "probe",
            f"{probe.vendor_name} {probe.product_name}",
            probe.unique_id,
            places.get(probe.unique_id, ""),
            target=_target_of(probe),
        )
        for probe in found
    ]


def _target_of(probe: Any) -> str:
    board = probe.associated_board_info
    return (board.target or "") if board is not None else ""


def ports() -> list[Device]:
    """Return the serial ports of USB devices; other ports have no identity."""
    return [
        Device("port", _name_of(port), port.serial_number or port.device, port.location or "", port.device)
        for port in sorted(serial.tools.list_ports.comports())
        if port.vid is not None
    ]


def _name_of(port: ListPortInfo) -> str:
    words = [word for word in (port.manufacturer, port.product or port.description) if word]
    return " ".join(words) or f"{port.vid:04X}:{port.pid:04X}"


def meters() -> list[Device]:
    """Return the USBTMC instruments; instruments on a network cannot be discovered and are named in rig.toml."""
    return [
        Device("meter", usb["name"], _resource_name(usb), usb["path"])
        for usb in _usb_devices()
        if TEST_AND_MEASUREMENT in usb["interfaces"]
    ]


def _resource_name(usb: dict[str, Any]) -> str:
    """Return the VISA name (VPP-4.3, section 4.3)."""
    return f"USB0::0x{usb['vid']:04X}::0x{usb['pid']:04X}::{usb.get('serial', '')}::0::INSTR"


def boot_loaders(mounts: Path = uf2_drives.MOUNTS) -> list[Device]:
    """Return the mounted UF2 drives and the Teensys in their boot loader (HalfKay)."""
    found = [
        Device("boot loader", f"Teensy HalfKay {usb['name']}".strip(), usb.get("serial", ""), usb["path"])
        for usb in _usb_devices()
        if (usb["vid"], usb["pid"]) == (0x16C0, 0x0478)
    ]
    return found + [
        Device("boot loader", each.model, each.board_id, str(each.place)) for each in uf2_drives.drives(mounts)
    ]


def _usb_devices(root: Path = Path("/sys/bus/usb/devices")) -> list[dict[str, Any]]:
    """Return the properties of every USB device in Linux's sysfs; empty on other systems, which would need pyusb."""
    found = []
    for folder in sorted(root.glob("*")) if root.is_dir() else []:
        if not (folder / "idVendor").is_file():
            continue
        facts = {name: _line(folder / name) for name in ("manufacturer", "product", "serial")}
        interfaces = [
            (int(_line(each / "bInterfaceClass") or "0", 16), int(_line(each / "bInterfaceSubClass") or "0", 16))
            for each in folder.glob(f"{folder.name}:*")
        ]
        found.append(
            {
                "path": folder.name, "vid": int(_line(folder / "idVendor"), 16), "pid": int(_line(folder / "idProduct"), 16),
                "name": f"{facts['manufacturer']} {facts['product']}".strip(), "serial": facts["serial"], "interfaces": interfaces,
            }
        )  # fmt: skip
    return found


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
