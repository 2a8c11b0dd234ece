"""The Keithley DMM6500 and DMM7510 as digitizing ammeters in the board's supply, the marker at the trigger input on their back.

Sources: 2461 Reference Manual (2461-901-01 A), 6-71 and 6-53 (the same digitize commands), DMM7510 Reference Manual (DMM7510-901-01 Rev. B), 6-13, 6-158
and 8-83: the aperture is how long a sample looks at the signal, and `AUTO` makes it as long as the interval between samples, so that a reading is a
mean without a gap, not an instant. See also hil/meters/keithley.py.
"""

from __future__ import annotations

import numpy as np

from hil.measure.capture import Capture
from hil.measure.data_sheet import DataSheet
from hil.meters.keithley import BUFFERS, PartedBuffers
from hil.meters.meter import Host, Setting
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

RATES_HZ = (1_000, 1_000_000)
MOST_READINGS = 5_000_000  # in all buffers; public drivers speak of 7,000,000
BLOCK = 50_000  # readings a query, 16 bytes each


class KeithleyDmm(VisaMeter):
    """One instrument; it sees the current only, and the board's supply is somebody else's. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._buffers = PartedBuffers(session, host, "EXT", "wire the board's marker pin to its external trigger input")

    def configure(self, setting: Setting) -> None:
        """Forget all that was set before, and prepare to sample on a fixed range."""
        self._setting = setting
        rate = round(float(np.clip(1 / setting.interval_s, *RATES_HZ)))
        self._session.tell(
            ":ABOR", "*CLS", "*RST", ":FORM:BORD SWAP", ':DIG:FUNC "CURR"', f":DIG:CURR:RANG {setting.range_a:g}", f":DIG:CURR:SRAT {rate}",
            ":DIG:CURR:APER AUTO", ":TRIG:EXT:IN:EDGE EITH",
        )  # fmt: skip
        self._interval_s = 1 / self._session.ask_floats(":DIG:CURR:SRAT?")[0]
        self._buffers.make(setting, self._interval_s, MOST_READINGS)
        self._session.check()

    def arm(self) -> None:
        """Begin to sample: the edges of the marker that follow belong to the window."""
        self._session.tell(":ABOR", f":DIG:CURR:RANG {self._setting.range_a:g}")
        self._buffers.start(self._setting.idle_s)

    def capture(self, deadline_s: float) -> Capture:
        """Wait until the window and the sleep behind it are over, and return them; volts are those of the setting.

        Raises:
            Spoiled: overload, readings that are none or missing, a full buffer, a range that was changed.
            Blocked: no edges within the deadline, or the instrument failed.
        """
        counts = self._buffers.wait(deadline_s)
        begins = self._begins()
        parts = [self._read(name, count) for name, count in zip(BUFFERS, counts, strict=True)]
        self._session.check()
        self._refuse_changed_range(self._session.ask_floats(":DIG:CURR:RANG?")[0] != self._setting.range_a)
        t_s = np.concatenate([begin + part[:, 1] for begin, part in zip(begins, parts, strict=True)])
        current = np.concatenate([part[:, 0] for part in parts])
        voltage = np.full(len(current), self._setting.volt)
        return self._buffers.joined(counts, t_s, current, voltage, self._interval_s, self._setting.range_a)

    def _begins(self) -> list[float]:
        """Return when the first reading of each buffer began, in seconds: blocks tell time relative to it only (DMM7510-901-01, 6-13)."""
        self._session.tell(":FORM ASC")
        stamps = [self._session.ask_floats(f':TRAC:DATA? 1, 1, "{name}", SEC, FRAC') for name in BUFFERS]
        self._session.tell(":FORM REAL")
        return [float(second - stamps[0][0] + fraction) for second, fraction in stamps]

    def _read(self, name: str, count: int) -> np.ndarray:
        """Return amperes and seconds since its first reading of a buffer, float64[n, 2]."""
        spans = [(first, min(first + BLOCK - 1, count)) for first in range(1, count + 1, BLOCK)]
        return np.concatenate([
            self._session.ask_block(
                f':TRAC:DATA? {first}, {last}, "{name}", READ, REL', "d", big_endian=False, count=2 * (last - first + 1)
            ).reshape(-1, 2)
            for first, last in spans
        ])  # fmt: skip
