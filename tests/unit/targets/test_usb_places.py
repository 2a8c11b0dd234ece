"""Debug probes without a USB serial number: pyOCD's made-up id changes, their place does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyocd.probe.pydapaccess.interface import pyusb_v2_backend as backend

from hil.commands.doctor import _attached
from hil.errors import Blocked, RigError
from hil.rig import discover
from hil.rig.discover import AttachedDevice
from hil.rig.initial_config import tables
from hil.rig_toml import BenchBoard
from hil.targets import pyocd_session, usb_places
from hil.targets.pyocd_session import PyocdSession


class Usb:
    """What PyUSB says of a CMSIS-DAP v2 probe without a serial number."""

    idVendor, idProduct, bDeviceClass, bus = 0x1209, 0xDA42, 0, 1  # noqa: N815 - PyUSB's names
    product, manufacturer, serial_number = "Nameless CMSIS-DAP", "Nobody", None

    def __init__(self, address: int) -> None:
        self.address = address


class Bus:
    """A USB bus as PyUSB and Linux show it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._root, self._monkeypatch = root, monkeypatch
        monkeypatch.setattr(usb_places.made_up_ids, "__defaults__", (root,))
        monkeypatch.setattr(discover._usb_devices, "__defaults__", (root,))

    def attach(self, addresses: dict[str, int]) -> None:
        """Plug probes in, by place; their addresses are in the order in which they came up."""
        devices = [backend.PyUSBv2(Usb(address)) for address in addresses.values()]
        self._monkeypatch.setattr(backend.PyUSBv2, "get_all_connected_interfaces", staticmethod(lambda: devices))
        for place, address in addresses.items():
            (self._root / place).mkdir(exist_ok=True)
            facts: dict[str, Any] = {"idVendor": "1209", "idProduct": "da42", "busnum": 1, "devnum": address}
            for name, value in facts.items():
                (self._root / place / name).write_text(f"{value}\n")


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bus:
    return Bus(tmp_path, monkeypatch)


def test_a_probe_without_a_number_keeps_its_name_when_it_is_plugged_in_again(bus: Bus) -> None:
    for address in (7, 8):
        bus.attach({"1-2.3": address})
        assert discover.probes() == [
            AttachedDevice("probe", "Nobody Nameless CMSIS-DAP (no serial number)", "usb:1-2.3", "1-2.3")
        ]
        assert PyocdSession().attached("usb:1-2.3") and not PyocdSession().attached("usb:1-2.4")


def test_two_of_them_are_told_apart_by_their_places(bus: Bus) -> None:
    for addresses in ({"1-2": 7, "1-3": 8}, {"1-2": 8, "1-3": 7}):
        bus.attach(addresses)
        assert sorted(probe.identity for probe in discover.probes()) == ["usb:1-2", "usb:1-3"]
        for place, address in addresses.items():
            made_up = backend.PyUSBv2(Usb(address)).serial_number
            assert pyocd_session._the_probe(f"usb:{place}").unique_id == made_up


def test_what_is_said_of_a_place_without_a_probe_and_of_a_made_up_id(bus: Bus) -> None:
    bus.attach({"1-2": 7})
    before = backend.PyUSBv2(Usb(7)).serial_number
    bus.attach({"1-2": 8})
    with pytest.raises(Blocked, match=r"no probe without a serial number is plugged in at usb:1-9: plug it in there"):
        pyocd_session._the_probe("usb:1-9")
    with pytest.raises(Blocked, match=r"pyOCD makes up such an id .* it changes when the probe is plugged in"):
        pyocd_session._the_probe(before)
    named = BenchBoard(name="rp2040", probe=before)
    with pytest.raises(RigError, match=r"not attached \(found: usb:1-2\): pyOCD makes up such an id"):
        _attached(named, discover.probes())
    named = BenchBoard(name="rp2040", probe="usb:1-2")
    assert "is attached" in _attached(named, discover.probes())


def test_without_places_it_has_no_name(bus: Bus, tmp_path: Path) -> None:
    """As on a system that does not show where a device is plugged in."""
    bus.attach({"1-2": 7})
    (tmp_path / "1-2" / "busnum").unlink()
    assert discover.probes() == [AttachedDevice("probe", "Nobody Nameless CMSIS-DAP (no serial number)", "")]
    assert '# probe = "usb:..."' in tables(discover.probes())


def test_hil_init_writes_the_place(bus: Bus) -> None:
    bus.attach({"1-2.3": 7})
    port = AttachedDevice("port", "Nobody", "/dev/ttyACM0", "1-2.3:1.1", "/dev/ttyACM0")
    written = tables([*discover.probes(), port])
    assert 'probe = "usb:1-2.3"   # it has no serial number: the place where it is plugged in' in written
    assert 'serial = "/dev/ttyACM0"' in written
