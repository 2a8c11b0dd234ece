"""Transactions of the USB controller of i.MX RT1062 in device mode: setup packets, priming, flushing, NAK, stall.

Source: UM10503, chapter "USB0 Host/Device/OTG controller", 23.10 (see `usb_endpoints`). After a setup packet both
directions of endpoint 0 have lost their prime, and a prime fails until ENDPTSETUPSTAT is cleared. A flush of an
endpoint with a packet on the bus is refused, and its bit stays until the packet has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.imxrt1062.usb_endpoints import Endpoint, UsbMemory, write_setup
from hil.standins.virtual.chip.imxrt1062.usb_registers import ENDPOINTS
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

PRIME_PS = 300_000  # until an endpoint is primed; modelled
SETUP_BYTES = 8
STALL, ENABLE = 1 << 0, 1 << 7  # of a half of ENDPTCTRL
_TYPE_LOW, _CONTROL, _ISOCHRONOUS = 2, 0, 1


class DeviceRegisters(Protocol):
    """The registers that decide how the controller answers, and that it sets."""

    @property
    def now(self) -> int:
        """Virtual time [ps]."""

    @property
    def heads(self) -> int:
        """Address of the queue heads."""

    @property
    def locks_out(self) -> bool:
        """Whether a setup packet is ignored until the one before was taken (USBMODE.SLOM is 0)."""

    @property
    def holds_setup(self) -> bool:
        """Whether a setup packet waits in ENDPTSETUPSTAT."""

    def lane(self, number: int, is_in: bool) -> int:
        """Return the half of an ENDPTCTRL that is for a direction."""

    def take_setup(self) -> None: ...

    def took_endpoint_0(self, is_in: bool) -> None: ...

    def retired(self, bit: int, interrupts: bool) -> None: ...

    def failed(self) -> None: ...

    def refused(self, bit: int) -> None: ...


@dataclass(frozen=True)
class _Transaction:
    kind: Token
    endpoint: Endpoint
    answer: Handshake  # after the data of an OUT; ACK: the data is taken


class Device:
    """The device.

    Args:
        memory: memory behind the controller.
        registers: registers of the controller.
    """

    def __init__(self, memory: UsbMemory, registers: DeviceRegisters) -> None:
        self._memory, self._registers = memory, registers
        self.endpoints = [Endpoint(index, memory) for index in range(2 * ENDPOINTS)]
        self._open: _Transaction | None = None
        self._refused_flushes = 0
        self.next_event: int | None = None  # when the first prime ends [ps]; None if there is none

    def reset(self) -> None:
        self._open, self._refused_flushes = None, 0
        for endpoint in self.endpoints:
            endpoint.reset()
        self._plan()

    def _plan(self) -> None:
        self.next_event = min((one.prime_ends for one in self.endpoints if one.prime_ends is not None), default=None)

    # priming and flushing

    def prime(self, bits: int) -> None:
        """Write ENDPTPRIME."""
        for number, endpoint in enumerate(self.endpoints):
            if bits & endpoint.bit and endpoint.prime_ends is None:
                if number < 2 and self._registers.holds_setup:
                    continue  # the prime fails
                self._check_types(number)
                endpoint.prime(self._registers.heads, self._registers.now + PRIME_PS)
        self._plan()

    def _check_types(self, number: int) -> None:
        """Fault where the data toggle is undefined, or the type is not modelled (ENDPTCTRLn)."""
        if number < 2:
            return
        lanes = [self._registers.lane(number >> 1, is_in) for is_in in (False, True)]
        mine, other = lanes[number & 1], lanes[1 - (number & 1)]
        kind = mine >> _TYPE_LOW & 3
        if kind in (_CONTROL, _ISOCHRONOUS):
            raise ModelFault(
                f"ENDPTCTRL{number >> 1} has type {kind} (0 control, 1 isochronous), which this model does not have"
            )
        if not other & ENABLE and other >> _TYPE_LOW & 3 == _CONTROL:
            raise ModelFault(
                f"the unused direction of ENDPTCTRL{number >> 1} has type control, so that the data toggle of "
                f"{self.endpoints[number].name} is undefined; give it another type (IMXRT1060RM, ENDPTCTRLn)"
            )

    def settle(self, now: int) -> bool:
        """End the primes that are due; return whether there was one."""
        if self.next_event is None or now < self.next_event:
            return False
        for endpoint in self.endpoints:
            endpoint.settle(now)
        self._plan()
        return True

    def flush(self, bits: int) -> None:
        """Write ENDPTFLUSH."""
        busy = 0 if self._open is None else self._open.endpoint.bit
        self._refused_flushes |= bits & busy
        self._cancel(bits & ~busy)

    def cancel_all(self) -> None:
        """Take every prime away, and end the transaction on the bus."""
        self.abandon()
        self._cancel(~0)

    def _cancel(self, bits: int) -> None:
        for endpoint in self.endpoints:
            if bits & endpoint.bit:
                endpoint.flush()
        self._plan()

    @property
    def priming(self) -> int:
        return sum(one.bit for one in self.endpoints if one.prime_ends is not None)

    @property
    def flushing(self) -> int:
        return self._refused_flushes

    @property
    def ready(self) -> int:
        return sum(one.bit for one in self.endpoints if one.ready)

    # transactions

    def abandon(self) -> None:
        """End the transaction on the bus, if there is one."""
        self._open, self._refused_flushes = None, 0

    def token(self, kind: Token, number: int) -> Packet | Handshake | None:
        self.abandon()
        if kind is Token.SETUP:
            if number == 0 and not (self._registers.locks_out and self._registers.holds_setup):
                self._open = _Transaction(kind, self.endpoints[0], Handshake.ACK)
            return None
        is_in = kind is Token.IN
        if number >= ENDPOINTS or not self._registers.lane(number, is_in) & ENABLE:
            return None
        endpoint = self.endpoints[2 * number + is_in]
        answer = self._decide(number, endpoint)
        if is_in and answer is not Handshake.ACK:
            return answer
        self._open = _Transaction(kind, endpoint, answer)
        return Packet(endpoint.toggle, endpoint.packet) if is_in else None

    def _decide(self, number: int, endpoint: Endpoint) -> Handshake:
        """Return STALL or NAK, or ACK if the transaction takes place."""
        if self._registers.lane(number, endpoint.is_in) & STALL:
            return Handshake.STALL
        if not endpoint.ready:
            self._registers.refused(endpoint.bit)
            return Handshake.NAK
        endpoint.check()
        return Handshake.ACK

    def data(self, packet: Packet) -> Handshake | None:
        one, self._open = self._open, None
        if one is None:
            return None
        self._refused_flushes = 0
        if one.kind is Token.SETUP:
            return self._setup(packet)
        endpoint = one.endpoint
        if one.answer is not Handshake.ACK:
            return one.answer
        if not endpoint.ready:  # a reset has come in between
            return None
        if packet.toggle != endpoint.toggle:  # a repetition (UM10503, 23.10.5.3)
            return Handshake.ACK
        if not endpoint.fits(len(packet.data)):
            endpoint.fail()
            self._registers.failed()
            return Handshake.NAK
        endpoint.store(packet.data)
        self._finish(endpoint, len(packet.data))
        return Handshake.ACK

    def _setup(self, packet: Packet) -> Handshake | None:
        if packet.toggle or len(packet.data) != SETUP_BYTES:
            return None
        self._cancel(self.endpoints[0].bit | self.endpoints[1].bit)
        for endpoint in self.endpoints[:2]:
            endpoint.toggle = 1
        write_setup(self._memory, self._registers.heads, packet.data)
        self._registers.take_setup()
        return Handshake.ACK

    def handshake(self, acked: bool) -> None:
        one, self._open = self._open, None
        self._refused_flushes = 0
        if one is not None and acked and one.endpoint.ready:
            self._finish(one.endpoint, len(one.endpoint.packet))

    def _finish(self, endpoint: Endpoint, size: int) -> None:
        """Count a packet that was moved, and retire the descriptor if it was its last."""
        endpoint.toggle ^= 1
        if endpoint is self.endpoints[0] or endpoint is self.endpoints[1]:
            self._registers.took_endpoint_0(endpoint.is_in)
        if endpoint.moved(size):
            wanted, is_short = endpoint.retire(self._registers.now + PRIME_PS)
            self._plan()
            self._registers.retired(endpoint.bit, wanted or is_short)
