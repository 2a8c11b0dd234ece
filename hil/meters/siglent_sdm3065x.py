"""Siglent SDM3065X: one triggered series into its memory, which is read while the series runs.

It measures only current; power is current times the set voltage.

Commands: SDM series remote manual (SENSe:CURRent:DC, SAMPle:COUNt, TRIGger:SOURce, INITiate, *TRG, R?). Readings have
no time stamps. Their times follow from a straight line through the counts and the times of the queries.
"""

from __future__ import annotations

import math

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import Stamped
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.polling import reading
from hil.meters.visa_meter import UnmarkedVisaMeter
from hil.visa import VisaSession

LINE_HZ = 50.0
NPLC = (0.005, 0.05, 0.5, 1.0, 10.0, 100.0)
MEMORY = 10_000  # readings; the oldest are overwritten
OVERFLOWED = 1 << 14  # questionable data register, condition
DRAIN_S = 0.05
FEWEST_DRAINS = 4
# Largest distance of a query from the line, in intervals: half of one, because counts are whole, and less than one
# more, which would be a missing reading.
STEADY = 0.75


class SiglentSDM3065X(UnmarkedVisaMeter):
    """A Siglent SDM3065X as ammeter (raw socket: port 5025; 5024 sends a greeting). Arguments and errors: VisaMeter."""

    # Above full scale it changes to the next range by itself, whatever was set (Siglent, "SDM ranging in current
    # measurement modes", 2018).
    range_query = "CURR:DC:RANG?"

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._nplc = NPLC[0]

    def configure(self, setting: Setting) -> None:
        """Discard all earlier settings (null, averages, limits, automatic range); prepare to read on a fixed range."""
        self._window.setting = setting
        self._nplc = max((one for one in NPLC if one / LINE_HZ <= setting.interval_s), default=NPLC[0])
        self._session.write(
            "ABOR", "*RST", "*CLS", f"CONF:CURR:DC {setting.range_a:g}", f"CURR:DC:RANG {setting.range_a:g}",
            f"CURR:DC:NPLC {self._nplc:g}",
            "TRIG:SOUR BUS", "TRIG:COUN 1", f"SAMP:COUN {MEMORY}",
        )  # fmt: skip
        self._session.check("SYST:ERR?")
        self._check_range(within=False)

    def arm(self) -> None:
        """Start reading into its memory, which is emptied first."""
        self._session.write("ABOR")
        self._window.arm()
        self._session.write("INIT", "*TRG")

    def capture(self, deadline_s: float) -> Capture:
        """Read its memory repeatedly until the window is over.

        Raises:
            InvalidWindow: overload, a changed range, a memory overflow, or readings at an unsteady rate.
        """
        began, setting = self._host.now(), self._window.setting
        values: list[float] = []
        table: list[tuple[float, float, int]] = []
        while not self._window.over(began, deadline_s):
            sent = self._host.now()
            values += self._drain()
            self._check_range(within=True)
            table.append((sent, self._host.now(), len(values)))
            self._host.sleep(DRAIN_S)
        self._session.write("ABOR")
        self._check()
        if len(values) >= MEMORY:
            raise InvalidWindow(
                f"the window outlasted the {MEMORY} readings that the {self.sheet.name} makes after a trigger: "
                "use a longer interval."
            )
        sent_s, received_s, counts = np.array(table, np.float64).reshape(-1, 3).T
        begin, interval, wrong = self._pace((sent_s + received_s) / 2, (received_s - sent_s) / 2, counts)
        current = np.array(values)
        t = begin + interval * np.arange(len(current))
        stamped = Stamped(t, current * setting.volt, np.full(len(t), wrong), min(self._nplc / LINE_HZ, interval))
        return self._window.capture(stamped, (current, np.full(len(t), np.nan)), interval, setting.range_a, 0)

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts; call `arm` first."""
        values = self._drain()
        if not values:  # the series of this trigger is complete
            self._session.write("ABOR", "INIT", "*TRG")
            # The reply shows that the series has started. Otherwise the next call may come first and start it again.
            self._session.check("SYST:ERR?")
        return np.array(values, np.float64) * self._window.setting.volt

    def _drain(self) -> list[float]:
        """Remove and return the readings since the last query, as a text block (IEEE 488.2, 8.7.9) or bare."""
        text = self._session.query("R?")
        if text.startswith("#"):
            text = text[2 + int(text[1]) :]
        values = [reading(word, self.sheet.name) for word in text.split(",") if word.strip()]
        self._require_on_range(np.array(values), self._window.setting.range_a, 1.2)
        return values

    def _pace(self, t_s: np.ndarray, half_s: np.ndarray, counts: np.ndarray) -> tuple[float, float, float]:
        """Return start and interval of the readings on the host's clock, and the uncertainty of a reading's time.

        Arguments, float64[n] each: middle of each query, half of its round trip, and the number of readings by then.
        """
        if len(t_s) < FEWEST_DRAINS or counts[-1] - counts[0] < FEWEST_DRAINS:
            raise InvalidWindow(f"the {self.sheet.name} made too few readings in the window.")
        # A query lies between the ends of two readings: half an interval after the earlier one, on average.
        interval, offset = np.polyfit(counts + 0.5, t_s, 1)
        residual = np.abs(t_s - (offset + interval * (counts + 0.5)))
        if np.any(residual > STEADY * interval + half_s):
            worst = float(np.max(residual - half_s) / interval)
            raise InvalidWindow(
                f"the {self.sheet.name} did not read at a steady rate: about {math.ceil(worst)} readings are missing "
                "at one place."
            )
        return float(offset), float(interval), float(np.max(half_s))

    def _check(self) -> None:
        if self._session.query_integer("STAT:QUES:COND?") & OVERFLOWED:
            raise InvalidWindow(f"the memory of the {self.sheet.name} overflowed: the host read it too late.")
        self._session.check("SYST:ERR?")
        self._check_range(within=True)
