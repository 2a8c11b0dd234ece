"""A virtual Keithley DMM6500 or DMM7510: the commands that digitize a current into buffers.

Sources: DMM7510 Reference Manual (DMM7510-901-01 Rev. B), 6-13, 6-158, 8-83; 2461 Reference Manual (2461-901-01 A),
6-53, 6-71; DMM6500 data sheet, page 13: 20 % over range.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import FlawLimits, Flaws
from hil.standins.virtual.meter.keithley import KeithleyInstrument
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiError, ScpiSetting, choice, number, whole
from hil.standins.virtual.meter.scpi_instrument import Answer
from hil.standins.virtual.meter.truth import Truth, VirtualTime

# From the data sheets in hil/meters/data_sheets, 10 mA range; those of larger ranges include them. Assumed, as there.
LIMITS = FlawLimits(gain=0.001, offset_a=10e-6, voltage_gain=0.0, voltage_offset_v=0.0, timebase=100e-6, noise_a=5e-9)
SRATE = 100_000  # after *RST
US = PS_PER_S // 10**6


class VirtualKeithleyDmm(KeithleyInstrument):
    """A DMM6500 or DMM7510 with the marker at the external trigger input.

    Args: see KeithleyInstrument; `model` is the model in the answer to *IDN?.
    """

    over_range = 1.2

    def __init__(
        self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualTime | None = None,
        model: str = "DMM6500",
    ) -> None:  # fmt: skip
        self.range = RangeSetting((1e-4, 1e-3, 1e-2, 1e-1, 1.0, 3.0), self.over_range)
        self._function = ScpiSetting("", choice({"CURRent": "CURR"}))
        self._rate = ScpiSetting(SRATE, whole(1_000, 1_000_000))
        commands: dict[str, Callable[[str], Answer]] = {
            "[:SENSe]:DIGitize:FUNCtion[:ON]": self._function, "[:SENSe]:DIGitize:CURRent:RANGe[:UPPer]": self.range,
            "[:SENSe]:DIGitize:CURRent:RANGe[:UPPer]?": self.range.answer(".6E"),
            "[:SENSe]:DIGitize:CURRent:SRATe": self._set_rate,
            "[:SENSe]:DIGitize:CURRent:SRATe?": self._rate.answer("d"),
            "[:SENSe]:DIGitize:CURRent:APERture": self._set_aperture,
        }  # fmt: skip
        super().__init__(
            f"trainrig,virtual MODEL {model},{rng.integers(10**8):08d},1", truth, errors, rng, time, commands
        )

    def preset(self) -> None:
        """Set every setting to its value after *RST."""
        super().preset()
        self.range.auto.value = False  # a digitizer has no automatic range
        self._aperture_us = 0

    def timing(self) -> tuple[int, int]:
        if self._function.value != "CURR":
            raise ScpiError(-224)
        period = PS_PER_S // self._rate.value
        return (self._aperture_us * US or period), period

    def _set_rate(self, argument: str) -> None:
        self._rate(argument)
        self._aperture_us = min(self._aperture_us, 1_000_000 // self._rate.value)

    def _set_aperture(self, argument: str) -> None:
        seconds = 0.0 if argument.upper() == "AUTO" else number(argument, 1e-6, 1 / self._rate.value)
        self._aperture_us = round(seconds * 1e6)
