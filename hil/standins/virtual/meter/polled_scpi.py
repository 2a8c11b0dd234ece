"""SCPI instruments without a buffer: a query returns one reading after a varying latency."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiError, ScpiSetting, switch
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument
from hil.standins.virtual.meter.truth import Truth

OVERLOAD = "9.90000000E+37"  # SCPI-99, volume 1, 7.2.1: infinity
RANGES_A = (0.01, 0.1, 1.0)
OVER = 1.05  # a range reads up to this multiple of its nominal value
LATENCY_S = (0.0005, 0.002)  # from query to answer; the reading is taken at a random instant in between


class VirtualWait(Protocol):
    """A clock that `sleep` advances."""

    def sleep(self, seconds: float) -> None: ...


class PolledInstrument(ScpiInstrument):
    """An instrument that is polled for single readings.

    Args:
        identity: answer to *IDN?.
        commands: commands in addition to those of all instruments.
        truth: true supply.
        errors: errors of the instrument.
        rng: generator of noise and latency.
        time: virtual time that advances by the latency; None if time advances by itself.

    Attributes:
        latency_s: least and greatest time [s] from query to answer.
        refresh_s: interval [s] between new readings; queries in between return the last one. 0: each query makes one.
    """

    latency_s = LATENCY_S
    refresh_s = 0.0

    def __init__(
        self, identity: str, commands: Mapping[str, Callable[[str], Answer]], truth: Truth, errors: Flaws,
        rng: np.random.Generator, time: VirtualWait | None
    ) -> None:  # fmt: skip
        super().__init__(identity, commands)
        self._truth, self._off, self._rng, self._time = truth, errors, rng, time
        self._number, self._shown = -1, (0.0, 0.0)
        self.preset()

    def sample(self) -> tuple[float, float]:
        """Return current [A] and voltage [V], read at a random instant of the latency, after the latency has passed."""
        latency = float(self._rng.uniform(*self.latency_s))
        before = latency * float(self._rng.uniform())
        self._wait(before)
        now = self._truth.now()
        number = int(now // (self.refresh_s * PS_PER_S)) if self.refresh_s else -1
        if number != self._number or number < 0:
            self._number, self._shown = number, self._reading(now)
        self._wait(latency - before)
        return self._shown

    def _reading(self, now_ps: int) -> tuple[float, float]:
        now = np.array([now_ps])
        current = self._off.current(self._truth.current(now), 1.0, now / PS_PER_S, self._rng)
        volt = self._off.voltage(self._truth.volt(), 1, 1.0, self._rng)
        return float(current[0]), float(volt[0])

    def _wait(self, seconds: float) -> None:
        if self._time is not None:
            self._time.sleep(seconds)


class VirtualPolledScpi(PolledInstrument):
    """A generic meter: MEASure:CURRent?, MEASure:VOLTage?, MEASure:POWer? and ranges; automatic range after *RST."""

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualWait | None = None) -> None:
        self._range, self._average = RangeSetting(RANGES_A), ScpiSetting(False, switch)
        commands: dict[str, Callable[[str], Answer]] = {
            ":MEASure:CURRent[:DC]?": lambda _: self._read(0), ":MEASure:VOLTage[:DC]?": lambda _: self._read(1),
            ":MEASure:POWer[:DC]?": lambda _: self._read(2),
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]": self._range,
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]?": self._range.answer(".6E"),
            "[:SENSe]:CURRent[:DC]:RANGe:AUTO": self._range.auto, "[:SENSe]:AVERage[:STATe]": self._average,
        }  # fmt: skip
        super().__init__("trainrig,virtual polled meter,0,1", commands, truth, errors, rng, time)

    def preset(self) -> None:
        """Set the automatic range and no averaging."""
        super().preset()
        self._last = 0.0

    def _read(self, column: int) -> str:
        current, volt = self.sample()
        if self._average.value:  # a moving filter, which blurs the edges
            self._last += (current - self._last) / 10
            current = self._last
        if self._range.auto.value:
            self._range.follow(abs(current))
        if column != 1 and abs(current) > OVER * self._range.value:
            return OVERLOAD
        return f"{(current, volt, current * volt)[column]:.8E}"


def need_volt(truth: Truth, volt: float) -> None:
    """Check a voltage to be set: the model of the board has one fixed voltage.

    Raises:
        ScpiError: the voltage differs by more than 5 %.
    """
    if abs(volt - truth.volt()) > 0.05 * truth.volt():
        raise ScpiError(-222)


def channel(argument: str, known: int) -> int:
    """Return the number of a channel from its name CH1, CH2, ...

    Raises:
        ScpiError: the channel does not exist.
    """
    if argument.upper() not in [f"CH{one}" for one in range(1, known + 1)]:
        raise ScpiError(-224 if argument else -109)
    return int(argument[2:])
