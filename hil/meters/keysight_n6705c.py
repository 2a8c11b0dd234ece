"""The Keysight N6705C with an N678x module: it feeds the board and logs current and voltage, each record a mean over its period.

Its external data log keeps about 20 s and overwrites what is older, so it is fetched while the board trains. Records have no time stamps: a record's time
is its number. The log cannot see the marker, but the mainframe's digital port can, and is asked for its level; so edges are dated by the host, each
between the last query that saw the old level and the first that saw the new one. The log begins after its trigger was sent, and so early that every fetch
can have held the records it held; what is left between the two widens the edges, and the power narrows them (hil/energy/edge_check.py). Records that are
lost show as a count that falls ever further behind the host's clock.

At its limit of current the output gives less than the board wants: bit 1 (CC) of the operation status or bit 7 (LIM+) of the questionable status, of
which the event registers keep that it happened (N6705C Operating and Service Guide, page 350).

Sources: Keysight N6700C Operating and Service Guide, External Data Logging (commands, buffer, 102.4 us for each parameter, steps of 20.48 us);
N6900/N7900 Operating and Service Guide, page 161 (order of a record, blocks); N6700 User's Guide, Measurement Ranges; digital port: public drivers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.reading_checks import NOT_A_NUMBER, require_below_limit, require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

CHANNEL = "(@1)"
LIMIT_A = 1.0
RECORDS = 4096  # a fetch
FETCHES, FETCH_S = 40, (0.05, 0.25)  # of the log in a window, and how far apart
KEPT_S = 20.0  # by the log
POLLS = 2000  # of the marker in a window
POLL_S = (0.001, 0.02)
IDLE_KEPT = 0.9
UNEVEN = (
    0.5  # of how far counts scatter about the host's clock, which a log that is handed over in lumps may gain or lose
)
CONSTANT_CURRENT, LIMIT_REACHED = 1 << 1, 1 << 7  # operation status, questionable status


@dataclass
class _Log:
    """What has come of a window so far; times are the host's."""

    began: tuple[float, float]
    parts: list[np.ndarray] = field(default_factory=list)
    fetches: list[tuple[float, float, int]] = field(
        default_factory=list
    )  # when it was asked and answered, and how many records there were then
    edges: list[tuple[float, float, bool]] = field(default_factory=list)
    fetched: float = 0.0


class KeysightN6705C(VisaMeter):
    """One instrument, the board at its output 1, the marker at pin 1 of its digital port. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._fed_volt: float | None = None

    def configure(self, setting: Setting) -> None:
        """Prepare to log; the first time, and for another voltage, it forgets all that was set before, which takes the board's power away for a moment."""
        self._setting = setting
        fed, self._fed_volt = self._fed_volt, None  # after a failure within, it is not known any more
        tell = self._session.tell
        tell(f"ABOR:ELOG {CHANNEL}", "*CLS", "STAT:PRES")
        if fed != setting.volt:
            tell("*RST", f"VOLT {setting.volt:g},{CHANNEL}", f"CURR:LIM {LIMIT_A:g},{CHANNEL}")
        for quantity in ("CURR", "VOLT"):
            tell(f"SENS:ELOG:FUNC:{quantity} ON,{CHANNEL}", f"SENS:ELOG:FUNC:{quantity}:MINM OFF,{CHANNEL}")
        tell(
            "SENS:SWE:TINT:RES RES20",
            f"SENS:ELOG:PER {setting.interval_s:.9g},{CHANNEL}",
            "FORM REAL",
            "FORM:BORD NORM",
        )
        tell(f"TRIG:ELOG:SOUR BUS,{CHANNEL}", "DIG:PIN1:FUNC DINP", "DIG:PIN1:POL POS", f"OUTP ON,{CHANNEL}")
        self._fix_range()
        self._period_s = self._session.ask_number(f"SENS:ELOG:PER? {CHANNEL}")  # rounded to what it can do
        self._session.check()
        self._fed_volt = setting.volt

    def _fix_range(self) -> None:
        self._session.tell(
            f"SENS:ELOG:CURR:RANG:AUTO OFF,{CHANNEL}", f"SENS:ELOG:CURR:RANG {self._setting.range_a:g},{CHANNEL}"
        )

    def arm(self) -> None:
        """Begin to log: the edges of the marker that follow belong to the window."""
        self._session.tell(f"ABOR:ELOG {CHANNEL}")
        self._fix_range()
        self._limits_reached()  # reading forgets what was before
        self._session.tell(f"INIT:ELOG {CHANNEL}")
        before = self._host.now()
        self._session.tell(f"TRIG:ELOG {CHANNEL}")
        self._session.check()  # an answer: the trigger has been taken
        self._log = _Log((before, self._host.now()))
        self._log.fetched = self._log.began[0]

    def capture(self, deadline_s: float) -> Capture:
        """Fetch the log and watch the marker until the window and the sleep behind it are over; return them.

        Raises:
            Spoiled: overload, readings that are none or lost, a range that was changed.
            Blocked: no edges within the deadline, or the instrument failed.
        """
        log, poll_s = self._log, float(np.clip(self._setting.window_s / POLLS, *POLL_S))
        fetch_s = float(np.clip(self._setting.window_s / FETCHES, *FETCH_S))
        until = self._host.now() + deadline_s
        level, asked = self._level()
        while len(log.edges) < 2 or self._host.now() < log.edges[1][1] + IDLE_KEPT * self._setting.idle_s:
            if self._host.now() > until:
                self._session.tell(f"ABOR:ELOG {CHANNEL}")
                raise Blocked(
                    "meter",
                    f"the {self.sheet.name} has not seen both edges of the marker within {deadline_s:.0f} s: "
                    "wire the board's marker pin to pin 1 of its digital port.",
                )
            if self._host.now() - log.fetched > fetch_s:
                self._fetch()
                self._require_same_range()
            self._host.sleep(poll_s)
            now, then = self._level()
            if now != level:
                log.edges.append((asked[0], then[1], now))
            level, asked = now, then
        self._fetch()
        self._session.tell(f"ABOR:ELOG {CHANNEL}")
        self._session.check()
        self._require_same_range()
        if self._limits_reached():
            raise Spoiled(
                f"the {self.sheet.name} held the current back at its limit of {LIMIT_A:g} A: the board was starved",
                beyond_range=True,
            )
        return self._joined()

    def watch(self) -> np.ndarray:
        """Return the power of the records since the last call, float64[n] in watts; it must be armed.

        Raises:
            Spoiled: overload, or records that are no numbers.
        """
        self._log.fetched = self._host.now()  # what the log has written over since is not missed
        self._log.parts.clear()
        self._log.fetches.clear()
        self._fetch()
        current, voltage = self._numbers()
        return current * voltage

    def _level(self) -> tuple[bool, tuple[float, float]]:
        """Return the marker's level, and host times before and after it was asked for."""
        before = self._host.now()
        level = bool(self._session.ask_whole("DIG:INP:DATA?") & 1)
        return level, (before, self._host.now())

    def _fetch(self) -> None:
        """Take what the log has; one that was left alone for too long has lost its oldest."""
        log = self._log
        if self._host.now() - log.fetched > KEPT_S / 2:
            raise Spoiled(
                f"the log of the {self.sheet.name} was not fetched for {self._host.now() - log.fetched:.0f} s, and keeps {KEPT_S:.0f} s"
            )
        log.fetched = asked = self._host.now()
        while True:
            part = self._session.ask_block(f"FETC:ELOG? {RECORDS},{CHANNEL}")
            log.parts.append(part.reshape(-1, 2))
            if len(log.parts[-1]) < RECORDS:
                break
        log.fetches.append((asked, self._host.now(), sum(map(len, log.parts))))

    def _limits_reached(self) -> bool:
        """Return whether the output was at a limit of current since this was last asked, or is now."""
        operation, questionable = (
            self._session.ask_whole(f"STAT:{name}? {CHANNEL}") | self._session.ask_whole(f"STAT:{name}:COND? {CHANNEL}")
            for name in ("OPER", "QUES")
        )
        return bool(operation & CONSTANT_CURRENT or questionable & LIMIT_REACHED)

    def _require_same_range(self) -> None:
        fixed = self._session.ask(f"SENS:ELOG:CURR:RANG:AUTO? {CHANNEL}") == "0"
        self._refuse_changed_range(
            not fixed or self._session.ask_number(f"SENS:ELOG:CURR:RANG? {CHANNEL}") != self._setting.range_a
        )

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the currents and voltages of all records, float64[n] each; beyond the range they are SCPI's not-a-number, as far as is known."""
        current, voltage = np.concatenate(self._log.parts).T
        current = np.where(np.isclose(current, NOT_A_NUMBER, rtol=1e-4, atol=0), np.inf, current)
        require_numbers(current, voltage, self.sheet.name)
        return current, voltage

    def _joined(self) -> Capture:
        current, voltage = self._numbers()
        require_below_limit(current, LIMIT_A, self.sheet.name)
        began = self._begin()
        t_s = self._period_s * np.arange(len(current))
        edges = tuple(self._dated(*edge, began) for edge in self._log.edges)
        return Capture(
            t_s, current * voltage, current, voltage, self._period_s, self._period_s, edges, self._setting.range_a, None
        )

    def _begin(self) -> tuple[float, float]:
        """Return between which of the host's times the log began: after its trigger was sent, and before the earliest begin that a fetch allows.

        Raises:
            Spoiled: there are none, or the count of records falls behind the host's clock more and more: some are lost.
        """
        fetches = [one for one in self._log.fetches if one[2]]  # a log that begins late has nothing at first
        if not fetches:
            raise Spoiled(f"the log of the {self.sheet.name} has no records")
        asked, answered, counts = np.array(fetches, np.float64).T
        drift_s = self.sheet.timebase * (answered - self._log.began[0])
        begun = answered - counts * self._period_s  # a record that is not over is not there yet
        parts = np.array_split(begun, min(3, len(begun)))
        slower = float(np.min(parts[-1]) - np.min(parts[0]))
        uneven = UNEVEN * max(float(np.ptp(parts[0])), float(np.ptp(parts[-1])))
        allowed = self._period_s + float(np.max(answered - asked)) + float(drift_s[-1]) + uneven
        if slower > allowed:
            raise Spoiled(
                f"the log of the {self.sheet.name} has {counts[-1]:.0f} records, and falls {slower:.4f} s behind the host's clock: some are lost"
            )
        first = self._log.began[0]
        return first, max(float(np.min(begun + drift_s)), first)

    def _dated(self, first: float, last: float, high: bool, began: tuple[float, float]) -> Edge:
        """Return an edge in the log's time, of which the host knows the begin and end of two queries, and between which times the log began."""
        low, up = first - began[1], last - began[0]
        return Edge((low + up) / 2, (up - low) / 2 + self.sheet.timebase * up, high)
