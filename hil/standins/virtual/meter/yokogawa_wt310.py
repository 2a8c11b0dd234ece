"""A virtual Yokogawa WT310: updates at a fixed rate with the mean power since the last update, and an integrator.

Commands: IM WT310-17EN (communication interface). Behaviour if the current is too high: IM WT310E-01EN, section 2,
"Current Range". The resolution of watt hours is assumed: 1/100,000 of the rated power over an hour.
"""

from __future__ import annotations

import time as wall
from collections.abc import Callable
from functools import partial

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Errors
from hil.standins.virtual.meter.polled_scpi import Waits
from hil.standins.virtual.meter.scpi import ScpiError, number, words
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument, switch
from hil.standins.virtual.meter.truth import Truth, mean_current

RANGES_A = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
RANGES_V = (15.0, 30.0, 60.0, 150.0, 300.0, 600.0)
SMALL_A = 0.2  # from ranges up to this one it changes to 1 A if the current is too high
OVER = 1.3
UPDATES_S = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
LATENCY_S = (0.0005, 0.002)
COUNTS = 1e5
_ITEMS = ("WH", "TIME", "U", "I", "P")


class VirtualYokogawaWT310(ScpiInstrument):
    """A Yokogawa WT310.

    Args:
        truth: true supply.
        errors: errors of the instrument; the time base is that of its updates.
        rng: generator of noise and latency.
        time: virtual time that advances by the latency; None if time advances by itself.
    """

    def __init__(self, truth: Truth, errors: Errors, rng: np.random.Generator, time: Waits | None = None) -> None:
        self._truth, self._off, self._rng, self._time = truth, errors, rng, time
        commands: dict[str, Callable[[str], Answer]] = {
            ":INTEGrate:STARt": lambda _: self._start(), ":INTEGrate:STOP": lambda _: self._stop(),
            ":INTEGrate:RESet": lambda _: self._clear_hours(),
            ":INTEGrate:STATe?": lambda _: self._state, ":INTEGrate:MODE": lambda a: self._one_of(a, "NORM", "CONT"),
            ":INTEGrate:TIMer": lambda a: self._ignore([number(one, 0, 10_000) for one in words(a)]),
            ":NUMeric:FORMat": lambda a: self._one_of(a, "ASC"), ":NUMeric[:NORMal]:NUMber": self._set_count,
            ":NUMeric[:NORMal]:VALue?": lambda _: self._values(), ":RATE": self._set_rate,
            ":RATE?": lambda _: f"{self._update_s:g}",
            ":INPut:VOLTage:RANGe": self._set_volts, ":INPut:CURRent:RANGe": self._set_amperes,
            ":INPut:CURRent:RANGe?": lambda _: self._shown(),
            ":INPut:VOLTage:AUTO": lambda a: self._ignore(switch(a)), ":INPut:CURRent:AUTO": self._set_auto,
            ":INPut:CURRent:AUTO?": lambda _: str(int(self._auto)), ":INPut:MODE": self._set_mode,
            ":INPut:SYNChronize": lambda a: self._one_of(a, "OFF", "VOLT", "CURR"),
            ":INPut:FILTer:LINE": lambda a: self._ignore(switch(a)),
            ":INPut:FILTer:FREQuency": lambda a: self._ignore(switch(a)), ":INPut:SCALing:STATe": self._set_scaling,
            ":INPut:CFACtor": lambda a: self._ignore(number(a, 3, 6)), ":MEASure:AVERaging:STATe": self._set_average,
            ":MEASure:MHOLd": lambda a: self._ignore(switch(a)),
            ":STATus:FILTer1": lambda a: self._one_of(a, "FALL", "RISE"),
            ":STATus:EESR?": lambda _: self._extended(), ":STATus:ERRor?": self._next_error,
            ":COMMunicate:WAIT": lambda _: self._wait_update(),
            ":COMMunicate:REMote": lambda a: self._ignore(switch(a)),
            ":COMMunicate:HEADer": lambda a: self._ignore(switch(a)),
            ":COMMunicate:VERBose": lambda a: self._ignore(switch(a)),
        }  # fmt: skip
        commands.update({f":NUMeric[:NORMal]:ITEM{place}": partial(self._set_item, place) for place in range(1, 11)})
        super().__init__("YOKOGAWA,WT310,VIRTUAL,F1.03", commands)
        self._zero = truth.now()  # updates begin when it is switched on
        self.preset()

    def preset(self) -> None:
        """Set the state after *RST: automatic range, update every 0.25 s, RMS values, no averaging."""
        self._update_s, self._amperes, self._volts, self._auto = 0.25, RANGES_A[-1], RANGES_V[-1], True
        self.averaging, self.scaling, self._mode = False, False, "RMS"
        self._items, self._count = list(_ITEMS) + [""] * 5, len(_ITEMS)
        self._state, self._hours, self._seconds = "RES", 0.0, 0.0
        self._seen = self._index()
        self._power = self._current = self._volt = float("nan")
        self._smooth = 0.0
        self._fresh = False

    def execute(self, line: str) -> bytes | None:
        """Wait for the latency of a query, make the updates that are complete, then execute the line."""
        if self._time is not None and "?" in line:
            self._time.sleep(float(self._rng.uniform(*LATENCY_S)))
        self._advance()
        return super().execute(line)

    # settings

    def _one_of(self, argument: str, *known: str) -> None:
        if not argument.upper().startswith(known):
            raise ScpiError(-224)

    def _set_rate(self, argument: str) -> None:
        text = argument.upper()
        wanted = float(text[:-2]) / 1000 if text.endswith("MS") else float(text.rstrip("S"))
        if wanted not in UPDATES_S:
            raise ScpiError(-224)
        self._update_s = wanted
        self._zero, self._seen = self._truth.now(), 0

    def _set_volts(self, argument: str) -> None:
        self._volts = _known(argument.upper().rstrip("V"), RANGES_V)

    def _set_amperes(self, argument: str) -> None:
        self._amperes, self._auto = _known(argument.upper().rstrip("A"), RANGES_A), False

    def _shown(self) -> str:
        return f"{self._amperes:.3E}"

    def _set_auto(self, argument: str) -> None:
        self._auto = switch(argument)

    def _set_mode(self, argument: str) -> None:
        self._one_of(argument, "RMS", "VME", "DC")
        self._mode = argument.upper()

    def _set_scaling(self, argument: str) -> None:
        self.scaling = switch(argument)

    def _set_average(self, argument: str) -> None:
        self.averaging = switch(argument)

    def _set_count(self, argument: str) -> None:
        self._count = int(number(argument, 1, 10))

    def _set_item(self, place: int, argument: str) -> None:
        name = words(argument)[0].upper() if argument else ""
        if name not in _ITEMS:
            raise ScpiError(-224)
        self._items[place - 1] = name

    def _ignore(self, _checked: object) -> None:
        """Do nothing: the setting has no effect in the model."""

    # updates and integrator

    def _period(self) -> int:
        return round(self._update_s * (1 + self._off.timebase) * PS_PER_S)

    def _index(self) -> int:
        return (self._truth.now() - self._zero) // self._period()

    def _advance(self) -> None:
        """Make the updates that are complete since the last call."""
        last = self._index()
        if last <= self._seen:
            return
        begins = self._zero + np.arange(self._seen, last, dtype=np.int64) * self._period()
        true = mean_current(self._truth, begins, self._period())
        current = self._off.current(true, self._update_s, begins / PS_PER_S, self._rng)
        volt = self._off.voltage(self._truth.volt(), len(begins), self._update_s, self._rng)
        self._range_for(float(np.max(np.abs(true))))
        if self._state == "STAR":
            self._hours += float(np.sum(current * volt)) * self._update_s / 3600
            self._seconds += len(begins) * self._update_s
        self._current, self._volt, self._power = float(current[-1]), float(volt[-1]), float(current[-1] * volt[-1])
        self._smooth += (self._power - self._smooth) / 8
        self._seen, self._fresh = last, True

    def _range_for(self, peak: float) -> None:
        if self._amperes <= SMALL_A and not self._auto and peak > OVER * self._amperes:
            self._amperes, self._auto = 1.0, True
        if self._auto:
            self._amperes = next((one for one in RANGES_A if peak <= OVER * one), RANGES_A[-1])

    def _start(self) -> None:
        self._state = "STAR"

    def _stop(self) -> None:
        self._state = "STOP"

    def _clear_hours(self) -> None:
        if self._state == "STAR":
            raise ScpiError(-224)  # it must be stopped first
        self._state, self._hours, self._seconds = "RES", 0.0, 0.0

    def _extended(self) -> str:
        seen, self._fresh = self._fresh, False
        return str(int(seen))

    def _wait_update(self) -> None:
        """Wait until the next update has ended."""
        if not self._fresh:
            ends = self._zero + (self._seen + 1) * self._period()
            sleep = self._time.sleep if self._time is not None else wall.sleep
            sleep(max(0, ends - self._truth.now() + PS_PER_S // 1000) / PS_PER_S)
            self._advance()

    def _values(self) -> str:
        if abs(self._current) > OVER * self._amperes:
            return ",".join(["INF"] * self._count)
        finest = self._volts * self._amperes / COUNTS
        power = (self._smooth if self.averaging else self._power) * (10 if self.scaling else 1)
        table = {
            "WH": round(self._hours / finest) * finest,
            "TIME": self._seconds,
            "U": self._volt,
            "I": self._current,
            "P": power,
        }
        return ",".join(f"{table[name]:.6E}" if name else "NAN" for name in self._items[: self._count])


def _known(argument: str, ranges: tuple[float, ...]) -> float:
    wanted = number(argument, 0, ranges[-1])
    if wanted not in ranges:
        raise ScpiError(-224)
    return wanted
