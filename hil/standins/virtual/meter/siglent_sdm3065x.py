"""A virtual Siglent SDM3065X: series of current readings after a trigger; the memory drops the oldest reading.

Commands: SDM series remote manual (CONFigure, SENSe:CURRent:DC, SAMPle, TRIGger, INITiate, *TRG, DATA:POINts?, R?). For
a current above the range that was set, it changes to the next range by itself. The time between two apertures is
assumed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.polled_scpi import LATENCY_S, OVERLOAD, VirtualWait
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiError, ScpiSetting, between, choice, number, switch, whole
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument
from hil.standins.virtual.meter.truth import Truth, mean_current

LINE_HZ = 50.0
NPLC = (0.005, 0.05, 0.5, 1.0, 10.0, 100.0)
RANGES_A = (0.0002, 0.002, 0.02, 0.2, 2.0, 10.0)
OVER = 1.1
WORK_S = 0.0066  # between two apertures: 150 readings a second at the shortest
MEMORY = 10_000
OVERFLOWED = 1 << 14


class VirtualSiglentSDM3065X(ScpiInstrument):
    """A Siglent SDM3065X.

    Args:
        truth: true supply.
        errors: errors of the instrument; the time base scales interval and aperture.
        rng: generator of noise and latency.
        time: virtual time that advances by the latency; None if time advances by itself.
    """

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualWait | None = None) -> None:
        self._range = RangeSetting(RANGES_A, 1.0001)
        self._nplc, self._count = ScpiSetting(10.0, _cycles), ScpiSetting(1, whole(1, MEMORY))
        self.null, self._null_a = ScpiSetting(False, switch), ScpiSetting(0.0, between(-12, 12))
        self._bus = ScpiSetting(False, choice({"IMMediate": False, "BUS": True, "EXTernal": False}))
        commands: dict[str, Callable[[str], Answer]] = {
            ":ABORt": self._abort, ":CONFigure:CURRent:DC": self._configure,
            "[:SENSe]:CURRent:DC:RANGe": self._range, "[:SENSe]:CURRent:DC:RANGe?": self._shown_range,
            "[:SENSe]:CURRent:DC:NPLC": self._nplc, "[:SENSe]:CURRent:DC:NULL[:STATe]": self.null,
            "[:SENSe]:CURRent:DC:NULL:VALue": self._null_a, ":TRIGger:SOURce": self._bus,
            ":TRIGger:COUNt": ScpiSetting(1, whole(1, 1e6)), ":SAMPle:COUNt": self._count,
            ":INITiate[:IMMediate]": self._initiate, "*TRG": self._trigger, ":R?": self._remove,
            ":DATA:POINts?": lambda _: f"{len(self._made())}",
            ":STATus:QUEStionable:CONDition?": self._overflowed,
        }  # fmt: skip
        super().__init__("Siglent Technologies,SDM3065X,VIRTUAL,1.01.01.25", commands)
        self._truth, self._off, self._rng, self._time = truth, errors, rng, time
        self.preset()

    def preset(self) -> None:
        """Set the state after *RST: automatic range, 10 power line cycles, one reading for each trigger, no null."""
        super().preset()
        self._armed = False
        self._start: int | None = None
        self._memory: list[float] = []
        self._done = self._lost = 0

    def _configure(self, argument: str) -> None:
        self.preset()
        if argument and argument.upper() != "AUTO":
            self._range(argument)

    def _shown_range(self, _argument: str) -> str:
        self._made()
        return f"{self._range.value:+.8E}"

    # the series

    def _abort(self, _argument: str) -> None:
        self._made()
        self._start, self._armed = None, False

    def _initiate(self, argument: str) -> None:
        self._abort(argument)
        self._memory, self._armed, self._lost = [], True, 0
        if not self._bus.value:
            self._trigger(argument)

    def _trigger(self, _argument: str) -> None:
        if self._armed:
            self._start, self._done, self._armed = self._truth.now(), 0, False

    def _made(self) -> list[float]:
        """Make the readings that are complete by now; return the memory."""
        if self._start is None:
            return self._memory
        stretch = 1 + self._off.timebase
        aperture = self._nplc.value / LINE_HZ * stretch
        interval = aperture + WORK_S * stretch
        over = min(self._count.value, int((self._truth.now() - self._start) / PS_PER_S / interval))
        if over > self._done:
            begins = self._start + np.round(np.arange(self._done, over) * interval * PS_PER_S).astype(np.int64)
            true = mean_current(self._truth, begins, round(aperture * PS_PER_S))
            self._memory += self._read(true, aperture, begins / PS_PER_S)
            self._done = over
        if len(self._memory) > MEMORY:
            self._memory, self._lost = self._memory[-MEMORY:], OVERFLOWED
        return self._memory

    def _read(self, true: np.ndarray, aperture: float, t_s: np.ndarray) -> list[float]:
        peak = float(np.max(np.abs(true)))
        if self._range.auto.value or peak > OVER * self._range.value:
            self._range.follow(peak, OVER)
        seen = self._off.current(true, aperture, t_s, self._rng) - self._null_a.value * self.null.value
        return [float(OVERLOAD) if abs(value) > 1.2 * self._range.value else value for value in seen.tolist()]

    def _overflowed(self, _argument: str) -> str:
        self._made()
        return str(self._lost)

    def _remove(self, argument: str) -> str:
        if self._time is not None:
            self._time.sleep(float(self._rng.uniform(*LATENCY_S)))
        made = self._made()
        n = min(int(number(argument, 1, MEMORY)), len(made)) if argument else len(made)
        given, self._memory = made[:n], made[n:]
        text = ",".join(f"{value:+.8E}" for value in given)
        return f"#{len(str(len(text)))}{len(text)}{text}"


def _cycles(argument: str) -> float:
    """Return an aperture in power line cycles, one of NPLC."""
    wanted = number(argument, NPLC[0], NPLC[-1])
    if wanted not in NPLC:
        raise ScpiError(-224)
    return wanted
