"""The Keysight 34465A as an ammeter in the board's supply: its sample timer, begun long before the marker rises at its external trigger.

Without the option DIG it keeps nothing of what comes before a trigger. Then it begins at once when it is armed, and records no edge: both are found by
the change of power.

The trigger takes one slope, so it tells where the window begins and not where it ends: a capture has one edge. The instrument goes on reading until it has
all that it was told to make, which it says itself; the host's word that the window is over spares the rest of them.

Sources: Keysight Truevolt Series Operating and Service Guide: R? (page 204: also while it reads), SAMPle:COUNt:PRETrigger (page 306: the latest so many
before the trigger are kept, and fewer where it comes early; behind it are always made as many as the count is larger; a reading that the trigger falls into
came before it, 34410A/11A User's Guide), questionable data register (page 386: bit 1 current overload, bit 2 sample timing violation, bit 14 memory overflow,
after which the oldest readings are overwritten without an error), STATus Subsystem, Standard Operation Register (Agilent's edition, page 226: bit 4 initiated,
and making or about to make a measurement, bit 5 waiting for a trigger).
"""

from __future__ import annotations

import math

import numpy as np

from hil.energy.capture import Capture
from hil.energy.data_sheet import DataSheet
from hil.errors import Blocked
from hil.meters.interval_variation import Pace
from hil.meters.meter import Host, Setting, Spoiled
from hil.meters.reading_checks import edge_between, require_numbers
from hil.meters.visa_meter import VisaMeter
from hil.visa import VisaSession

MEMORY = 50_000  # readings, without the option MEM
LONGER = 1.1  # a window may last so many times what is expected
BETWEEN_S = 40e-6  # between two apertures, to begin with; the instrument says whether it is enough
MOST_SAMPLES = 1_000_000  # a trigger (Truevolt Series Operating and Service Guide, SAMPle:COUNt)
BLOCK = 2_000  # readings a query
POLL_S = 0.05
OPTION = "DIG"  # digitizing, and readings from before a trigger
UNTRIGGERED = "the meter has no option DIG, and read without a trigger: both edges are told by the change of power."
EARLY_S = 1.0  # that a meter without a trigger reads before the sleep: until the host has asked the board for the steps
KEPT_IDLE = 0.95  # of the sleep before a window: the memory for it is full when the trigger comes, whatever the board's clock (IDLE_USED of it counts)
MEASURING, WAITING = 1 << 4, 1 << 5
CURRENT_OVERLOAD, TIMING, MEMORY_OVERFLOW = 1 << 1, 1 << 2, 1 << 14


class Keysight34465A(VisaMeter):
    """One instrument; it sees the current only, and the board's supply is somebody else's. Arguments and errors: VisaMeter."""

    def __init__(self, session: VisaSession, sheet: DataSheet, host: Host) -> None:
        super().__init__(session, sheet, host)
        self._watching = self._over = False
        self._pretriggers = OPTION in session.ask("*OPT?").upper()
        self._pace = Pace()

    def configure(self, setting: Setting) -> None:
        """Forget all that was set before, and prepare to sample on a fixed range."""
        self._setting = setting
        self._session.tell(
            "ABOR", "*CLS", "*RST", "FORM:DATA ASC", f"CONF:CURR:DC {setting.range_a:g}", "CURR:DC:ZERO:AUTO OFF"
        )
        self._session.tell("SAMP:SOUR TIM", "TRIG:SLOP POS", "TRIG:COUN 1", "TRIG:DEL 0")
        self._set_pace(setting.interval_s)
        self._session.check()
        self._shortest_s = self._interval_s
        self._pace.restart()
        self._count()
        if self._before + self._behind > MEMORY:
            name, seconds = self.sheet.name, setting.window_s
            raise Blocked(
                "meter", f"a window of {seconds:.0f} s overflows the {name}: choose fewer steps or a longer interval."
            )

    def _count(self) -> None:
        """Work out how many readings there are to be before and after the rise of the marker, at the present interval."""
        setting = self._setting
        before_s = KEPT_IDLE * setting.idle_s if self._pretriggers else EARLY_S + setting.idle_s
        self._before = int(before_s / self._interval_s)
        self._behind = int((LONGER * setting.window_s + setting.idle_s) / self._interval_s)

    def _set_pace(self, wanted_s: float) -> None:
        """Set the interval, and the longest aperture that it leaves room for."""
        shortest = (
            self.sheet.apertures_s[0] if self._pretriggers else 1 / self.sheet.fastest_hz
        )  # without the option it is no faster
        aperture = float(np.clip(wanted_s - BETWEEN_S, shortest, self.sheet.apertures_s[1]))
        self._session.tell(f"CURR:DC:APER {aperture:.9g}")
        least = self._session.ask_number("SAMP:TIM? MIN")
        if least > wanted_s:
            aperture = max(aperture - (least - wanted_s), shortest)
            self._session.tell(f"CURR:DC:APER {aperture:.9g}")
            least = self._session.ask_number("SAMP:TIM? MIN")
        self._session.tell(f"SAMP:TIM {max(wanted_s, least):.9g}")
        self._interval_s = self._session.ask_number("SAMP:TIM?")  # it takes the nearest that it can do
        self._aperture_s = self._session.ask_number("CURR:DC:APER?")

    def arm(self) -> None:
        """Begin to read, at another pace in each window: the rise of the marker that follows begins it."""
        self._watching = self._over = False
        self._session.tell(
            "ABOR",
            "*CLS",
            f"CURR:DC:RANG {self._setting.range_a:g}",
            f"SAMP:TIM {self._shortest_s * self._pace.factor():.9g}",
        )
        self._interval_s = self._session.ask_number("SAMP:TIM?")
        self._count()
        self._session.tell(
            f"TRIG:SOUR {'EXT' if self._pretriggers else 'IMM'}", f"SAMP:COUN {self._before + self._behind}"
        )
        if self._pretriggers:
            self._session.tell(f"SAMP:COUN:PRET {self._before}")
        self._session.tell("INIT")
        self._session.check()

    def mark(self, begins: bool, duration_s: float = math.inf, half_s: float = 0.0) -> None:
        """Take that the window and the sleep behind it are over (False): what the instrument has is enough. From any thread; of times it takes none."""
        self._over = not begins

    def capture(self, deadline_s: float) -> Capture:
        """Wait until all is read that the window was expected to take, or it is over (`mark`), and return it; volts are those of the setting.

        Raises:
            Spoiled: overload, readings that are none or overwritten, timing that failed, a range that was changed.
            Blocked: no edge within the deadline, or the instrument failed.
        """
        count, before = self._wait(deadline_s)
        self._require_sound()
        current = self._read(count)
        self._session.tell("ABOR")
        self._session.check()
        self._look()
        voltage = np.full(count, self._setting.volt)
        require_numbers(current, voltage, self.sheet.name)
        t_s = self._interval_s * np.arange(count)
        edges = (edge_between(t_s[before - 1], t_s[before], high=True),) if self._pretriggers else ()
        notes = () if self._pretriggers else (UNTRIGGERED,)
        power = current * voltage
        return Capture(
            t_s,
            power,
            current,
            voltage,
            self._aperture_s,
            self._interval_s,
            edges,
            self._setting.range_a,
            0,
            notes=notes,
        )

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts; the first one behind `arm` begins, and the marker counts no more.

        Raises:
            Spoiled: overload, or readings that are none.
        """
        count = self._session.ask_whole("DATA:POIN?") if self._watching else 0
        if not count:  # not begun, or through
            self._session.tell(
                "ABOR",
                "*CLS",
                *(["SAMP:COUN:PRET 0"] if self._pretriggers else []),
                f"SAMP:COUN {MOST_SAMPLES}",
                "TRIG:SOUR IMM",
                "INIT",
            )
            self._session.check()
            self._watching = True
            return np.empty(0)
        current = self._read(count)
        voltage = np.full(count, self._setting.volt)
        require_numbers(current, voltage, self.sheet.name)
        return current * voltage

    def _wait(self, deadline_s: float) -> tuple[int, int]:
        """Return how many readings there are, and how many of them began before the trigger.

        A count that no longer grows says nothing: a stand-in's time stands still once its board sleeps. Where all are made (the instrument is idle) those
        behind the trigger are known; where some are missing there, those before it are as many as were reserved, for the board sleeps longer than that takes.
        """
        until = self._host.now() + deadline_s
        while True:
            over = self._over  # before the instrument is asked, whose answer then is of a time behind the window
            made_all = not self._session.ask_whole("STAT:OPER:COND?") & (MEASURING | WAITING)
            self._look()
            if self._session.ask_whole("STAT:QUES:COND?") & MEMORY_OVERFLOW:
                raise Spoiled(f"the memory of the {self.sheet.name} overflowed: its oldest readings are lost")
            count = self._session.ask_whole("DATA:POIN?")
            if made_all or (over and count > (self._before if self._pretriggers else 0)):
                return count, self._before_trigger(count, made_all) if self._pretriggers else 0
            if over or self._host.now() > until:
                self._session.tell("ABOR")
                when = "in a window that is over" if over else f"within {deadline_s:.0f} s"
                raise Blocked(
                    "meter",
                    f"the {self.sheet.name} has not read a window {when}: wire the board's marker pin to its external trigger.",
                )
            self._host.sleep(max(POLL_S, 10 * self._interval_s))

    def _before_trigger(self, count: int, made_all: bool) -> int:
        if not made_all:
            return self._before
        if count < self._behind:
            raise Spoiled(
                f"the {self.sheet.name} stopped after {count} readings of a window: leave its front panel alone"
            )
        if count == self._behind:
            raise Spoiled(f"the marker rose before the {self.sheet.name} had read anything")
        return count - self._behind

    def _look(self) -> None:
        """See that the range is still the one that was set."""
        self._refuse_changed_range(self._session.ask_number("CURR:DC:RANG?") != self._setting.range_a)

    def _require_sound(self) -> None:
        """Look at the questionable data: its events since the window was armed."""
        status = self._session.ask_whole("STAT:QUES?")
        if status & MEMORY_OVERFLOW:
            raise Spoiled(f"the memory of the {self.sheet.name} overflowed: its oldest readings are lost")
        if status & TIMING:
            raise Spoiled(
                f"the {self.sheet.name} could not keep to an interval of {self._interval_s:g} s: choose a longer one"
            )
        if status & CURRENT_OVERLOAD:
            raise Spoiled(f"the current was beyond the range of the {self.sheet.name}", beyond_range=True)

    def _read(self, count: int) -> np.ndarray:
        """Take all readings out of its memory, oldest first: float64[n] amperes."""
        parts: list[np.ndarray] = []
        while (left := count - sum(map(len, parts))) > 0:
            part = self._session.ask_text_block(f"R? {min(left, BLOCK)}")
            if not len(part):
                raise Spoiled(f"the {self.sheet.name} returned {count - left} of {count} readings")
            parts.append(part)
        return np.concatenate(parts)
