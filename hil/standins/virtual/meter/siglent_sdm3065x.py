"""A virtual Siglent SDM3065X: series of current readings after a trigger; the memory drops the oldest reading.

Commands: SDM series remote manual (CONFigure, SENSe:CURRent:DC, SAMPle, TRIGger, INITiate, *TRG, DATA:POINts?, R?). For
a current above the range that was set, it changes to the next range by itself. The time between two apertures is
assumed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Errors
from hil.standins.virtual.meter.polled_scpi import LATENCY_S, OVERLOAD, Waits
from hil.standins.virtual.meter.scpi import ScpiError, number
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument, switch
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

    def __init__(self, truth: Truth, errors: Errors, rng: np.random.Generator, time: Waits | None = None) -> None:
        commands: dict[str, Callable[[str], Answer]] = {
            ":ABORt": lambda _: self._abort(), ":CONFigure:CURRent:DC": self._configure,
            "[:SENSe]:CURRent:DC:RANGe": self._set_range,
            "[:SENSe]:CURRent:DC:RANGe?": lambda _: self._shown_range(), "[:SENSe]:CURRent:DC:NPLC": self._set_nplc,
            "[:SENSe]:CURRent:DC:NULL[:STATe]": self._set_null, "[:SENSe]:CURRent:DC:NULL:VALue": self._set_null_value,
            ":TRIGger:SOURce": self._set_source, ":TRIGger:COUNt": lambda a: self._ignore(number(a, 1, 1e6)),
            ":SAMPle:COUNt": self._set_count,
            ":INITiate[:IMMediate]": lambda _: self._initiate(), "*TRG": lambda _: self._trigger(), ":R?": self._remove,
            ":DATA:POINts?": lambda _: f"{len(self._made())}",
            ":STATus:QUEStionable:CONDition?": lambda _: str(self._overflowed()),
        }  # fmt: skip
        super().__init__("Siglent Technologies,SDM3065X,VIRTUAL,1.01.01.25", commands)
        self._truth, self._off, self._rng, self._time = truth, errors, rng, time
        self.preset()

    def preset(self) -> None:
        """Set the state after *RST: automatic range, 10 power line cycles, one reading for each trigger, no null."""
        self._range, self._auto, self._nplc, self._count = RANGES_A[-1], True, 10.0, 1
        self._bus, self._armed = False, False
        self.null, self._null_a = False, 0.0
        self._start: int | None = None
        self._memory: list[float] = []
        self._done = self._lost = 0

    # settings

    def _configure(self, argument: str) -> None:
        self.preset()
        if argument and argument.upper() != "AUTO":
            self._set_range(argument)

    def _set_range(self, argument: str) -> None:
        wanted = number(argument, 0, RANGES_A[-1])
        self._range, self._auto = next(one for one in RANGES_A if wanted <= one * 1.0001), False

    def _shown_range(self) -> str:
        self._made()
        return f"{self._range:+.8E}"

    def _set_nplc(self, argument: str) -> None:
        self._nplc = number(argument, NPLC[0], NPLC[-1])
        if self._nplc not in NPLC:
            raise ScpiError(-224)

    def _set_null(self, argument: str) -> None:
        self.null = switch(argument)

    def _set_null_value(self, argument: str) -> None:
        self._null_a = number(argument, -12, 12)

    def _set_source(self, argument: str) -> None:
        if argument.upper() not in ("IMM", "IMMEDIATE", "BUS", "EXT", "EXTERNAL"):
            raise ScpiError(-224)
        self._bus = argument.upper() == "BUS"

    def _set_count(self, argument: str) -> None:
        self._count = int(number(argument, 1, MEMORY))

    def _ignore(self, _checked: object) -> None:
        """Do nothing: the setting has no effect in the model."""

    # the series

    def _abort(self) -> None:
        self._made()
        self._start, self._armed = None, False

    def _initiate(self) -> None:
        self._abort()
        self._memory, self._armed, self._lost = [], True, 0
        if not self._bus:
            self._trigger()

    def _trigger(self) -> None:
        if self._armed:
            self._start, self._done, self._armed = self._truth.now(), 0, False

    def _made(self) -> list[float]:
        """Make the readings that are complete by now; return the memory."""
        if self._start is None:
            return self._memory
        stretch = 1 + self._off.timebase
        aperture = self._nplc / LINE_HZ * stretch
        interval = aperture + WORK_S * stretch
        over = min(self._count, int((self._truth.now() - self._start) / PS_PER_S / interval))
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
        if self._auto or peak > OVER * self._range:
            self._range = next((one for one in RANGES_A if peak <= OVER * one), RANGES_A[-1])
        seen = self._off.current(true, aperture, t_s, self._rng) - (self._null_a if self.null else 0.0)
        return [float(OVERLOAD) if abs(value) > 1.2 * self._range else value for value in seen.tolist()]

    def _overflowed(self) -> int:
        self._made()
        return self._lost

    def _remove(self, argument: str) -> str:
        if self._time is not None:
            self._time.sleep(float(self._rng.uniform(*LATENCY_S)))
        made = self._made()
        n = min(int(number(argument, 1, MEMORY)), len(made)) if argument else len(made)
        given, self._memory = made[:n], made[n:]
        text = ",".join(f"{value:+.8E}" for value in given)
        return f"#{len(str(len(text)))}{len(text)}{text}"
