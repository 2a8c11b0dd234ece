"""A virtual Keysight 34465A: current readings by its sample timer, before and after an external trigger.

Sources: Keysight Truevolt Series Operating and Service Guide: R? (page 204), SAMPle:COUNt:PRETrigger (page 306),
questionable data register (page 386); STATus Subsystem, Standard Operation Register (Agilent's edition, page 226);
34410A/11A User's Guide, SAMPle:TIMer: the interval is rounded to steps of 20 us.

Two things are assumed: the time between two apertures, and that the operation register shows both measuring and waiting
during readings before the trigger.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import FlawLimits, Flaws, Timebase
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiError, ScpiSetting, between, choice, number, switch, whole
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

# From the data sheet in hil/meters/data_sheets, 10 mA range; those of larger ranges include them. Unverified, as there.
LIMITS = FlawLimits(gain=0.0005, offset_a=2e-6, voltage_gain=0.0, voltage_offset_v=0.0, timebase=100e-6, noise_a=10e-9)
RANGES_A = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 3.0)
OVER_RANGE, OVERFLOW = 1.2, 9.9e37
STEP_S, BETWEEN_S = 20e-6, 20e-6
MEMORY = 50_000
OVERLOAD, TIMING, MEMORY_OVERFLOW = 1 << 1, 1 << 2, 1 << 14
MEASURING, WAITING = 1 << 4, 1 << 5


class VirtualKeysight34465A(ScpiInstrument):
    """A Keysight 34465A with the marker at its external trigger.

    Args:
        truth, errors, rng: true supply, errors of the instrument, and generator of its noise.
        time: unused, because the model makes no reading on demand.

    Attributes:
        memory: number of readings that it keeps; when it is full, the oldest is dropped.
        options: answer to *OPT?; without DIG there are no readings before a trigger.
    """

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualTime | None = None) -> None:
        self._truth, self._errors_drawn, self._rng = truth, errors, rng
        self._clock = Timebase(errors.timebase)
        self.memory, self.options = MEMORY, "DIG"
        self._range, self._autozero = RangeSetting(RANGES_A), ScpiSetting(True, switch)
        self._null, self._null_a = ScpiSetting(False, switch), ScpiSetting(0.0, between(-3, 3))
        self._aperture_s, self._count = ScpiSetting(0.2, between(20e-6, 1.0)), ScpiSetting(1, whole(1, 1e9))
        self._timed = ScpiSetting(False, choice({"IMMediate": False, "TIMer": True}))
        self._timer_s, self._before = ScpiSetting(1.0, _interval), ScpiSetting(0, self._earlier)
        self._external = ScpiSetting(False, choice({"IMMediate": False, "EXTernal": True}))
        self._slope = ScpiSetting(0, choice({"NEGative": 0, "POSitive": 1}))
        commands: dict[str, Callable[[str], Answer]] = {
            "*OPT?": lambda _: self.options, ":ABORt": self._abort, ":INITiate[:IMMediate]": self._initiate,
            ":FORMat[:DATA]": ScpiSetting("ASC", choice({"ASCii": "ASC"})),
            ":CONFigure:CURRent[:DC]": self._range, "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]": self._range,
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]?": self._range.answer("+.8E"),
            "[:SENSe]:CURRent[:DC]:ZERO:AUTO": self._autozero,
            "[:SENSe]:CURRent[:DC]:APERture": self._aperture_s,
            "[:SENSe]:CURRent[:DC]:APERture?": self._aperture_s.answer("+.8E"),
            "[:SENSe]:CURRent[:DC]:NULL[:STATe]": self._null, "[:SENSe]:CURRent[:DC]:NULL:VALue": self._null_a,
            ":SAMPle:SOURce": self._timed, ":SAMPle:TIMer": self._timer_s, ":SAMPle:TIMer?": self._timer,
            ":SAMPle:COUNt": self._count, ":SAMPle:COUNt:PRETrigger": self._before,
            ":TRIGger:SOURce": self._external, ":TRIGger:SLOPe": self._slope,
            ":TRIGger:COUNt": ScpiSetting(1.0, between(1, 1)), ":TRIGger:DELay": ScpiSetting(0.0, between(0, 0)),
            ":DATA:POINts?": lambda _: f"{min(self._span()[1], self.memory) - self._removed:+d}",
            ":R?": self._remove, ":STATus:QUEStionable[:EVENt]?": self._event,
            ":STATus:QUEStionable:CONDition?": lambda _: f"{self._condition():+d}",
            ":STATus:OPERation:CONDition?": lambda _: f"{self._operation():+d}",
        }  # fmt: skip
        super().__init__(f"trainrig,virtual 34465A,{rng.integers(10**8):08d},1", commands)
        self.preset()

    def preset(self) -> None:
        """Set every setting to its value after *RST."""
        super().preset()
        self._abort("")

    def clear(self, argument: str) -> None:
        super().clear(argument)
        self._questionable = 0

    def _earlier(self, argument: str) -> int:
        """Return the number of readings before a trigger; without DIG there are none."""
        if "DIG" not in self.options:
            raise ScpiError(-113)
        return int(number(argument, 0, min(self._count.value - 1, self.memory - 1)))

    def _least(self) -> float:
        return (self._aperture_s.value + BETWEEN_S) * (2 if self._autozero.value else 1)

    def _timer(self, argument: str) -> str:
        return f"{self._least() if argument.upper().startswith('MIN') else self._timer_s.value:+.8E}"

    # acquisition

    def _abort(self, _argument: str) -> None:
        self._began: int | None = None
        self._questionable = self._removed = 0
        self._memory: np.ndarray | None = None

    def _initiate(self, _argument: str) -> None:
        if not self._timed.value:
            raise ScpiError(-224)  # the model samples only by the timer
        self._abort("")
        self._began = self._clock.own(self._truth.now())

    def _trigger(self) -> int | None:
        """Return the time of the trigger after INITiate, in picoseconds of its own clock; None before it."""
        if self._began is None or not self._external.value:
            return self._began
        wanted = [self._clock.own(time) for time, level in self._truth.edges() if level == self._slope.value]
        return next((time for time in wanted if time > self._began), None)

    def _span(self) -> tuple[int, int]:
        """Return the begin of the first kept reading, in ps of its own clock, and the number of complete readings."""
        if self._began is None:
            return 0, 0
        now, trigger = self._clock.own(self._truth.now()), self._trigger()
        period, aperture = (round(one.value * PS_PER_S) for one in (self._timer_s, self._aperture_s))
        over = max(0, (now - self._began - aperture) // period + 1)
        if not self._before.value:
            first = trigger if trigger is not None else now + 1
            done = max(0, (now - first - aperture) // period + 1)
            return first, min(done, self._count.value)
        # A reading during which the trigger comes counts as one before the trigger.
        until = over if trigger is None else (trigger - self._began) // period + 1
        dropped = max(0, until - self._before.value)
        last = over if trigger is None else min(over, until + self._count.value - self._before.value)
        return self._began + dropped * period, max(0, last - dropped)

    def _readings(self) -> np.ndarray:
        """Return all readings so far, in A; earlier readings do not change in later calls, except before a trigger."""
        first, count = self._span()
        period = round(self._timer_s.value * PS_PER_S)
        if self._memory is None or len(self._memory) < count or self._before.value:
            begin = first + period * np.arange(count, dtype=np.int64)
            begins, ends = self._clock.true(begin), self._clock.true(begin + round(self._aperture_s.value * PS_PER_S))
            true = mean_current(self._truth, begins, ends - begins)
            read = self._errors_drawn.current(true, self._aperture_s.value, (begin - first) / PS_PER_S, self._rng)
            over = np.abs(true) > self._range.value * OVER_RANGE
            self._questionable |= OVERLOAD * bool(np.any(over)) | TIMING * (self._least() > self._timer_s.value + 1e-9)
            self._memory = np.where(over, OVERFLOW, read - self._null_a.value * self._null.value)
        return self._memory

    def _condition(self) -> int:
        """Return MEMORY_OVERFLOW if there are more readings than the memory keeps, else 0."""
        return MEMORY_OVERFLOW if self._span()[1] - self._removed > self.memory else 0

    def _operation(self) -> int:
        """Return the operation register.

        WAITING after INITiate until the trigger, with MEASURING if readings before the trigger are set. MEASURING from
        the trigger to the last reading. Else 0.
        """
        if self._began is None:
            return 0
        first, made = self._span()
        trigger, period = self._trigger(), round(self._timer_s.value * PS_PER_S)
        if trigger is None:
            return WAITING | MEASURING * bool(self._before.value)
        early = (trigger - first) // period + 1 if self._before.value else 0
        return MEASURING if made < early + self._count.value - self._before.value else 0

    def _event(self, _argument: str) -> str:
        self._readings()
        event, self._questionable = self._questionable | self._condition(), 0
        return f"{event:+d}"

    def _remove(self, argument: str) -> str:
        wanted = int(number(argument, 1, 2e6)) if argument else self.memory
        kept = self._readings()[-self.memory :]
        part = kept[self._removed : self._removed + wanted]
        self._removed += len(part)
        text = ",".join(f"{value:+.8E}" for value in part.tolist())
        return f"#{len(str(len(text)))}{len(text)}{text}"


def _interval(argument: str) -> float:
    """Return an interval of the sample timer [s], in steps of STEP_S."""
    return max(round(number(argument, 0, 3600) / STEP_S), 1) * STEP_S
