"""Keysight N6705C with an N678x module: feeds the board and logs mean current and voltage of each record's period.

Its external data log keeps about 20 s and overwrites what is older, so it is fetched while the board trains. Records
have no time stamps: a record's time follows from its number. The log does not see the marker, but the mainframe's
digital port does, and the host polls its level. So the host dates each edge: between the last query with the old level
and the first with the new one. The log begins after its trigger was sent, and early enough for each fetch to hold as
many records as it did. The remaining uncertainty widens the edges, and the power narrows them
(hil/energy/edge_check.py). If records are lost, the count falls ever further behind the host's clock.

At its current limit the output gives less than the board draws: bit 1 (CC) of the operation status or bit 7 (LIM+) of
the questionable status, which the event registers keep (N6705C Operating and Service Guide, page 350).

Sources: Keysight N6700C Operating and Service Guide, External Data Logging (commands, buffer, 102.4 us for each
parameter, steps of 20.48 us); N6900/N7900 Operating and Service Guide, page 161 (order of a record, blocks); N6700
User's Guide, Measurement Ranges; digital port: public drivers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import DataSheet
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.reading_checks import NOT_A_NUMBER, require_below_limit, require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

CHANNEL = "(@1)"
LIMIT_A = 1.0
RECORDS = 4096  # per fetch
FETCHES, FETCH_S = 40, (0.05, 0.25)  # fetches of the log per window, and shortest and longest time between them
KEPT_S = 20.0  # that the log keeps
POLLS = 2000  # of the marker, per window
POLL_S = (0.001, 0.02)
IDLE_KEPT = 0.9
# Of the scatter of counts about the host's clock: gain or loss of a log that arrives in bursts.
UNEVEN = 0.5
CONSTANT_CURRENT, LIMIT_REACHED = 1 << 1, 1 << 7  # operation status, questionable status


@dataclass
class _Log:
    """Data of a window so far. Times are the host's."""

    began: tuple[float, float]
    parts: list[np.ndarray] = field(default_factory=list)
    # Times of query and reply, and the number of records by then.
    fetches: list[tuple[float, float, int]] = field(default_factory=list)
    edges: list[tuple[float, float, bool]] = field(default_factory=list)
    fetched: float = 0.0


class KeysightN6705C(VisaMeter):
    """A Keysight N6705C: board on output 1, marker on pin 1 of the digital port. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._fed_volt: float | None = None

    def configure(self, setting: Setting) -> None:
        """Prepare to log. A first call or a new voltage resets the instrument and briefly cuts power to the board."""
        self._setting = setting
        fed, self._fed_volt = self._fed_volt, None  # unknown after a failure in here
        tell = self._session.write
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
        self._period_s = self._session.query_number(f"SENS:ELOG:PER? {CHANNEL}")  # the instrument rounds it
        self._session.check()
        self._fed_volt = setting.volt

    def _fix_range(self) -> None:
        self._session.write(
            f"SENS:ELOG:CURR:RANG:AUTO OFF,{CHANNEL}", f"SENS:ELOG:CURR:RANG {self._setting.range_a:g},{CHANNEL}"
        )

    def arm(self) -> None:
        """Start logging: the marker's next edges belong to the window."""
        self._session.write(f"ABOR:ELOG {CHANNEL}")
        self._fix_range()
        self._limits_reached()  # reading the events clears them
        self._session.write(f"INIT:ELOG {CHANNEL}")
        before = self._host.now()
        self._session.write(f"TRIG:ELOG {CHANNEL}")
        self._session.check()  # the reply shows that the trigger was accepted
        self._log = _Log((before, self._host.now()))
        self._log.fetched = self._log.began[0]

    def capture(self, deadline_s: float) -> Capture:
        """Fetch the log and poll the marker until the window and the sleep after it are over; return both.

        Raises:
            InvalidWindow: overload, readings lost or not numbers, or a changed range.
        """
        log, poll_s = self._log, float(np.clip(self._setting.window_s / POLLS, *POLL_S))
        fetch_s = float(np.clip(self._setting.window_s / FETCHES, *FETCH_S))
        until = self._host.now() + deadline_s
        level, asked = self._level()
        while len(log.edges) < 2 or self._host.now() < log.edges[1][1] + IDLE_KEPT * self._setting.idle_s:
            if self._host.now() > until:
                self._session.write(f"ABOR:ELOG {CHANNEL}")
                cure = "wire the board's marker pin to pin 1 of its digital port"
                raise self._no_edges(len(log.edges), deadline_s, cure)
            if self._host.now() - log.fetched > fetch_s:
                self._fetch()
                self._require_same_range()
            self._host.sleep(poll_s)
            now, then = self._level()
            if now != level:
                log.edges.append((asked[0], then[1], now))
            level, asked = now, then
        self._fetch()
        self._session.write(f"ABOR:ELOG {CHANNEL}")
        self._session.check()
        self._require_same_range()
        if self._limits_reached():
            raise InvalidWindow(
                f"the {self.sheet.name} limited the current at {LIMIT_A:g} A: the board got too little current",
                beyond_range=True,
            )
        return self._joined()

    def watch(self) -> np.ndarray:
        """Return the power of the records since the last call, float64[n] in watts; call `arm` first."""
        self._log.fetched = self._host.now()  # records that were overwritten meanwhile are no error
        self._log.parts.clear()
        self._log.fetches.clear()
        self._fetch()
        current, voltage = self._numbers()
        watts: np.ndarray = current * voltage
        return watts

    def _level(self) -> tuple[bool, tuple[float, float]]:
        """Return the marker's level, and the host's times before and after the query."""
        before = self._host.now()
        level = bool(self._session.query_integer("DIG:INP:DATA?") & 1)
        return level, (before, self._host.now())

    def _fetch(self) -> None:
        """Fetch all records of the log; raise InvalidWindow if some may be overwritten since the last fetch."""
        log = self._log
        if self._host.now() - log.fetched > KEPT_S / 2:
            raise InvalidWindow(
                f"the log of the {self.sheet.name} was not fetched for {self._host.now() - log.fetched:.0f} s, "
                f"and keeps {KEPT_S:.0f} s"
            )
        log.fetched = asked = self._host.now()
        while True:
            part = self._session.query_block(f"FETC:ELOG? {RECORDS},{CHANNEL}")
            log.parts.append(part.reshape(-1, 2))
            if len(log.parts[-1]) < RECORDS:
                break
        log.fetches.append((asked, self._host.now(), sum(map(len, log.parts))))

    def _limits_reached(self) -> bool:
        """Return whether the output is at a current limit, or was since the last call."""
        operation, questionable = (
            self._session.query_integer(f"STAT:{name}? {CHANNEL}")
            | self._session.query_integer(f"STAT:{name}:COND? {CHANNEL}")
            for name in ("OPER", "QUES")
        )
        return bool(operation & CONSTANT_CURRENT or questionable & LIMIT_REACHED)

    def _require_same_range(self) -> None:
        fixed = self._session.query(f"SENS:ELOG:CURR:RANG:AUTO? {CHANNEL}") == "0"
        self._refuse_changed_range(
            not fixed or self._session.query_number(f"SENS:ELOG:CURR:RANG? {CHANNEL}") != self._setting.range_a
        )

    def _numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return currents and voltages of all records, float64[n] each.

        Beyond the range they are SCPI's not-a-number, as far as is known.
        """
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
        """Return between which of the host's times the log began.

        That is after its trigger was sent, and before the earliest start that the fetches allow.

        Raises:
            InvalidWindow: there are no records, or their count falls ever further behind the host's clock (records
                were lost).
        """
        fetches = [one for one in self._log.fetches if one[2]]  # a log that begins late is empty at first
        if not fetches:
            raise InvalidWindow(f"the log of the {self.sheet.name} has no records")
        asked, answered, counts = np.array(fetches, np.float64).T
        drift_s = self.sheet.timebase * (answered - self._log.began[0])
        begun = answered - counts * self._period_s  # a record appears when it is complete
        parts = np.array_split(begun, min(3, len(begun)))
        slower = float(np.min(parts[-1]) - np.min(parts[0]))
        uneven = UNEVEN * max(float(np.ptp(parts[0])), float(np.ptp(parts[-1])))
        allowed = self._period_s + float(np.max(answered - asked)) + float(drift_s[-1]) + uneven
        if slower > allowed:
            raise InvalidWindow(
                f"the log of the {self.sheet.name} has {counts[-1]:.0f} records, and falls {slower:.4f} s behind the "
                "host's clock: some are lost"
            )
        first = self._log.began[0]
        return first, max(float(np.min(begun + drift_s)), first)

    def _dated(self, first: float, last: float, high: bool, began: tuple[float, float]) -> Edge:
        """Return an edge on the log's time, from the host's times of two queries and of the start of the log."""
        low, up = first - began[1], last - began[0]
        return Edge((low + up) / 2, (up - low) / 2 + self.sheet.timebase * up, high)
