"""Yokogawa WT310: mean power of every update, checked against its integrator, which misses no update.

Commands: IM WT310-17EN (communication interface), groups INPut, INTEGrate, NUMeric, RATE, STATus, COMMunicate:WAIT.
Each reading is the active power over one update; without a synchronisation source it is the mean over the whole update.
A missed update shows as a gap between the host's times of two replies. Besides, the integrator's watt hours over the
whole capture must equal the sum of the readings, within the integrator's resolution.
"""

from __future__ import annotations

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_search import Stamped
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.polling import reading
from hil.meters.visa_meter import UnmarkedVisaMeter
from hil.visa import VisaSession

RATES_S = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
VOLTS = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
ITEMS = ("WH", "TIME", "U", "I", "P")
COUNTS = 1e5  # per watt hour at the rated power: resolution of the integrator's reply
# One message: two would wait for each other's acknowledgement (RFC 896 and delayed acknowledgements).
UPDATE = ":COMM:WAIT 1;:NUM:NORM:VAL?"
MISSED = 0.5  # of an interval: a longer gap hides an update


class YokogawaWT310(UnmarkedVisaMeter):
    """A Yokogawa WT310 power meter. Arguments and errors: VisaMeter."""

    range_query = ":INP:CURR:RANG?"

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._interval, self._volts = RATES_S[0], VOLTS[0]

    def configure(self, setting: Setting) -> None:
        """Discard all earlier settings and set what the window needs.

        Earlier settings: integration, filters, averages, scaling, automatic ranges.
        """
        self._window.setting = setting
        self._interval = max((one for one in RATES_S if one <= setting.interval_s * 1.001), default=RATES_S[0])
        self._volts = next((one for one in VOLTS if setting.volt <= one), VOLTS[-1])
        self._session.write(
            ":INTEG:STOP", ":INTEG:RESET", "*RST", "*CLS", ":COMM:REM ON", ":COMM:HEAD OFF", ":COMM:VERB OFF",
            ":INP:MODE DC", ":INP:SYNC OFF",
            ":INP:FILT:LINE OFF", ":INP:FILT:FREQ OFF", ":INP:SCAL:STAT OFF", ":MEAS:AVER:STAT OFF", ":MEAS:MHOL OFF",
            ":INP:CFAC 3",
            ":INP:VOLT:AUTO OFF", f":INP:VOLT:RANG {self._volts:g}V", ":INP:CURR:AUTO OFF",
            f":INP:CURR:RANG {setting.range_a:g}A",
            f":RATE {self._interval * 1000:g}MS" if self._interval < 1 else f":RATE {self._interval:g}S",
            ":NUM:FORM ASC", f":NUM:NORM:NUM {len(ITEMS)}",
            *(f":NUM:NORM:ITEM{place} {item},1" for place, item in enumerate(ITEMS, 1)), ":INTEG:MODE NORM",
            ":INTEG:TIM 0,0,0", ":STAT:FILT1 FALL",
        )  # fmt: skip
        self._session.check(":STAT:ERR?")
        self._check_range(within=False)

    def arm(self) -> None:
        """Start integrating from zero."""
        self._session.write(":INTEG:STOP", ":INTEG:RESET")
        self._window.arm()
        self._session.write(":INTEG:START")
        self._session.query(":STAT:EESR?")

    def capture(self, deadline_s: float) -> Capture:
        """Wait for updates until the window is over.

        Raises:
            InvalidWindow: a missed update, overload, no number, or a changed range.
        """
        began, setting = self._host.now(), self._window.setting
        rows: list[tuple[float, ...]] = []
        while not self._window.over(began, deadline_s):
            rows.append(self._update())
            self._check_range(within=True)
        self._session.write(":INTEG:STOP")
        self._check_range(within=True)
        self._session.check(":STAT:ERR?")
        # The first update began before the integrator.
        table = np.array(rows[1:], np.float64).reshape(-1, 1 + len(ITEMS))
        if len(table) < 2:
            raise InvalidWindow(
                f"the {self.sheet.name} made {len(table)} readings in the window: "
                f"its updates take {self._interval:g} s."
            )
        seen, hours, integrated, volt, current, power = table.T
        self._require_on_range(current, setting.range_a, 1.3)
        self._check_updates(seen, hours, integrated, power)
        ends, wrong = self._times(seen)
        stamped = Stamped(ends - self._interval, power, np.full(len(ends), wrong), self._interval)
        return self._window.capture(stamped, (current, volt), self._interval, setting.range_a, 0)

    def watch(self) -> np.ndarray:
        """Return the power of the next update, float64[1] in watts; call `arm` first."""
        return np.array(self._update()[-1:])

    def _update(self) -> tuple[float, ...]:
        """Wait for the end of an update; return the host's time, watt hours, seconds, and the other items."""
        self._session.query(":STAT:EESR?")
        words = self._session.query(UPDATE).split(",")
        if len(words) != len(ITEMS):
            raise InvalidWindow(f"the {self.sheet.name} answered with {len(words)} items, not {len(ITEMS)}.")
        return (self._host.now(), *(reading(word, self.sheet.name) for word in words))

    def _check_updates(self, seen: np.ndarray, hours: np.ndarray, integrated: np.ndarray, power: np.ndarray) -> None:
        """Check that no update is missing: by the host's clock, and by the integrator, which misses none."""
        if np.any(np.diff(seen) > (1 + MISSED) * self._interval):
            raise InvalidWindow(
                f"the host missed an update of the {self.sheet.name}: "
                f"its replies came up to {np.max(np.diff(seen)):.3f} s apart."
            )
        joules, summed = 3600 * (hours[-1] - hours[0]), float(np.sum(power[1:])) * self._interval
        finest = 3600 * self._volts * self._window.setting.range_a / COUNTS
        allowed = 2 * finest + (self.sheet.timebase + 1e-3) * abs(joules) + 0.1 * self._interval * float(np.ptp(power))
        if abs(joules - summed) > allowed:
            seconds = integrated[-1] - integrated[0]
            raise InvalidWindow(
                f"the {self.sheet.name} integrated {joules:.4g} J in {seconds:g} s, its readings sum up to "
                f"{summed:.4g} J: some are missing."
            )

    def _times(self, seen: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the end of each update on the host's clock, by a line through the earliest replies, and its error."""
        index = np.arange(len(seen))
        pace = float(np.polyfit(index, seen, 1)[0])
        lead = seen - pace * index
        return float(np.min(lead)) + pace * index, float(np.ptp(lead))

    def _check_range(self, *, within: bool) -> None:
        """Check the range. At too much current on a small one, the instrument changes to 1 A and becomes automatic."""
        if self._session.query(":INP:CURR:AUTO?").strip() not in ("0", "OFF"):
            raise InvalidWindow(
                f"the {self.sheet.name} left its range of {self._window.setting.range_a:g} A: "
                "the current was too high.",
                beyond_range=True,
            )
        super()._check_range(within=within)
