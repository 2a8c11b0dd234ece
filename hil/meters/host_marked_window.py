"""A window of a meter without a marker input: found by the host's marks and by the readings."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hil.energy.capture import Capture
from hil.energy.edge_search import HostTimes, NoEdges, Stamped, synchronise
from hil.errors import Blocked
from hil.meters.meter import Host, InvalidWindow, Setting

TAIL = 0.25  # of the sleep: margin after the expected end


class HostMarkedWindow:
    """Windows, one after the other. `mark` may be called from another thread than the other methods.

    Args:
        host: clock of the marks and of the readings.
        name: of the meter, for messages.
    """

    def __init__(self, host: Host, name: str) -> None:
        self._host, self._name = host, name
        self.setting = Setting(0.0, 0.0, 0.0, 0.0, 0.0)
        self.arm()

    def arm(self) -> None:
        """Start a window."""
        self._armed, self._over_s = self._host.now(), -math.inf
        self._marks = HostTimes(self.setting.idle_s)  # without a request the board begins by itself, at any time

    def mark(self, begins: bool, duration_s: float = math.inf, half_s: float = 0.0) -> None:
        """Mark the start or the end of the window; arguments as in hil.meters.meter.HostMarked."""
        now, marks = self._host.now(), self._marks
        if begins:
            self._marks = replace(marks, asked_s=now)
        else:
            self._marks = replace(marks, answered_s=now, duration_s=duration_s, duration_half_s=half_s)

    def over(self, began: float, deadline_s: float) -> bool:
        """Return whether the window and the sleep after it are over: the reply is here, or, without marks, time is up.

        Raises:
            Blocked: more than `deadline_s` passed since `began`.
        """
        now = self._host.now()
        expected = self._armed + self.setting.window_s + (2 + TAIL) * self.setting.idle_s
        if math.isfinite(self._marks.answered_s) or (not math.isfinite(self._marks.asked_s) and now >= expected):
            self._over_s = now
            return True
        if now > began + deadline_s:
            raise Blocked(
                "meter",
                f"the window of the {self._name} was not over within {deadline_s:g} s: "
                "check that the board still trains.",
            )
        return False

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
            readings: on the host's clock, all of them numbers.
            columns: float64[n] amperes and volts, NaN if the meter does not return them.
            interval_s, range_a, lost: as in Capture.

        Raises:
            InvalidWindow: the edges cannot be found, or the readings do not last as long as the window did.
        """
        self._check_times(readings, interval_s)
        try:
            edges, how = synchronise(readings, self._marks)
        except NoEdges as error:
            raise InvalidWindow(
                f"the edges of the window cannot be found in {len(readings.t_s)} readings of the {self._name}: {error}."
            ) from error
        current, volt = columns
        return Capture(
            readings.t_s, readings.power_w, current, volt, readings.aperture_s, interval_s, edges, range_a, lost, how
        )

    def _check_times(self, readings: Stamped, interval_s: float) -> None:
        """Hold the time that the readings span against the host's clock: a wrong number of them changes the energy."""
        first, last = float(readings.t_s[0]), float(readings.t_s[-1]) + readings.aperture_s
        half, now, count = float(readings.half_s[-1]), self._host.now(), len(readings.t_s)
        due = f"one every {interval_s:.3g} s of the host's clock"
        if last > now + half + interval_s:
            raise InvalidWindow(
                f"the {self._name} gave {count:,} readings, which would last {last - first:.3g} s, in "
                f"{now - first:.3g} s: more than {due}."
            )
        if last < self._over_s - half - TAIL * self.setting.idle_s - 2 * interval_s:
            raise InvalidWindow(
                f"the {self._name} gave {count:,} readings, which end {self._over_s - last:.3g} s before the window "
                f"was over: less than {due}."
            )


def check_range(name: str, now_a: float, wanted_a: float, *, within: bool) -> None:
    """Check that a meter is on the range that was set, before a window or `within` one.

    Raises:
        InvalidWindow: the range changed within the window; if upwards, because of too much current.
        Blocked: the meter did not accept the range.
    """
    if math.isclose(now_a, wanted_a, rel_tol=1e-3):
        return
    why = f"the {name} is on its range of {now_a:g} A and was set to {wanted_a:g} A"
    if within:
        raise InvalidWindow(f"{why}: it changed within the window.", beyond_range=now_a > wanted_a)
    raise Blocked("meter", f"{why}: correct the ranges in its data sheet.")
