"""The serial port below a session: send bytes, receive frames, count both, and name a port that fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from serial import Serial, SerialTimeoutException

from hil.link.failures import PortLost, Silent
from hil.link.frames import FrameReader, LinkFrame
from hil.link.received_words import SHOWN, is_text, words
from hil.port_errors import ConnectionCut
from hil.steady_clock import steady_s

EXIT_KNOWN_S = 2.0  # a stand-in's port disappears up to this long before its exit is known
POLL_S = 0.05
CURE = "check the serial port and the board."


@dataclass
class Counters:
    """Frames, repeats and bytes of the link, counted on the host.

    Attributes:
        frames_received: undamaged frames of any session.
        stale: answers that acknowledged nothing new.
    """

    frames_sent: int = 0
    frames_repeated: int = 0
    frames_received: int = 0
    naks: int = 0
    stale: int = 0
    damaged: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0

    def received_since(self, before: Counters, recent: bytes = b"") -> str:
        """Return what was received instead of an answer, as part of a sentence; empty if nothing unusual was.

        `recent` are the last bytes that came.
        """
        fields = ("frames_received", "naks", "stale", "damaged", "bytes_received")
        frames, naks, stale, damaged, data = (getattr(self, name) - getattr(before, name) for name in fields)
        if not self.frames_received and data:
            doubt = "is the port at another speed, or another program on the line?"
            text = f"the program prints text: {words(recent)}" if is_text(recent) else doubt
            return f"; {data:,} bytes were received, but no undamaged frame ({text})"
        if not naks + stale + damaged:
            return ""
        kinds = f"{naks:,} requested a repeat, {stale:,} acknowledged nothing new"
        return f"; {frames:,} undamaged frames were received ({kinds}), and {damaged:,} damaged ones"


class Wire:
    """Send bytes and receive frames over an open port.

    Args:
        port: open, with time-outs for reading (a short one) and writing.
        alive: called while waiting; raises Blocked if the other end is known to be gone.
        cure: what to do about a silent board, unless the port says that itself.

    Attributes:
        networked: whether the port is on a network, and may deliver bytes late; such a port has a `cure`.
        cure: what to do about a silent board.
        counters: of all traffic.
        reader: splits the received bytes into frames.
        recent: the last bytes that came.
    """

    def __init__(self, port: Serial, alive: Callable[[], None], cure: str = CURE) -> None:
        self._port, self._alive = port, alive
        self.counters, self.reader, self.recent = Counters(), FrameReader(), b""
        self.networked = hasattr(port, "cure")
        self.cure: str = getattr(port, "cure", cure)

    def send(self, data: bytes) -> None:
        """Send bytes. Raises Silent if the port accepts none, Blocked if it is gone."""
        self.counters.bytes_sent += len(data)
        self._guarded(lambda: self._port.write(data))

    def receive(self) -> list[LinkFrame]:
        """Return the frames that have arrived, after the read time-out at most. Raises Blocked if the port is gone."""
        data: bytes = self._guarded(lambda: self._port.read(max(1, self._port.in_waiting)))
        if not data:
            self._alive()
            return []
        frames, self.recent = self.reader.feed(data), (self.recent + data)[-SHOWN:]
        self.counters.bytes_received += len(data)
        self.counters.frames_received += len(frames)
        self.counters.damaged = self.reader.damaged
        return frames

    def _guarded(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except SerialTimeoutException as error:  # the other end did not accept the bytes within the write time-out
            self._alive()
            raise Silent(
                "the serial port accepts no more bytes (its other end has stopped, or flow control holds it): "
                "check the adapter and the board."
            ) from error
        except OSError as error:
            self._await_exit()
            if isinstance(error, ConnectionCut):
                raise PortLost(str(error)) from error
            raise PortLost(
                f"the serial port is gone ({error}): plug the board in again and check its cable and its power."
            ) from error

    def _await_exit(self) -> None:
        """Wait until the exit of the other end is known, because that is the better reason."""
        until = steady_s() + EXIT_KNOWN_S
        while steady_s() < until:
            self._alive()
            time.sleep(POLL_S)
        self._alive()
