"""Keithley 2450 source meter: feeds the board through its terminals; the marker is on digital line 1.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6, and those of hil/meters/keithley_buffers.py; AZERo:ONCE:
the QCoDeS driver of the 2450. Each reading includes the status of the source (TRACe:DATA?, SOURSTATus). Bit 5 says that
the current limit was active (8-29, STAT_LIMIT).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hil.energy.aliasing import interval_factors
from hil.energy.capture import Capture, joined
from hil.energy.data_sheet import DataSheet
from hil.meters.keithley_buffers import BEFORE, BUFFERS, BufferedSeries, PartedBuffers, blocks
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.reading_checks import require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

NPLC = (0.01, 10.0)  # shortest and longest aperture, in power line cycles
PAUSE_S = 250e-6  # order of magnitude of the pause after each aperture
LIMIT_A = 1.0
LIMITED = 1 << 5  # bit in the source status of a reading
MOST_READINGS = 4_000_000  # in all buffers; the manuals of the family say 5,000,000 and more
BLOCK = 500  # readings per query: a longer reply would exceed the timeout


class Keithley2450(VisaMeter):
    """A Keithley 2450. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._buffers = PartedBuffers(session, host, "DIG1", "wire the board's marker pin to its digital line 1")
        self._fed_volt: float | None = None

    def configure(self, setting: Setting) -> None:
        """Prepare to read. A first call or a new voltage resets the instrument and briefly cuts power to the board."""
        self._setting = setting
        fed, self._fed_volt = self._fed_volt, None  # unknown after a failure in here
        tell = self._session.write
        tell(":ABOR", "*CLS")
        if fed != setting.volt:
            tell("*RST", ":FORM ASC", ":SOUR:FUNC VOLT", f":SOUR:VOLT {setting.volt:g}")
            tell(f":SOUR:VOLT:ILIM {LIMIT_A:g}", ":SOUR:VOLT:READ:BACK ON")
        else:
            self._buffers.delete()
        line_hz = self._session.query_number(":SYST:LFR?")
        self._nplc = float(np.clip((setting.interval_s - PAUSE_S) * line_hz, *NPLC))
        self._line_hz, self._aperture_s = line_hz, self._nplc / line_hz
        self._factors = interval_factors()
        tell(':SENS:FUNC "CURR"', f":SENS:CURR:RANG {setting.range_a:g}", f":SENS:CURR:NPLC {self._nplc:g}")
        self._buffers.make(setting, self._aperture_s + PAUSE_S, MOST_READINGS)
        tell(":DIG:LINE1:MODE TRIG, IN", ":TRIG:DIG1:IN:EDGE EITH", ":OUTP ON")
        # Automatic zero would measure the zero for longer than the current.
        tell(":SENS:CURR:AZER OFF", ":SENS:AZER:ONCE")
        self._session.check()
        self._fed_volt = setting.volt

    def arm(self) -> None:
        """Start reading, with another interval in each window: the marker's next edges belong to the window."""
        nplc = min(self._nplc * next(self._factors), NPLC[1])
        self._aperture_s = nplc / self._line_hz
        self._session.write(":ABOR", f":SENS:CURR:RANG {self._setting.range_a:g}", f":SENS:CURR:NPLC {nplc:.9g}")
        self._buffers.start(self._setting.idle_s)

    def capture(self, deadline_s: float) -> Capture:
        """Wait for the end of the window and of the sleep after it, and return both.

        Raises:
            InvalidWindow: overload, current limit, readings missing or not numbers, a full buffer, a changed range.
        """
        finished = self._buffers.deadline(deadline_s, self._check_window)
        while not finished():
            pass
        rows = [self._read(name, self._buffers.places(name)) for name in BUFFERS]
        self._session.check()
        self._check_window()
        self._refuse_changed_range(self._session.query(":SENS:CURR:RANG:AUTO?") != "0")
        self._require_unlimited(np.concatenate(rows))
        began = rows[0][0, 2]  # float64 seconds of UTC have a resolution of only 0.2 us
        times = [part[:, 2] - began + part[:, 3] for part in rows]
        interval_s = float(np.median(np.diff(np.concatenate(times))))
        series = BufferedSeries(self.sheet.name, self._aperture_s, interval_s, self._setting.range_a)
        pieces = [
            series.piece(np.column_stack([part[:, 0], t_s]), part[:, 1], high)
            for part, t_s, high in zip(rows, times, (None, True, False), strict=True)
        ]
        series.require_complete()
        return joined(pieces)

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts.

        The first call after `arm` starts the readings; the marker is ignored from then on.
        """
        rows = np.concatenate([np.empty((0, 5)), *(self._read(BEFORE, [place]) for place in self._buffers.fresh())])
        require_numbers(rows[:, 0], rows[:, 1], self.sheet.name)
        watts: np.ndarray = rows[:, 0] * rows[:, 1]
        return watts

    def _check_window(self) -> None:
        """Check what must not change within a window.

        Raises:
            InvalidWindow: the range changed, or the source limits the current.
        """
        self._refuse_changed_range(self._session.query_number(":SENS:CURR:RANG?") != self._setting.range_a)
        if self._session.query(":SOUR:VOLT:ILIM:TRIP?").strip() not in ("0", "OFF"):
            raise self._limited("now")

    def _require_unlimited(self, rows: np.ndarray) -> None:
        held = int(np.sum(rows[:, 4].astype(int) & LIMITED != 0))
        if held:
            raise self._limited(f"in {held} of {len(rows)} readings")

    def _limited(self, when: str) -> InvalidWindow:
        """Return the error of a limited current; a larger range may cure it, as a smaller one limits at its own end."""
        reason = (
            f"the {self.sheet.name} limited the current {when}, at its limit of {LIMIT_A:g} A or at the end of the "
            f"range of {self._setting.range_a:g} A"
        )
        return InvalidWindow(reason, beyond_range=True)

    def _read(self, name: str, places: Sequence[tuple[int, int]]) -> np.ndarray:
        """Return float64[n, 5] from a buffer's stretches: amperes, volts, seconds of UTC, fraction, source status.

        The time is the start of the aperture; its whole seconds and its fraction are separate columns.
        """
        words, parts = "READ, SOUR, SEC, FRAC, SOURSTAT", []
        for first, last in blocks(places, BLOCK):
            query = f':TRAC:DATA? {first}, {last}, "{name}", {words}'
            parts.append(self._session.query_floats(query, 5 * (last - first + 1)).reshape(-1, 5))
        return np.concatenate(parts)
