"""What is attached to this computer: probes, serial ports, meters and boot loaders, by USB serial number and physical path."""

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
    """One thing that is attached.

    Attributes:
        kind: one of `KINDS`.
        name: what it calls itself.
        identity: what rig.toml names it by: a full USB serial number, a path where it has none, or a VISA resource name.
        path: where it is plugged in: the USB bus and ports, or a mount point; empty where the system does not tell.
        device: name of the port; empty for all others.
        target: chip that the probe says it sits on, as pyOCD names it; empty where it does not say.
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
    """Return everything that is attached, in the order of `KINDS`."""
    return [*probes(), *ports(), *meters(), *boot_loaders()]


def probes() -> list[Device]:
    """Return the debug probes that pyOCD finds."""
    from pyocd.core.helpers import ConnectHelper  # slow to import, and not needed by who looks for a port

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
    """Return the serial ports of USB devices; a port without a USB device behind it has no identity to go by."""
    return [
        Device("port", _name_of(port), port.serial_number or port.device, port.location or "", port.device)
        for port in sorted(serial.tools.list_ports.comports())
        if port.vid is not None
    ]


def _name_of(port: ListPortInfo) -> str:
    words = [word for word in (port.manufacturer, port.product or port.description) if word]
    return " ".join(words) or f"{port.vid:04X}:{port.pid:04X}"


def meters() -> list[Device]:
    """Return the USBTMC instruments; those on a network do not announce themselves and are named in rig.toml."""
    return [
        Device("meter", usb["name"], _resource_name(usb), usb["path"])
        for usb in _usb_devices()
        if TEST_AND_MEASUREMENT in usb["interfaces"]
    ]


def _resource_name(usb: dict[str, Any]) -> str:
    """Return the VISA name (VPP-4.3, section 4.3)."""
    return f"USB0::0x{usb['vid']:04X}::0x{usb['pid']:04X}::{usb.get('serial', '')}::0::INSTR"


def boot_loaders(mounts: Path = uf2_drives.MOUNTS) -> list[Device]:
    """Return the UF2 drives that are mounted and the Teensy boot loaders (HalfKay) that wait for a program."""
    found = [
        Device("boot loader", f"Teensy HalfKay {usb['name']}".strip(), usb.get("serial", ""), usb["path"])
        for usb in _usb_devices()
        if (usb["vid"], usb["pid"]) == (0x16C0, 0x0478)
    ]
    return found + [
        Device("boot loader", each.model, each.board_id, str(each.place)) for each in uf2_drives.drives(mounts)
    ]


def _usb_devices(root: Path = Path("/sys/bus/usb/devices")) -> list[dict[str, Any]]:
    """Return what Linux's sysfs says of every USB device; nothing on other systems, which pyusb would be needed for."""
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
