"""A virtual Keithley 2450: the commands to feed a board and to measure its supply.

Sources: 2450 Reference Manual (2450-901-01 Rev. B), section 6. Two values are assumed, of the order of the real
instrument: the time of a reading in addition to its aperture (`DEAD_PS`), and three apertures for a reading with
automatic zero.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from hil.standins.virtual.meter.keithley import KeithleyInstrument
from hil.standins.virtual.meter.polled_scpi import need_volt
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiError, ScpiSetting, between, choice, number, switch
from hil.standins.virtual.meter.scpi_instrument import Answer
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

DEAD_PS = PS_PER_S // 4000
LIMITED = 1 << 5  # source status: the current is at its limit (2450-901-01 Rev. B, 8-29)
# The 10 mA range, one year (SPEC-2450 Rev. A, page 2): its offset is within that of every larger range. Voltage: 20 V
# range.
LIMITS = FlawLimits(
    gain=0.0002, offset_a=600e-9, voltage_gain=0.00015, voltage_offset_v=1e-3, timebase=50e-6, noise_a=40e-9,
    noise_v=10e-6,
)  # fmt: skip


class VirtualKeithley2450(KeithleyInstrument):
    """A Keithley 2450 with the marker at digital line 1. Args: see KeithleyInstrument."""

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualTime | None = None) -> None:
        self.range = RangeSetting((1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0), self.over_range)
        self._function = ScpiSetting("CURR:DC", choice({"CURRent[:DC]": "CURR:DC", "VOLTage[:DC]": "VOLT:DC"}, -104))
        self._nplc, self._autozero = ScpiSetting(1.0, between(0.01, 10)), ScpiSetting(True, switch)
        self._relative, self._relative_a = ScpiSetting(False, switch), ScpiSetting(0.0, between(-1, 1))
        self._output, self._limit = ScpiSetting(False, switch), ScpiSetting(1e-4, between(1e-9, 1.05))
        commands: dict[str, Callable[[str], Answer]] = {
            "[:SENSe]:FUNCtion[:ON]": self._function, "[:SENSe]:FUNCtion[:ON]?": lambda _: f'"{self._function.value}"',
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]": self.range,
            "[:SENSe]:CURRent[:DC]:RANGe[:UPPer]?": self.range.answer(".6E"),
            "[:SENSe]:CURRent[:DC]:RANGe:AUTO": self.range.auto,
            "[:SENSe]:CURRent[:DC]:RANGe:AUTO?": self.range.auto.answer("d"),
            "[:SENSe]:CURRent[:DC]:NPLCycles": self._nplc,
            "[:SENSe]:CURRent[:DC]:NPLCycles?": self._nplc.answer(".6E"),
            "[:SENSe]:CURRent[:DC]:AZERo[:STATe]": self._autozero, "[:SENSe]:AZERo:ONCE": lambda _: None,
            "[:SENSe]:CURRent[:DC]:RELative": self._relative_a, "[:SENSe]:CURRent[:DC]:RELative:STATe": self._relative,
            ":MEASure:CURRent[:DC]?": lambda _: self._measure("CURR:DC"),
            ":MEASure:VOLTage[:DC]?": lambda _: self._measure("VOLT:DC"),
            ":READ?": lambda _: self._measure(self._function.value),
            ":SOURce:FUNCtion[:MODE]": ScpiSetting("VOLT", choice({"VOLTage": "VOLT"})),
            ":SOURce:VOLTage[:LEVel][:IMMediate][:AMPLitude]": lambda a: need_volt(truth, number(a, 0, 20)),
            ":SOURce:VOLTage:ILIMit[:LEVel]": self._limit, ":SOURce:VOLTage:ILIMit[:LEVel]:TRIPped?": self._tripped,
            ":SOURce:VOLTage:READ:BACK": ScpiSetting(False, switch),
            ":OUTPut[:STATe]": self._output, ":OUTPut[:STATe]?": self._output.answer("d"),
            ":TRIGger:BLOCk:MEASure": self._reading_block,
        }  # fmt: skip
        super().__init__(f"trainrig,virtual MODEL 2450,{rng.integers(10**8):08d},1", truth, errors, rng, time, commands)

    def timing(self) -> tuple[int, int]:
        if not self._output.value:
            raise ScpiError(-224)
        aperture = int(self._nplc.value / self.mainframe_hz * PS_PER_S)
        return aperture, aperture * (3 if self._autozero.value else 1) + DEAD_PS

    def as_read(self, true: np.ndarray, read: np.ndarray) -> np.ndarray:
        return super().as_read(true, read - self._relative_a.value * self._relative.value)

    def _measure(self, function: str) -> str:
        """Return a reading on demand; its function stays set."""
        self._function.value = function
        aperture_s = self._nplc.value / self.mainframe_hz
        begin = self.truth.now()
        self.sleep(aperture_s)
        if function == "VOLT:DC":
            return f"{self.errors.voltage(self.truth.volt(), 1, aperture_s, self.rng)[0]:.6E}"
        end, at = self.truth.now(), np.array([begin], np.int64)
        # While the board is stopped, virtual time does not advance.
        true = mean_current(self.truth, at, end - begin) if end > begin else self.truth.current(at)
        if self.range.auto.value:
            self.range.follow(true[0], self.over_range)
        return f"{self.as_read(true, self.errors.current(true, aperture_s, np.zeros(1), self.rng))[0]:.6E}"

    def delivered(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        limit = self._limit.value
        return np.minimum(wanted, limit), np.where(wanted > limit, LIMITED, 0)

    def _tripped(self, _argument: str) -> str:
        return str(int(self.truth.current(np.array([self.truth.now()]))[0] > self._limit.value))
