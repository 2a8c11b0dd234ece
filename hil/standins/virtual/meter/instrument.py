"""A SCPI source meter on a socket: a small subset of the Keithley 2450's commands, which measures the board's supply.

Sources: Keithley 2450 Reference Manual (2450-901-01), SCPI command reference; IEEE 488.2 for the common commands. Its errors
(gain and offset drawn once per instrument, noise per reading) come from the seed and shrink with the aperture.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable

import numpy as np

from hil.standins.virtual.meter.supply import VOLTAGE_V, Supply

LINE_HZ = 50.0
RANGES_A = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
OVERFLOW = 9.9e37  # what an instrument of this family returns for a reading beyond its range
_GAIN_LIMIT, _OFFSET_LIMIT = 0.00025, 6e-6  # of the 100 mA range: accuracy, one year
_NOISE_A = 2e-6  # at one power line cycle
_VOLTAGE_NOISE_V = 50e-6
_ERRORS = {-113: "Undefined header", -222: "Parameter data out of range", -109: "Missing parameter", -104: "Data type error"}
_QUEUE = 32


class ScpiError(Exception):
    """A command was refused; the number goes into the error queue."""

    def __init__(self, code: int) -> None:
        super().__init__(_ERRORS[code])
        self.code = code


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
        self._preset()
        # Headers with their optional parts in brackets; capitals are the short form (IEEE 488.2, SCPI-99 volume 1).
        self._commands: list[tuple[re.Pattern[str], Callable[[str], str | None]]] = [
            (_pattern(header), action) for header, action in (
                ("*IDN?", lambda _: f"trainrig,virtual source meter,{self._serial},1"),
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
            )
        ]  # fmt: skip

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
        for pattern, action in self._commands:
            if pattern.fullmatch(path):
                return action
        raise ScpiError(-113)

    # state

    def _preset(self) -> None:
        self._function = "CURR:DC"
        self._range = 0.1
        self._auto = True
        self._nplc = 1.0

    def _reset(self, _argument: str) -> None:
        self._preset()

    def _clear(self, _argument: str) -> None:
        self._errors.clear()

    def _next_error(self, _argument: str) -> str:
        code = self._errors.popleft() if self._errors else 0
        return f'{code},"{_ERRORS.get(code, "No error")}"'

    def _set_function(self, argument: str) -> None:
        name = argument.strip("\"'").upper()
        if re.fullmatch(r"CURR(ENT)?(:DC)?", name):
            self._function = "CURR:DC"
        elif re.fullmatch(r"VOLT(AGE)?(:DC)?", name):
            self._function = "VOLT:DC"
        else:
            raise ScpiError(-109 if not name else -104)

    def _set_range(self, argument: str) -> None:
        wanted = _number(argument)
        if not 0 <= abs(wanted) <= RANGES_A[-1] * 1.05:
            raise ScpiError(-222)
        self._range = next((r for r in RANGES_A if abs(wanted) <= r * 1.05), RANGES_A[-1])
        self._auto = False

    def _set_auto(self, argument: str) -> None:
        if argument.upper() not in ("0", "1", "ON", "OFF"):
            raise ScpiError(-104 if argument else -109)
        self._auto = argument.upper() in ("1", "ON")

    def _set_nplc(self, argument: str) -> None:
        nplc = _number(argument)
        if not 0.01 <= nplc <= 10:
            raise ScpiError(-222)
        self._nplc = nplc

    # readings

    def _read(self, argument: str) -> str:
        return self._measure_voltage(argument) if self._function == "VOLT:DC" else self._measure_current(argument)

    def _measure_current(self, _argument: str) -> str:
        self._function = "CURR:DC"
        before = self._supply.observe()
        self._sleep(self._nplc / LINE_HZ)
        true = self._supply.mean_current(before, self._supply.observe())
        if self._auto:
            self._range = next(r for r in RANGES_A if true <= r * 1.05)
        if true > self._range * 1.05:
            return f"{OVERFLOW:.6E}"
        noise = float(self._rng.normal(0, _NOISE_A)) / np.sqrt(self._nplc)
        scale = self._range / 0.1
        return f"{true * (1 + self._gain) + (self._offset + noise) * scale:.6E}"

    def _measure_voltage(self, _argument: str) -> str:
        self._function = "VOLT:DC"
        self._sleep(self._nplc / LINE_HZ)
        return f"{VOLTAGE_V + float(self._rng.normal(0, _VOLTAGE_NOISE_V)):.6E}"


def _number(argument: str) -> float:
    if not argument:
        raise ScpiError(-109)
    try:
        return float(argument)
    except ValueError as error:
        raise ScpiError(-104) from error


def _pattern(header: str) -> re.Pattern[str]:
    """Turn a header as manuals print it into a pattern of all its spellings."""

    def token(match: re.Match[str]) -> str:
        text = match[0]
        if text in "[]":
            return "(?:" if text == "[" else ")?"
        short = text.rstrip("abcdefghijklmnopqrstuvwxyz")
        return f"{re.escape(short)}(?:{text[len(short):]})?" if short != text else re.escape(text)

    return re.compile(re.sub(r"[A-Z]+[a-z]*|.", token, header), re.IGNORECASE)
