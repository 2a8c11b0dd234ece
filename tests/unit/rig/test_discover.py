"""What is attached, read from made-up folders of the kind that Linux shows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import serial.tools.list_ports
from pyocd.core.helpers import ConnectHelper

from hil.rig import discover
from hil.rig.discover import AttachedDevice

ST_LINK = "0672FF303435554157121019"


def usb(root: Path, name: str, vid: str, pid: str, serial_number: str, *interfaces: tuple[str, str]) -> None:
    folder = root / name
    for number, (kind, subclass) in enumerate(interfaces):
        place = folder / f"{name}:1.{number}"
        place.mkdir(parents=True)
        (place / "bInterfaceClass").write_text(kind + "\n")
        (place / "bInterfaceSubClass").write_text(subclass + "\n")
    folder.mkdir(exist_ok=True)
    for fact, value in {"idVendor": vid, "idProduct": pid, "serial": serial_number, "product": f"thing {pid}"}.items():
        (folder / fact).write_text(value + "\n")


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "usb"
    usb(root, "1-2", "0483", "3754", ST_LINK, ("ff", "ff"), ("02", "02"))
    usb(root, "1-3.1", "05e6", "2450", "04412345", ("fe", "03"))
    usb(root, "1-4", "16c0", "0478", "000ABC12", ("03", "00"))
    (root / "usb1").mkdir()  # a hub of the computer itself, without these files
    monkeypatch.setattr(discover._usb_devices, "__defaults__", (root,))
    return root


def test_meters_are_usbtmc_instruments_by_their_visa_name(bus: Path) -> None:
    assert discover.meters() == [
        AttachedDevice("meter", "thing 2450", "USB0::0x05E6::0x2450::04412345::0::INSTR", "1-3.1")
    ]


def test_boot_loaders(bus: Path, tmp_path: Path) -> None:
    drive = tmp_path / "RPI RP2"
    drive.mkdir()
    (drive / "INFO_UF2.TXT").write_text("UF2 Bootloader v3.0\nModel: Raspberry Pi RP2\nBoard-ID: RPI-RP2\n")
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/sda1 / ext4 rw 0 0\n"
        f"/dev/sdb1 {str(drive).replace(' ', chr(92) + '040')} vfat rw 0 0\n"
        f"/dev/sdc1 {tmp_path} vfat rw 0 0\n"
    )
    assert discover.boot_loaders(mounts) == [
        AttachedDevice("boot loader", "Teensy HalfKay thing 0478", "000ABC12", "1-4"),
        AttachedDevice("boot loader", "Raspberry Pi RP2", "RPI-RP2", str(drive)),
    ]
    assert discover.boot_loaders(tmp_path / "none")[1:] == []


def test_probes_are_those_of_pyocd_with_the_place_of_their_usb_device(
    bus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = SimpleNamespace(target="stm32h7b3lihxq")
    found = [
        SimpleNamespace(
            vendor_name="STMicroelectronics", product_name="STLINK-V3", unique_id=ST_LINK, associated_board_info=told
        ),
        SimpleNamespace(vendor_name="Arm", product_name="DAPLink", unique_id="9904", associated_board_info=None),
    ]
    monkeypatch.setattr(ConnectHelper, "get_all_connected_probes", lambda **_: found)
    assert discover.probes() == [
        AttachedDevice("probe", "STMicroelectronics STLINK-V3", ST_LINK, "1-2", target="stm32h7b3lihxq"),
        AttachedDevice("probe", "Arm DAPLink", "9904"),
    ]


def test_ports_without_a_usb_device_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [
        SimpleNamespace(device="/dev/ttyS0", vid=None),
        SimpleNamespace(
            device="/dev/ttyACM0", vid=0x0483, pid=0x3754, serial_number=ST_LINK, location="1-2:1.2",
            manufacturer="STMicroelectronics", product="STLINK-V3", description="",
        ),
        SimpleNamespace(
            device="/dev/ttyUSB0", vid=0x1A86, pid=0x7523, serial_number=None, location="1-5",
            manufacturer=None, product=None, description="",
        ),
    ]  # fmt: skip
    monkeypatch.setattr(serial.tools.list_ports, "comports", lambda: _Sortable(ports))
    assert discover.ports() == [
        AttachedDevice("port", "STMicroelectronics STLINK-V3", ST_LINK, "1-2:1.2", "/dev/ttyACM0"),
        AttachedDevice("port", "1A86:7523", "/dev/ttyUSB0", "1-5", "/dev/ttyUSB0"),
    ]


class _Sortable(list):
    """pyserial's port descriptions sort by name; these stand for them in that order already."""

    def __iter__(self):
        return iter([_Named(item) for item in list.__iter__(self)])


class _Named:
    def __init__(self, item: SimpleNamespace) -> None:
        self.__dict__.update(item.__dict__)

    def __lt__(self, other: _Named) -> bool:
        return self.device < other.device
