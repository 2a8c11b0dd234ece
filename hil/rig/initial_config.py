"""Write a first rig.toml, or fill in an empty one, from what is attached, for a person to put right."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hil import boards
from hil.errors import RigError
from hil.rig.config import read_bench
from hil.rig.discover import Device

HEAD = """\
# The bench of this computer, as `hil init` found it. A board that is named here is used or its trials are blocked:
# nothing falls back to a stand-in. `hil doctor` checks every line.
#
# [[board]]            one table a board
# name = "..."         as `hil boards` lists it
# probe = "..."        full USB serial number of its debug probe; leave it out for a board without one
# serial = "..."       USB serial number of its serial port, or the port's path (/dev/serial/by-path/... stays the same over a restart)
# pack = "..."         CMSIS pack that describes the chip, where pyOCD's own target does not do
# loader = "..."       serial number of a Teensy in its boot loader, where more than one is attached
# meter = "..."        VISA resource name of its power meter, such as TCPIP0::192.168.1.7::5025::SOCKET (others: docs/bench.md)
# meter_model = "..."  which instrument it is, such as keysight-34465a; without it a keithley-2450
# measuring_point = "..."  where in the board's supply it is, such as "JP5, 3V3 of the MCU": stands in the report
# ambient_c = 23.0     temperature about the board in degrees: beyond the data sheet's it widens the energy's uncertainty
# supply_error = 0.01  how far the supply may be from its voltage, as a share, under load too: for a meter that reads no voltage
# power = {...}        what feeds it, to be switched off and on when it hangs and before its energy is measured: { uhubctl = "1-1.4", port = 2 }, or
#                      { supply = "TCPIP0::192.168.1.9::INSTR", channel = 1, volts = 3.3, amps = 0.5 }
"""


def tables(devices: Sequence[Device]) -> str:
    """Return a table for each probe, with the port of the same USB device; the rest as comments."""
    left = {id(device): device for device in devices}
    parts = []
    for probe in (device for device in devices if device.kind == "probe"):
        ports = [each for each in devices if each.kind == "port" and _same_usb_device(probe, each)]
        parts.append(_table(probe, ports))
        for used in (probe, *ports):
            left.pop(id(used), None)
    if left:
        parts.append("# Also attached:\n" + "".join(f"#   {_line(device)}\n" for device in left.values()))
    return "\n".join(parts)


def _same_usb_device(probe: Device, port: Device) -> bool:
    """A probe with a virtual port is one USB device; J-Link pads its number with zeros in one place and not in the other."""
    return probe.identity.lstrip("0") == port.identity.lstrip("0") or (
        probe.path != "" and port.path.split(":")[0] == probe.path
    )


def _table(probe: Device, ports: Sequence[Device]) -> str:
    names = [name for name in boards.names() if _speaks_of(probe.target, name)]
    certain = len(names) == 1
    mark = "" if certain else "# "
    lines = [f"# {_line(probe)}\n", f"{mark}[[board]]\n"]
    if certain:
        lines.append(f'name = "{names[0]}"\n')
    else:
        lines.append(
            f'# name = "{" | ".join(names or boards.names())}"   # the probe does not say which: choose, and remove the # signs\n'
        )
    lines.append(f'{mark}probe = "{probe.identity}"\n')
    if len(ports) == 1:
        lines.append(f'{mark}serial = "{ports[0].identity}"   # now {ports[0].device}\n')
    else:
        lines += [f'# serial = "{port.device}"   # one of {len(ports)} ports of this probe: choose\n' for port in ports]
        lines += [] if ports else ['# serial = "..."   # this probe has no port of its own: see below\n']
    return "".join(lines)


def _speaks_of(target: str, name: str) -> bool:
    """Whether a pyOCD target name, such as stm32h7b3lihxq, is the chip of a board."""
    wanted = boards.load(name).pyocd_target or ""
    common = len(wanted.rstrip("x"))
    return bool(target) and bool(wanted) and target.lower()[:common] == wanted[:common]


def _line(device: Device) -> str:
    where = f" at {device.path}" if device.path else ""
    port = f", {device.device}" if device.device else ""
    return f"{device.kind}: {device.name or 'unnamed'}, {device.identity or 'no serial number'}{port}{where}"


def write_initial(path: Path, devices: Sequence[Device]) -> str:
    """Write the file, or add to one that names no board; what it holds already stays. Return what was done, as a sentence.

    Raises:
        RigError: it names boards already, is no rig.toml, or cannot be written.
    """
    found = tables(devices)
    there = read_bench(path).board
    if there:
        names = " and ".join(board.name for board in there)
        raise RigError(
            f"{path} names {names} already: add other boards to it by hand (`hil devices` lists what is attached), "
            "or write another file with --rig=FILE."
        )
    try:
        if not path.exists():
            path.write_text(f"{HEAD}\n{found}" if found else HEAD, encoding="utf-8")
            return f"{path} is written"
        text = path.read_text(encoding="utf-8")
        if not found or found in text:
            return f"{path} stays as it is"
        with path.open("a", encoding="utf-8") as file:
            file.write(("" if text.endswith("\n") or not text else "\n") + f"\n{found}")
    except OSError as error:
        raise RigError(f"{path} cannot be written ({error.strerror}): give another name with --rig=FILE.") from error
    return f"{path} is filled in"
