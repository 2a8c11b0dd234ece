"""A virtual Keysight N6705C with an N678x module at output 1: external data log of the last 20 s, and digital port.

Sources: Keysight N6700C Operating and Service Guide, External Data Logging; N6900/N7900 Operating and Service Guide,
page 161 (order of a record).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.errors import Errors, Limits
from hil.standins.virtual.meter.scpi import ScpiError, number
from hil.standins.virtual.meter.scpi_instrument import Answer, ScpiInstrument, block, switch
from hil.standins.virtual.meter.timebase import Timebase
from hil.standins.virtual.meter.truth import Truth, VirtualTime, mean_current

# From the data sheet in hil/meters/data_sheets, 1 mA range; those of the larger ranges include them.
LIMITS = Limits(
    gain=0.0003,
    offset_a=100e-9,
    voltage_gain=0.00025,
    voltage_offset_v=1.8e-3,
    timebase=100e-6,
    noise_a=3.1e-9,
    noise_v=11e-6,
)
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

    def __init__(self, truth: Truth, errors: Errors, rng: np.random.Generator, time: VirtualTime | None = None) -> None:
        self._truth, self._drawn, self._rng = truth, errors, rng
        self._clock = Timebase(errors.timebase)
        self.lost_share = self.late_s = 0.0
        commands: dict[str, Callable[[str], Answer]] = {
            "[:SOURce]:VOLTage[:LEVel][:IMMediate][:AMPLitude]": self._set_level,
            "[:SOURce]:CURRent:LIMit[:POSitive]": self._set_limit,
            ":OUTPut[:STATe]": self._set_output, ":OUTPut[:STATe]?": lambda _: str(int(self._output)),
            ":FORMat[:DATA]": self._set_format,
            ":FORMat:BORDer": self._set_order, ":SENSe:SWEep:TINTerval:RESolution": self._set_resolution,
            ":SENSe:ELOG:PERiod": self._set_period,
            ":SENSe:ELOG:PERiod?": lambda _: f"{self._period() / PS_PER_S:.6E}",
            ":SENSe:ELOG:CURRent:RANGe[:UPPer]": self._set_range,
            ":SENSe:ELOG:CURRent:RANGe[:UPPer]?": lambda _: f"{self._range:.6E}",
            ":SENSe:ELOG:CURRent:RANGe:AUTO": self._set_auto,
            ":SENSe:ELOG:CURRent:RANGe:AUTO?": lambda _: str(int(self._auto)), ":TRIGger:ELOG:SOURce": self._set_source,
            ":TRIGger:ELOG[:IMMediate]": self._trigger, ":INITiate[:IMMediate]:ELOG": self._initiate,
            ":ABORt:ELOG": self._abort,
            ":FETCh:ELOG?": self._fetch, "[:SOURce]:DIGital:PIN1:FUNCtion": self._set_pin,
            "[:SOURce]:DIGital:PIN1:POLarity": self._set_polarity,
            "[:SOURce]:DIGital:INPut:DATA?": self._levels, ":STATus:PRESet": lambda _: None,
            ":STATus:OPERation[:EVENt]?": lambda _: "0", ":STATus:OPERation:CONDition?": lambda _: "0",
            ":STATus:QUEStionable[:EVENt]?": self._event,
            ":STATus:QUEStionable:CONDition?": lambda _: str(self._condition()),
        }  # fmt: skip
        for name in ("CURRent", "VOLTage"):
            for what in ("", ":MINMax"):
                commands[f":SENSe:ELOG:FUNCtion:{name}{what}"] = partial(self._log_too, name[:4] + what)
        super().__init__(f"trainrig,virtual N6705C,{rng.integers(10**8):08d},1", commands)
        self.preset()

    def preset(self) -> None:
        """Set every setting to its value after *RST, and switch the output off."""
        self._output, self._real, self._order = False, False, ">"
        self._steps, self._range, self._auto = LEAST_STEPS * 2, RANGES_A[-1], True
        self._logged = {"CURR": False, "VOLT": False, "CURR:MINMax": False, "VOLT:MINMax": False}
        self._inverted = False
        self._limit, self._reached = RANGES_A[-1], 0
        self._abort("")

    # settings

    def _set_level(self, argument: str) -> None:
        if abs(number(_value(argument), 0, 20) - self._truth.volt()) > 0.05 * self._truth.volt():
            raise ScpiError(-222)  # the model of the board has one fixed voltage

    def _set_limit(self, argument: str) -> None:
        self._limit = number(_value(argument), 0, 3)

    def _condition(self) -> int:
        return LIMIT_REACHED if self._truth.current(np.array([self._truth.now()]))[0] > self._limit else 0

    def _event(self, _argument: str) -> str:
        event, self._reached = self._reached | self._condition(), 0
        return str(event)

    def _set_output(self, argument: str) -> None:
        self._output = switch(_value(argument))

    def _set_format(self, argument: str) -> None:
        self._real = _one_of(argument, "ASC", "REAL") == "REAL"

    def _set_order(self, argument: str) -> None:
        self._order = ">" if _one_of(argument, "NORM", "SWAP") == "NORM" else "<"

    def _set_resolution(self, argument: str) -> None:
        _one_of(argument, "RES20")

    def _set_period(self, argument: str) -> None:
        self._steps = round(number(_value(argument), 0, 60) * PS_PER_S / STEP_PS)

    def _parameters(self) -> int:
        return sum(
            3 if key in ("CURR", "VOLT") and self._logged[key + ":MINMax"] else 1
            for key in ("CURR", "VOLT")
            if self._logged[key]
        )

    def _period(self) -> int:
        return max(self._steps, LEAST_STEPS * max(self._parameters(), 1)) * STEP_PS

    def _set_range(self, argument: str) -> None:
        wanted = number(_value(argument), 0, RANGES_A[-1])
        self._range, self._auto = next(r for r in RANGES_A if wanted <= r), False

    def _set_auto(self, argument: str) -> None:
        self._auto = switch(_value(argument))

    def _set_source(self, argument: str) -> None:
        _one_of(_value(argument), "BUS")

    def _log_too(self, key: str, argument: str) -> None:
        self._logged[key] = switch(_value(argument))

    def _set_pin(self, argument: str) -> None:
        _one_of(argument, "DIO", "DINP")  # either reads the pin

    def _set_polarity(self, argument: str) -> None:
        self._inverted = _one_of(argument, "POS", "NEG") == "NEG"

    def _levels(self, _argument: str) -> str:
        self._truth.now()
        high = next((level for _, level in reversed(self._truth.edges())), 0)
        return str(int(bool(high) != self._inverted))

    # log

    def _abort(self, _argument: str) -> None:
        self._ready, self._next = False, -1

    def _initiate(self, _argument: str) -> None:
        if not self._output or not (self._logged["CURR"] and self._logged["VOLT"]):
            raise ScpiError(-224)  # the model only logs both
        self._ready = True

    def _trigger(self, _argument: str) -> None:
        if not self._ready:
            raise ScpiError(-224)
        self._next = self._began = self._clock.own(self._truth.now()) + round(self.late_s * PS_PER_S)

    def _fetch(self, argument: str) -> Answer:
        wanted = int(number(_value(argument), 1, 4096))
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
        if self._real:
            return block(np.column_stack(columns), f"{self._order}f4")
        return ",".join(f"{value:.6E}" for row in zip(*columns, strict=True) for value in row)

    def _columns(self, begin: np.ndarray, period: int) -> list[np.ndarray]:
        begins, ends = self._clock.true(begin), self._clock.true(begin + period)
        true = mean_current(self._truth, begins, ends - begins)
        if np.any(true > self._limit):
            self._reached = LIMIT_REACHED
            true = np.minimum(true, self._limit)
        read = self._drawn.current(true, period / PS_PER_S, (begin - self._began) / PS_PER_S, self._rng)
        current = read if self._auto else np.where(np.abs(true) > self._range, OVERLOAD, read)
        voltage = self._drawn.voltage(self._truth.volt(), len(begin), period / PS_PER_S, self._rng)
        return [
            one
            for name, one in (("CURR", current), ("VOLT", voltage))
            for _ in range(3 if self._logged[name + ":MINMax"] else 1)
        ]


def _value(argument: str) -> str:
    """Return a parameter without the output list that follows it.

    Raises:
        ScpiError: the list is missing or is not output 1.
    """
    value, _, outputs = argument.partition("(@")
    if outputs.rstrip(")").strip() != "1":
        raise ScpiError(-222 if outputs else -109)
    return value.rstrip(", ")


def _one_of(argument: str, *known: str) -> str:
    for word in known:
        if argument.upper().startswith(word):
            return word
    raise ScpiError(-224)
