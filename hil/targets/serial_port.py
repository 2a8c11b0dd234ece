"""Open a serial port through pyserial, open it again after its device was gone, and find who else has it open."""

from __future__ import annotations

import contextlib
import os
import re
import select
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import serial
import serial.tools.list_ports
from serial.tools.list_ports_common import ListPortInfo

from hil import boards
from hil.boards.catalogue import WiredPort
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.port_errors import PORT_ERRORS
from hil.process_time import AbleTime
from hil.steady_clock import steady_s
from hil.targets.network_port import open_network
from hil.targets.own_usb import names

READ_TIMEOUT_S = 0.02
WRITE_TIMEOUT_S = 20.0  # without a byte that the other end accepts; the longest frame takes 1.2 s at 9,600 baud
WRITE_LOOK_S = 0.1  # from one look at what a stand-in could run to the next
BACK_WITHIN_S = 10.0  # for a USB device that enumerates again after flashing or power-on
POLL_S = 0.1
INTERFACE = re.compile(r":\w+\.(\d+)$")  # configuration and number of a USB interface
PSEUDO_TERMINALS = "/dev/pts/"  # always open in the process of the stand-in, so open files say nothing here

SerialPort: TypeAlias = serial.Serial


class LocalPort(serial.Serial):  # type: ignore[misc]
    """A port of this computer whose write time-out follows progress.

    pyserial counts the wall time of a whole write. Here it counts since the last byte that was accepted, and, on the
    port of a stand-in, only the time in which that could run.

    Attributes:
        lost_s: returns the seconds in which the other end could not run.
        keeps_input: whether `open` leaves what has come already, which pyserial discards.
    """

    lost_s: Callable[[], float] = staticmethod(lambda: 0.0)
    keeps_input = False
    _is_opening = False

    def open(self) -> None:
        """Open the port, as pyserial."""
        self._is_opening = True
        try:
            super().open()
        finally:
            self._is_opening = False

    def _reset_input_buffer(self) -> None:  # `open` of pyserial calls it, and has no option for that
        if not (self.keeps_input and self._is_opening):
            super()._reset_input_buffer()

    def write(self, data: Any, /) -> int:
        """Send bytes and return their number, as pyserial; a write time-out of None waits for ever.

        Raises:
            serial.SerialTimeoutException: no byte was accepted within the write time-out.
            serial.SerialException: the port is closed or gone.
        """
        if not self.write_timeout or not hasattr(self, "fd"):  # for ever, not at all, or a port of Windows
            return int(super().write(data))
        if not self.is_open:
            raise serial.PortNotOpenError
        data, sent, able = serial.to_bytes(data), 0, AbleTime(self.lost_s)
        while sent < len(data):
            aborted, ready, _ = select.select([self.pipe_abort_write_r], [self.fd], [], WRITE_LOOK_S)
            if aborted:  # `cancel_write` of pyserial
                os.read(self.pipe_abort_write_r, 1000)
                break
            try:
                accepted = os.write(self.fd, data[sent:]) if ready else 0
            except BlockingIOError:
                accepted = 0
            except OSError as error:
                raise serial.SerialException(f"write failed: {error}") from error
            if accepted:
                sent, able = sent + accepted, AbleTime(self.lost_s)
            elif able.seconds > self.write_timeout:
                raise serial.SerialTimeoutException("Write timeout")
        return sent


def open_serial(
    path: str, baud: int, lost_s: Callable[[], float] = LocalPort.lost_s, keep: bool = False
) -> SerialPort:  # fmt: skip
    """Open a port with a short read time-out, a write time-out, and empty buffers.

    Args:
        path: of a device, or the address of a port on a network (`socket://`, `rfc2217://`). The latter has no lock:
            who may use it is decided where it is exported.
        baud: rate in bits a second.
        lost_s: as that of `LocalPort`.
        keep: what has come already stays in the buffer: all of it is of the program that runs now.

    Raises Blocked if the port is missing, or another program has it open (with or without a lock).
    """
    if "://" in path:
        return open_network(path, baud, READ_TIMEOUT_S, WRITE_TIMEOUT_S, keep)
    others = [] if os.path.realpath(path).startswith(PSEUDO_TERMINALS) else holders(path)
    if others:
        raise Blocked("link", f"the serial port {path} is open in {' and '.join(others)}: end that program.")
    try:
        port = LocalPort(baudrate=baud, timeout=READ_TIMEOUT_S, write_timeout=WRITE_TIMEOUT_S, exclusive=True)
        port.port, port.lost_s, port.keeps_input = path, lost_s, keep
        port.open()
        if not keep:
            port.reset_input_buffer()
    except (serial.SerialException, OSError) as error:
        raise Blocked(
            "link",
            f"the serial port {path} cannot be opened ({error}): "
            "plug the board in, or end the program that holds the port.",
        ) from error
    return port


def close_and_discard(port: SerialPort) -> None:
    """Close a port and discard unsent data; while flow control holds the line, the system would wait half a minute."""
    with contextlib.suppress(*PORT_ERRORS):
        port.reset_output_buffer()
    port.close()


def emptied(port: SerialPort, endpoints: Endpoints, within_s: float = BACK_WITHIN_S, keep: bool = False) -> SerialPort:
    """Return the open port with empty buffers; if its device was gone, `come_back` with a new one.

    With `keep`, what has come stays in the buffer.
    """
    try:
        if keep:
            _ = port.in_waiting
        else:
            port.reset_input_buffer()
        return port
    except PORT_ERRORS:
        with contextlib.suppress(OSError):
            port.close()
    return come_back(endpoints, port.baudrate, "flashing", within_s)


def come_back(endpoints: Endpoints, baud: int, after: str, within_s: float = BACK_WITHIN_S) -> SerialPort:
    """Wait for a board's port and open it, even under a new name: found by its USB serial number if rig.toml has one.

    Raises Blocked if it did not come back `within_s` seconds after `after`, which made it disappear.
    """
    until = steady_s() + within_s
    while True:
        try:
            return open_serial(path_of(endpoints), baud)
        except Blocked as blocked:
            if steady_s() > until:
                raise Blocked(
                    "link", f"the serial port did not come back within {within_s:.0f} s after {after}: {blocked.reason}"
                ) from blocked
        time.sleep(POLL_S)


def path_of(endpoints: Endpoints) -> str:
    """Return the current path of a board's serial port. Raises Blocked if there is no such port, or more than one."""
    if endpoints.serial_number is not None:
        return port_of(endpoints.serial_number, endpoints.board, endpoints.title)
    if endpoints.serial is None:
        raise Blocked("link", f"{endpoints.board} has no serial port here: name it in rig.toml (`serial = ...`).")
    return endpoints.serial


def port_of(serial_number: str, board: str, title: str) -> str:
    """Return the path of the port whose USB device has a serial number, or the USB ids (`hil.targets.own_usb`).

    Of several ports of one device it is the one that the catalogue says is wired to the chip (`wired_port`).

    Args:
        serial_number: in rig.toml, or the USB ids.
        board: its name in the catalogue, or any other name.
        title: of the board in messages.

    Raises:
        Blocked: there is no such port, or several, of which the catalogue names none or more than one.
    """
    ports = [port for port in serial.tools.list_ports.comports() if names(serial_number, port)]
    wired = boards.load(board).wired_port if len(ports) > 1 and boards.is_known(board) else None
    chosen = [port for port in ports if _is(port, wired)] if wired is not None else ports
    if len(chosen) == 1:
        return str(chosen[0].device)
    if not ports:
        found, cure = "is not attached", "plug the board in, or correct rig.toml."
    else:
        found = f"is found {len(ports)} times ({', '.join(sorted(str(port.device) for port in ports))})"
        cure = 'name the port that is wired to the board by its path in rig.toml (serial = "/dev/serial/by-id/...").'
    raise Blocked("bench", f"the serial port {serial_number} that rig.toml names for {title} {found}: {cure}")


def _is(port: ListPortInfo, wired: WiredPort) -> bool:
    """Return whether a port is that interface: pyserial's `location` of one of several ends in `:1.2`, or `:x.2`."""
    interface = INTERFACE.search(port.location or "")
    return port.vid == wired.vendor and interface is not None and int(interface[1]) == wired.interface


def holders(device: str, processes: Path = Path("/proc")) -> list[str]:
    """Return the other programs that have a device open, as `name (process id)`; empty on systems other than Linux."""
    wanted = os.path.realpath(device)
    found = []
    for process in sorted(processes.glob("[0-9]*"), key=lambda folder: int(folder.name)):
        if int(process.name) != os.getpid() and wanted in _open_files(process):
            found.append(f"{_program_of(process)} (process {process.name})")
    return found


def _open_files(process: Path) -> set[str]:
    try:
        return {str(entry.readlink()) for entry in (process / "fd").iterdir()}
    except OSError:  # it has ended, or belongs to another user
        return set()


def _program_of(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a program"
