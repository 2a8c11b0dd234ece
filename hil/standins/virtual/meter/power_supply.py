"""A SCPI power supply with one output, which feeds the virtual board: the commands that a rig needs to switch it.

Sources: SCPI-99, volume 2 (OUTPut, SOURce:VOLTage, SOURce:CURRent, INSTrument:NSELect, SYSTem:ERRor). It does not model
a product.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable

from hil.standins.virtual.meter.scpi import ERRORS, ScpiError, number, pattern

_QUEUE = 20
_TOLERANCE = 0.1  # relative to the board's voltage
_LIMIT_A = 3.0


class PowerSupply:
    """One power supply; its output is on when the virtual board starts. Not thread-safe.

    Args:
        volt: supply voltage of the board [V].
        switch: switches the board on and off.
    """

    def __init__(self, volt: float, switch: Callable[[bool], None]) -> None:
        self._volt, self._switch = volt, switch
        self._on = True
        self._level, self._limit = volt, 0.5
        self._errors: deque[int] = deque(maxlen=_QUEUE)
        self._commands: list[tuple[re.Pattern[str], Callable[[str], str | None]]] = [
            (pattern(header), action) for header, action in (
                ("*IDN?", lambda _: "trainrig,virtual supply,1,1"), ("*CLS", lambda _: self._errors.clear()),
                (":SYSTem:ERRor[:NEXT]?", self._next_error),
                (":INSTrument:NSELect", lambda a: self._ignore(number(a, 1, 1))),
                (":INSTrument:NSELect?", lambda _: "1"),
                ("[:SOURce]:VOLTage[:LEVel][:IMMediate][:AMPLitude]", self._set_level),
                ("[:SOURce]:VOLTage[:LEVel][:IMMediate][:AMPLitude]?", lambda _: f"{self._level:.4f}"),
                ("[:SOURce]:CURRent[:LEVel][:IMMediate][:AMPLitude]", self._set_limit),
                ("[:SOURce]:CURRent[:LEVel][:IMMediate][:AMPLitude]?", lambda _: f"{self._limit:.4f}"),
                (":OUTPut[:STATe]", self._set_output), (":OUTPut[:STATe]?", lambda _: str(int(self._on))),
            )
        ]  # fmt: skip

    def execute(self, line: str) -> str | None:
        """Execute one command; return its answer, or None."""
        header, _, argument = line.strip().partition(" ")
        path = header if header[:1] in ("*", ":") else f":{header}"
        try:
            for spelling, action in self._commands:
                if spelling.fullmatch(path):
                    return action(argument.strip())
            raise ScpiError(-113)
        except ScpiError as error:
            self._errors.append(error.code)
            return None

    def _next_error(self, _argument: str) -> str:
        code = self._errors.popleft() if self._errors else 0
        return f'{code},"{ERRORS.get(code, "No error")}"'

    def _set_level(self, argument: str) -> None:
        """Set the voltage; refuse values that would damage the board."""
        self._level = number(argument, (1 - _TOLERANCE) * self._volt, (1 + _TOLERANCE) * self._volt)

    def _set_limit(self, argument: str) -> None:
        self._limit = number(argument, 0.001, _LIMIT_A)

    def _set_output(self, argument: str) -> None:
        if argument.upper() not in ("0", "1", "OFF", "ON"):
            raise ScpiError(-104 if argument else -109)
        self._on = argument.upper() in ("1", "ON")
        self._switch(self._on)

    def _ignore(self, _checked: object) -> None:
        """Do nothing: there is one output."""
