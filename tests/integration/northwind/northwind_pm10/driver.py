"""Northwind PM10: logs pairs of amperes and volts into a memory that is read while the window lasts.

Commands: PM10 programming guide: RANGe, LOG:INTerval, LOG:STARt, LOG:STOP, LOG:DATA?, LOG:LOST?.
"""

from __future__ import annotations

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import Stamped
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.reading_checks import require_numbers
from hil.meters.visa_meter import UnmarkedVisaMeter
from hil.visa import VisaSession

FETCH_S = 0.05  # from one query to the next
MARGIN = 1.05  # times the range: what the instrument still reads


class NorthwindPM10(UnmarkedVisaMeter):
    """A Northwind PM10. Arguments and errors: VisaMeter."""

    range_query = "RANG?"

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._interval_s = 1 / sheet.fastest_hz
        self._began = self._wrong = 0.0

    def configure(self, setting: Setting) -> None:
        """Reset the instrument, and set range and interval."""
        self._window.setting = setting
        self._interval_s = max(setting.interval_s, 1 / self.sheet.fastest_hz)
        self._session.write("*RST", "*CLS", f"RANG {setting.range_a:g}", f"LOG:INT {self._interval_s:g}")
        self._session.check()
        self._check_range(within=False)

    def arm(self) -> None:
        """Empty the memory and begin to log."""
        self._window.arm()
        before = self._host.now()
        self._session.write("LOG:STAR")
        self._session.query("*OPC?")
        after = self._host.now()
        self._began, self._wrong = (before + after) / 2, (after - before) / 2

    def capture(self, deadline_s: float) -> Capture:
        """Read the memory until the window is over.

        Raises:
            InvalidWindow: lost readings, overload, no numbers, or another range than was set.
            Blocked: the deadline passed, or the instrument failed.
        """
        asked, pairs = self._host.now(), []
        while not self._window.over(asked, deadline_s):
            pairs.append(self._fetch())
            self._host.sleep(FETCH_S)
        pairs.append(self._fetch())
        self._session.write("LOG:STOP")
        lost = self._session.query_integer("LOG:LOST?")
        self._session.check()
        self._check_range(within=True)
        if lost:
            raise InvalidWindow(f"the {self.sheet.name} lost {lost} readings: the host came too late to fetch them.")
        current, volt = np.concatenate(pairs).T
        elapsed = self._interval_s * np.arange(len(current))
        wrong = self._wrong + self.sheet.timebase * elapsed
        stamped = Stamped(self._began + elapsed, current * volt, wrong, 0.0)
        range_a = self._window.setting.range_a
        return self._window.capture(stamped, (current, volt), self._interval_s, range_a, lost)

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts.

        Raises:
            InvalidWindow: overload, or readings that are no numbers.
        """
        current, volt = self._fetch().T
        return current * volt

    def _fetch(self) -> np.ndarray:
        """Return the readings since the last query, float64[n, 2] amperes and volts."""
        pairs = self._session.query_floats("LOG:DATA?").reshape(-1, 2)
        require_numbers(pairs[:, 0], pairs[:, 1], self.sheet.name)
        self._require_on_range(pairs[:, 0], self._window.setting.range_a, MARGIN)
        return pairs
