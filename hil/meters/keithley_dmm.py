"""The Keithley DMM6500 and DMM7510 as digitizing ammeters in the board's supply, the marker at the trigger input on their back.

Sources: 2461 Reference Manual (2461-901-01 A), 6-71 and 6-53 (the same digitize commands), DMM7510 Reference Manual (DMM7510-901-01 Rev. B), 6-13, 6-158
and 8-83: the aperture is how long a sample looks at the signal, and `AUTO` makes it as long as the interval between samples, so that a reading is a
mean without a gap, not an instant. See also hil/meters/keithley_buffers.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hil.energy.capture import Capture, joined
from hil.energy.data_sheet import DataSheet
from hil.meters.keithley_buffers import AFTER, BEFORE, STEPS, PartedBuffers, blocks
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.reading_checks import edge_between, missing, require_complete, require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

RATES_HZ = (1_000, 1_000_000)
MOST_READINGS = 5_000_000  # in all buffers; public drivers speak of 7,000,000
BLOCK = 50_000  # readings a query, 16 bytes each
PIECE = 100_000  # readings that wait before they are read while the window lasts
RING = 2_000_000  # that the instrument keeps of a window that is longer: 20 s at 100 kS/s
RESERVE = 0.95  # of the ring's time, after which what is read of it is not trusted


class KeithleyDmm(VisaMeter):
    """One instrument; it sees the current only, and the board's supply is somebody else's. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._second = 0.0
        self._buffers = PartedBuffers(session, host, "EXT", "wire the board's marker pin to its external trigger input")

    def configure(self, setting: Setting) -> None:
        """Forget all that was set before, and prepare to sample on a fixed range."""
        self._setting = setting
        rate = round(float(np.clip(1 / setting.interval_s, *RATES_HZ)))
        self._session.tell(
            ":ABOR", "*CLS", "*RST", ":FORM:BORD SWAP", ':DIG:FUNC "CURR"', f":DIG:CURR:RANG {setting.range_a:g}", f":DIG:CURR:SRAT {rate}",
            ":DIG:CURR:APER AUTO", ":TRIG:EXT:IN:EDGE EITH",
        )  # fmt: skip
        self._interval_s = 1 / self._session.ask_number(":DIG:CURR:SRAT?")
        self._buffers.make(setting, self._interval_s, MOST_READINGS, RING)
        self._session.check()

    def arm(self) -> None:
        """Begin to sample: the edges of the marker that follow belong to the window."""
        self._session.tell(":ABOR", f":DIG:CURR:RANG {self._setting.range_a:g}")
        self._second = 0.0  # of UTC, of the window's first reading
        self._buffers.start(self._setting.idle_s)

    def capture(self, deadline_s: float) -> Capture:
        """Wait until the window and the sleep behind it are over, and return them; volts are those of the setting.

        Raises:
            Spoiled: overload, readings that are none or missing, a full buffer, a range that was changed.
            Blocked: no edges within the deadline, or the instrument failed.
        """
        return joined(list(self.pieces(deadline_s)))

    def pieces(self, deadline_s: float) -> Iterator[Capture]:
        """Yield the window piece by piece while it lasts, of PIECE readings and more; arguments and errors: `capture`."""
        through, series, reached = (
            self._buffers.deadline(deadline_s, self._look),
            _Series(self.sheet.name, self._interval_s, self._setting),
            0,
        )
        since_s, over = self._host.now(), False
        while not over:
            over = through()
            now_s = self._host.now()
            if not over and now_s - since_s < PIECE * self._interval_s:
                continue
            end = self._session.ask_whole(f':TRAC:ACT:END? "{STEPS}"')
            if not series.pieces and (end or over):
                yield series.piece(self._read(BEFORE, self._buffers.places(BEFORE)))
            for place in blocks(self._buffers.since(STEPS, reached, end), PIECE):
                rows = self._read(STEPS, [place])
                self._require_kept(since_s)
                yield series.piece(rows, high=series.pieces == 1 or None)
            since_s, reached = now_s, end
        if not self._buffers.ring:
            self._buffers.places(STEPS)  # neither full nor empty
        last = self._read(AFTER, self._buffers.places(AFTER))
        self._session.check()
        self._look()
        yield series.piece(last, high=False)
        series.require_complete()

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts; the first one behind `arm` begins, and the marker counts no more.

        Raises:
            Spoiled: overload, or readings that are none.
        """
        current = np.concatenate([np.empty(0), *(self._read(BEFORE, [place])[:, 0] for place in self._buffers.fresh())])
        voltage = np.full(len(current), self._setting.volt)
        require_numbers(current, voltage, self.sheet.name)
        return current * voltage

    def _look(self) -> None:
        """See that the range is still the one that was set."""
        self._refuse_changed_range(self._session.ask_number(":DIG:CURR:RANG?") != self._setting.range_a)

    def _require_kept(self, since_s: float) -> None:
        """Refuse what was read of a ring if it may have been written over since it was there, which is since the last look."""
        took_s = self._host.now() - since_s
        if self._buffers.ring and took_s > RESERVE * self._buffers.sizes[STEPS] * self._interval_s:
            raise Spoiled(
                f"the {self.sheet.name} was not read for {took_s:.2f} s, in which it may have written over what it had"
            )

    def _read(self, name: str, places: Sequence[tuple[int, int]]) -> np.ndarray:
        """Return amperes and seconds of UTC since the first reading of a buffer's stretches: float64[n, 2].

        Blocks tell time relative to the first reading in the buffer only (DMM7510-901-01, 6-13), whichever that is by now: each gets its own date.
        """
        parts = []
        for first, last in blocks(places, BLOCK):
            self._session.tell(":FORM ASC")
            second, fraction = self._session.ask_floats(f':TRAC:DATA? {first}, {first}, "{name}", SEC, FRAC', 2)
            self._session.tell(":FORM REAL")
            query = f':TRAC:DATA? {first}, {last}, "{name}", READ, REL'
            part = self._session.ask_block(query, "d", big_endian=False, count=2 * (last - first + 1)).reshape(-1, 2)
            self._second = self._second or second
            part[:, 1] += (second - self._second) + fraction - part[0, 1]
            parts.append(part)
        return np.concatenate(parts)


class _Series:
    """Makes pieces of a capture out of readings as they come, and sees that they follow each other.

    Args:
        name: of the meter, for messages.
        interval_s: from one reading to the next.
        setting: range and voltage.
    """

    def __init__(self, name: str, interval_s: float, setting: Setting) -> None:
        self._name, self._interval_s, self._setting = name, interval_s, setting
        self._began_s = self._last_s = 0.0
        self._lost = self._kept = self.pieces = 0

    def piece(self, rows: np.ndarray, high: bool | None = None) -> Capture:
        """Return the next piece.

        Args:
            rows: float64[n, 2], amperes and seconds.
            high: level behind the edge that lies before its first reading; None: there is no edge.

        Raises:
            Spoiled: overload, or readings that are none or not in order.
        """
        current, t_s = rows.T
        if not self.pieces:
            self._began_s = self._last_s = float(t_s[0])
            stamps = t_s
        else:
            stamps = np.append(self._last_s, t_s)
        voltage = np.full(len(current), self._setting.volt)
        require_numbers(current, voltage, self._name)
        if np.any(np.diff(stamps) <= 0):
            raise Spoiled(f"readings of the {self._name} are out of order: their time stamps do not follow each other")
        edges = (
            ()
            if high is None
            else (edge_between(self._last_s - self._began_s, float(t_s[0]) - self._began_s, high=high),)
        )
        lost = missing(t_s if high is not None else stamps, self._interval_s)  # a gap at an edge widens that edge
        self._last_s = float(t_s[-1])
        self._lost, self._kept, self.pieces = self._lost + lost, self._kept + len(t_s), self.pieces + 1
        power = current * voltage
        interval, range_a = self._interval_s, self._setting.range_a
        return Capture(t_s - self._began_s, power, current, voltage, interval, interval, edges, range_a, lost)

    def require_complete(self) -> None:
        """Refuse a window of which too much is missing."""
        require_complete(self._lost, self._kept, self._name)
