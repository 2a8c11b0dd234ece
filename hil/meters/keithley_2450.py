"""The Keithley 2450 source meter: it feeds the board through its terminals and finds the marker's edges on digital line 1.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6, and see hil/meters/keithley_buffers.py; AZERo:ONCE: the
QCoDeS driver of the 2450. Each reading includes the status of the source (TRACe:DATA?, SOURSTATus). Bit 5 says that the
current limit was active (8-29, STAT_LIMIT).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.meters.interval_variation import Pace
from hil.meters.keithley_buffers import BEFORE, BUFFERS, PartedBuffers, blocks
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.reading_checks import require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

NPLC = (0.01, 10.0)  # least and most power line cycles an aperture
BETWEEN_S = 250e-6  # a reading's own work beside its aperture; of its order
LIMIT_A = 1.0
LIMITED = 1 << 5  # of a reading's source status
MOST_READINGS = 4_000_000  # in all buffers; the manuals of the family say 5,000,000 and more
BLOCK = 500  # readings a query: a long answer would outlast the time-out


class Keithley2450(VisaMeter):
    """One instrument. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._buffers = PartedBuffers(session, host, "DIG1", "wire the board's marker pin to its digital line 1")
        self._fed_volt: float | None = None
        self._pace = Pace()

    def configure(self, setting: Setting) -> None:
        """Prepare to read; the first time, and for another voltage, it forgets all that was set before, which takes the board's power away for a moment."""
        self._setting = setting
        fed, self._fed_volt = self._fed_volt, None  # after a failure within, it is not known any more
        tell = self._session.tell
        tell(":ABOR", "*CLS")
        if fed != setting.volt:
            tell(
                "*RST",
                ":FORM ASC",
                ":SOUR:FUNC VOLT",
                f":SOUR:VOLT {setting.volt:g}",
                f":SOUR:VOLT:ILIM {LIMIT_A:g}",
                ":SOUR:VOLT:READ:BACK ON",
            )
        else:
            self._buffers.delete()
        line_hz = self._session.ask_number(":SYST:LFR?")
        self._nplc = float(np.clip((setting.interval_s - BETWEEN_S) * line_hz, *NPLC))
        self._line_hz, self._aperture_s = line_hz, self._nplc / line_hz
        self._pace.restart()
        tell(':SENS:FUNC "CURR"', f":SENS:CURR:RANG {setting.range_a:g}", f":SENS:CURR:NPLC {self._nplc:g}")
        self._buffers.make(setting, self._aperture_s + BETWEEN_S, MOST_READINGS)
        tell(":DIG:LINE1:MODE TRIG, IN", ":TRIG:DIG1:IN:EDGE EITH", ":OUTP ON")
        # A zero before every reading would leave the current unseen for longer than it is seen.
        tell(":SENS:CURR:AZER OFF", ":SENS:AZER:ONCE")
        self._session.check()
        self._fed_volt = setting.volt

    def arm(self) -> None:
        """Begin to read, at another pace in each window: the edges of the marker that follow belong to it."""
        nplc = min(self._nplc * self._pace.factor(), NPLC[1])
        self._aperture_s = nplc / self._line_hz
        self._session.tell(":ABOR", f":SENS:CURR:RANG {self._setting.range_a:g}", f":SENS:CURR:NPLC {nplc:.9g}")
        self._buffers.start(self._setting.idle_s)

    def capture(self, deadline_s: float) -> Capture:
        """Wait until the window and the sleep behind it are over, and return them.

        Raises:
            Spoiled: overload, the limit of current, readings that are none or missing, a full buffer, a range that was changed.
            Blocked: no edges within the deadline, or the instrument failed.
        """
        self._buffers.wait(deadline_s, self._look)
        rows = [self._read(name, self._buffers.places(name)) for name in BUFFERS]
        self._session.check()
        self._look()
        self._refuse_changed_range(self._session.ask(":SENS:CURR:RANG:AUTO?") != "0")
        self._require_unlimited(np.concatenate(rows))
        began = rows[0][0, 2]  # without it float64 has 0.2 us left behind seconds of UTC
        parts = [np.column_stack([part[:, :2], part[:, 2] - began + part[:, 3]]) for part in rows]
        return self._buffers.joined(parts, self._aperture_s, self._setting.range_a)

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts; the first one behind `arm` begins, and the marker counts no more.

        Raises:
            Spoiled: overload, or readings that are none.
        """
        rows = np.concatenate([np.empty((0, 5)), *(self._read(BEFORE, [place]) for place in self._buffers.fresh())])
        require_numbers(rows[:, 0], rows[:, 1], self.sheet.name)
        return rows[:, 0] * rows[:, 1]

    def _look(self) -> None:
        """Look at what must not change in a window.

        Raises:
            Spoiled: the range is another, or the source holds the current back.
        """
        self._refuse_changed_range(self._session.ask_number(":SENS:CURR:RANG?") != self._setting.range_a)
        if self._session.ask(":SOUR:VOLT:ILIM:TRIP?").strip() not in ("0", "OFF"):
            raise self._limited("now")

    def _require_unlimited(self, rows: np.ndarray) -> None:
        held = int(np.sum(rows[:, 4].astype(int) & LIMITED != 0))
        if held:
            raise self._limited(f"in {held} of {len(rows)} readings")

    def _limited(self, when: str) -> Spoiled:
        """Return what to raise: a smaller range holds the source back at its own end, and the next one up may not."""
        reason = f"the {self.sheet.name} held the current back {when}, at its limit of {LIMIT_A:g} A or at the end of the range of {self._setting.range_a:g} A"
        return Spoiled(reason, beyond_range=True)

    def _read(self, name: str, places: Sequence[tuple[int, int]]) -> np.ndarray:
        """Return amperes, volts, seconds of UTC and their fraction when the aperture began, status of the source, of a buffer's stretches: float64[n, 5]."""
        words, parts = "READ, SOUR, SEC, FRAC, SOURSTAT", []
        for first, last in blocks(places, BLOCK):
            parts.append(
                self._session.ask_floats(
                    f':TRAC:DATA? {first}, {last}, "{name}", {words}', 5 * (last - first + 1)
                ).reshape(-1, 5)
            )
        return np.concatenate(parts)
