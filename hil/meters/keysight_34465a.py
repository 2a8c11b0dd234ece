"""Keysight 34465A as an ammeter in the board's supply; the marker is on its external trigger.

Its sample timer starts long before the marker rises. Without the option DIG the instrument keeps no readings from
before a trigger. It then starts as soon as it is armed and records no edge; both edges are found by the change of
power.

The trigger detects one slope, so it shows where the window begins and not where it ends: a capture has one edge. The
instrument reads until it has all the readings it was set to make, which it reports itself. The host's mark at the end
of the window makes the remaining ones unnecessary.

Sources: Keysight Truevolt Series Operating and Service Guide: R? (page 204: also during a measurement),
SAMPle:COUNt:PRETrigger (page 306: the latest readings before the trigger are kept, up to that count, and fewer if the
trigger comes early; the number after it is always the sample count minus that count; a reading during which the trigger
occurs counts as before it, 34410A/11A User's Guide), questionable data register (page 386: bit 1 current overload, bit
2 sample timing violation, bit 14 memory overflow, after which the oldest readings are overwritten without an error),
STATus Subsystem, Standard Operation Register (Agilent's edition, page 226: bit 4 initiated, and making or about to make
a measurement, bit 5 waiting for a trigger).
"""

from __future__ import annotations

import math

import numpy as np

from hil.energy.aliasing import interval_factors
from hil.energy.capture import Capture, edge_between
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked
from hil.meters.meter import Host, InvalidWindow, Setting
from hil.meters.reading_checks import require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

MEMORY = 50_000  # readings, without the option MEM
LONGER = 1.1  # longest window, in times of the expected length
PAUSE_S = 40e-6  # first guess of the time between two apertures; the instrument reports whether it is enough
MOST_SAMPLES = 1_000_000  # per trigger (Truevolt Series Operating and Service Guide, SAMPle:COUNt)
BLOCK = 2_000  # readings per query
POLL_S = 0.05
OPTION = "DIG"  # digitizing, and readings from before a trigger
UNTRIGGERED = "the meter has no option DIG, and read without a trigger: both edges are told by the change of power."
EARLY_S = 1.0  # of readings before the sleep, without a trigger: until the host has requested the steps
# Of the sleep before a window: the memory for it must be full at the trigger, whatever the error of the board's clock.
# IDLE_USED of the sleep counts.
KEPT_IDLE = 0.95
MEASURING, WAITING = 1 << 4, 1 << 5
CURRENT_OVERLOAD, TIMING, MEMORY_OVERFLOW = 1 << 1, 1 << 2, 1 << 14


class Keysight34465A(VisaMeter):
    """A Keysight 34465A. It measures only current; another supply feeds the board. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._watching = self._over = False
        self._pretriggers = OPTION in session.query("*OPT?").upper()

    def configure(self, setting: Setting) -> None:
        """Discard all earlier settings and prepare to sample on a fixed range."""
        self._setting = setting
        self._session.write(
            "ABOR", "*CLS", "*RST", "FORM:DATA ASC", f"CONF:CURR:DC {setting.range_a:g}", "CURR:DC:ZERO:AUTO OFF"
        )
        self._session.write("SAMP:SOUR TIM", "TRIG:SLOP POS", "TRIG:COUN 1", "TRIG:DEL 0")
        self._set_pace(setting.interval_s)
        self._session.check()
        self._shortest_s = self._interval_s
        self._factors = interval_factors()
        self._count()
        if self._before + self._after > MEMORY:
            name, seconds = self.sheet.name, setting.window_s
            raise Blocked(
                "meter", f"a window of {seconds:.0f} s overflows the {name}: choose fewer steps or a longer interval."
            )

    def _count(self) -> None:
        """Calculate how many readings to make before and after the marker's rise, at the present interval."""
        setting = self._setting
        before_s = KEPT_IDLE * setting.idle_s if self._pretriggers else EARLY_S + setting.idle_s
        self._before = int(before_s / self._interval_s)
        self._after = int((LONGER * setting.window_s + setting.idle_s) / self._interval_s)

    def _set_pace(self, wanted_s: float) -> None:
        """Set the interval and the longest aperture that fits in it."""
        # Without the option it is no faster.
        shortest = self.sheet.apertures_s[0] if self._pretriggers else 1 / self.sheet.fastest_hz
        aperture = float(np.clip(wanted_s - PAUSE_S, shortest, self.sheet.apertures_s[1]))
        self._session.write(f"CURR:DC:APER {aperture:.9g}")
        least = self._session.query_number("SAMP:TIM? MIN")
        if least > wanted_s:
            aperture = max(aperture - (least - wanted_s), shortest)
            self._session.write(f"CURR:DC:APER {aperture:.9g}")
            least = self._session.query_number("SAMP:TIM? MIN")
        self._session.write(f"SAMP:TIM {max(wanted_s, least):.9g}")
        self._interval_s = self._session.query_number(
            "SAMP:TIM?"
        )  # rounded to the nearest that the instrument supports
        self._aperture_s = self._session.query_number("CURR:DC:APER?")

    def arm(self) -> None:
        """Start reading, with another interval in each window: the marker's next rise begins the window."""
        self._watching = self._over = False
        self._session.write(
            "ABOR",
            "*CLS",
            f"CURR:DC:RANG {self._setting.range_a:g}",
            f"SAMP:TIM {self._shortest_s * next(self._factors):.9g}",
        )
        self._interval_s = self._session.query_number("SAMP:TIM?")
        self._count()
        self._session.write(
            f"TRIG:SOUR {'EXT' if self._pretriggers else 'IMM'}", f"SAMP:COUN {self._before + self._after}"
        )
        if self._pretriggers:
            self._session.write(f"SAMP:COUN:PRET {self._before}")
        self._session.write("INIT")
        self._session.check()

    def mark(self, begins: bool, duration_s: float = math.inf, half_s: float = 0.0) -> None:
        """Mark the end of the window and of the sleep after it (False): the readings so far are enough.

        May be called from any thread. The times are not used.
        """
        self._over = not begins

    def capture(self, deadline_s: float) -> Capture:
        """Wait for all expected readings, or for the end of the window (`mark`), and return them.

        Volts are those of the setting.

        Raises:
            InvalidWindow: overload, readings overwritten or not numbers, a failed sample timing, or a changed range.
        """
        count, before = self._wait(deadline_s)
        self._require_sound()
        current = self._read(count)
        self._session.write("ABOR")
        self._session.check()
        self._check_window()
        voltage = np.full(count, self._setting.volt)
        require_numbers(current, voltage, self.sheet.name)
        t_s = self._interval_s * np.arange(count)
        edges = (edge_between(t_s[before - 1], t_s[before], high=True),) if self._pretriggers else ()
        found = Capture(
            t_s,
            current * voltage,
            current,
            voltage,
            self._aperture_s,
            self._interval_s,
            edges,
            self._setting.range_a,
            0,
        )
        return found if self._pretriggers else found.noted(UNTRIGGERED)

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts.

        The first call after `arm` starts the readings; the marker is ignored from then on.
        """
        count = self._session.query_integer("DATA:POIN?") if self._watching else 0
        if not count:  # not started, or finished
            untriggered = ["SAMP:COUN:PRET 0"] if self._pretriggers else []
            self._session.write("ABOR", "*CLS", *untriggered, f"SAMP:COUN {MOST_SAMPLES}", "TRIG:SOUR IMM", "INIT")
            self._session.check()
            self._watching = True
            return np.empty(0)
        current = self._read(count)
        voltage = np.full(count, self._setting.volt)
        require_numbers(current, voltage, self.sheet.name)
        watts: np.ndarray = current * voltage
        return watts

    def _wait(self, deadline_s: float) -> tuple[int, int]:
        """Return how many readings there are, and how many of them began before the trigger.

        A count that stops growing proves nothing: the time of a stand-in stands still once its board sleeps. If the
        instrument is idle, all readings are made and those after the trigger are known. If some of those are missing,
        the readings before the trigger are as many as were reserved, because the board sleeps longer than they take.
        """
        until = self._host.now() + deadline_s
        while True:
            over = self._over  # before the query, so that its reply belongs to a time after the window
            made_all = not self._session.query_integer("STAT:OPER:COND?") & (MEASURING | WAITING)
            self._check_window()
            if self._session.query_integer("STAT:QUES:COND?") & MEMORY_OVERFLOW:
                raise InvalidWindow(f"the memory of the {self.sheet.name} overflowed: its oldest readings are lost")
            count = self._session.query_integer("DATA:POIN?")
            if made_all or (over and count > (self._before if self._pretriggers else 0)):
                return count, self._before_trigger(count, made_all) if self._pretriggers else 0
            if over or self._host.now() > until:
                self._session.write("ABOR")
                when = "in a window that is over" if over else f"within {deadline_s:.0f} s"
                raise Blocked(
                    "meter",
                    f"the {self.sheet.name} has not read a window {when}: "
                    "wire the board's marker pin to its external trigger.",
                )
            self._host.sleep(max(POLL_S, 10 * self._interval_s))

    def _before_trigger(self, count: int, made_all: bool) -> int:
        if not made_all:
            return self._before
        if count < self._after:
            raise InvalidWindow(
                f"the {self.sheet.name} stopped after {count} readings of a window: do not touch its front panel"
            )
        if count == self._after:
            raise InvalidWindow(f"the marker rose before the first reading of the {self.sheet.name}")
        return count - self._after

    def _check_window(self) -> None:
        """Check that the range is still the one that was set."""
        self._refuse_changed_range(self._session.query_number("CURR:DC:RANG?") != self._setting.range_a)

    def _require_sound(self) -> None:
        """Check the questionable data events since the window was armed."""
        status = self._session.query_integer("STAT:QUES?")
        if status & MEMORY_OVERFLOW:
            raise InvalidWindow(f"the memory of the {self.sheet.name} overflowed: its oldest readings are lost")
        if status & TIMING:
            raise InvalidWindow(
                f"the {self.sheet.name} could not keep an interval of {self._interval_s:g} s: choose a longer one"
            )
        if status & CURRENT_OVERLOAD:
            raise InvalidWindow(f"the current was beyond the range of the {self.sheet.name}", beyond_range=True)

    def _read(self, count: int) -> np.ndarray:
        """Read its whole memory, oldest reading first: float64[n] amperes."""
        parts: list[np.ndarray] = []
        while (left := count - sum(map(len, parts))) > 0:
            part = self._session.query_text_block(f"R? {min(left, BLOCK)}")
            if not len(part):
                raise InvalidWindow(f"the {self.sheet.name} returned {count - left} of {count} readings")
            parts.append(part)
        return np.concatenate(parts)
