"""What the programs of a host ask of the bus: transactions, pauses, resets. They are generators that yield these."""

from __future__ import annotations

import enum
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.usb.wire import Handshake, Packet, Token

MS = PS_PER_S // 1000


class Fate(enum.Enum):
    """How a transaction ended without an answer that counts."""

    SILENT = "no answer, three times"  # USB 2.0, 4.7.1 and 8.7.4: a host tries three times
    LATE = "only NAK until the time was over"
    GONE = "the device was unplugged, or the bus reset"


@dataclass(frozen=True)
class Transaction:
    """One transaction, repeated while the device answers NAK.

    Attributes:
        kind, endpoint: token and number of the endpoint.
        packet: data after SETUP and OUT.
        within_ps: time after which the host gives up [ps]; None for never.
        frames: a frame in which the endpoint is asked, and the next one so many frames later; 0 as often as there is
            room.
    """

    kind: Token
    endpoint: int
    packet: Packet | None = None
    within_ps: int | None = None
    frames: int = 0


@dataclass(frozen=True)
class Pause:
    """Nothing for some time [ps]."""

    ps: int


@dataclass(frozen=True)
class BusReset:
    """A reset of the bus for some time [ps]."""

    ps: int = 50 * MS  # of a root port (7.1.7.5, TDRSTR)


@dataclass(frozen=True)
class Sleep:
    """No frames for some time [ps], then a resume of 20 ms (7.1.7.7, TDRSMDN)."""

    ps: int


@dataclass(frozen=True)
class Idle:
    """Nothing until the program is called on by `Channel.call`."""


Step: TypeAlias = Transaction | Pause | BusReset | Sleep | Idle
Outcome: TypeAlias = Packet | Handshake | Fate | None
T = TypeVar("T")
Program: TypeAlias = Generator[Step, Outcome, T]
