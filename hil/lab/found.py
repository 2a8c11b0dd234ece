"""The probe, the serial port, the meter and the power switch of a board, among the resources of its labgrid place."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hil.endpoints import HubPort, NetworkSwitch, Power
from hil.errors import Blocked
from hil.lab.state import Place, Resource, Snapshot
from hil.lab.tunnel import proxy_of

PORTS = ("NetworkSerialPort",)
PROBES = ("NetworkUSBDebugger",)
# labgrid has no class for pyOCD's probe server, and its client refuses a place with a class that it does not know. So
# the server is a network service, whose name in the place is this.
SERVICE, PROBE_SERVER = "NetworkService", "pyocd"
PROBE_TAG = "probe"  # of a place: USB serial number of the probe, which labgrid does not export
METERS = ("PyVISADevice", "NetworkUSBTMC")
SWITCHES = ("NetworkPowerPort", "NetworkUSBPowerPort")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
USB_DEVICES = Path("/sys/bus/usb/devices")


class NotYet(Blocked):
    """A resource is announced, and its exporter has not opened it yet."""


@dataclass(frozen=True)
class Found:
    """What a place has for a board; each may be absent. The fields are as in `hil.endpoints.Endpoints`.

    Attributes:
        resources: paths of the resources that these are from.
        serial_number: USB serial number of the port, if the port is of this computer and has one.
        serial_proxy, probe_proxy: SSH host through which the address is reached; None without one.
    """

    resources: frozenset[tuple[str, ...]]
    probe: str | None = None
    serial: str | None = None
    serial_number: str | None = None
    meter: str | None = None
    power: Power | None = None
    serial_proxy: str | None = None
    probe_proxy: str | None = None


def find(
    snapshot: Snapshot,
    place: Place,
    probe: str | None = None,
    serial: str | None = None,
    meter: str | None = None,
    power: bool = False,
) -> Found:
    """Return what a place has for a board.

    Args:
        snapshot: of the coordinator.
        place: one of its places.
        probe, serial, meter: which one, if the place has several: name or USB serial number of the resource. If the
            place has none of the kind, it is an address beside the place, as without labgrid.
        power: whether rig.toml names the power switch itself.

    Raises:
        Blocked: the place has several of a kind, or not the named one; its meter or power switch can be reached through
            SSH only; or another place exports the same serial number.
        NotYet: its exporter has not opened it yet.
    """
    there = snapshot.of(place)
    of = {kind: [each for each in there if each.cls in kind] for kind in (PORTS, PROBES, METERS, SWITCHES)}
    servers = [each for each in there if is_probe_server(each)]  # instead of the probes, which they serve
    port = _choose(place, of[PORTS], "serial ports", "serial", serial)
    debugger = _choose(place, servers or of[PROBES], "debug probes", "probe", probe)
    instrument = _choose(place, of[METERS], "power meters", "meter", meter)
    switch = None if power else _choose(place, of[SWITCHES], "power switches", "power", None)
    chosen = [each for each in (port, debugger, instrument, switch) if each is not None]
    for each in (instrument, switch):
        if each is not None and each.extra.get("proxy_required"):
            raise Blocked(
                "bench",
                f"{each.name} of the labgrid place {place.name} is on an isolated exporter ({each.exporter}), and only "
                "serial ports and probes are reached through SSH: forward its port, and name its address in rig.toml.",
            )
    _check_serial_numbers(snapshot, place, chosen)
    path, number = (serial, None) if port is None else _port(place, port)
    return Found(
        frozenset(each.path for each in chosen),
        probe if debugger is None else _probe(place, debugger),
        path,
        number,
        meter if instrument is None else _meter(place, instrument),
        None if switch is None else _switch(place, switch),
        proxy_of(port) if port is not None and "://" in str(path) else None,
        proxy_of(debugger) if debugger is not None and is_probe_server(debugger) else None,
    )


def is_probe_server(resource: Resource) -> bool:
    """Return whether a resource is pyOCD's probe server."""
    return resource.cls == SERVICE and resource.name == PROBE_SERVER


def serial_number(resource: Resource) -> str | None:
    """Return the USB serial number that a resource exports (`serial`), else that of the device, if it is attached here.

    labgrid itself exports none, but passes on what an exporter's file says of a `NetworkSerialPort`.
    """
    exported = resource.params.get("serial", resource.extra.get("serial"))
    if exported is not None:
        return str(exported)
    if not is_here(resource):
        return None
    device = _usb_device(resource)
    number = (device / "serial") if device is not None else None
    return number.read_text(encoding="utf-8").strip() if number is not None and number.is_file() else None


def is_here(resource: Resource) -> bool:
    """Return whether the device is attached to this computer."""
    return str(resource.params.get("host", "")) in (*LOOPBACK, socket.gethostname(), socket.getfqdn())


def _usb_device(resource: Resource) -> Path | None:
    """Return the folder of a USB device of this computer in Linux's sysfs, None if there is none."""
    tty = resource.extra.get("path")
    if tty is not None:  # a serial port: the device is above its interface
        parents = (Path("/sys/class/tty") / Path(str(tty)).name / "device").resolve().parents
        return next((each for each in parents if (each / "idVendor").is_file()), None)
    folder = USB_DEVICES / str(resource.params.get("path", ""))
    return folder if (folder / "idVendor").is_file() else None


def _choose(place: Place, found: Sequence[Resource], kind: str, key: str, wanted: str | None) -> Resource | None:
    names = " and ".join(f"{each.name} ({each.exporter})" for each in found)
    if wanted is not None and found:
        tag = place.tags.get(PROBE_TAG) if key == "probe" else None
        matching = [each for each in found if wanted in (each.name, serial_number(each), tag)]
        if len(matching) != 1:
            many = f"{len(matching)} of the {kind}" if matching else f"none of the {kind}"
            raise Blocked(
                "bench",
                f"{many} of the labgrid place {place.name} is called {wanted!r}, or has this serial number (it has "
                f"{names}): correct `{key}` in rig.toml.",
            )
        return matching[0]
    if len(found) > 1:
        raise Blocked(
            "bench",
            f"the labgrid place {place.name} has {len(found)} {kind} ({names}): "
            + (f"name one with `{key}` in rig.toml." if key != "power" else "leave one in the place."),
        )
    return found[0] if found else None


def _check_serial_numbers(snapshot: Snapshot, place: Place, chosen: Iterable[Resource]) -> None:
    """Raise Blocked if another place has the serial number of a resource, or of the probe: one of the two is wrong."""
    own = {each.path for each in snapshot.of(place)}
    numbers = {number for each in chosen if (number := serial_number(each))} | _tagged(place)
    for name, other in sorted(snapshot.places.items()) if numbers else ():
        if name == place.name:
            continue
        theirs = {number for each in snapshot.of(other) if each.path not in own and (number := serial_number(each))}
        if not own & {each.path for each in snapshot.of(other)}:  # else two places for the same devices
            theirs |= _tagged(other)
        for number in sorted(numbers & theirs):
            raise Blocked(
                "bench",
                f"the labgrid places {place.name} and {name} both have the serial number {number}: "
                "correct the one that has another board.",
            )


def _tagged(place: Place) -> set[str]:
    return {place.tags[PROBE_TAG]} if PROBE_TAG in place.tags else set()


def _port(place: Place, resource: Resource) -> tuple[str, str | None]:
    """Return path, or address, and serial number of a port. The rig opens a port of this computer itself."""
    path = resource.extra.get("path")
    if path is not None and is_here(resource) and Path(str(path)).exists():
        return str(path), serial_number(resource)
    host, port = resource.params.get("host"), resource.params.get("port")
    if not host or not port:
        raise _not_offered(place, resource)
    raw = resource.params.get("protocol", "rfc2217") == "raw"
    return (f"socket://{_url(host)}:{port}" if raw else f"rfc2217://{_url(host)}:{port}?ign_set_control"), None


def _probe(place: Place, resource: Resource) -> str:
    """Return the unique id of a probe for pyOCD."""
    if is_probe_server(resource):
        return f"remote:{resource.params.get('address')}:{resource.params.get('port')}"
    number = serial_number(resource)
    if number is None:
        raise Blocked(
            "bench",
            f"the debug probe {resource.name} of the labgrid place {place.name} is attached to {resource.exporter}: "
            f"run `pyocd server` there, and export it as a {SERVICE} called {PROBE_SERVER}.",
        )
    return number


def _meter(place: Place, resource: Resource) -> str:
    """Return the VISA resource name of a meter."""
    if resource.cls == "PyVISADevice":
        name = f"{resource.params.get('type')}::{resource.params.get('url')}"
        return name if name.endswith(("::INSTR", "::SOCKET")) else f"{name}::INSTR"  # labgrid's driver adds INSTR
    number = serial_number(resource)
    if number is None:
        raise Blocked(
            "bench",
            f"the power meter {resource.name} of the labgrid place {place.name} is attached to {resource.exporter} by "
            "USB: use its network interface, and export it as PyVISADevice.",
        )
    maker, model = (int(resource.params[key]) for key in ("vendor_id", "model_id"))
    return f"USB0::0x{maker:04X}::0x{model:04X}::{number}::0::INSTR"  # VPP-4.3, section 4.3


def _switch(place: Place, resource: Resource) -> Power:
    params = resource.params
    if resource.cls == "NetworkPowerPort":
        return NetworkSwitch(str(params.get("model")), str(params.get("host")), str(params.get("index")))
    if not is_here(resource):
        raise Blocked(
            "bench",
            f"the USB hub {resource.name} of the labgrid place {place.name} is attached to {resource.exporter}: the "
            "rig switches hubs of this computer only, so name another power switch with `power` in rig.toml.",
        )
    return HubPort(str(params.get("path")), int(params.get("index", 1)))


def _not_offered(place: Place, resource: Resource) -> NotYet:
    return NotYet(
        "bench",
        f"{resource.name} of the labgrid place {place.name} has no host or port yet: "
        f"look at the log of the exporter {resource.exporter}.",
    )


def _url(host: object) -> str:
    text = str(host)
    return f"[{text}]" if ":" in text else text
