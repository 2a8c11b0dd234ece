"""The open port below a session: bytes out, frames in, both counted; a port that is gone, or takes nothing any more, ends in a sentence."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hil.errors import Blocked
from hil.link.failures import Silent
from hil.link.frames import Frame, FrameReader
from hil.port_errors import WRITE_TIMEOUT

AFTERTHOUGHT_S = 2.0  # until the end of a stand-in is known, whose port goes a moment before
ASK_S = 0.05


class Port(Protocol):
    """A serial port, as pyserial gives it: reads and writes have a deadline."""

    def write(self, data: bytes) -> int | None:
        """Send bytes."""
        ...

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none after the time-out."""
        ...

    @property
    def in_waiting(self) -> int:
        """Return how many bytes have come."""
        ...


@dataclass
class Counters:
    """What the link did: frames, repeats and bytes (counted on the host).

    Attributes:
        frames_received: undamaged ones, of any session.
        stale: answers that told nothing new.
    """

    frames_sent: int = 0
    frames_repeated: int = 0
    frames_received: int = 0
    naks: int = 0
    stale: int = 0
    damaged: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0

    def came_since(self, before: Counters) -> str:
        """Return what has come since then in the place of an answer, as a part of a sentence; empty where nothing odd has."""
        fields = ("frames_received", "naks", "stale", "damaged", "bytes_received")
        frames, naks, stale, damaged, data = (getattr(self, name) - getattr(before, name) for name in fields)
        if not self.frames_received and data:
            return f", while {data:,} bytes came and not one whole frame (is the port at another speed, or another program on the line?)"
        if not naks + stale + damaged:
            return ""
        return f", while {frames:,} whole frames came ({naks:,} asked for a repeat, {stale:,} told nothing new) and {damaged:,} damaged ones"


class Wire:
    """Args:
        port: open, with a short read time-out.
        alive: called while waiting; raises `Blocked` when the other end is known to be gone.

    Attributes:
        counters: of all that went over it.
        reader: cuts what comes into frames.
    """

    def __init__(self, port: Port, alive: Callable[[], None]) -> None:
        self._port, self._alive = port, alive
        self.counters, self.reader = Counters(), FrameReader()

    def send(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            Silent: the port takes none.
            Blocked: it is gone.
        """
        self.counters.bytes_sent += len(data)
        self._guarded(lambda: self._port.write(data))

    def receive(self) -> list[Frame]:
        """Return the frames that have come, after a short wait where none has.

        Raises:
            Blocked: the port is gone, or what is at its other end.
        """
        data: bytes = self._guarded(lambda: self._port.read(max(1, self._port.in_waiting)))
        if not data:
            self._alive()
            return []
        frames = self.reader.feed(data)
        self.counters.bytes_received += len(data)
        self.counters.frames_received += len(frames)
        self.counters.damaged = self.reader.damaged
        return frames

    def _guarded(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except WRITE_TIMEOUT as error:
            self._alive()
            raise Silent(
                "the serial port takes no more bytes, what reads at its other end has stopped, or flow control holds it: look at adapter and board."
            ) from error
        except OSError as error:
            self._ask_for_the_end()
            raise Blocked(
                "link",
                f"the serial port is gone ({error}): plug the board in again and look at its cable and its power.",
            ) from error

    def _ask_for_the_end(self) -> None:
        """Give what is known of the other end a moment to become known: that it has ended is the better reason."""
        until = time.monotonic() + AFTERTHOUGHT_S
        while time.monotonic() < until:
            self._alive()
            time.sleep(ASK_S)
        self._alive()
