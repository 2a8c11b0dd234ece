"""What travels on a full-speed USB cable, how long it takes, and the interface of a device controller (USB 2.0, 8)."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from hil.standins.virtual.chip.clock import PS_PER_S

BIT_HZ = 12_000_000  # full speed (7.1.11)
FRAME_PS = PS_PER_S // 1000  # (8.4.3)
FRAME_BYTES = 1500  # byte times in a frame (5.5.4)
# Bytes of a bulk transaction besides its data: 3 SYNC, 3 PID, 2 address, 2 CRC16, 3 between packets (table 5-9). So 19
# transactions of 64 bytes are in a frame, and 37 byte times remain.
OVERHEAD = 13
ASKED_IN_VAIN = 10  # an IN token and its handshake; there is no data and one CRC less
FRAME_START = 6  # byte times of a start-of-frame packet with the gap after it


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


def bus_ps(byte_times: int) -> int:
    """Return how long some byte times at full speed take [ps]."""
    return byte_times * 8 * PS_PER_S // BIT_HZ


class UsbBus(Protocol):
    """The host, as a device controller sees it."""

    def changed(self) -> None:
        """The controller may answer otherwise than before: a buffer, a stall, or the pull-up has changed."""

    def frame_number(self) -> int:
        """Return the number of the present frame, 0 to 2047."""

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

    def bus_reset(self, on: bool) -> None:
        """The host drives a reset, or ends it (7.1.7.5)."""

    def suspend(self, on: bool) -> None:
        """The bus was idle for 3 ms, or is resumed by the host (7.1.7.6, 7.1.7.7)."""
