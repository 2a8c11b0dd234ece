"""The analogue side of an instrument: what it makes of the current that flows, with errors that it drew once within
its data sheet."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hil.energy.data_sheet import CurrentRange, DataSheet

from .trace import Trace

OVERFLOW = 9.9e37  # SCPI-1999, volume 1, 7.2.1.4


@dataclass
class Errors:
    """What is wrong with one instrument, and with what feeds the board.

    Attributes:
        offset, drift, gain, burden: shares of the data sheet's limits, -1 to 1 (the burden 0 to 1).
        volt_gain, volt_offset: likewise.
        clock: relative error of its clock.
        source_ohm: of the supply, ahead of where the voltage is read.
        over: share of a range beyond which it cuts a current off.
    """

    offset: float = 0.0
    drift: float = 0.0
    gain: float = 0.0
    burden: float = 0.0
    volt_gain: float = 0.0
    volt_offset: float = 0.0
    clock: float = 0.0
    source_ohm: float = 0.0
    over: float = 1.05


def drawn(sheet: DataSheet, random: np.random.Generator) -> Errors:
    """Return the errors of an instrument that holds its data sheet, uniform within it."""
    share = random.uniform(-1, 1, 5)
    return Errors(
        share[0], share[1], share[2], random.uniform(0, 1), share[3], share[4], sheet.timebase * random.uniform(-1, 1)
    )


@dataclass
class Front:
    """An instrument's input.

    Attributes:
        sheet: what its maker promises.
        errors: what it has.
        volt: of the supply.
        random: of its noise.
        trace: what flows; another one for every window.
    limit_a: where the source holds the current.
    on: whether the output is on.
    """

    sheet: DataSheet
    errors: Errors
    volt: float
    random: np.random.Generator
    trace: Trace = field(default_factory=lambda: Trace(np.array([0.0, 1.0]), np.array([0.02])))
    limit_a: float = np.inf
    on: bool = True
    _let_through: tuple[Trace, float, Trace] | None = None

    def burden_ohm(self, used: CurrentRange) -> float:
        """Return the resistance that the meter puts into the supply."""
        return self.errors.burden * used.burden_v / used.amperes

    def ohm(self, used: CurrentRange) -> float:
        """Return all resistance between the supply's own voltage and the board."""
        return self.errors.source_ohm + self.burden_ohm(used)

    def flowing(self, most_a: float) -> Trace:
        """Return what flows where no more than `most_a` may."""
        if self._let_through is None or self._let_through[0] is not self.trace or self._let_through[1] != most_a:
            self._let_through = self.trace, most_a, self.trace.mapped(lambda amperes: np.minimum(amperes, most_a))
        return self._let_through[2]

    def currents(self, used: CurrentRange, begin_s: np.ndarray, aperture_s: float) -> np.ndarray:
        """Return what readings say: means over their apertures, of what the range and the source's limit let
        through."""
        most = min(self.errors.over * used.amperes, self.limit_a)
        end_s = begin_s + aperture_s
        sigma = used.noise_a / np.sqrt(aperture_s) if aperture_s else used.noise_a
        errors = self.errors
        offset = errors.offset * used.offset_a + errors.drift * used.drift_a_per_s * (begin_s - self.trace.t_s[0])
        mean = self.flowing(most).mean(begin_s, end_s) * self.on
        value = mean * (1 + errors.gain * used.gain) + offset + sigma * self.random.standard_normal(len(begin_s))
        beyond = (mean >= 0.9999 * errors.over * used.amperes) & (self.limit_a > errors.over * used.amperes)
        return np.where(beyond, OVERFLOW, np.round(value / used.resolution_a) * used.resolution_a)

    def voltages(self, used: CurrentRange, begin_s: np.ndarray, aperture_s: float) -> np.ndarray:
        """Return what the voltage readings say: at the instrument's terminals."""
        drop = self.errors.source_ohm * self.flowing(self.limit_a).mean(begin_s, begin_s + aperture_s)
        sheet, errors = self.sheet, self.errors
        sigma = sheet.voltage_noise_v / np.sqrt(aperture_s) if aperture_s else sheet.voltage_noise_v
        value = (self.volt - drop) * (
            1 + errors.volt_gain * sheet.voltage_gain
        ) + errors.volt_offset * sheet.voltage_offset_v
        return value + sigma * self.random.standard_normal(len(begin_s))

    def limited(self, begin_s: np.ndarray, aperture_s: float) -> np.ndarray:
        """Return at the end of which readings the source was at its limit, bool[n]: that it is looked at then is
        unverified."""
        return self.trace.at(begin_s + aperture_s) > self.limit_a
