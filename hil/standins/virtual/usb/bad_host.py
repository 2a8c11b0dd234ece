"""A host that is not well, or a cable that is loose: what a device must survive, without a byte lost or doubled.

`handle_roughly` is a program for a device after its reset; `UsbFaults` are the injected faults of a session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hil.standins.virtual.chip.clock import PS_PER_S, Clock
from hil.standins.virtual.inject import Injection
from hil.standins.virtual.usb import control as c
from hil.standins.virtual.usb import descriptors as d
from hil.standins.virtual.usb.control import Setup, Unfit
from hil.standins.virtual.usb.host import UsbHost
from hil.standins.virtual.usb.steps import MS, BusReset, Pause, Program, Transaction
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

_FIRST = 64  # largest packet of endpoint 0 before it is known
_RECOVERY_PS = 10 * MS
_DEVICE = Setup(c.TO_HOST, c.GET_DESCRIPTOR, d.DEVICE << 8, 0, d.DEVICE_BYTES)
_CONFIGURATION = Setup(c.TO_HOST, c.GET_DESCRIPTOR, d.CONFIGURATION << 8, 0, 1024)
_SOME_ADDRESS, _NO_ENDPOINT = 99, 14


def handle_roughly(host: UsbHost) -> Program[None]:
    """Do to a new device what hosts and cables do; it must answer rightly afterwards, at address 0.

    Raises:
        Unfit, Stalled: it does not.
    """
    yield from _reset()
    whole = yield from c.read(_DEVICE, _FIRST)
    for length in (1, 2, 7, 8, 9, 17):
        short = Setup(c.TO_HOST, c.GET_DESCRIPTOR, d.DEVICE << 8, 0, length)
        _must_be(short, whole[:length], (yield from c.read(short, _FIRST)))
    for _ in range(3):  # a setup packet ends the transfer before it, whatever its stage (8.5.3)
        yield from c.begin(_CONFIGURATION)
    yield from _still(whole)
    yield from c.begin(_CONFIGURATION)
    yield Transaction(Token.IN, 0, within_ps=c.DATA_PS)
    yield from _still(whole)
    yield from c.begin(_CONFIGURATION)
    yield Transaction(Token.IN, 0, within_ps=c.DATA_PS)
    # The host has read enough: ACK is best, and NAK until the next setup packet is no harm.
    yield Transaction(Token.OUT, 0, Packet(1, b""), within_ps=c.STATUS_PS)
    yield from _still(whole)
    yield from c.begin(Setup(0, c.SET_ADDRESS, _SOME_ADDRESS))  # and its status stage never comes
    yield from _still(whole)
    for at, endpoint in ((_SOME_ADDRESS, 0), (0, _NO_ENDPOINT)):
        host.address = at
        answer = yield Transaction(Token.IN, endpoint, within_ps=c.STATUS_PS)
        if isinstance(answer, Packet | Handshake):
            raise Unfit(f"endpoint {endpoint} at address {at}, which the device does not have, gives {c.told(answer)}")
    host.address = 0
    yield from c.begin(_CONFIGURATION)
    yield Transaction(Token.IN, 0, within_ps=c.DATA_PS)
    yield from _reset()
    yield from _still(whole)


def _reset() -> Program[None]:
    yield BusReset()
    yield Pause(_RECOVERY_PS)


def _still(whole: bytes) -> Program[None]:
    """Read the device descriptor while the device may have another transfer open, and time to hear that it is over."""
    yield from c.begin(_DEVICE)
    yield Pause(MS)
    _must_be(_DEVICE, whole, (yield from c.read_on(_DEVICE, _FIRST)))


def _must_be(setup: Setup, wanted: bytes, data: bytes) -> None:
    if data != wanted:
        raise Unfit(f"{setup} gives {data.hex()}, not {wanted.hex()}")


class FaultySession(Protocol):
    """What injected faults do to a session."""

    host: UsbHost
    rough: int

    def plug(self, on: bool = True) -> None: ...

    def sleep(self, ps: int) -> None: ...

    def enumerate_again(self) -> None: ...


class UsbFaults:
    """Injected faults of a USB cable and its host; a source of events (`EventSource`).

    Args:
        session: whose device suffers them.
        clock: virtual time.
        injections: those whose kind begins with `usb_` are used.
        log: receives one line for each fault.
    """

    def __init__(
        self, session: FaultySession, clock: Clock, injections: list[Injection], log: Callable[[str], None]
    ) -> None:
        self._session, self._clock, self._log = session, clock, log
        self._replug_at: int | None = None
        mine = [one for one in injections if one.kind.startswith("usb_")]
        session.rough = sum(int(one.arguments[0]) for one in mine if one.kind == "usb_rough")
        session.host.loses_every = sum(int(one.arguments[0]) for one in mine if one.kind == "usb_lose")
        self._due = sorted(
            ((int(one.arguments[0]), one) for one in mine if one.kind in self._deeds()), key=lambda due: due[0]
        )

    def _deeds(self) -> dict[str, Callable[[int], None]]:
        return {"usb_reset": lambda _ps: self._session.enumerate_again(), "usb_unplug": self._unplug,
                "usb_suspend": self._session.sleep}  # fmt: skip

    def update(self, now: int) -> None:
        """Do what is due by the number of carried bytes, or by time."""
        if self._replug_at is not None and now >= self._replug_at:
            self._replug_at = None
            self._session.plug(True)
        if self._due and sum(self._session.host.carried.values()) >= self._due[0][0]:
            _, one = self._due.pop(0)
            self._log(f"injected: {one.kind} after {one.arguments[0]:.0f} bytes")
            self._deeds()[one.kind](int(one.arguments[-1] * PS_PER_S))

    def next_event(self) -> int | None:
        return self._replug_at

    def _unplug(self, ps: int) -> None:
        self._session.plug(False)
        self._replug_at = self._clock.now + ps
