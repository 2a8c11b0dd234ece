"""Rigol DP832A: feeds the board, and answers what its display shows, which is renewed at a rate of its own.

DP800 Programming Guide (December 2015): :APPLy, :MEASure:ALL, :OUTPut[:STATe], :OUTPut:CVCC. That a query is answered
from the display is unverified.
"""

from __future__ import annotations

import numpy as np

from .analog import Front
from .faults import Faults
from .scpi import Instrument, Refused, boolean, command, number
from .trace import Script
from .world import World

REFRESH_S = 0.01  # where a scenario says nothing: unverified


class RigolDP832A(Instrument):
    """One; the board at channel 1. The display's phase is drawn; each of its readings is an instant."""

    identity = "RIGOL TECHNOLOGIES,DP832A,DP8B000000,00.01.16"

    def __init__(self, world: World, front: Front, faults: Faults) -> None:
        super().__init__(world)
        self.front, self.faults = front, faults
        self.script: Script | None = None
        self.started = lambda: None
        self.range = front.sheet.ranges[-1]
        self.refresh_s = faults.refresh_s or REFRESH_S
        self.phase_s = faults.random.uniform(0, self.refresh_s)
        self.shown_s, self.shown = -np.inf, (0.0, 0.0)
        self.output, self.volt = False, 0.0
        self.polled_s: list[float] = []

    def fill(self) -> None:
        """Renew the display if it is due."""
        due = np.floor((self.world.now() - self.phase_s) / self.refresh_s) * self.refresh_s + self.phase_s
        if due <= self.shown_s:
            return
        self.shown_s, when = due, np.array([due])
        current = self.front.currents(self.range, when, 0.0)[0] if self.output else 0.0
        self.shown = (current, self.front.voltages(self.range, when, 0.0)[0] if self.output else 0.0)

    @command("*RST")
    def _restart(self) -> None:
        self.output = False

    @staticmethod
    def _channel(text: str) -> None:
        if text.upper() not in ("CH1", "CH2", "CH3"):
            raise Refused(-224)

    @command("TIMEr[:STATe]", "DELAY[:STATe]", "MONItor[:STATe]", least=1)
    def _program(self, state: str) -> None:
        boolean(state)

    @command("APPLy", least=1, most=3)
    def _apply(self, channel: str, volt: str = "0", amperes: str = "3.2") -> None:
        self._channel(channel)
        self.volt = self.front.volt = number(volt, 0, 32)
        self.front.limit_a = number(amperes, 0, 3.2)

    @command("APPLy?", most=2)
    def _applied(self, channel: str = "CH1", _: str = "") -> str:
        return f"{channel}:30V/3A,{self.volt:.3f},{self.front.limit_a:.4f}"

    @command("OUTPut[:STATe]", least=1, most=2)
    def _set_output(self, *given: str) -> None:
        if len(given) == 2:
            self._channel(given[0])
        self.output = boolean(given[-1])
        self.front.on = self.output

    @command("OUTPut[:STATe]?", most=1)
    def _get_output(self, channel: str = "CH1") -> str:
        self._channel(channel)
        return "ON" if self.output else "OFF"

    @command("OUTPut:CVCC?", "OUTPut:MODE?", most=1)
    def _mode(self, channel: str = "CH1") -> str:
        self._channel(channel)
        now = np.array([self.world.now()])
        return "CC" if self.front.limited(now, 0.0)[0] else "CV"

    @command("MEASure[:SCALar]:ALL[:DC]?", most=1)
    def _all(self, channel: str = "CH1") -> str:
        self._channel(channel)
        self.fill()
        current, volt = self.shown
        return f"{volt:.4f},{current:.4f},{volt * current:.3f}"

    @command("MEASure[:SCALar]:CURRent[:DC]?", most=1)
    def _current(self, channel: str = "CH1") -> str:
        return self._all(channel).split(",")[1]

    @command("MEASure[:SCALar][:VOLTage][:DC]?", most=1)
    def _voltage(self, channel: str = "CH1") -> str:
        return self._all(channel).split(",")[0]

    @command("MEASure[:SCALar]:POWEr[:DC]?", most=1)
    def _power(self, channel: str = "CH1") -> str:
        return self._all(channel).split(",")[2]
