"""A SCPI source meter: a subset of the Keithley 2450's commands, which feeds the board and measures its supply.

Sources: Keithley 2450 Reference Manual (2450-901-01), SCPI command reference; IEEE 488.2 for the common commands. Its errors
(gain and offset drawn once per instrument, noise per reading) come from the seed and shrink with the aperture.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from hil.standins.virtual.chip.clock import PS_PER_S
from hil.standins.virtual.meter.scpi import ERRORS, ScpiError, number, pattern, words
from hil.standins.virtual.meter.supply import Supply
from hil.standins.virtual.meter.trigger_model import INFINITE, Block, Buffer, Reading, TriggerModel

LINE_HZ = 50.0
RANGES_A = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
OVERFLOW = 9.9e37  # what an instrument of this family returns for a reading beyond its range
_GAIN_LIMIT, _OFFSET_LIMIT = 0.00025, 6e-6  # of the 100 mA range: accuracy, one year
_NOISE_A = 2e-6  # at one power line cycle
_VOLTAGE_NOISE_V = 50e-6
_QUEUE = 32


class SourceMeter:
    """One instrument; `execute` takes one line. Not thread-safe.

    Args:
        supply: what it measures.
        seed: of its errors and noise.
        sleep: waits the aperture, in seconds.
    """

    def __init__(self, supply: Supply, seed: int, sleep: Callable[[float], None] = time.sleep) -> None:
        self._supply = supply
        self._sleep = sleep
        self._rng = np.random.default_rng(seed)
        self._serial = f"{seed:08d}"
        self._gain = float(self._rng.uniform(-1, 1)) * _GAIN_LIMIT
        self._offset = float(self._rng.uniform(-1, 1)) * _OFFSET_LIMIT
        self._errors: deque[int] = deque()
        self._model = TriggerModel(self._aperture_reading)
        self._preset()
        # Headers with their optional parts in brackets; capitals are the short form (IEEE 488.2, SCPI-99 volume 1).
        self._commands: list[tuple[re.Pattern[str], Callable[[str], str | None]]] = [
            (pattern(header), action) for header, action in (
                ("*IDN?", lambda _: f"trainrig,virtual MODEL 2450,{self._serial},1"),
                ("*RST", self._reset), ("*CLS", self._clear), ("*OPC?", lambda _: "1"), ("*OPC", lambda _: None),
                ("*STB?", lambda _: str(4 if self._errors else 0)),
                (":SYSTem:ERRor[:NEXT]?", self._next_error), (":SYSTem:CLEar", self._clear),
                (":SYSTem:ERRor:COUNt?", lambda _: str(len(self._errors))),
                ("[:SENSe]:FUNCtion[:ON]", self._set_function), ("[:SENSe]:FUNCtion[:ON]?", lambda _: f'"{self._function}"'),
                ("[:SENSe]:CURRent[:DC]:RANGe[:UPPer]", self._set_range),
                ("[:SENSe]:CURRent[:DC]:RANGe[:UPPer]?", lambda _: f"{self._range:.6E}"),
                ("[:SENSe]:CURRent[:DC]:RANGe:AUTO", self._set_auto),
                ("[:SENSe]:CURRent[:DC]:RANGe:AUTO?", lambda _: str(int(self._auto))),
                ("[:SENSe]:CURRent[:DC]:NPLCycles", self._set_nplc),
                ("[:SENSe]:CURRent[:DC]:NPLCycles?", lambda _: f"{self._nplc:.6E}"),
                (":MEASure:CURRent[:DC]?", self._measure_current), (":MEASure:VOLTage[:DC]?", self._measure_voltage),
                (":READ?", self._read),
                (":SOURce:FUNCtion[:MODE]", self._set_source), (":SOURce:VOLTage[:LEVel][:IMMediate][:AMPLitude]", self._set_level),
                (":SOURce:VOLTage:ILIMit[:LEVel]", lambda a: self._ignore(number(a, 1e-9, 1.05))),
                (":SOURce:VOLTage:READ:BACK", lambda a: self._ignore(_switch(a))), (":OUTPut[:STATe]", self._set_output),
                (":OUTPut[:STATe]?", lambda _: str(int(self._output))),
                (":DIGital:LINE1:MODE", self._set_line), (":TRIGger:DIGital1:IN:EDGE", self._set_edge),
                (":TRACe:MAKE", self._make_buffer), (":TRACe:CLEar", lambda a: self._buffer(a).readings.clear()),
                (":TRACe:ACTual?", lambda a: str(len(self._buffer(a).readings))), (":TRACe:DATA?", self._data),
                (":TRIGger:LOAD", lambda _: self._model.load()), (":TRIGger:BLOCk:MEASure", self._measure_block),
                (":TRIGger:BLOCk:WAIT", self._wait_block), (":TRIGger:BLOCk:DELay:CONStant", self._delay_block),
                (":INITiate[:IMMediate]", self._initiate), (":ABORt", lambda _: self._model.abort()), (":TRIGger:STATe?", self._state),
            )
        ]  # fmt: skip

    def edge(self, time_ps: int, line: int) -> None:
        """The level of a digital line changed at a virtual time; from any thread."""
        self._model.edges.append((time_ps, line))

    def execute(self, line: str) -> str | None:
        """Carry out the commands of one line (separated by `;`); return their answers joined by `;`, or None."""
        answers = []
        for command in line.split(";"):
            header, _, argument = command.strip().partition(" ")
            if not header:
                continue
            try:
                answer = self._find(header)(argument.strip())
            except ScpiError as error:
                if len(self._errors) < _QUEUE:
                    self._errors.append(error.code)
                continue
            if answer is not None:
                answers.append(answer)
        return ";".join(answers) if answers else None

    def _find(self, header: str) -> Callable[[str], str | None]:
        path = header if header[0] in ":*" else f":{header}"
        for spelling, action in self._commands:
            if spelling.fullmatch(path):
                return action
        raise ScpiError(-113)

    # state

    def _preset(self) -> None:
        self._function = "CURR:DC"
        self._range = 0.1
        self._auto = True
        self._nplc = 1.0
        self._output = self._line_is_trigger = self._both_edges = False
        self._model.load()
        self._model.buffers = {"defbuffer1": Buffer(100_000)}

    def _reset(self, _argument: str) -> None:
        self._preset()

    def _clear(self, _argument: str) -> None:
        self._errors.clear()

    def _next_error(self, _argument: str) -> str:
        code = self._errors.popleft() if self._errors else 0
        return f'{code},"{ERRORS.get(code, "No error")}"'

    def _set_function(self, argument: str) -> None:
        name = argument.strip("\"'").upper()
        if re.fullmatch(r"CURR(ENT)?(:DC)?", name):
            self._function = "CURR:DC"
        elif re.fullmatch(r"VOLT(AGE)?(:DC)?", name):
            self._function = "VOLT:DC"
        else:
            raise ScpiError(-109 if not name else -104)

    def _set_range(self, argument: str) -> None:
        wanted = number(argument, 0, RANGES_A[-1] * 1.05)
        self._range = next(r for r in RANGES_A if wanted <= r * 1.05)
        self._auto = False

    def _set_auto(self, argument: str) -> None:
        self._auto = _switch(argument)

    def _set_nplc(self, argument: str) -> None:
        self._nplc = number(argument, 0.01, 10)

    # readings

    def _read(self, argument: str) -> str:
        return self._measure_voltage(argument) if self._function == "VOLT:DC" else self._measure_current(argument)

    def _measure_current(self, _argument: str) -> str:
        self._function = "CURR:DC"
        before = self._supply.observe()
        self._sleep(self._nplc / LINE_HZ)
        seen = self._supply.observe()
        true = self._supply.present(seen)
        if seen.now > before.now and not seen.stopped:
            true = self._supply.mean(seen, before.now, seen.now)
        if self._auto:
            self._range = next((r for r in RANGES_A if true <= r * 1.05), RANGES_A[-1])
        return f"{self._as_read(true):.6E}"

    def _as_read(self, true: float) -> float:
        """Return what the instrument shows of a true current: gain, offset and noise of its range, or overflow."""
        if true > self._range * 1.05:
            return OVERFLOW
        noise = float(self._rng.normal(0, _NOISE_A)) / np.sqrt(self._nplc)
        return true * (1 + self._gain) + (self._offset + noise) * self._range / 0.1

    def _measure_voltage(self, _argument: str) -> str:
        self._function = "VOLT:DC"
        self._sleep(self._nplc / LINE_HZ)
        return f"{self._supply.currents.volt + float(self._rng.normal(0, _VOLTAGE_NOISE_V)):.6E}"

    # buffered readings, timed by the trigger model

    def _aperture_reading(self, begin: int, aperture: int) -> Reading:
        true = self._supply.mean(self._seen, begin, begin + aperture)
        volt = self._supply.currents.volt + float(self._rng.normal(0, _VOLTAGE_NOISE_V))
        return Reading(begin, self._as_read(true), volt)

    def _advance(self) -> None:
        self._seen = self._supply.observe()
        self._model.advance(self._seen.now)

    def _initiate(self, _argument: str) -> None:
        if not self._output or self._auto:
            raise ScpiError(-224)  # a model that cannot be started as it stands
        self._seen = self._supply.observe()
        self._model.initiate(self._seen.now, int(self._nplc / LINE_HZ * PS_PER_S))

    def _state(self, _argument: str) -> str:
        self._advance()
        state = "RUNNING" if self._model.running else "IDLE"
        return f"{state};{state};{len(self._model.blocks)}"

    def _make_buffer(self, argument: str) -> None:
        name, size = _two(argument)
        self._model.buffers[name] = Buffer(int(number(size, 10, 1e6)))

    def _buffer(self, name: str) -> Buffer:
        self._advance()
        found = self._model.buffers.get(words(name)[0] if name else "")
        if found is None:
            raise ScpiError(-224)
        return found

    def _data(self, argument: str) -> str:
        first, last, name, *elements = [*words(argument), "", ""][: max(len(words(argument)), 3)]
        readings = list(self._buffer(name).readings)
        low, high = int(number(first, 1, len(readings))), int(number(last, 1, len(readings)))
        columns = [_ELEMENTS.get(element.upper()[:4]) for element in elements]
        if None in columns or low > high:
            raise ScpiError(-224)
        return ",".join(column(reading) for reading in readings[low - 1 : high] for column in columns if column)

    def _add_block(self, place: str, block: Block) -> None:
        self._model.blocks[int(number(place, 1, 63))] = block

    def _measure_block(self, argument: str) -> None:
        place, name, count = (*words(argument), "1")[:3]
        self._buffer(name)
        n = INFINITE if count.upper() == "INF" else int(number(count, 0, 1e6))
        self._add_block(place, Block("measure", buffer=name, count=n))

    def _wait_block(self, argument: str) -> None:
        place, event = _two(argument)
        if event.upper() not in ("DIG1", "DIGIO1") or not self._line_is_trigger or not self._both_edges:
            raise ScpiError(-224)  # this subset waits for both edges of line 1
        self._add_block(place, Block("wait", line=1))

    def _delay_block(self, argument: str) -> None:
        place, seconds = _two(argument)
        self._add_block(place, Block("delay", delay=int(number(seconds, 167e-9, 10_000) * PS_PER_S)))

    # source and digital lines

    def _set_source(self, argument: str) -> None:
        if argument.upper() not in ("VOLT", "VOLTAGE"):
            raise ScpiError(-224)

    def _set_level(self, argument: str) -> None:
        if abs(number(argument, 0, 20) - self._supply.currents.volt) > 0.05 * self._supply.currents.volt:
            raise ScpiError(-222)  # the model of the board knows its own voltage only

    def _set_output(self, argument: str) -> None:
        self._output = _switch(argument)

    def _set_line(self, argument: str) -> None:
        if [word.upper()[:4] for word in words(argument)] != ["TRIG", "IN"]:
            raise ScpiError(-224)
        self._line_is_trigger = True

    def _set_edge(self, argument: str) -> None:
        if argument.upper() not in ("EITH", "EITHER"):
            raise ScpiError(-224)
        self._both_edges = True

    def _ignore(self, _checked: object) -> None:
        """The model of the board does not depend on it."""


_ELEMENTS: dict[str, Callable[[Reading], str]] = {
    "READ": lambda reading: f"{reading.current:.9E}",
    "SOUR": lambda reading: f"{reading.voltage:.9E}",
    "SEC": lambda reading: str(reading.time // PS_PER_S),
    "FRAC": lambda reading: f"{reading.time % PS_PER_S / PS_PER_S:.9f}",
}


def _two(argument: str) -> tuple[str, str]:
    found = words(argument)
    if len(found) != 2:
        raise ScpiError(-109)
    return found[0], found[1]


def _switch(argument: str) -> bool:
    if argument.upper() not in ("0", "1", "ON", "OFF"):
        raise ScpiError(-104 if argument else -109)
    return argument.upper() in ("1", "ON")
