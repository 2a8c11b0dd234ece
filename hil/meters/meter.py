"""What every power meter can do, whatever it is and whatever is behind it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet


@dataclass(frozen=True)
class Setting:
    """How a window is to be read.

    Attributes:
        volt: supply of the board: what a meter that feeds it is set to, and what one that sees the current only multiplies by.
        range_a: current range, one of the data sheet's.
        interval_s: time from one reading to the next; a meter takes the nearest that it can do.
        idle_s: sleep before the first and behind the last edge.
        window_s: expected time between the two edges.
    """

    volt: float
    range_a: float
    interval_s: float
    idle_s: float
    window_s: float


class Spoiled(Exception):
    """A window that must be thrown away and measured again: readings lost, overload, no number, a range that changed.

    Args:
        reason: one sentence.
        beyond_range: the current was more than the range or the source allows: take the next one up, and give up where there is none.
    """

    def __init__(self, reason: str, *, beyond_range: bool = False) -> None:
        super().__init__(reason)
        self.beyond_range = beyond_range


class Meter(Protocol):
    """An instrument. Every method raises `Blocked` at stage `meter` when the instrument is gone, is another, or refuses a command.

    Attributes:
        sheet: what its maker promises.
        identity: what it says of itself.
    """

    sheet: DataSheet
    identity: str

    def configure(self, setting: Setting) -> None:
        """Forget all that was set before, and prepare to read as `setting` says, on a fixed range."""

    def arm(self) -> None:
        """Begin to read: the edges of the marker that follow belong to the window."""

    def capture(self, deadline_s: float) -> Capture:
        """Wait until the window and the sleep behind it are over, and return them.

        Raises:
            Spoiled: measure the window again.
            Blocked: no edge within the deadline, or the instrument failed.
        """

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts, for the eye; it must be armed, and the next window be armed again.

        Raises:
            Spoiled: overload, or readings that are none; arm it again.
        """

    def close(self) -> None:
        """Let go of the instrument; a board that it feeds stays fed."""


@runtime_checkable
class Streams(Protocol):
    """A meter whose windows may be longer than its memory, and than the host's: it hands its readings over while it makes them."""

    def pieces(self, deadline_s: float) -> Iterator[Capture]:
        """Yield the window piece by piece, an edge with the first reading behind it; what `capture` raises may come behind any of them."""


@runtime_checkable
class Told(Protocol):
    """What a meter takes beside that sees not both edges of the marker: the host's word for when a window began and ended. From any thread."""

    def mark(self, begins: bool, duration_s: float = math.inf, half_s: float = 0.0) -> None:
        """Take that the host is about to ask for the steps (True), or has the answer (False), with their time by the board's clock, good to `half_s`."""


@runtime_checkable
class Pulsed(Protocol):
    """What a meter says beside whose marker input may tell falling edges only.

    Attributes:
        falling_only: since `configure`: a window must lie between two falling pulses, for the rise of a level is not seen.
    """

    falling_only: bool


@dataclass(frozen=True)
class Host:
    """The host's clock in seconds, and how to wait; a virtual instrument brings its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
