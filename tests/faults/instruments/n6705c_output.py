"""Output 1 of a Keysight N6705C, its digital port and its status.

N6705C Operating and Service Guide: status groups 350; digital port and STATus:PRESet by name only. `unverified`: see
each place.
"""

from __future__ import annotations

import numpy as np

from .analog import Front
from .faults import Faults
from .scpi import Instrument, Refused, boolean, choice, command, number
from .trace import Script
from .world import World

CV, CC, OFF, MEASURES = 1, 2, 4, 32  # operation status of an output (350)
LIMIT = 128  # questionable status: positive limit (350)


class N6705COutput(Instrument):
    """The output; a subclass logs it."""

    no_error = '+0,"No error"'

    def __init__(self, world: World, front: Front, faults: Faults) -> None:
        super().__init__(world)
        self.front, self.faults = front, faults
        self.script: Script | None = None
        self.started = lambda: None
        self._reset()

    def _reset(self) -> None:
        self.range = self.front.sheet.ranges[-1]
        self.output, self.volt = False, 0.0
        self.front.limit_a = np.inf
        self.armed, self.log_s = False, None
        self.operation = self.questionable = 0  # events
        self.looked_s = self.world.now()
        self.pin, self.inverted = "DIO", False

    @command("*RST")
    def _restart(self) -> None:
        self._reset()

    @command("*CLS")
    def clear(self) -> None:
        super().clear()
        self._check_window()
        self.operation = self.questionable = 0

    @staticmethod
    def _channel(text: str) -> None:
        if text.replace(" ", "") != "(@1)":
            raise Refused(-222 if text.startswith("(@") else -104)

    # output

    @command("[SOURce:]VOLTage[:LEVel][:IMMediate][:AMPLitude]", least=2)
    def _set_volt(self, volt: str, channel: str) -> None:
        self._channel(channel)
        self.volt = self.front.volt = number(volt, 0, 20.4, MINimum=0, MAXimum=20.4)

    @command("[SOURce:]CURRent:LIMit[:POSitive][:IMMediate][:AMPLitude]", least=2)
    @command("[SOURce:]CURRent[:LEVel][:IMMediate][:AMPLitude]", least=2)
    def _set_limit(self, amperes: str, channel: str) -> None:
        self._channel(channel)
        self.fill()
        self.front.limit_a = number(amperes, 0, 3.06, MINimum=0, MAXimum=3.06)

    @command("[SOURce:]CURRent:LIMit[:POSitive][:IMMediate][:AMPLitude]?", least=1)
    def _get_limit(self, channel: str) -> str:
        self._channel(channel)
        return f"{self.front.limit_a:+.6E}"

    @command("OUTPut[:STATe]", least=2)
    def _set_output(self, state: str, channel: str) -> None:
        self._channel(channel)
        self.output = boolean(state)
        self.front.on = self.output

    @command("OUTPut[:STATe]?", least=1)
    def _get_output(self, channel: str) -> str:
        self._channel(channel)
        return str(int(self.output))

    @command("MEASure[:SCALar]:CURRent[:DC]?", "MEASure[:SCALar]:VOLTage[:DC]?", least=1)
    def _measure(self, channel: str) -> str:
        self._channel(channel)
        if self.log_s is not None:
            raise Refused(-221)  # the log has the converter
        now = np.array([self.world.now()])
        return f"{self.front.currents(self.range, now, 0.02)[0]:+.6E}"

    # digital port

    @command("DIGital:PIN<n>:FUNCtion", least=1)
    def _pin_function(self, pin: int, what: str) -> None:
        self.pin = choice(what, "DIO", "DINPut", "TINPut", "TOUTput", "FAULt", "INHibit", "ONCouple", "OFFCouple")

    @command("DIGital:PIN<n>:POLarity", least=1)
    def _polarity(self, pin: int, what: str) -> None:
        self.inverted = choice(what, "POSitive", "NEGative") == "NEGative"

    @command("DIGital:INPut:DATA?")
    def _levels(self) -> str:
        high = self.script is not None and self.script.level(self.world.now())
        return f"{int(high != self.inverted):+d}"

    # status

    def _limited(self, since_s: float, now_s: float) -> bool:
        return self.output and self.front.trace.reaches(self.front.limit_a, since_s, now_s)

    def _check_window(self) -> None:
        """Events latch whatever was meanwhile: the filters let every rise through, which is how they are after *RST:
        unverified."""
        now = self.world.now()
        if self._limited(self.looked_s, now):
            self.operation, self.questionable = self.operation | CC, self.questionable | LIMIT
        self.looked_s = now

    @command("STATus:OPERation:CONDition?", least=1)
    def _operation_condition(self, channel: str) -> str:
        self._channel(channel)
        now = self.world.now()
        mode = OFF if not self.output else CC if self._limited(now, now) else CV
        return f"{mode | (MEASURES if self.armed else 0):+d}"

    @command("STATus:OPERation[:EVENt]?", least=1)
    def _operation_event(self, channel: str) -> str:
        self._channel(channel)
        self._check_window()
        events, self.operation = self.operation, 0
        return f"{events:+d}"

    @command("STATus:QUEStionable:CONDition?", least=1)
    def _questionable_condition(self, channel: str) -> str:
        self._channel(channel)
        now = self.world.now()
        return f"{LIMIT if self._limited(now, now) else 0:+d}"

    @command("STATus:QUEStionable[:EVENt]?", least=1)
    def _questionable_event(self, channel: str) -> str:
        self._channel(channel)
        self._check_window()
        events, self.questionable = self.questionable, 0
        return f"{events:+d}"

    @command("STATus:OPERation:PTRansition", "STATus:OPERation:NTRansition", "STATus:OPERation:ENABle", least=2)
    @command(
        "STATus:QUEStionable:PTRansition", "STATus:QUEStionable:NTRansition", "STATus:QUEStionable:ENABle", least=2
    )
    def _filters(self, bits: str, channel: str) -> None:
        self._channel(channel)
        number(bits, 0, 32767)

    @command("STATus:PRESet")
    def _preset_status(self) -> None:
        """The filters to what they are anyway, and nothing enabled; events stay."""
