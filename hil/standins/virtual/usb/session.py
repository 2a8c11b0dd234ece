"""A computer with one USB port: it enumerates what is plugged in, and gives its serial port a name.

After a reset, or when a device was away, its port has another name, as it may have on a real computer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.usb.bad_host import handle_roughly
from hil.standins.virtual.usb.cdc import AcmPort, Terminal
from hil.standins.virtual.usb.control import Stalled, Unfit
from hil.standins.virtual.usb.enumeration import DEBOUNCE_PS, Device, check_configured, enumerate_device
from hil.standins.virtual.usb.host import UsbHost
from hil.standins.virtual.usb.steps import Pause, Program, Sleep
from hil.standins.virtual.usb.wire import UsbFunction

_TRIES = 3
_ADDRESSES = 127  # (USB 2.0, 9.4.6)


class Ports(Protocol):
    """The serial ports of a computer."""

    def appear(self, device: Device) -> Terminal:
        """Make a serial port for a device."""

    def vanish(self) -> None:
        """Remove it again."""


class UsbSession:
    """A computer with one USB port; a source of events in virtual time (`EventSource`).

    Args:
        clock, function, break_soon: see `UsbHost`.
        ports: of this computer.
        log: receives one line for each event.

    Attributes:
        device: the enumerated device, or None.
        complaints: what the devices did that USB 2.0 or the CDC class forbids, one sentence each.
        rough: how often a new device is handled roughly before it is enumerated (`bad_host`).
    """

    def __init__(
        self, clock: Clock, function: UsbFunction, break_soon: Callable[[], None], ports: Ports,
        log: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._ports, self._log = ports, log
        self.host = UsbHost(clock, function, break_soon, self._plugged)
        self.device: Device | None = None
        self.complaints: list[str] = []
        self._port: AcmPort | None = None
        self._address = self.rough = 0

    @property
    def port(self) -> AcmPort | None:
        """The serial port of the device, or None."""
        return self._port

    def plug(self, on: bool = True) -> None:
        """Plug the cable in or out."""
        self.host.plug(on)

    def look_again(self, now: int) -> None:
        """Look at the device at a virtual time: it says nothing itself when its power is switched or its chip stops."""
        self.host.changed()
        self.host.update(now)

    def enumerate_again(self) -> None:
        """Reset the device and enumerate it, as a hub does that has found its port disturbed."""
        self._forget()
        self.host.stop_all()
        self.host.start(self._enumerate())

    def sleep(self, ps: int) -> None:
        """Send no frames for some time, so that the device is suspended; then resume it."""
        self.host.start(_sleep(ps))

    def update(self, now: int) -> None:
        if self._port is not None:
            self._port.update()
        self.host.update(now)

    def next_event(self) -> int | None:
        return self.host.next_event()

    def complain(self, sentence: str) -> None:
        """Note what the device did wrong."""
        self.complaints.append(sentence)
        self._log(f"usb: {sentence}")

    def _plugged(self, present: bool) -> None:
        self._forget()
        if present:
            self.host.start(self._enumerate())
        else:
            self._log("usb: the device is away")

    def _forget(self) -> None:
        if self._port is not None:
            self._port = None
            self._ports.vanish()
        self.device = None

    def _enumerate(self) -> Program[None]:
        yield Pause(DEBOUNCE_PS)
        for _ in range(_TRIES):
            self._address = self._address % _ADDRESSES + 1
            try:
                for _ in range(self.rough):
                    yield from handle_roughly(self.host)
                device = yield from enumerate_device(self.host, self._address, self.complain)
                yield from check_configured(device, self.complain)
                device = yield from enumerate_device(self.host, self._address, self.complain)
            except Stalled as stalled:
                self.complain(f"{stalled} is stalled")
            except Unfit as unfit:
                self.complain(str(unfit))
            else:
                self.device = device
                named = f"{device.strings[1]!r} of {device.strings[0]!r}, serial number {device.strings[2]!r}"
                self._log(f"usb: {named}, at {device.speed.name} speed")
                if device.port is not None:
                    self._port = AcmPort(self.host, device, device.port, self._ports.appear(device), self.complain)
                return
        self._log(f"usb: the device is not enumerated after {_TRIES} tries")


def _sleep(ps: int) -> Program[None]:
    yield Sleep(ps)
