"""A virtual PPK2 driven by its driver and the published library in one process, in the order of virtual time."""

from __future__ import annotations

from threading import Lock

from hil.energy.data_sheet import DataSheet
from hil.meters.meter import Host
from hil.meters.ppk2 import Ppk2
from hil.optional_library import library
from hil.standins.virtual.meter.serial_meter import MeterWire


class WaitingPort:
    """A serial port as ppk2_api uses it. Bytes arrive while the host waits, and at no other time.

    The driver reads in a thread of its own, which must not move the instrument: what it read would depend on the speed
    of this computer.

    Args:
        wire: line to the instrument, used by the thread of the host only.
    """

    def __init__(self, wire: MeterWire) -> None:
        self._wire, self._held, self._lock = wire, b"", Lock()

    def pump(self) -> None:
        """Let what is due arrive."""
        with self._lock:
            self._held += self._wire.read()

    @property
    def in_waiting(self) -> int:
        """Number of bytes that have arrived."""
        return len(self._held)

    def read(self, count: int) -> bytes:
        """Return at most so many of the bytes that have arrived."""
        with self._lock:
            data, self._held = self._held[:count], self._held[count:]
        return data

    def write(self, data: bytes) -> None:
        """Send a command; its answer arrives at once."""
        self._wire.write(data)
        self.pump()

    def close(self) -> None:
        """Drop what has arrived."""
        self._wire.close()


def ppk2_on_a_wire(wire: MeterWire, sheet: DataSheet, host: Host) -> Ppk2:
    """Return the driver of a virtual PPK2.

    Raises:
        RigError: ppk2_api is not installed.
    """
    port = WaitingPort(wire)

    def sleep(seconds: float) -> None:
        host.sleep(seconds)
        port.pump()

    device = library("ppk2_api.ppk2_api", "Nordic PPK2", "ppk2").PPK2_API(None)  # without a port
    device.ser = port
    return Ppk2(device, sheet, Host(host.now, sleep))
