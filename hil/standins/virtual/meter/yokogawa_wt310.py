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
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.polled_scpi import VirtualWait
from hil.standins.virtual.meter.scpi import ScpiError, ScpiSetting, between, choice, number, switch, whole, words
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument
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

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualWait | None = None) -> None:
        self._truth, self._off, self._rng, self._time = truth, errors, rng, time
        self._amperes = ScpiSetting(RANGES_A[-1], lambda argument: _known(argument.upper().rstrip("A"), RANGES_A))
        self._volts = ScpiSetting(RANGES_V[-1], lambda argument: _known(argument.upper().rstrip("V"), RANGES_V))
        self._auto, self._count = ScpiSetting(True, switch), ScpiSetting(len(_ITEMS), whole(1, 10))
        self.averaging, self.scaling = ScpiSetting(False, switch), ScpiSetting(False, switch)
        unused = ScpiSetting(False, switch)
        commands: dict[str, Callable[[str], Answer]] = {
            ":INTEGrate:STARt": lambda _: self._go("STAR"), ":INTEGrate:STOP": lambda _: self._go("STOP"),
            ":INTEGrate:RESet": self._clear_hours, ":INTEGrate:STATe?": lambda _: self._state,
            ":INTEGrate:MODE": _one_of("NORMal", "CONTinuous"),
            ":INTEGrate:TIMer": ScpiSetting([0.0], lambda a: [number(one, 0, 10_000) for one in words(a)]),
            ":NUMeric:FORMat": _one_of("ASCii"), ":NUMeric[:NORMal]:NUMber": self._count,
            ":NUMeric[:NORMal]:VALue?": lambda _: self._values(), ":RATE": self._set_rate,
            ":RATE?": lambda _: f"{self._update_s:g}",
            ":INPut:VOLTage:RANGe": self._volts, ":INPut:CURRent:RANGe": self._set_amperes,
            ":INPut:CURRent:RANGe?": self._amperes.answer(".3E"),
            ":INPut:VOLTage:AUTO": unused, ":INPut:CURRent:AUTO": self._auto,
            ":INPut:CURRent:AUTO?": self._auto.answer("d"), ":INPut:MODE": _one_of("RMS", "VMEan", "DC"),
            ":INPut:SYNChronize": _one_of("OFF", "VOLTage", "CURRent"),
            ":INPut:FILTer:LINE": unused, ":INPut:FILTer:FREQuency": unused, ":INPut:SCALing:STATe": self.scaling,
            ":INPut:CFACtor": ScpiSetting(3.0, between(3, 6)), ":MEASure:AVERaging:STATe": self.averaging,
            ":MEASure:MHOLd": unused, ":STATus:FILTer1": _one_of("FALL", "RISE"),
            ":STATus:EESR?": self._extended, ":STATus:ERRor?": self.next_error,
            ":COMMunicate:WAIT": lambda _: self._wait_update(), ":COMMunicate:REMote": unused,
            ":COMMunicate:HEADer": unused, ":COMMunicate:VERBose": unused,
        }  # fmt: skip
        commands.update({f":NUMeric[:NORMal]:ITEM{place}": partial(self._set_item, place) for place in range(1, 11)})
        super().__init__("YOKOGAWA,WT310,VIRTUAL,F1.03", commands)
        self._zero = truth.now()  # updates begin when it is switched on
        self.preset()

    def preset(self) -> None:
        """Set the state after *RST: automatic range, update every 0.25 s, RMS values, no averaging."""
        super().preset()
        self._update_s = 0.25
        self._items = list(_ITEMS) + [""] * 5
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

    def _set_rate(self, argument: str) -> None:
        text = argument.upper()
        wanted = float(text[:-2]) / 1000 if text.endswith("MS") else float(text.rstrip("S"))
        if wanted not in UPDATES_S:
            raise ScpiError(-224)
        self._update_s = wanted
        self._zero, self._seen = self._truth.now(), 0

    def _set_amperes(self, argument: str) -> None:
        self._amperes(argument)
        self._auto.value = False

    def _set_item(self, place: int, argument: str) -> None:
        name = words(argument)[0].upper() if argument else ""
        if name not in _ITEMS:
            raise ScpiError(-224)
        self._items[place - 1] = name

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
        range_a, auto = self._amperes, self._auto
        if range_a.value <= SMALL_A and not auto.value and peak > OVER * range_a.value:
            range_a.value, auto.value = 1.0, True
        if auto.value:
            range_a.value = next((one for one in RANGES_A if peak <= OVER * one), RANGES_A[-1])

    def _go(self, state: str) -> None:
        self._state = state

    def _clear_hours(self, _argument: str) -> None:
        if self._state == "STAR":
            raise ScpiError(-224)  # it must be stopped first
        self._state, self._hours, self._seconds = "RES", 0.0, 0.0

    def _extended(self, _argument: str) -> str:
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
        if abs(self._current) > OVER * self._amperes.value:
            return ",".join(["INF"] * self._count.value)
        finest = self._volts.value * self._amperes.value / COUNTS
        power = (self._smooth if self.averaging.value else self._power) * (10 if self.scaling.value else 1)
        table = {
            "WH": round(self._hours / finest) * finest, "TIME": self._seconds, "U": self._volt, "I": self._current,
            "P": power,
        }  # fmt: skip
        return ",".join(f"{table[name]:.6E}" if name else "NAN" for name in self._items[: self._count.value])


def _one_of(*known: str) -> ScpiSetting[str]:
    """Return a setting that is one of some words and has no effect in the model."""
    return ScpiSetting(known[0], choice(dict(zip(known, known, strict=True))))


def _known(argument: str, ranges: tuple[float, ...]) -> float:
    wanted = number(argument, 0, ranges[-1])
    if wanted not in ranges:
        raise ScpiError(-224)
    return wanted
