"""Keithley DMM6500 with its digitizer: sees the current only; the board's supply is somebody else's.

DMM6500 Reference Manual, whose commands are those of the 2461's (2461-901-01 A, section 6: SENSe1, digitize
functions, 6-52, 6-65, 6-71) with an external trigger input in the place of digital lines (DMM7510-901-01 Rev. B,
section 8, TRIGger:EXTernal)."""

from __future__ import annotations

from .keithley import Keithley
from .scpi import Refused, choice, command, is_word, number, quoted


class KeithleyDmm6500(Keithley):
    """What it has beside buffers and trigger model. Beyond 120 % of a range a reading is 9.9E37; a part of one that
    was beyond is cut off: unverified."""

    over = 1.2
    identity = "KEITHLEY INSTRUMENTS,MODEL DMM6500,04431893,1.7.7b"
    event = "EXTernal"

    def _reset(self) -> None:
        super()._reset()
        self.rate_hz, self.own_aperture_s, self.digitizes = 1000.0, 0.0, False

    def interval_s(self) -> float:
        return 1 / self.rate_hz / (1 + self.front.errors.clock)

    def aperture_s(self) -> float:
        return (self.own_aperture_s or 1 / self.rate_hz) / (1 + self.front.errors.clock)

    @command("SENSe[1]:DIGitize:FUNCtion[:ON]", "DIGitize:FUNCtion[:ON]", least=1)
    def _function(self, what: str) -> None:
        self.digitizes = choice(quoted(what), "CURRent", "VOLTage") == "CURRent"

    @command("SENSe[1]:DIGitize:CURRent:RANGe[:UPPer]", "DIGitize:CURRent:RANGe[:UPPer]", least=1)
    def _set_range(self, amperes: str) -> None:
        self.fill()
        wanted = number(amperes, 0, 10)
        above = [one for one in self.front.sheet.ranges if wanted <= one.amperes]
        self.range = above[0] if above else self.front.sheet.ranges[-1]

    @command("SENSe[1]:DIGitize:CURRent:RANGe[:UPPer]?", "DIGitize:CURRent:RANGe[:UPPer]?")
    def _get_range(self) -> str:
        return f"{self.faults.selected(self.world.now(), self.range, self.front.sheet, self.script).amperes:.6E}"

    @command("SENSe[1]:DIGitize:CURRent:SRATe", "DIGitize:CURRent:SRATe", least=1)
    def _set_rate(self, rate: str) -> None:
        self.rate_hz, self.own_aperture_s = (
            float(round(number(rate, 1000, 1_000_000, MINimum=1000, MAXimum=1e6, DEFault=1e6))),
            0.0,
        )

    @command("SENSe[1]:DIGitize:CURRent:SRATe?", "DIGitize:CURRent:SRATe?")
    def _get_rate(self) -> str:
        return f"{self.rate_hz:.0f}"

    @command("SENSe[1]:DIGitize:CURRent:APERture", "DIGitize:CURRent:APERture", least=1)
    def _set_aperture(self, aperture: str) -> None:
        if is_word(aperture, "AUTO"):
            self.own_aperture_s = 0.0
            return
        self.own_aperture_s = number(aperture, 1e-6, 1e-3)
        if self.own_aperture_s > 1 / self.rate_hz:
            raise Refused(-221)  # 6-52: longer than the rate allows

    @command("SENSe[1]:DIGitize:CURRent:APERture?", "DIGitize:CURRent:APERture?")
    def _get_aperture(self) -> str:
        return f"{self.own_aperture_s or 1 / self.rate_hz:.6E}"

    @command("SENSe[1]:DIGitize:COUNt", "DIGitize:COUNt", least=1)
    def _count(self, count: str) -> None:
        number(count, 1, 55e6)

    @command("TRIGger:EXTernal:IN:EDGE", least=1)
    def _edge(self, edge: str) -> None:
        self.edge = choice(edge, "FALLing", "RISing", "EITHer")

    @command("TRIGger:EXTernal:IN:CLEar")
    def _forget(self) -> None: ...

    @command("TRIGger:EXTernal:IN:OVERrun?")
    def _overruns(self) -> str:
        return self._overrun()

    def _start(self) -> None:
        if not self.digitizes:
            raise Refused(-221)
        super()._start()

    _start.patterns = Keithley._start.patterns  # type: ignore[attr-defined]
