"""Keithley DMM6500 and DMM7510 as digitizing ammeters in the board's supply; the marker is on the rear trigger input.

Sources: 2461 Reference Manual (2461-901-01 A), 6-71 and 6-53 (the same digitize commands); DMM7510 Reference Manual
(DMM7510-901-01 Rev. B), 6-13, 6-158 and 8-83: the aperture is the time over which a sample is measured. `AUTO` makes it
as long as the interval between samples, so readings are means without a gap, not instants. See also
hil/meters/keithley_buffers.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hil.energy.capture import Capture, joined
from hil.energy.data_sheet import DataSheet
from hil.meters.keithley_buffers import AFTER, BEFORE, STEPS, BufferedSeries, PartedBuffers, blocks
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.reading_checks import require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

RATES_HZ = (1_000, 1_000_000)
MOST_READINGS = 5_000_000  # in all buffers; public drivers give 7,000,000
BLOCK = 50_000  # readings per query, 16 bytes each
PIECE = 100_000  # readings per transfer during the window
RING = 2_000_000  # readings that the instrument keeps of a longer window: 20 s at 100 kS/s
RESERVE = 0.95  # of the ring's duration: a longer pause between reads may have lost readings


class KeithleyDmm(VisaMeter):
    """A DMM6500 or DMM7510. It measures only current; a supply feeds the board. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._second = 0.0
        self._buffers = PartedBuffers(session, host, "EXT", "wire the board's marker pin to its external trigger input")

    def configure(self, setting: Setting) -> None:
        """Discard all earlier settings and prepare to sample on a fixed range."""
        self._setting = setting
        rate = round(float(np.clip(1 / setting.interval_s, *RATES_HZ)))
        self._session.write(
            ":ABOR", "*CLS", "*RST", ":FORM:BORD SWAP", ':DIG:FUNC "CURR"', f":DIG:CURR:RANG {setting.range_a:g}",
            f":DIG:CURR:SRAT {rate}",
            ":DIG:CURR:APER AUTO", ":TRIG:EXT:IN:EDGE EITH",
        )  # fmt: skip
        self._interval_s = 1 / self._session.query_number(":DIG:CURR:SRAT?")
        self._buffers.make(setting, self._interval_s, MOST_READINGS, RING)
        self._session.check()

    def arm(self) -> None:
        """Start sampling: the marker's next edges belong to the window."""
        self._session.write(":ABOR", f":DIG:CURR:RANG {self._setting.range_a:g}")
        self._second = 0.0  # of UTC, of the window's first reading
        self._buffers.start(self._setting.idle_s)

    def capture(self, deadline_s: float) -> Capture:
        """Wait for the end of the window and of the sleep after it, and return both; volts are those of the setting.

        Raises:
            InvalidWindow: overload, readings missing or not numbers, a full buffer, or a changed range.
        """
        return joined(list(self.pieces(deadline_s)))

    def pieces(self, deadline_s: float) -> Iterator[Capture]:
        """Yield the window in pieces of PIECE readings or more while it lasts; arguments and errors: `capture`."""
        finished, reached = self._buffers.deadline(deadline_s, self._check_window), 0
        series = BufferedSeries(self.sheet.name, self._interval_s, self._interval_s, self._setting.range_a)
        volt, since_s, over = self._setting.volt, self._host.now(), False
        while not over:
            over = finished()
            now_s = self._host.now()
            if not over and now_s - since_s < PIECE * self._interval_s:
                continue
            end = self._session.query_integer(f':TRAC:ACT:END? "{STEPS}"')
            if not series.pieces and (end or over):
                yield series.piece(self._read(BEFORE, self._buffers.places(BEFORE)), volt)
            for place in blocks(self._buffers.since(STEPS, reached, end), PIECE):
                rows = self._read(STEPS, [place])
                self._require_kept(since_s)
                yield series.piece(rows, volt, high=series.pieces == 1 or None)
            since_s, reached = now_s, end
        if not self._buffers.ring:
            self._buffers.places(STEPS)  # neither full nor empty
        last = self._read(AFTER, self._buffers.places(AFTER))
        self._session.check()
        self._check_window()
        yield series.piece(last, volt, high=False)
        series.require_complete()

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts.

        The first call after `arm` starts the readings; the marker is ignored from then on.
        """
        current = np.concatenate([np.empty(0), *(self._read(BEFORE, [place])[:, 0] for place in self._buffers.fresh())])
        voltage = np.full(len(current), self._setting.volt)
        require_numbers(current, voltage, self.sheet.name)
        watts: np.ndarray = current * voltage
        return watts

    def _check_window(self) -> None:
        """Check that the range is still the one that was set."""
        self._refuse_changed_range(self._session.query_number(":DIG:CURR:RANG?") != self._setting.range_a)

    def _require_kept(self, since_s: float) -> None:
        """Raise InvalidWindow if a ring may have overwritten readings since `since_s`, when it was last read."""
        took_s = self._host.now() - since_s
        if self._buffers.ring and took_s > RESERVE * self._buffers.sizes[STEPS] * self._interval_s:
            raise InvalidWindow(
                f"the {self.sheet.name} was not read for {took_s:.2f} s, in which readings may have been overwritten"
            )

    def _read(self, name: str, places: Sequence[tuple[int, int]]) -> np.ndarray:
        """Return float64[n, 2] from stretches of a buffer: amperes, seconds of UTC since the window's first reading.

        Times in a block are relative to the first reading in the buffer (DMM7510-901-01, 6-13), which may change. So
        each block is dated by itself.
        """
        parts = []
        for first, last in blocks(places, BLOCK):
            self._session.write(":FORM ASC")
            second, fraction = self._session.query_floats(f':TRAC:DATA? {first}, {first}, "{name}", SEC, FRAC', 2)
            self._session.write(":FORM REAL")
            query = f':TRAC:DATA? {first}, {last}, "{name}", READ, REL'
            part = self._session.query_block(query, "d", big_endian=False, count=2 * (last - first + 1)).reshape(-1, 2)
            self._second = self._second or second
            part[:, 1] += (second - self._second) + fraction - part[0, 1]
            parts.append(part)
        return np.concatenate(parts)
