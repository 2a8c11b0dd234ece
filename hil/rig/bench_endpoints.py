"""Find the devices of a rig.toml entry by full serial number, never by their order."""

from __future__ import annotations

from collections.abc import Callable

from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.lab import Found, find
from hil.lab.state import Place, Snapshot
from hil.rig_toml import BenchBoard
from hil.targets import flash_cycles
from hil.targets.serial_port import port_of


def found_in(named: BenchBoard) -> Callable[[Snapshot, Place], Found]:
    """Return a function that finds the devices of a board among the resources of its labgrid place (`hil.lab.find`)."""
    return lambda snapshot, place: find(
        snapshot, place, named.probe, named.serial, named.meter, named.switch is not None
    )


def endpoints_of(named: BenchBoard, found: Found | None = None, may_come: bool = False) -> Endpoints:
    """Return the endpoints of an attached board, or, of one at a labgrid place, of what was `found` there.

    Raises Blocked unless exactly one port has the serial number in rig.toml. If the board's power can be switched, the
    path is then None instead: a power cycle may bring the port back. So it is if the port `may_come`: firmware makes it
    that is not flashed yet.
    """
    if found is not None:
        return Endpoints(
            named.name, "hardware", found.probe, found.serial, found.meter, found.serial_number, named.pack,
            named.loader, named.switch or found.power, named.meter_model, named.measuring_point, named.ambient_c,
            named.supply_error, coverage=named.coverage, commands=named.commands, id=named.id,
        )  # fmt: skip
    path, number = named.serial, None
    if path is not None and not is_path(path):
        number = path
        try:
            path = port_of(number, named.name, named.title)
        except Blocked:
            if named.switch is None and not may_come:
                raise
            path = None
    return Endpoints(
        named.name, "hardware", named.probe, path, named.meter, number, named.pack, named.loader, named.switch,
        named.meter_model, named.measuring_point, named.ambient_c, named.supply_error, coverage=named.coverage,
        commands=named.commands, id=named.id,
    )  # fmt: skip


def cycles_of(named: BenchBoard) -> int:
    """Return how often this computer has programmed a board of rig.toml, whether it is attached or not."""
    by_path = named.serial is not None and is_path(named.serial)
    number, path = (None, named.serial) if by_path else (named.serial, None)
    ends = Endpoints(named.name, "hardware", named.probe, path, serial_number=number, loader=named.loader)
    return flash_cycles.cycles(flash_cycles.identity_of(ends))


def is_path(serial_port: str) -> bool:
    """Return whether a `serial` of rig.toml is the path or address of a port and not a USB serial number."""
    return "://" in serial_port or serial_port.startswith("/") or serial_port.upper().startswith("COM")
