"""A virtual Rigol DP832A: three outputs; the first one feeds the board.

Commands: DP800 Programming Guide (Dec 2015): :APPLy, :MEASure, :OUTPut[:STATe], :OUTPut:CVCC, :TIMEr[:STATe],
:MONItor[:STATe]. A running timer changes the voltage by itself. Resolution: 1 mV and 0.1 mA.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.meter.errors import Flaws
from hil.standins.virtual.meter.polled_scpi import PolledInstrument, VirtualWait, channel, need_volt
from hil.standins.virtual.meter.scpi import ScpiError, ScpiSetting, number, switch, words
from hil.standins.virtual.meter.scpi_instrument import Answer
from hil.standins.virtual.meter.truth import Truth

VOLT, AMPERE = 1e-3, 1e-4  # resolution
OUTPUTS = 3
LARGEST_V, LARGEST_A = 32.0, 3.2


class VirtualRigolDP800(PolledInstrument):
    """A Rigol DP832A; it refuses any voltage other than that of the board."""

    latency_s = (0.001, 0.004)

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualWait | None = None) -> None:
        self.timer = ScpiSetting(False, switch)
        commands: dict[str, Callable[[str], Answer]] = {
            ":APPLy": self._apply, ":OUTPut[:STATe]": self._switch,
            ":OUTPut[:STATe]?": lambda a: self._of(a, "ON" if self.output else "OFF", "OFF"),
            ":OUTPut:CVCC?": lambda a: self._of(a, self._mode(), "UR"),
            ":OUTPut:MODE?": lambda a: self._of(a, self._mode(), "UR"),
            ":MEASure:ALL[:DC]?": lambda a: self._read(a, "VIP"),
            ":MEASure:CURRent[:DC]?": lambda a: self._read(a, "I"),
            ":MEASure[:VOLTage][:DC]?": lambda a: self._read(a, "V"),
            ":MEASure:POWEr[:DC]?": lambda a: self._read(a, "P"),
            ":TIMEr[:STATe]": self.timer, ":TIMEr[:STATe]?": lambda _: "ON" if self.timer.value else "OFF",
            ":DELAY[:STATe]": self._refuse_on, ":MONItor[:STATe]": self._refuse_on,
        }  # fmt: skip
        super().__init__("RIGOL TECHNOLOGIES,DP832A,VIRTUAL,00.01.14", commands, truth, errors, rng, time)

    def preset(self) -> None:
        """Switch everything off."""
        super().preset()
        self.output = self._limited = False
        self._limit = 0.0

    def _apply(self, argument: str) -> None:
        name, volt, ampere = (*words(argument), "", "")[:3]
        channel(name, OUTPUTS)
        need_volt(self._truth, number(volt, 0, LARGEST_V))
        self._limit, self._limited = number(ampere, 0, LARGEST_A), False

    def _switch(self, argument: str) -> None:
        name, state = (*words(argument), "")[:2]
        channel(name, OUTPUTS)
        self.output = switch(state)

    def _refuse_on(self, argument: str) -> None:
        if switch(argument):
            raise ScpiError(-224)  # delayer and monitor are not modelled

    def _mode(self) -> str:
        return "UR" if not self.output else "CC" if self._limited else "CV"

    def _of(self, argument: str, first: str, others: str) -> str:
        return first if channel(argument, OUTPUTS) == 1 else others

    def _read(self, argument: str, columns: str) -> str:
        current, volt = self.sample()
        if channel(argument, OUTPUTS) != 1 or not self.output:
            current = volt = 0.0
        if self.timer.value:
            volt *= 0.5
        self._limited |= current > self._limit
        values = {
            "V": f"{round(volt / VOLT) * VOLT:.4f}",
            "I": f"{round(current / AMPERE) * AMPERE:.4f}",
            "P": f"{volt * current:.3f}",
        }
        return ",".join(values[column] for column in columns)
