"""A virtual Keithley 2450: the commands to feed a board and to measure its supply.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6. Two values are assumed, of the order of the real
instrument: the time of a reading in addition to its aperture (`DEAD_PS`), and three apertures for a reading with
automatic zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Errors, Limits
from hil.standins.virtual.meter.keithley import KeithleyInstrument
from hil.standins.virtual.meter.scpi import ScpiError, number
from hil.standins.virtual.meter.scpi_instrument import Answer, switch
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

DEAD_PS = PS_PER_S // 4000
LIMITED = 1 << 5  # source status: the current is at its limit (2450-901-01 Rev. B, 8-29)
# The 10 mA range, one year (SPEC-2450 Rev. A, page 2): its offset is within that of every larger range. Voltage: 20 V
# range.
LIMITS = Limits(
    gain=0.0002,
    offset_a=600e-9,
    voltage_gain=0.00015,
    voltage_offset_v=1e-3,
    timebase=50e-6,
    noise_a=40e-9,
    noise_v=10e-6,
)


class VirtualKeithley2450(KeithleyInstrument):
    """A Keithley 2450 with the marker at digital line 1. Args: see KeithleyInstrument."""

    ranges = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)

    def __init__(self, truth: Truth, errors: Errors, rng: np.random.Generator, time: VirtualTime | None = None) -> None:
        commands: dict[str, Callable[[str], Answer]] = {
            "[:SENSe]:FUNCtion[:ON]": self._set_function, "[:SENSe]:FUNCtion[:ON]?": lambda _: f'"{self._function}"',
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]": self.set_range,
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]?": lambda _: f"{self.range:.6E}",
            "[:SENSe]:CURRent[:DC]:RANGe:AUTO": self._set_auto,
            "[:SENSe]:CURRent[:DC]:RANGe:AUTO?": lambda _: str(int(self.auto)),
            "[:SENSe]:CURRent[:DC]:NPLCycles": self._set_nplc,
            "[:SENSe]:CURRent[:DC]:NPLCycles?": lambda _: f"{self._nplc:.6E}",
            "[:SENSe]:CURRent[:DC]:AZERo[:STATe]": self._set_autozero, "[:SENSe]:AZERo:ONCE": lambda _: None,
            "[:SENSe]:CURRent[:DC]:RELative": self._set_relative,
            "[:SENSe]:CURRent[:DC]:RELative:STATe": self._use_relative,
            ":MEASure:CURRent[:DC]?": self._measure_current, ":MEASure:VOLTage[:DC]?": self._measure_voltage,
            ":READ?": self._read,
            ":SOURce:FUNCtion[:MODE]": self._set_source,
            ":SOURce:VOLTage[:LEVel][:IMMediate][:AMPLitude]": self._set_level,
            ":SOURce:VOLTage:ILIMit[:LEVel]": self._set_limit, ":SOURce:VOLTage:ILIMit[:LEVel]:TRIPped?": self._tripped,
            ":SOURce:VOLTage:READ:BACK": lambda a: ignore(switch(a)),
            ":OUTPut[:STATe]": self._set_output, ":OUTPut[:STATe]?": lambda _: str(int(self._output)),
            ":TRIGger:BLOCk:MEASure": self._reading_block,
        }  # fmt: skip
        super().__init__(f"trainrig,virtual MODEL 2450,{rng.integers(10**8):08d},1", truth, errors, rng, time, commands)

    def preset(self) -> None:
        """Set every setting to its value after *RST, and switch the output off."""
        super().preset()
        self._function, self._nplc, self._autozero = "CURR:DC", 1.0, True
        self._relative, self._output, self._limit = (0.0, False), False, 1e-4

    def timing(self) -> tuple[int, int]:
        if not self._output:
            raise ScpiError(-224)
        aperture = int(self._nplc / self.mainframe_hz * PS_PER_S)
        return aperture, aperture * (3 if self._autozero else 1) + DEAD_PS

    def as_read(self, true: np.ndarray, read: np.ndarray) -> np.ndarray:
        offset, used = self._relative
        return super().as_read(true, read - offset * used)

    def _set_function(self, argument: str) -> None:
        name = argument.strip("\"'").upper()
        if re.fullmatch(r"CURR(ENT)?(:DC)?", name):
            self._function = "CURR:DC"
        elif re.fullmatch(r"VOLT(AGE)?(:DC)?", name):
            self._function = "VOLT:DC"
        else:
            raise ScpiError(-109 if not name else -104)

    def _set_auto(self, argument: str) -> None:
        self.auto = switch(argument)

    def _set_nplc(self, argument: str) -> None:
        self._nplc = number(argument, 0.01, 10)

    def _set_autozero(self, argument: str) -> None:
        self._autozero = switch(argument)

    def _set_relative(self, argument: str) -> None:
        self._relative = (number(argument, -1, 1), self._relative[1])

    def _use_relative(self, argument: str) -> None:
        self._relative = (self._relative[0], switch(argument))

    # readings on demand

    def _read(self, argument: str) -> str:
        return self._measure_voltage(argument) if self._function == "VOLT:DC" else self._measure_current(argument)

    def _measure_current(self, _argument: str) -> str:
        self._function = "CURR:DC"
        aperture_s = self._nplc / self.mainframe_hz
        begin = self.truth.now()
        self.sleep(aperture_s)
        end, at = self.truth.now(), np.array([begin], np.int64)
        # While the board is stopped, virtual time does not advance.
        true = mean_current(self.truth, at, end - begin) if end > begin else self.truth.current(at)
        if self.auto:
            self.range = next((r for r in self.ranges if true[0] <= r * self.over_range), self.ranges[-1])
        return f"{self.as_read(true, self.errors.current(true, aperture_s, np.zeros(1), self.rng))[0]:.6E}"

    def _measure_voltage(self, _argument: str) -> str:
        self._function = "VOLT:DC"
        self.sleep(self._nplc / self.mainframe_hz)
        return f"{self.errors.voltage(self.truth.volt(), 1, self._nplc / self.mainframe_hz, self.rng)[0]:.6E}"

    # source

    def _set_source(self, argument: str) -> None:
        if argument.upper() not in ("VOLT", "VOLTAGE"):
            raise ScpiError(-224)

    def _set_level(self, argument: str) -> None:
        if abs(number(argument, 0, 20) - self.truth.volt()) > 0.05 * self.truth.volt():
            raise ScpiError(-222)  # the model of the board has one fixed voltage

    def _set_limit(self, argument: str) -> None:
        self._limit = number(argument, 1e-9, 1.05)

    def delivered(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.minimum(wanted, self._limit), np.where(wanted > self._limit, LIMITED, 0)

    def _tripped(self, _argument: str) -> str:
        return str(int(self.truth.current(np.array([self.truth.now()]))[0] > self._limit))

    def _set_output(self, argument: str) -> None:
        self._output = switch(argument)


def ignore(_checked: object) -> None:
    """Do nothing: the setting has no effect in the model."""
