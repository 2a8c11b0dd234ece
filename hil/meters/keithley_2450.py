"""The Keithley 2450 source meter: it feeds the board through its terminals and finds the marker's edges on digital line 1.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6: FORMat (6-30), TRACe (6-107 to 6-124), TRIGger:BLOCk (6-131 to 6-148); the count of a
measure block and its stop with 0: 2461 Reference Manual (2461-901-01 A), 6-202, the same family; AZERo:ONCE: QCoDeS, driver of the 2450.
"""

from __future__ import annotations

import numpy as np

from hil.errors import Blocked
from hil.measure.capture import Capture
from hil.measure.data_sheet import DataSheet
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.readings import edge_between, missing, require_complete, require_numbers
from hil.meters.visa import VisaSession

BEFORE, STEPS, AFTER = BUFFERS = "before", "steps", "after"
NPLC = (0.01, 10.0)  # least and most power line cycles an aperture
BETWEEN_S = 250e-6  # a reading's own work beside its aperture; of its order
LIMIT_A = 1.0
MOST_READINGS = 2_000_000  # in one buffer; the manual's 6,875,000 are for all three
SPARE = 2.0  # size of a buffer over what is expected
BLOCK = 500  # readings a query: a long answer would outlast the time-out
POLL_S = 0.02
IDLE_KEPT = 0.95  # of the sleep: the last reading is over before the board goes on


class Keithley2450:
    """One instrument.

    Its trigger model reads into one buffer until the marker's first edge, into the next until the second, and into a third while the board
    sleeps again, so that the instrument itself parts the readings and the host's clock has no say.

    Args:
        session: with it.
        sheet: its data sheet.
        host: the host's clock.

    Raises:
        Blocked: another instrument answers.
    """

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        self._session, self.sheet, self._host = session, sheet, host
        self.identity = session.identify(sheet.identity)
        self._fed_volt: float | None = None

    def configure(self, setting: Setting) -> None:
        """Prepare to read; the first time, and for another voltage, it forgets all that was set before, which takes the board's power away for a moment."""
        self._setting = setting
        tell = self._session.tell
        tell(":ABOR", "*CLS")
        if self._fed_volt != setting.volt:
            tell("*RST", ":FORM ASC", ":SOUR:FUNC VOLT", f":SOUR:VOLT {setting.volt:g}", f":SOUR:VOLT:ILIM {LIMIT_A:g}", ":SOUR:VOLT:READ:BACK ON")
        else:
            tell(*(f':TRAC:DEL "{name}"' for name in BUFFERS))
        line_hz = self._session.ask_floats(":SYST:LFR?")[0]
        nplc = float(np.clip((setting.interval_s - BETWEEN_S) * line_hz, *NPLC))
        self._aperture_s = nplc / line_hz
        tell(':SENS:FUNC "CURR"', f":SENS:CURR:RANG {setting.range_a:g}", f":SENS:CURR:NPLC {nplc:g}")
        for name, seconds in zip(BUFFERS, (setting.idle_s, setting.window_s, setting.idle_s), strict=True):
            tell(f':TRAC:MAKE "{name}", {self._size(seconds)}')
        tell(f':TRAC:FILL:MODE CONT, "{BEFORE}"')  # the latest count, however long the board takes to begin
        tell(":DIG:LINE1:MODE TRIG, IN", ":TRIG:DIG1:IN:EDGE EITH", ":OUTP ON")
        # A zero before every reading would leave the current unseen for longer than it is seen.
        tell(":SENS:CURR:AZER OFF", ":SENS:AZER:ONCE")
        self._session.check()
        self._fed_volt = setting.volt

    def _size(self, seconds: float) -> int:
        wanted = int(SPARE * seconds / (self._aperture_s + BETWEEN_S)) + 1000
        if wanted > MOST_READINGS:
            raise Blocked("meter", f"a window of {seconds:.0f} s overflows the {self.sheet.name}: choose fewer steps or a longer interval.")
        return wanted

    def arm(self) -> None:
        """Begin to read: the edges of the marker that follow belong to the window."""
        self._session.tell(":ABOR", *(f':TRAC:CLE "{name}"' for name in BUFFERS), f":SENS:CURR:RANG {self._setting.range_a:g}")
        self._session.tell(
            ':TRIG:LOAD "Empty"', f':TRIG:BLOC:MEAS 1, "{BEFORE}", INF', ":TRIG:BLOC:WAIT 2, DIG1",
            f':TRIG:BLOC:MEAS 3, "{STEPS}", INF', ":TRIG:BLOC:WAIT 4, DIG1", f':TRIG:BLOC:MEAS 5, "{AFTER}", INF',
            f":TRIG:BLOC:DEL:CONS 6, {IDLE_KEPT * self._setting.idle_s:g}", f':TRIG:BLOC:MEAS 7, "{AFTER}", 0', ":INIT",
        )  # fmt: skip
        self._session.check()

    def capture(self, deadline_s: float) -> Capture:
        """Wait until the window and the sleep behind it are over, and return them.

        Raises:
            Spoiled: overload, readings that are none or missing, a full buffer, a range that was changed.
            Blocked: no edges within the deadline, or the instrument failed.
        """
        self._wait(deadline_s)
        parts = [self._buffer(name) for name in BUFFERS]
        self._session.check()
        self._require_same_range()
        for part, name, seconds in zip(parts[1:], BUFFERS[1:], (self._setting.window_s, self._setting.idle_s), strict=True):
            if len(part) >= self._size(seconds):
                raise Spoiled(f"the buffer {name!r} of the {self.sheet.name} is full: the window was longer than expected")
            if not len(part):
                raise Spoiled(f"the {self.sheet.name} has no reading in its buffer {name!r}: the window was shorter than its interval")
        if not len(parts[0]):
            raise Spoiled(f"the marker rose before the {self.sheet.name} had read anything")
        return self._joined(parts)

    def _joined(self, parts: list[np.ndarray]) -> Capture:
        current, voltage, utc_s, fraction_s = np.concatenate(parts).T
        t_s = utc_s - utc_s[0] + fraction_s  # float64 has 0.2 us left behind seconds of UTC
        require_numbers(current, voltage, self.sheet.name)
        interval = float(np.median(np.diff(t_s)))
        first = np.cumsum([len(part) for part in parts])[:2]
        lost = sum(missing(stretch, interval) for stretch in np.split(t_s, first))  # a gap at an edge widens that edge
        require_complete(lost, len(t_s), self.sheet.name)
        edges = tuple(edge_between(t_s[at - 1], t_s[at], high=high) for at, high in zip(first, (True, False), strict=True))
        return Capture(t_s, current * voltage, current, voltage, self._aperture_s, interval, edges, self._setting.range_a, lost)

    def _wait(self, deadline_s: float) -> None:
        until = self._host.now() + deadline_s
        while self._session.ask(":TRIG:STAT?").split(";")[0] != "IDLE":
            if self._host.now() > until:
                self._session.tell(":ABOR")
                raise Blocked(
                    "meter",
                    f"the {self.sheet.name} has not seen both edges of the marker within {deadline_s:.0f} s: "
                    "wire the board's marker pin to its digital line 1.",
                )
            self._host.sleep(POLL_S)

    def _require_same_range(self) -> None:
        changed = self._session.ask_floats(":SENS:CURR:RANG?")[0] != self._setting.range_a or self._session.ask(":SENS:CURR:RANG:AUTO?") != "0"
        if changed:
            raise Spoiled(f"the range of the {self.sheet.name} was changed within a window: leave its front panel alone")

    def _buffer(self, name: str) -> np.ndarray:
        """Return amperes, volts, and seconds of UTC and their fraction when the aperture began, of a buffer: float64[n, 4]."""
        count = int(self._session.ask(f':TRAC:ACT? "{name}"'))
        rows = [np.empty((0, 4))]
        for first in range(1, count + 1, BLOCK):
            last = min(first + BLOCK - 1, count)
            rows.append(self._session.ask_floats(f':TRAC:DATA? {first}, {last}, "{name}", READ, SOUR, SEC, FRAC').reshape(-1, 4))
        return np.concatenate(rows)

    def close(self) -> None:
        """Let go of the instrument; the board stays fed."""
        self._session.close()
