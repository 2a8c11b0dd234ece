"""Interface of every power meter."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked
from hil.steady_clock import steady_s


@dataclass(frozen=True)
class Setting:
    """How to read a window.

    Attributes:
        volt: supply voltage of the board: a meter that feeds the board is set to it; a meter that measures only
            current multiplies by it.
        range_a: current range, one of those in the data sheet.
        interval_s: time from one reading to the next; the meter uses the nearest that it supports.
        idle_s: sleep of the board before the first edge and after the last one.
        window_s: expected time between the two edges.
    """

    volt: float
    range_a: float
    interval_s: float
    idle_s: float
    window_s: float


class InvalidWindow(Exception):
    """A window that must be discarded and measured again: lost readings, overload, no number, a changed range.

    Args:
        reason: one sentence.
        beyond_range: the current exceeded what the range or the source allows. Measure again on the next larger range;
            give up if there is none.
    """

    def __init__(self, reason: str, *, beyond_range: bool = False) -> None:
        super().__init__(reason)
        self.beyond_range = beyond_range


class Meter:
    """Base of all power meters. Every method raises `Blocked` at stage `meter` if the instrument is gone or fails.

    Another instrument, or a refused command, is such a failure.

    Args:
        sheet: data sheet, as its maker specifies it.
        host: the host's clock and sleep.

    Attributes:
        identity: how the instrument identifies itself.
        falling_only: set by `configure`: the marker input detects only falling edges, so a window must lie between two
            falling pulses.
    """

    identity: str
    falling_only = False

    def __init__(self, sheet: DataSheet, host: Host) -> None:
        self.sheet, self._host = sheet, host

    def configure(self, setting: Setting) -> None:
        """Discard all earlier settings and prepare to read as `setting` says, on a fixed range."""
        raise NotImplementedError

    def arm(self) -> None:
        """Start reading: the marker's next edges belong to the window."""
        raise NotImplementedError

    def capture(self, deadline_s: float) -> Capture:
        """Wait for the end of the window and of the sleep after it, and return both.

        Raises:
            InvalidWindow: measure the window again.
            Blocked: no edge within the deadline, or the instrument failed.
        """
        raise NotImplementedError

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts, for a live display.

        Call `arm` before it, and again before the next window.

        Raises:
            InvalidWindow: overload, or readings that are not numbers; call `arm` again.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release the instrument. A board that it feeds stays powered."""
        raise NotImplementedError

    def _require_on_range(self, current_a: np.ndarray, range_a: float, margin: float = 1.0) -> None:
        """Raise InvalidWindow if a current, float64[n] amperes, is more than `margin` times its range."""
        if np.max(np.abs(current_a), initial=0.0) > margin * range_a:
            raise InvalidWindow(f"the current was beyond the {range_a:g} A of the {self.sheet.name}", beyond_range=True)

    def _no_edges(self, seen: int, deadline_s: float, cure: str) -> Blocked:
        """Return the error of a window of which only `seen` edges were seen within the deadline."""
        return Blocked(
            "meter",
            f"the {self.sheet.name} has seen {seen} of the 2 edges of the marker within {deadline_s:.0f} s: {cure}.",
        )

    def _silent(self, seconds: float) -> Blocked:
        """Return the error of a meter that stopped sending."""
        return Blocked("meter", f"the {self.sheet.name} has sent no samples for {seconds:g} s: plug it in again.")


@runtime_checkable
class Streaming(Protocol):
    """A meter that returns readings while it measures, so a window may exceed its memory and the host's."""

    def pieces(self, deadline_s: float) -> Iterator[Capture]:
        """Yield the window in pieces. An edge comes with the first reading after it.

        The errors of `capture` may be raised after some pieces.
        """


@runtime_checkable
class HostMarked(Protocol):
    """A meter that does not see both edges of the marker: the host marks when a window begins and ends.

    `mark` may be called from any thread.
    """

    def mark(self, begins: bool, duration_s: float = math.inf, half_s: float = 0.0) -> None:
        """Mark the start of a window (True: the request is about to be sent) or its end (False: the reply is here).

        Args:
            begins: start or end of the window.
            duration_s: time of the steps by the board's clock, at the end.
            half_s: half width of the uncertainty of that time.
        """


@dataclass(frozen=True)
class Host:
    """The host's clock in seconds, and its sleep; a virtual instrument brings its own."""

    now: Callable[[], float] = steady_s
    sleep: Callable[[float], None] = time.sleep


def refuse_two_times(meter: Meter, reality: str | None, stage: str) -> None:
    """Raise Blocked at this stage if the host would date a stand-in, whose time is virtual."""
    sheet = meter.sheet
    if reality != "hardware" and (sheet.timestamps == "host" or sheet.marker == "none"):
        raise Blocked(
            stage,
            f"the {sheet.name} uses this computer's clock to date its readings or the window's edges, but a {reality} "
            "board has its own time: measure it with a meter that dates both itself.",
        )
