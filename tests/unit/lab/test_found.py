"""What a place has for a board: one of each kind, chosen by name or serial number, never by order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hil.endpoints import HubPort, NetworkSwitch
from hil.errors import Blocked
from hil.lab import Found, find
from hil.lab.state import Place, Resource, Snapshot


def resource(group: str, cls: str, name: str = "", extra: dict[str, Any] | None = None, **params: Any) -> Resource:
    return Resource(("exporter", group, cls, name or cls), {"host": "lab 1", **params}, extra or {})


def place(name: str, *groups: str) -> Place:
    """A place with all resources of these groups."""
    return Place(name, frozenset(), {}, "", "", lambda path: path[3] if path[1] in groups else None, lambda paths: None)


def lab(*resources: Resource, places: tuple[Place, ...] = ()) -> tuple[Snapshot, Place]:
    places = places or (place("h7 bench 3", "h7"),)
    return Snapshot({each.name: each for each in places}, resources), places[0]


PORT = resource("h7", "NetworkSerialPort", host="10.0.0.7", port=4001)


@pytest.mark.parametrize(
    ("given", "key", "wanted"),
    [
        (PORT, "serial", "rfc2217://10.0.0.7:4001?ign_set_control"),
        (resource("h7", "NetworkSerialPort", host="fe80::7", port=1, protocol="raw"), "serial", "socket://[fe80::7]:1"),
        (resource("h7", "NetworkService", "pyocd", address="lab-1", port=4711), "probe", "remote:lab-1:4711"),
        (resource("h7", "PyVISADevice", type="TCPIP", url="10.0.0.9"), "meter", "TCPIP::10.0.0.9::INSTR"),
        (resource("h7", "PyVISADevice", type="TCPIP0", url="h::5025::SOCKET"), "meter", "TCPIP0::h::5025::SOCKET"),
        (
            resource("h7", "NetworkPowerPort", model="rest", host="http://pdu/{index}", index="3"),
            "power",
            NetworkSwitch("rest", "http://pdu/{index}", "3"),
        ),
    ],
)
def test_each_kind_of_resource(given: Resource, key: str, wanted: object) -> None:
    found = find(*lab(given))
    assert getattr(found, key) == wanted
    assert found == Found(frozenset({given.path}), **{key: wanted})


def test_resources_of_other_places_are_not_used() -> None:
    assert find(*lab(resource("f7", "NetworkSerialPort", port=1))) == Found(frozenset())


def test_of_two_ports_rig_toml_names_one_by_name_or_serial_number() -> None:
    two = (
        resource("h7", "NetworkSerialPort", "console", port=1, serial="A1"),
        resource("h7", "NetworkSerialPort", "st-link", port=2, serial="B2"),
    )
    with pytest.raises(
        Blocked, match=r"has 2 serial ports \(console \(exporter\) and st-link .* name one with `serial`"
    ):
        find(*lab(*two))
    for name in ("st-link", "B2"):
        assert find(*lab(*two), serial=name).resources == {two[1].path}
    with pytest.raises(Blocked, match="none of the serial ports of the labgrid place h7 bench 3 is called 'C3'"):
        find(*lab(*two), serial="C3")


def test_what_the_place_lacks_may_be_beside_it() -> None:
    found = find(*lab(PORT), probe="0672FF", meter="TCPIP0::10.0.0.9::INSTR", power=True)
    assert (found.probe, found.meter, found.power) == ("0672FF", "TCPIP0::10.0.0.9::INSTR", None)


def test_two_places_with_one_serial_number() -> None:
    places = (place("h7 bench 3", "h7"), place("h7 bench 4", "other"))
    one, two = (resource(group, "NetworkSerialPort", port=1, serial="066B") for group in ("h7", "other"))
    said = "the labgrid places h7 bench 3 and h7 bench 4 both have the serial number 066B: correct"
    with pytest.raises(Blocked, match=said):
        find(*lab(one, two, places=places))
    shared = (place("h7 bench 3", "h7"), place("all", "h7"))  # one resource that two places may acquire
    assert find(*lab(one, places=shared)).serial is not None


def test_the_serial_number_of_the_probe_is_a_tag_of_the_place() -> None:
    tagged = tuple(replace(place(name, group), tags={"probe": "066B"}) for name, group in (("a", "h7"), ("b", "other")))
    server = resource("h7", "NetworkService", "pyocd", address="lab-1", port=4711)
    assert find(*lab(server, places=tagged[:1]), probe="066B").probe == "remote:lab-1:4711"
    with pytest.raises(Blocked, match="none of the debug probes of the labgrid place a is called '066C'"):
        find(*lab(server, places=tagged[:1]), probe="066C")
    with pytest.raises(Blocked, match="the labgrid places a and b both have the serial number 066B: correct"):
        find(*lab(server, places=tagged))


def test_a_probe_server_is_used_instead_of_the_probe_that_it_serves() -> None:
    server = resource("h7", "NetworkService", "pyocd", address="lab-1", port=4711)
    shell = resource("h7", "NetworkService", address="10.0.0.8", port=22)
    assert find(*lab(server, shell, resource("h7", "NetworkUSBDebugger"))).resources == {server.path}


ISOLATED = {"proxy_required": True, "proxy": "bench-1.example.org"}


@pytest.mark.parametrize(
    ("extra", "variable", "wanted"),
    [
        (ISOLATED, "", "bench-1.example.org"),
        (ISOLATED, "gate", "bench-1.example.org"),
        ({}, "gate", "gate"),
        ({}, "", None),
    ],
)
def test_the_ssh_host_is_that_of_an_isolated_exporter_or_of_the_variable(
    extra: dict[str, Any], variable: str, wanted: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """labgrid's own order: what an exporter demands comes before LG_PROXY."""
    monkeypatch.setenv("LG_PROXY", variable)
    port = resource("h7", "NetworkSerialPort", port=4001, extra=extra)
    server = resource("h7", "NetworkService", "pyocd", address="lab-1", port=4711, extra=extra)
    found = find(*lab(port, server))
    assert (found.serial_proxy, found.probe_proxy) == (wanted, wanted)
    assert found.serial == "rfc2217://lab 1:4001?ign_set_control", "the address is that behind the SSH host"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (resource("h7", "NetworkSerialPort"), "has no host or port yet: look at the log of the exporter exporter"),
        (
            resource("h7", "PyVISADevice", type="TCPIP", url="10.0.0.9", extra={"proxy_required": True}),
            "only serial ports and probes are reached through SSH",
        ),
        (resource("h7", "NetworkUSBDebugger", busnum=1), "is attached to exporter: run `pyocd server` there"),
        (resource("h7", "NetworkUSBTMC", vendor_id=1, model_id=2), "attached to exporter by USB: use its network"),
        (resource("h7", "NetworkUSBPowerPort", path="1-1", index=1), "the rig switches hubs of this computer only"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(given: Resource, said: str) -> None:
    with pytest.raises(Blocked, match=said):
        find(*lab(given))


@pytest.fixture
def usb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This computer, with a USB device plugged in at 1-4."""
    (tmp_path / "1-4").mkdir()
    (tmp_path / "1-4" / "idVendor").write_text("0483\n")
    (tmp_path / "1-4" / "serial").write_text("0672FF\n")
    monkeypatch.setattr("hil.lab.found.USB_DEVICES", tmp_path)


@pytest.mark.usefixtures("usb")
def test_what_is_attached_to_this_computer_is_used_directly(tmp_path: Path) -> None:
    device = {"host": "localhost", "busnum": 1, "devnum": 7, "path": "1-4", "vendor_id": 0x483, "model_id": 0x374E}
    debugger = resource("h7", "NetworkUSBDebugger", **device)
    assert find(*lab(debugger)).probe == find(*lab(debugger), probe="0672FF").probe == "0672FF"
    assert find(*lab(resource("h7", "NetworkUSBTMC", **device))).meter == "USB0::0x0483::0x374E::0672FF::0::INSTR"
    hub = resource("h7", "NetworkUSBPowerPort", index=2, **device)
    assert find(*lab(hub)).power == HubPort("1-4", 2)
    tty = tmp_path / "ttyACM0"
    tty.touch()
    port = resource("h7", "NetworkSerialPort", host="127.0.0.1", port=4001, extra={"path": str(tty)})
    assert find(*lab(port)).serial == str(tty)
    tty.unlink()
    assert find(*lab(port)).serial == "rfc2217://127.0.0.1:4001?ign_set_control"
