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
from hil.standins.virtual.meter.errors import Errors, Limits
from hil.standins.virtual.meter.scpi import ScpiError, number, words
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument, switch
from hil.standins.virtual.meter.timebase import Timebase
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

# From the data sheet in hil/meters/data_sheets, 10 mA range; those of larger ranges include them. Unverified, as there.
LIMITS = Limits(gain=0.0005, offset_a=2e-6, voltage_gain=0.0, voltage_offset_v=0.0, timebase=100e-6, noise_a=10e-9)
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

    def __init__(self, truth: Truth, errors: Errors, rng: np.random.Generator, time: VirtualTime | None = None) -> None:
        self._truth, self._errors_drawn, self._rng = truth, errors, rng
        self._clock = Timebase(errors.timebase)
        self.memory, self.options = MEMORY, "DIG"
        commands: dict[str, Callable[[str], Answer]] = {
            "*OPT?": lambda _: self.options, ":ABORt": self._abort, ":INITiate[:IMMediate]": self._initiate,
            ":FORMat[:DATA]": self._set_format,
            ":CONFigure:CURRent[:DC]": self._set_range, "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]": self._set_range,
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]?": lambda _: f"{self._range:+.8E}",
            "[:SENSe]:CURRent[:DC]:ZERO:AUTO": self._set_autozero,
            "[:SENSe]:CURRent[:DC]:APERture": self._set_aperture,
            "[:SENSe]:CURRent[:DC]:APERture?": lambda _: f"{self._aperture_s:+.8E}",
            "[:SENSe]:CURRent[:DC]:NULL[:STATe]": self._use_null, "[:SENSe]:CURRent[:DC]:NULL:VALue": self._set_null,
            ":SAMPle:SOURce": self._set_source, ":SAMPle:TIMer": self._set_timer, ":SAMPle:TIMer?": self._timer,
            ":SAMPle:COUNt": self._set_count,
            ":SAMPle:COUNt:PRETrigger": self._set_before, ":TRIGger:SOURce": self._set_trigger,
            ":TRIGger:SLOPe": self._set_slope,
            ":TRIGger:COUNt": lambda a: self._one(a, 1), ":TRIGger:DELay": lambda a: self._one(a, 0),
            ":DATA:POINts?": lambda _: f"{self._held():+d}",
            ":R?": self._remove, ":STATus:QUEStionable[:EVENt]?": self._event,
            ":STATus:QUEStionable:CONDition?": lambda _: f"{self._condition():+d}",
            ":STATus:OPERation:CONDition?": lambda _: f"{self._operation():+d}",
        }  # fmt: skip
        super().__init__(f"trainrig,virtual 34465A,{rng.integers(10**8):08d},1", commands)
        self.preset()

    def preset(self) -> None:
        """Set every setting to its value after *RST."""
        self._range, self._autozero, self._aperture_s, self._null = 1.0, True, 0.2, (0.0, False)
        self._timed, self._timer_s, self._count, self._before = False, 1.0, 1, 0
        self._external, self._slope = False, 0
        self._abort("")

    def _clear(self, argument: str) -> None:
        super()._clear(argument)
        self._questionable = 0

    # settings

    def _set_format(self, argument: str) -> None:
        if not argument.upper().startswith("ASC"):
            raise ScpiError(-224)

    def _set_range(self, argument: str) -> None:
        wanted = number(argument, 0, RANGES_A[-1])
        self._range = next(r for r in RANGES_A if wanted <= r)

    def _set_autozero(self, argument: str) -> None:
        self._autozero = switch(argument)

    def _set_aperture(self, argument: str) -> None:
        self._aperture_s = number(argument, 20e-6, 1.0)

    def _use_null(self, argument: str) -> None:
        self._null = (self._null[0], switch(argument))

    def _set_null(self, argument: str) -> None:
        self._null = (number(argument, -3, 3), self._null[1])

    def _set_source(self, argument: str) -> None:
        if argument.upper()[:3] not in ("IMM", "TIM"):
            raise ScpiError(-224)
        self._timed = argument.upper().startswith("TIM")

    def _set_timer(self, argument: str) -> None:
        self._timer_s = max(round(number(argument, 0, 3600) / STEP_S), 1) * STEP_S

    def _least(self) -> float:
        return (self._aperture_s + BETWEEN_S) * (2 if self._autozero else 1)

    def _timer(self, argument: str) -> str:
        return f"{self._least() if argument.upper().startswith('MIN') else self._timer_s:+.8E}"

    def _set_count(self, argument: str) -> None:
        self._count = int(number(argument, 1, 1e9))

    def _set_before(self, argument: str) -> None:
        if "DIG" not in self.options:
            raise ScpiError(-113)
        self._before = int(number(argument, 0, min(self._count - 1, self.memory - 1)))

    def _set_trigger(self, argument: str) -> None:
        if argument.upper()[:3] not in ("EXT", "IMM"):
            raise ScpiError(-224)
        self._external = argument.upper().startswith("EXT")

    def _set_slope(self, argument: str) -> None:
        if argument.upper()[:3] not in ("POS", "NEG"):
            raise ScpiError(-224)
        self._slope = int(argument.upper().startswith("POS"))

    def _one(self, argument: str, only: float) -> None:
        if number(argument, 0, 1e6) != only:
            raise ScpiError(-224)

    # acquisition

    def _abort(self, _argument: str) -> None:
        self._began: int | None = None
        self._questionable = self._removed = 0
        self._memory: np.ndarray | None = None

    def _initiate(self, _argument: str) -> None:
        if not self._timed:
            raise ScpiError(-224)  # the model samples only by the timer
        self._abort("")
        self._began = self._clock.own(self._truth.now())

    def _trigger(self) -> int | None:
        """Return the time of the trigger after INITiate, in picoseconds of its own clock; None before it."""
        if self._began is None or not self._external:
            return self._began
        wanted = [self._clock.own(time) for time, level in self._truth.edges() if level == self._slope]
        return next((time for time in wanted if time > self._began), None)

    def _span(self) -> tuple[int, int]:
        """Return the begin of the first kept reading, in ps of its own clock, and the number of complete readings."""
        if self._began is None:
            return 0, 0
        now, period, trigger = self._clock.own(self._truth.now()), round(self._timer_s * PS_PER_S), self._trigger()
        over = max(0, (now - self._began - round(self._aperture_s * PS_PER_S)) // period + 1)
        if not self._before:
            first = trigger if trigger is not None else now + 1
            done = max(0, (now - first - round(self._aperture_s * PS_PER_S)) // period + 1)
            return first, min(done, self._count)
        # A reading during which the trigger comes counts as one before the trigger.
        until = over if trigger is None else (trigger - self._began) // period + 1
        dropped = max(0, until - self._before)
        last = over if trigger is None else min(over, until + self._count - self._before)
        return self._began + dropped * period, max(0, last - dropped)

    def _readings(self) -> np.ndarray:
        """Return all readings so far, in A; earlier readings do not change in later calls, except before a trigger."""
        first, count = self._span()
        period = round(self._timer_s * PS_PER_S)
        if self._memory is None or len(self._memory) < count or self._before:
            begin = first + period * np.arange(count, dtype=np.int64)
            begins, ends = self._clock.true(begin), self._clock.true(begin + round(self._aperture_s * PS_PER_S))
            true = mean_current(self._truth, begins, ends - begins)
            read = (
                self._errors_drawn.current(true, self._aperture_s, (begin - first) / PS_PER_S, self._rng)
                - self._null[0] * self._null[1]
            )
            over = np.abs(true) > self._range * OVER_RANGE
            self._questionable |= OVERLOAD * bool(np.any(over)) | TIMING * (self._least() > self._timer_s + 1e-9)
            self._memory = np.where(over, OVERFLOW, read)
        return self._memory

    def _held(self) -> int:
        return min(self._span()[1], self.memory) - self._removed

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
        trigger, period = self._trigger(), round(self._timer_s * PS_PER_S)
        if trigger is None:
            return WAITING | MEASURING * bool(self._before)
        early = (trigger - first) // period + 1 if self._before else 0
        return MEASURING if made < early + self._count - self._before else 0

    def _event(self, _argument: str) -> str:
        self._readings()
        event, self._questionable = self._questionable | self._condition(), 0
        return f"{event:+d}"

    def _remove(self, argument: str) -> str:
        wanted = int(number(words(argument)[0], 1, 2e6)) if argument else self.memory
        kept = self._readings()[-self.memory :]
        part = kept[self._removed : self._removed + wanted]
        self._removed += len(part)
        text = ",".join(f"{value:+.8E}" for value in part.tolist())
        return f"#{len(str(len(text)))}{len(text)}{text}"
