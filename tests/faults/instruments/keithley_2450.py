"""Keithley 2450: feeds the board, and measures its current and, as the source's read-back, its voltage.

Reference Manual 2450-901-01 Rev. B, section 6, SOURce, DIGital and TRIGger:DIGital; SENSe1 as of the 2461's, 6-52 to
6-81. `unverified`: see each place.
"""

from __future__ import annotations

import numpy as np

from .keithley import Keithley
from .scpi import Refused, boolean, choice, command, number, quoted

LINE_HZ = 50
OVERHEAD_S = 105e-6  # between two readings without automatic zero: unverified
REFERENCE_S = 0.004  # more where automatic zero is on: unverified


class Keithley2450(Keithley):
    """What it has beside buffers and trigger model. A current beyond the range, or the limit, is not an overflow: the
    source holds it there."""

    identity = "KEITHLEY INSTRUMENTS,MODEL 2450,04431893,1.7.12b"
    event = "DIGio1"

    def _reset(self) -> None:
        super()._reset()
        self.nplc, self.zero, self.output, self.back = 1.0, True, False, True
        self.ilim, self.volt = 100e-6, 0.0
        self.source, self.sense, self.line = "VOLTage", "VOLTage", ("DIGital", "IN")

    def interval_s(self) -> float:
        return (self.nplc / LINE_HZ + OVERHEAD_S + (REFERENCE_S if self.zero else 0.0)) / (1 + self.front.errors.clock)

    def aperture_s(self) -> float:
        return self.nplc / LINE_HZ / (1 + self.front.errors.clock)

    def fill(self) -> None:
        self.front.limit_a = min(self.ilim, self.front.errors.over * self.range.amperes)
        self.front.on = self.output
        super().fill()

    @command("SYSTem:LFRequency?")
    def _line_frequency(self) -> str:
        return str(LINE_HZ)

    # source

    @command("SOURce[1]:FUNCtion[:MODE]", least=1)
    def _source_function(self, what: str) -> None:
        self.source = choice(what, "VOLTage", "CURRent")

    @command("SOURce[1]:VOLTage[:LEVel][:IMMediate][:AMPLitude]", least=1)
    def _set_volt(self, volt: str) -> None:
        self.volt = number(volt, -210, 210, DEFault=0)
        self.front.volt = self.volt

    @command("SOURce[1]:VOLTage[:LEVel][:IMMediate][:AMPLitude]?")
    def _get_volt(self) -> str:
        return f"{self.volt:.6E}"

    @command("SOURce[1]:VOLTage:RANGe", "SOURce[1]:VOLTage:PROTection[:LEVel]", least=1)
    def _source_range(self, volt: str) -> None:
        number(volt, 0, 210)

    @command("SOURce[1]:VOLTage:RANGe:AUTO", "SOURce[1]:VOLTage:DELay:AUTO", "SENSe[1]:CURRent[:DC]:RSENse", least=1)
    @command("SENSe[1]:CURRent[:DC]:AVERage[:STATe]", "CURRent[:DC]:AVERage[:STATe]", least=1)
    def _switch(self, state: str) -> None:
        boolean(state)

    @command("SOURce[1]:VOLTage:ILIMit[:LEVel]", least=1)
    def _set_limit(self, amperes: str) -> None:
        self.fill()
        self.ilim = number(amperes, 1e-9, 1.05, DEFault=105e-6)

    @command("SOURce[1]:VOLTage:ILIMit[:LEVel]?")
    def _get_limit(self) -> str:
        return f"{self.ilim:.6E}"

    @command("SOURce[1]:VOLTage:ILIMit[:LEVel]:TRIPped?")
    def _tripped(self) -> str:
        """Whether the source is at its limit now: that nothing latches is unverified."""
        self.fill()
        return str(int(self.front.trace.at(np.array([self.world.now()]))[0] > self.front.limit_a))

    @command("SOURce[1]:VOLTage:READ:BACK", least=1)
    def _read_back(self, state: str) -> None:
        self.back = boolean(state)

    @command("OUTPut[1][:STATe]", least=1)
    def _set_output(self, state: str) -> None:
        self.output = boolean(state)

    @command("OUTPut[1][:STATe]?")
    def _get_output(self) -> str:
        return str(int(self.output))

    # measuring

    @command("SENSe[1]:FUNCtion[:ON]", least=1)
    def _function(self, what: str) -> None:
        self.sense = choice(quoted(what).partition(":")[0], "CURRent", "VOLTage", "RESistance")

    @command("SENSe[1]:CURRent[:DC]:RANGe[:UPPer]", "CURRent[:DC]:RANGe[:UPPer]", least=1)
    def _set_range(self, amperes: str) -> None:
        self.fill()
        wanted = number(amperes, 0, 1.05)
        self.range = next(one for one in self.front.sheet.ranges if wanted <= 1.05 * one.amperes)

    @command("SENSe[1]:CURRent[:DC]:RANGe[:UPPer]?", "CURRent[:DC]:RANGe[:UPPer]?")
    def _get_range(self) -> str:
        used = self.faults.selected(self.world.now(), self.range, self.front.sheet, self.script)
        return f"{used.amperes:.6E}"

    @command("SENSe[1]:CURRent[:DC]:RANGe:AUTO", "CURRent[:DC]:RANGe:AUTO", least=1)
    def _auto_range(self, state: str) -> None:
        if boolean(state):
            raise Refused(-221)  # no scenario asks for it: a range that changes by itself is none of the rig's

    @command("SENSe[1]:CURRent[:DC]:RANGe:AUTO?", "CURRent[:DC]:RANGe:AUTO?")
    def _is_auto(self) -> str:
        return "0"

    @command("SENSe[1]:CURRent[:DC]:NPLCycles", "CURRent[:DC]:NPLCycles", least=1)
    def _set_nplc(self, cycles: str) -> None:
        self.fill()
        self.nplc = number(cycles, 0.01, 10, MINimum=0.01, MAXimum=10, DEFault=1)

    @command("SENSe[1]:CURRent[:DC]:NPLCycles?", "CURRent[:DC]:NPLCycles?")
    def _get_nplc(self) -> str:
        return f"{self.nplc:.6E}"

    @command("SENSe[1]:CURRent[:DC]:AZERo[:STATe]", "CURRent[:DC]:AZERo[:STATe]", least=1)
    def _set_zero(self, state: str) -> None:
        self.fill()
        self.zero = boolean(state)

    @command("SENSe[1]:AZERo:ONCE")
    def _zero_once(self) -> None:
        self.world.sleep(REFERENCE_S)

    # digital line

    @command("DIGital:LINE<n>:MODE", least=2)
    def _line_mode(self, line: int, kind: str, direction: str) -> None:
        if not 1 <= line <= 6:
            raise Refused(-113)
        self.line = (
            choice(kind, "DIGital", "TRIGger", "SYNChronous"),
            choice(direction, "IN", "OUT", "OPENdrain", "MASTer", "ACCeptor"),
        )

    @command("DIGital:LINE<n>:STATe?")
    def _line_state(self, line: int) -> str:
        return str(int(line == 1 and self.script is not None and self.script.level(self.world.now())))

    @command("TRIGger:DIGital<n>:IN:EDGE", least=1)
    def _edge(self, line: int, edge: str) -> None:
        self.edge = choice(edge, "FALLing", "RISing", "EITHer")

    @command("TRIGger:DIGital<n>:IN:CLEar")
    def _forget(self, line: int) -> None: ...

    @command("TRIGger:DIGital<n>:IN:OVERrun?")
    def _overruns(self, line: int) -> str:
        return self._overrun()
