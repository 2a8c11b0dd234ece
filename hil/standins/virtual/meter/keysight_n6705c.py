"""A virtual Keysight N6705C with an N678x module at output 1: external data log of the last 20 s, and digital port.

Sources: Keysight N6700C Operating and Service Guide, External Data Logging; N6900/N7900 Operating and Service Guide,
page 161 (order of a record).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import FlawLimits, Flaws, Timebase
from hil.standins.virtual.meter.polled_scpi import need_volt
from hil.standins.virtual.meter.scpi import RangeSetting, ScpiError, ScpiSetting, between, choice, number, switch
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument, block
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

# From the data sheet in hil/meters/data_sheets, 1 mA range; those of the larger ranges include them.
LIMITS = FlawLimits(
    gain=0.0003, offset_a=100e-9, voltage_gain=0.00025, voltage_offset_v=1.8e-3, timebase=100e-6, noise_a=3.1e-9,
    noise_v=11e-6,
)  # fmt: skip
RANGES_A = (1e-3, 0.1, 3.0)
OVERLOAD = 9.91e37  # "not a number" in SCPI
STEP_PS = 20_480_000
LEAST_STEPS = 5  # for each logged parameter
KEPT_PS = 20 * PS_PER_S
# Questionable status: the output is at its current limit (N6705C Operating and Service Guide, page 350).
LIMIT_REACHED = 1 << 7


class VirtualKeysightN6705C(ScpiInstrument):
    """A Keysight N6705C with the marker at pin 1 of the digital port.

    Args:
        truth, errors, rng: true supply, errors of the instrument, and generator of its noise.
        time: unused, because the model makes no reading on demand.

    Attributes:
        lost_share: share of the records, drawn at random, that are never logged.
        late_s: delay [s] from the trigger to the begin of the log.
    """

    def __init__(self, truth: Truth, errors: Flaws, rng: np.random.Generator, time: VirtualTime | None = None) -> None:
        self._truth, self._drawn, self._rng = truth, errors, rng
        self._clock = Timebase(errors.timebase)
        self.lost_share = self.late_s = 0.0
        self._range, self._limit = RangeSetting(RANGES_A), ScpiSetting(RANGES_A[-1], between(0, RANGES_A[-1]))
        self._output = ScpiSetting(False, switch)
        self._period_s = ScpiSetting(2 * LEAST_STEPS * STEP_PS / PS_PER_S, between(0, 60))
        self._real = ScpiSetting(False, choice({"ASCii": False, "REAL": True}))
        self._order = ScpiSetting(">", choice({"NORMal": ">", "SWAPped": "<"}))
        self._inverted = ScpiSetting(False, choice({"POSitive": False, "NEGative": True}))
        self._means = {name: ScpiSetting(False, switch) for name in ("CURRent", "VOLTage")}
        self._extremes = {name: ScpiSetting(False, switch) for name in self._means}
        self._unused = ScpiSetting("", choice(dict.fromkeys(("RES20", "BUS", "DIO", "DINPut"), "")))
        commands: dict[str, Callable[[str], Answer]] = {
            "[:SOURce]:VOLTage[:LEVel][:IMMediate][:AMPLitude]": self._set_level,
            "[:SOURce]:CURRent:LIMit[:POSitive]": _at_output_1(self._limit),
            ":OUTPut[:STATe]": _at_output_1(self._output), ":OUTPut[:STATe]?": self._output.answer("d"),
            ":FORMat[:DATA]": self._real, ":FORMat:BORDer": self._order,
            ":SENSe:SWEep:TINTerval:RESolution": self._unused,
            ":SENSe:ELOG:PERiod": _at_output_1(self._period_s),
            ":SENSe:ELOG:PERiod?": lambda _: f"{self._period() / PS_PER_S:.6E}",
            ":SENSe:ELOG:CURRent:RANGe[:UPPer]": _at_output_1(self._range),
            ":SENSe:ELOG:CURRent:RANGe[:UPPer]?": self._range.answer(".6E"),
            ":SENSe:ELOG:CURRent:RANGe:AUTO": _at_output_1(self._range.auto),
            ":SENSe:ELOG:CURRent:RANGe:AUTO?": self._range.auto.answer("d"),
            ":TRIGger:ELOG:SOURce": _at_output_1(self._unused),
            ":TRIGger:ELOG[:IMMediate]": self._trigger, ":INITiate[:IMMediate]:ELOG": self._initiate,
            ":ABORt:ELOG": self._abort, ":FETCh:ELOG?": _at_output_1(self._fetch),
            "[:SOURce]:DIGital:PIN1:FUNCtion": self._unused, "[:SOURce]:DIGital:PIN1:POLarity": self._inverted,
            "[:SOURce]:DIGital:INPut:DATA?": self._levels, ":STATus:PRESet": lambda _: None,
            ":STATus:OPERation[:EVENt]?": lambda _: "0", ":STATus:OPERation:CONDition?": lambda _: "0",
            ":STATus:QUEStionable[:EVENt]?": self._event,
            ":STATus:QUEStionable:CONDition?": lambda _: str(self._condition()),
        }  # fmt: skip
        for name, mean in self._means.items():
            commands[f":SENSe:ELOG:FUNCtion:{name}"] = _at_output_1(mean)
            commands[f":SENSe:ELOG:FUNCtion:{name}:MINMax"] = _at_output_1(self._extremes[name])
        super().__init__(f"trainrig,virtual N6705C,{rng.integers(10**8):08d},1", commands)
        self.preset()

    def preset(self) -> None:
        """Set every setting to its value after *RST, and switch the output off."""
        super().preset()
        for one in (*self._means.values(), *self._extremes.values()):
            one.restore()
        self._reached = 0
        self._abort("")

    def _set_level(self, argument: str) -> None:
        need_volt(self._truth, number(_value(argument), 0, 20))

    def _condition(self) -> int:
        return LIMIT_REACHED if self._truth.current(np.array([self._truth.now()]))[0] > self._limit.value else 0

    def _event(self, _argument: str) -> str:
        event, self._reached = self._reached | self._condition(), 0
        return str(event)

    def _columns_of(self, name: str) -> int:
        """Return the number of columns of `CURRent` or `VOLTage` in a record: mean, or mean and extremes."""
        return self._means[name].value * (3 if self._extremes[name].value else 1)

    def _period(self) -> int:
        least = LEAST_STEPS * max(sum(map(self._columns_of, self._means)), 1)
        return max(round(self._period_s.value * PS_PER_S / STEP_PS), least) * STEP_PS

    def _levels(self, _argument: str) -> str:
        self._truth.now()
        high = next((level for _, level in reversed(self._truth.edges())), 0)
        return str(int(bool(high) != self._inverted.value))

    # log

    def _abort(self, _argument: str) -> None:
        self._ready, self._next = False, -1

    def _initiate(self, _argument: str) -> None:
        if not self._output.value or not all(mean.value for mean in self._means.values()):
            raise ScpiError(-224)  # the model only logs both
        self._ready = True

    def _trigger(self, _argument: str) -> None:
        if not self._ready:
            raise ScpiError(-224)
        self._next = self._began = self._clock.own(self._truth.now()) + round(self.late_s * PS_PER_S)

    def _fetch(self, argument: str) -> Answer:
        wanted = int(number(argument, 1, 4096))
        if self._next < 0:
            raise ScpiError(-224)
        period, now = self._period(), self._clock.own(self._truth.now())
        ended = max((now - self._next) // period, 0)
        kept = KEPT_PS // period
        if ended > kept:  # overwritten without any error
            self._next += (ended - kept) * period
        begin = self._next + period * np.arange(min(wanted, ended, kept), dtype=np.int64)
        self._next += len(begin) * period
        if self.lost_share:
            begin = begin[self._rng.random(len(begin)) >= self.lost_share]
        columns = self._columns(begin, period)
        if self._real.value:
            return block(np.column_stack(columns), f"{self._order.value}f4")
        return ",".join(f"{value:.6E}" for row in zip(*columns, strict=True) for value in row)

    def _columns(self, begin: np.ndarray, period: int) -> list[np.ndarray]:
        begins, ends = self._clock.true(begin), self._clock.true(begin + period)
        true = mean_current(self._truth, begins, ends - begins)
        if np.any(true > self._limit.value):
            self._reached = LIMIT_REACHED
            true = np.minimum(true, self._limit.value)
        read = self._drawn.current(true, period / PS_PER_S, (begin - self._began) / PS_PER_S, self._rng)
        current = read if self._range.auto.value else np.where(np.abs(true) > self._range.value, OVERLOAD, read)
        voltage = self._drawn.voltage(self._truth.volt(), len(begin), period / PS_PER_S, self._rng)
        return [current] * self._columns_of("CURRent") + [voltage] * self._columns_of("VOLTage")


def _value(argument: str) -> str:
    """Return a parameter without the output list that follows it.

    Raises:
        ScpiError: the list is missing or is not output 1.
    """
    value, _, outputs = argument.partition("(@")
    if outputs.rstrip(")").strip() != "1":
        raise ScpiError(-222 if outputs else -109)
    return value.rstrip(", ")


def _at_output_1(action: Callable[[str], Answer]) -> Callable[[str], Answer]:
    """Return the action of a command whose parameter an output list follows."""
    return lambda argument: action(_value(argument))
