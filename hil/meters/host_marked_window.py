"""What a meter without a marker input has instead: the host's word for when a window began and ended, and the readings themselves."""

from __future__ import annotations

import math

import numpy as np

from hil.energy.capture import Capture
from hil.energy.edge_search import HostTimes, NoEdges, Stamped, synchronise
from hil.errors import Blocked
from hil.meters.meter import Host, Setting, Spoiled

TAIL = 0.25  # of the sleep, read on behind an expected end


class Unmarked:
    """One window after the other. `mark` may be called from another thread than the rest.

    Args:
        host: whose clock dates everything.
        name: of the meter, for messages.
    """

    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name
        self.setting = Setting(0.0, 0.0, 0.0, 0.0, 0.0)
        self.arm()

    def arm(self) -> None:
        """Begin a window."""
        self._armed = self._host.now()
        self._asked = self._answered = self._duration = math.inf
        self._duration_half = 0.0

    def mark(self, begins: bool, duration_s: float = math.inf, half_s: float = 0.0) -> None:
        """Take the host's word: it is about to ask for the steps (True), or it has the answer (False), with the time they took by the board's clock."""
        if begins:
            self._asked = self._host.now()
        else:
            self._duration, self._duration_half = duration_s, half_s
            self._answered = self._host.now()

    def over(self, began: float, deadline_s: float) -> bool:
        """Return whether the window and the sleep behind it are over: the host was answered, or (if it says nothing) they should be.

        Raises:
            Blocked: the deadline has passed since `began`.
        """
        now = self._host.now()
        if math.isfinite(self._answered):
            return True
        if (
            not math.isfinite(self._asked)
            and now >= self._armed + self.setting.window_s + (2 + TAIL) * self.setting.idle_s
        ):
            return True
        if now > began + deadline_s:
            raise Blocked(
                "meter",
                f"the window under the {self._name} was not over within {deadline_s:g} s: see whether the board still trains.",
            )
        return False

    def _host_times(self) -> HostTimes:
        """Return what the host said, on its clock."""
        asked = (
            self._asked if math.isfinite(self._asked) else -math.inf
        )  # of a board that nobody asks: it begins when it likes
        return HostTimes(self.setting.idle_s, asked, self._answered, self._duration, self._duration_half)

    def capture(
        self,
        readings: Stamped,
        columns: tuple[np.ndarray, np.ndarray],
        interval_s: float,
        range_a: float,
        lost: int | None,
    ) -> Capture:
        """Return the window with its edges.

        Args:
            readings: on the host's clock, without readings that are no numbers.
            columns: float64[n] amperes and volts, NaN where they are not told.
            interval_s, range_a, lost: as in Capture.

        Raises:
            Spoiled: nothing tells where the edges are.
        """
        try:
            edges, how = synchronise(readings, self._host_times())
        except NoEdges as error:
            raise Spoiled(
                f"the edges of the window are not to be found in {len(readings.t_s)} readings of the {self._name}: {error}."
            ) from error
        current, volt = columns
        return Capture(
            readings.t_s, readings.power_w, current, volt, readings.aperture_s, interval_s, edges, range_a, lost, how
        )


def check_range(name: str, now_a: float, wanted_a: float, *, within: bool) -> None:
    """See that a meter is on the range that was set, before a window or `within` one.

    Raises:
        Spoiled: it changed in the window; upwards, it was for too much current.
        Blocked: it did not take it.
    """
    if math.isclose(now_a, wanted_a, rel_tol=1e-3):
        return
    why = f"the {name} is on its range of {now_a:g} A and was set to {wanted_a:g} A"
    if within:
        raise Spoiled(f"{why}: it changed within the window.", beyond_range=now_a > wanted_a)
    raise Blocked("meter", f"{why}: see its data sheet's ranges in hil/meters/data_sheets.")
