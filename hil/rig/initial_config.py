"""Write a first rig.toml, or fill in one that names no board, with what is attached. The user then completes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hil import boards
from hil.boards import Board
from hil.errors import RigError
from hil.rig.discover import AttachedDevice
from hil.rig_toml import read_bench

HEAD = """\
# The bench of this computer, written by `hil init`. If a board that is named here is not attached, its trials are
# blocked; they never fall back to a stand-in. `hil doctor` checks every entry.
#
# [[board]]            one table for each board
# name = "..."         name in `hil boards`
# id = "..."           word for this one, if several tables have the same name
# probe = "..."        full USB serial number of its debug probe, or usb:1-2.3, the place of a probe without a serial
#                      number (`hil devices`); omit it for a board without a probe
# serial = "..."       USB serial number of its serial port, or the port's path (/dev/serial/by-path/... survives a
#                      restart), or its USB vendor and product, such as 2e8a:000a, if it is the only one
# place = "..."        labgrid place that the board is at, instead of the keys above (docs/how-to/lab.md)
# board = "any:TAG"    instead of name and place: any labgrid place with the tag board=TAG
# pack = "..."         CMSIS pack that describes the chip, if pyOCD's own target does not work
# loader = "..."       serial number of a Teensy in its boot loader, if more than one is attached
# meter = "..."        VISA resource name of its power meter, such as TCPIP0::192.168.1.7::5025::SOCKET
#                      (other forms: docs/bench.md)
# meter_model = "..."  model of the meter, such as keysight-34465a (default: keithley-2450)
# measuring_point = "..."  where the meter is in the board's supply, such as "JP5, 3V3 of the MCU"; shown in the report
# ambient_c = 23.0     ambient temperature in degrees Celsius; outside the data sheet's range it increases the
#                      uncertainty of the energy
# supply_error = 0.01  largest deviation of the supply voltage, also under load, as a fraction; for a meter that reads
#                      no voltage
# power = {...}        the switch of its power, used when it hangs and before its energy is measured:
#                      { uhubctl = "1-1.4", port = 2 }, or
#                      { supply = "TCPIP0::192.168.1.9::INSTR", channel = 1, volts = 3.3, amps = 0.5 }
"""


def tables(devices: Sequence[AttachedDevice]) -> str:
    """Return a table for each probe, with the serial port of the same USB device, and for each board on its own USB.

    Other devices are comments.
    """
    left = {id(device): device for device in devices}
    parts = []
    for probe in (device for device in devices if device.kind == "probe"):
        ports = [each for each in devices if each.kind == "port" and _same_usb_device(probe, each)]
        parts.append(_table(probe, ports))
        for used in (probe, *ports):
            left.pop(id(used), None)
    own = [each for each in left.values() if each.board]
    for port in own:
        several = sum(each.board == port.board for each in own) > 1
        parts.append(_table_of_own_port(port, several))
        del left[id(port)]
    if left:
        parts.append("# Also attached:\n" + "".join(f"#   {_line(device)}\n" for device in left.values()))
    return "\n".join(parts)


def _same_usb_device(probe: AttachedDevice, port: AttachedDevice) -> bool:
    """Return whether a probe and a port are one USB device. J-Link pads only one of the two numbers with zeros."""
    return probe.identity.lstrip("0") == port.identity.lstrip("0") or (
        probe.path != "" and port.path.split(":")[0] == probe.path
    )


def _table(probe: AttachedDevice, ports: Sequence[AttachedDevice]) -> str:
    names = [board.name for board in boards.working()[0] if _is_chip_of(probe.target, board)]
    certain = len(names) == 1 and probe.identity != ""
    mark = "" if certain else "# "
    lines = [f"# {_line(probe)}\n", f"{mark}[[board]]\n"]
    if len(names) == 1:
        lines.append(f'{mark}name = "{names[0]}"\n')
    else:
        lines.append(
            f'# name = "{" | ".join(names or boards.names())}"   '
            "# the probe does not report its board: choose, and remove the # signs\n"
        )
    place = (
        "   # it has no serial number: the place where it is plugged in"
        if probe.identity == f"usb:{probe.path}"
        else ""
    )
    lines.append(f'{mark}probe = "{probe.identity or "usb:..."}"{place}\n')
    if len(ports) == 1:
        lines.append(f'{mark}serial = "{ports[0].identity}"   # now {ports[0].device}\n')
    else:
        lines += [f'# serial = "{port.device}"   # one of {len(ports)} ports of this probe: choose\n' for port in ports]
        lines += [] if ports else ['# serial = "..."   # this probe has no serial port: see below\n']
    return "".join(lines)


def _table_of_own_port(port: AttachedDevice, several: bool) -> str:
    """Return the table of a board on its own USB; one of `several` of a kind has an `id`."""
    word = f'id = "{port.board}-{port.identity[-6:]}"\n' if several else ""
    head = f'# {_line(port)}\n[[board]]\nname = "{port.board}"\n{word}'
    return f'{head}serial = "{port.identity}"   # its own USB port, now {port.device}\n'


def _is_chip_of(target: str, board: Board) -> bool:
    """Return whether a pyOCD target name, such as stm32h7b3lihxq, is the chip of a board."""
    wanted = board.pyocd_target or ""
    common = len(wanted.rstrip("x"))
    return bool(target) and bool(wanted) and target.lower()[:common] == wanted[:common]


def _line(device: AttachedDevice) -> str:
    where = f" at {device.path}" if device.path else ""
    port = f", {device.device}" if device.device else ""
    return f"{device.kind}: {device.name or 'unnamed'}, {device.identity or 'no serial number'}{port}{where}"


def write_initial(path: Path, found: str) -> str:
    """Write a file with these tables, or append them to one that names no board. Return what was done, as a sentence.

    Raises:
        RigError: the file already names boards, is not a valid rig.toml, or cannot be written.
    """
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
            return f"{path} is unchanged"
        with path.open("a", encoding="utf-8") as file:
            file.write(("" if text.endswith("\n") or not text else "\n") + f"\n{found}")
    except OSError as error:
        raise RigError(f"{path} cannot be written ({error.strerror}): give another name with --rig=FILE.") from error
    return f"{path} is filled in"
