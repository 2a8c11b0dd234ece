"""What travels on a USB cable at full or high speed, how long it takes, and the interface of a device (USB 2.0, 8)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from hil.standins.virtual.chip.clock import PS_PER_S

FRAME_PS = PS_PER_S // 1000  # (8.4.3)


@dataclass(frozen=True)
class Speed:
    """A speed of the bus. High speed has microframes; "frame" here is either.

    Attributes:
        bit_hz: bits in a second (7.1.11).
        frame_ps: length of a frame [ps] (8.4.3).
        in_1_ms: frames in a millisecond.
        overhead: byte times of a bulk transaction besides its data (tables 5-9 and 5-10).
        asked_in_vain: byte times of an IN token and its handshake; there is no data and one CRC less.
        frame_start: byte times of a start-of-frame packet with the gap after it.
        bulk_sizes: largest packets that a bulk endpoint may have (5.8.3).
        control_sizes: those of endpoint 0 (5.5.3).
        interrupt_size: largest packet of an interrupt endpoint (5.7.3).
    """

    name: str
    bit_hz: int
    frame_ps: int
    in_1_ms: int
    overhead: int
    asked_in_vain: int
    frame_start: int
    bulk_sizes: tuple[int, ...]
    control_sizes: tuple[int, ...]
    interrupt_size: int

    def ps(self, byte_times: int) -> int:
        """Return how long some byte times take [ps]."""
        return byte_times * 8 * PS_PER_S // self.bit_hz

    @property
    def largest(self) -> int:
        """Data bytes of the largest bulk packet."""
        return self.bulk_sizes[-1]

    def period(self, interval: int) -> int:
        """Return the frames between two transactions of an interrupt endpoint, from its bInterval (table 9-13)."""
        return interval if self.in_1_ms == 1 else 1 << interval - 1


# Full speed: 3 SYNC, 3 PID, 2 address, 2 CRC16, 3 between packets (table 5-9). So 19 transactions of 64 bytes are in a
# frame of 1500 byte times, and 37 byte times remain.
FULL = Speed("full", 12_000_000, FRAME_PS, 1, 13, 10, 6, (8, 16, 32, 64), (8, 16, 32, 64), 64)
# High speed: 12 SYNC, 3 PID, 2 address, 2 CRC16, and three times a byte of EOP with 11 between packets (table 5-10). So
# 13 transactions of 512 bytes are in a microframe of 7500 byte times, and 129 byte times remain. A start of frame has
# 4 SYNC, 3 bytes, an EOP of 40 bits, and 88 bits behind it (7.1.13.2, 7.1.18.2).
HIGH = Speed("high", 480_000_000, FRAME_PS // 8, 8, 55, 36, 23, (512,), (64,), 1024)


class Token(enum.Enum):
    """The token that begins a transaction (8.4.1)."""

    SETUP = "SETUP"
    IN = "IN"
    OUT = "OUT"


class Handshake(enum.Enum):
    """The packet that ends a transaction (8.4.5)."""

    ACK = "ACK"
    NAK = "NAK"
    STALL = "STALL"


@dataclass(frozen=True)
class Packet:
    """A data packet: DATA0 or DATA1 by its `toggle`, and its bytes."""

    toggle: int
    data: bytes


class UsbBus(Protocol):
    """The host, as a device controller sees it."""

    def changed(self) -> None:
        """The controller may answer otherwise than before: a buffer, a stall, or the pull-up has changed."""

    def frame_number(self) -> int:
        """Return the number of the present frame of 1 ms, 0 to 2047."""

    def microframe(self) -> int:
        """Return the number of the present microframe in its frame, 0 to 7; 0 at full speed."""

    def wake_up(self) -> None:
        """The device asks to be resumed (7.1.7.7)."""


class UsbFunction(Protocol):
    """A device controller at the end of a cable.

    A transaction is a `token` when it begins. After SETUP and OUT, `data` comes at the end of the host's data packet,
    and returns the handshake. After IN, the answer is sent while bus time passes, and `handshake` says whether the host
    has received it. None as an answer is silence.
    """

    def connect(self, bus: UsbBus | None) -> None:
        """Plug the cable in, or out with None."""

    @property
    def pulls_up(self) -> bool:
        """Whether the device pulls D+ up, so that a host sees it (7.1.5)."""

    @property
    def chirps(self) -> bool:
        """Whether the device asks for high speed in a reset: it sends a chirp (7.1.7.5)."""

    @property
    def wants_frames(self) -> bool:
        """Whether each start of a frame must be reported by `frame`."""

    def token(self, kind: Token, address: int, endpoint: int) -> Packet | Handshake | None:
        """Take the token of a transaction."""

    def data(self, packet: Packet) -> Handshake | None:
        """Take the data packet after a SETUP or OUT token."""

    def handshake(self, acked: bool) -> None:
        """Take the host's handshake after an IN transaction, or its absence; the latter ends any transaction."""

    def frame(self) -> None:
        """Take the start of a frame."""

    def bus_reset(self, on: bool, speed: Speed) -> None:
        """The host drives a reset, or ends it (7.1.7.5); at its end both are at a speed."""

    def suspend(self, on: bool) -> None:
        """The bus was idle for 3 ms, or is resumed by the host (7.1.7.6, 7.1.7.7)."""
