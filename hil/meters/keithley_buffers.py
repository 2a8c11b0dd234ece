"""Three buffers that the trigger model of Keithley's interactive instruments fills in turn, switched by the marker.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6: TRACe (6-107 to 6-124), TRIGger:BLOCk:WAIT (6-148); 2461
Reference Manual (2461-901-01 A), 6-202: a measure block with the count INF continues during the blocks that follow,
until another one replaces it or stops it with 0. Today's instruments call that block MDIGitize (public drivers of the
2450 and the DMM6500); earlier ones, MEASure and DIGitize.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hil.energy.capture import Capture, edge_between
from hil.errors import Blocked
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.reading_checks import missing, require_complete, require_numbers
from hil.visa import VisaSession

BEFORE, STEPS, AFTER = BUFFERS = "before", "steps", "after"
SPARE, LEAST = 2.0, 1000  # size of a buffer: SPARE times the expected one, plus LEAST readings
LONGER = 30.0  # times the expected window: for the first one, the expected length is a guess
POLL_S = 0.02
LONGEST_S = 10_000  # longest delay block (2450-901-01 Rev. B, TRIGger:BLOCk:DELay:CONStant)
IDLE_KEPT = 0.95  # of the sleep: the last reading ends before the board wakes


class PartedBuffers:
    """Buffers for the readings before the marker's first edge, between both edges, and after the second edge.

    The instrument itself separates them, so the host's clock does not matter.

    Args:
        session: to the instrument.
        host: the host's clock.
        event: event of the trigger model at each edge of the marker.
        wiring: what the user should do if there are no edges.

    Attributes:
        sizes: of the buffers, in readings.
        ring: whether the steps' buffer is shorter than a window. It must then be read during the window, because new
            readings overwrite its oldest ones.
    """

    def __init__(self, session: VisaSession, host: Host, event: str, wiring: str) -> None:
        self._session, self._host, self._event, self._wiring = session, host, event, wiring
        self.sizes: dict[str, int] = {}
        self.ring = False
        self._watched: int | None = None

    def make(self, setting: Setting, interval_s: float, most: int, ring: int = 0) -> None:
        """Create the buffers for windows of a setting; `*RST` has deleted earlier ones.

        Args:
            setting: of the windows.
            interval_s: from one reading to the next.
            most: most readings in all buffers.
            ring: size of the steps' buffer if a window does not fit, for a driver that reads during the window; 0 for
                one that does not.

        Raises:
            Blocked: a window does not fit in `most` readings.
        """
        idle = int(SPARE * setting.idle_s / interval_s) + LEAST
        steps = min(int(LONGER * setting.window_s / interval_s) + LEAST, most - 2 * idle)
        self.ring = steps < SPARE * setting.window_s / interval_s + LEAST
        if self.ring:
            steps = min(ring, most - 2 * idle)
        if steps < LEAST:
            name, seconds = self._session.name, setting.window_s
            raise Blocked(
                "meter", f"a window of {seconds:.0f} s overflows the {name}: choose fewer steps or a longer interval."
            )
        self.sizes = dict(zip(BUFFERS, (idle, steps, idle), strict=True))
        self._session.write(*(f':TRAC:MAKE "{name}", {size}' for name, size in self.sizes.items()))
        # Keep the latest readings, however long the board takes to begin.
        self._session.write(f':TRAC:FILL:MODE CONT, "{BEFORE}"')
        if self.ring:
            self._session.write(f':TRAC:FILL:MODE CONT, "{STEPS}"')

    def delete(self) -> None:
        """Delete the buffers."""
        self._session.write(*(f':TRAC:DEL "{name}"' for name in BUFFERS))

    def start(self, idle_s: float) -> None:
        """Start reading."""
        self._watched = None
        self._session.write(":ABOR", *(f':TRAC:CLE "{name}"' for name in BUFFERS))
        self._session.write(
            ':TRIG:LOAD "Empty"', f':TRIG:BLOC:MDIG 1, "{BEFORE}", INF', f":TRIG:BLOC:WAIT 2, {self._event}",
            f':TRIG:BLOC:MDIG 3, "{STEPS}", INF', f":TRIG:BLOC:WAIT 4, {self._event}",
            f':TRIG:BLOC:MDIG 5, "{AFTER}", INF',
            f":TRIG:BLOC:DEL:CONS 6, {IDLE_KEPT * idle_s:g}", f':TRIG:BLOC:MDIG 7, "{AFTER}", 0', ":INIT",
        )  # fmt: skip
        self._session.check()

    def deadline(self, deadline_s: float, look: Callable[[], None]) -> Callable[[], bool]:
        """Return a function that waits briefly and returns whether the trigger model has finished.

        It raises `Blocked` after the deadline.

        Args:
            deadline_s: from now.
            look: called each time; it checks what must not change within a window, such as the range.
        """
        until = self._host.now() + deadline_s

        def finished() -> bool:
            look()
            if self._session.query(":TRIG:STAT?").split(";")[0] == "IDLE":
                return True
            if self._host.now() > until:
                self._session.write(":ABOR")
                name = self._session.name
                raise Blocked(
                    "meter",
                    f"the {name} has not seen both edges of the marker within {deadline_s:.0f} s: the firmware must "
                    "raise and lower it once, and sleep before and after as long as idle_s says; if it does, "
                    f"{self._wiring}.",
                )
            self._host.sleep(POLL_S)
            return False

        return finished

    def places(self, name: str) -> list[tuple[int, int]]:
        """Return first and last place of each stretch of a buffer that is complete, oldest reading first.

        Raises:
            InvalidWindow: the buffer is full or empty.
        """
        count = self._session.query_integer(f':TRAC:ACT? "{name}"')
        if not count:
            raise InvalidWindow(
                f"the {self._session.name} has no reading in its buffer {name!r}: "
                "the board did not stay in that state long enough"
            )
        if count < self.sizes[name]:
            return [(1, count)]
        if name != BEFORE:
            raise InvalidWindow(
                f"the buffer {name!r} of the {self._session.name} is full: the window was longer than expected"
            )
        start = self._session.query_integer(f':TRAC:ACT:STAR? "{name}"')
        return [(start, count)] if start == 1 else [(start, count), (1, start - 1)]

    def since(self, name: str, reached: int, end: int) -> list[tuple[int, int]]:
        """Return first and last place of each stretch that was filled since the place `reached`, up to `end`.

        Places wrap around in a buffer that fills continuously.
        """
        if end >= reached:
            return [(reached + 1, end)] if end > reached else []
        return [*([(reached + 1, self.sizes[name])] if reached < self.sizes[name] else []), (1, end)]

    def fresh(self) -> list[tuple[int, int]]:
        """Return first and last place of the readings since the last call, for a live display; the marker is ignored.

        The first call starts the readings. Readings that were overwritten since the last call are not reported.
        """
        if self._watched is None or self._session.query(":TRIG:STAT?").split(";")[0] == "IDLE":
            self._session.write(":ABOR", f':TRAC:CLE "{BEFORE}"', ':TRIG:LOAD "Empty"')
            self._session.write(f':TRIG:BLOC:MDIG 1, "{BEFORE}", INF', f":TRIG:BLOC:DEL:CONS 2, {LONGEST_S}", ":INIT")
            self._session.check()
            self._watched = 0
            return []
        reached, self._watched = self._watched, self._session.query_integer(f':TRAC:ACT:END? "{BEFORE}"')
        return self.since(BEFORE, reached, self._watched)


class BufferedSeries:
    """Builds the pieces of a capture from readings as they arrive, and checks that they follow each other.

    Args:
        name: of the meter, for messages.
        aperture_s, interval_s, range_a: as in Capture.
    """

    def __init__(self, name: str, aperture_s: float, interval_s: float, range_a: float) -> None:
        self._name, self._aperture_s, self._interval_s, self._range_a = name, aperture_s, interval_s, range_a
        self._began_s = self._last_s = 0.0
        self._lost = self._kept = self.pieces = 0

    def piece(self, rows: np.ndarray, voltage_v: np.ndarray | float, high: bool | None = None) -> Capture:
        """Return the next piece.

        Args:
            rows: float64[n, 2], amperes and seconds on the instrument's clock.
            voltage_v: float64[n], or one for all.
            high: level after an edge before the first reading; None: there is no edge.

        Raises:
            InvalidWindow: overload, or readings that are not numbers or not in order.
        """
        current_a, t_s = rows.T
        volts = np.full(len(current_a), voltage_v)
        if not self.pieces:
            self._began_s = self._last_s = float(t_s[0])
        stamps = np.append(self._last_s, t_s) if self.pieces else t_s
        require_numbers(current_a, volts, self._name)
        if not np.all(np.diff(stamps) > 0):
            raise InvalidWindow(
                f"readings of the {self._name} are out of order: their time stamps do not follow each other"
            )
        before_s, first_s = self._last_s - self._began_s, float(t_s[0]) - self._began_s
        edges = () if high is None else (edge_between(before_s, first_s, high=high),)
        lost = missing(t_s if high is not None else stamps, self._interval_s)  # a gap at an edge widens that edge
        self._last_s = float(t_s[-1])
        self._lost, self._kept, self.pieces = self._lost + lost, self._kept + len(t_s), self.pieces + 1
        power, aperture_s, interval_s = current_a * volts, self._aperture_s, self._interval_s
        t_s = t_s - self._began_s
        return Capture(t_s, power, current_a, volts, aperture_s, interval_s, edges, self._range_a, lost)

    def require_complete(self) -> None:
        """Raise InvalidWindow if too many readings are missing."""
        require_complete(self._lost, self._kept, self._name)


def blocks(places: Sequence[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    """Return stretches of a buffer, in order, cut to at most `most` readings each."""
    return [(low, min(low + most - 1, last)) for first, last in places for low in range(first, last + 1, most)]
