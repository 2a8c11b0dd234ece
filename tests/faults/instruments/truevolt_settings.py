"""What a Keysight 34465A is set to: range, aperture, sample timer, trigger.

Truevolt Series Operating and Service Guide: SAMPle:COUNt and SAMPle:COUNt:PRETrigger 306; the other commands by name
only, their pages were not to be read. `unverified`: see each place.
"""

from __future__ import annotations

import numpy as np

from .analog import Front
from .faults import Faults
from .scpi import Instrument, Refused, boolean, choice, command, number
from .trace import Script
from .world import World

OVERHEAD_S = 20e-6  # that the sample timer needs beyond an aperture: unverified


class TruevoltSettings(Instrument):
    """The settings; a subclass takes samples by them."""

    no_error = '+0,"No error"'

    def __init__(self, world: World, front: Front, faults: Faults, options: str = "DIG,MEM") -> None:
        super().__init__(world)
        self.front, self.faults, self.options = front, faults, options
        self.script: Script | None = None
        self.started = lambda: None
        self._reset()

    def _reset(self) -> None:
        self.range, self.aperture, self.zero = self.front.sheet.ranges[-1], 0.2, True
        self.timer, self.by_timer = 0.2, False
        self.count, self.pretrigger = 1, 0
        self.source, self.slope, self.delay, self.triggers = "IMMediate", "NEGative", 0.0, 1
        self.form, self.order = "ASCii", "NORMal"

    @command("*RST", "SYSTem:PRESet")
    def _restart(self) -> None:
        self._reset()

    @command("*OPT?")
    def _options(self) -> str:
        return self.options or "0"

    @command("FORMat[:DATA]", least=1, most=2)
    def _format(self, form: str, bits: str = "64") -> None:
        self.form = choice(form, "ASCii", "REAL")

    @command("FORMat:BORDer", least=1)
    def _border(self, order: str) -> None:
        self.order = choice(order, "NORMal", "SWAPped")

    @command("CONFigure:CURRent[:DC]", most=2)
    def _configure(self, amperes: str = "AUTO", resolution: str = "DEF") -> None:
        options, questionable = self.options, self.questionable
        self._reset()
        self.options, self.questionable = options, questionable
        self._set_range(amperes)

    @command("[SENSe:]CURRent[:DC]:RANGe[:UPPer]", least=1)
    def _set_range(self, amperes: str) -> None:
        self.fill()
        largest = self.front.sheet.ranges[-1].amperes
        wanted = number(amperes, 0, largest, MINimum=0, MAXimum=largest, DEFault=largest)
        self.range = next(one for one in self.front.sheet.ranges if wanted <= one.amperes)

    @command("[SENSe:]CURRent[:DC]:RANGe[:UPPer]?", most=1)
    def _get_range(self, _: str = "") -> str:
        return f"{self.faults.selected(self.world.now(), self.range, self.front.sheet, self.script).amperes:+.8E}"

    @command("[SENSe:]CURRent[:DC]:RANGe:AUTO", least=1)
    def _auto(self, state: str) -> None:
        if boolean(state):
            raise Refused(-221)

    @command("[SENSe:]CURRent[:DC]:RANGe:AUTO?")
    def _is_auto(self) -> str:
        return "0"

    @command("[SENSe:]CURRent[:DC]:ZERO:AUTO", least=1)
    def _zero(self, state: str) -> None:
        self.zero = state.upper() == "ONCE" or boolean(state)

    @command("[SENSe:]CURRent[:DC]:APERture", least=1)
    def _set_aperture(self, seconds: str) -> None:
        self.aperture = number(seconds, 20e-6, 1.0, MINimum=20e-6, MAXimum=1.0, DEFault=0.1)

    @command("[SENSe:]CURRent[:DC]:APERture?", most=1)
    def _get_aperture(self, word: str = "") -> str:
        return f"{20e-6 if word.upper().startswith('MIN') else self.aperture:+.8E}"

    @command("[SENSe:]CURRent[:DC]:TERMinals", least=1)
    def _terminals(self, amperes: str) -> None:
        if float(amperes) not in (3, 10):
            raise Refused(-224)

    # samples and trigger

    @command("SAMPle:SOURce", least=1)
    def _sample_source(self, source: str) -> None:
        self.by_timer = choice(source, "IMMediate", "TIMer") == "TIMer"

    def _shortest(self) -> float:
        fastest = 50_000 if "DIG" in self.options else 5000
        return max(self.aperture + OVERHEAD_S + (self.aperture if self.zero else 0.0), 1 / fastest)

    @command("SAMPle:TIMer", least=1)
    def _set_timer(self, seconds: str) -> None:
        self.timer = number(seconds, 20e-6, 3600, MINimum=self._shortest(), MAXimum=3600)

    @command("SAMPle:TIMer?", most=1)
    def _get_timer(self, word: str = "") -> str:
        return f"{self._shortest() if word.upper().startswith('MIN') else self.timer:+.8E}"

    @command("SAMPle:COUNt", least=1)
    def _set_count(self, count: str) -> None:
        self.count = int(number(count, 1, 1e9, MAXimum=1e9, MINimum=1, DEFault=1))

    @command("SAMPle:COUNt?", most=1)
    def _get_count(self, _: str = "") -> str:
        return f"{self.count:+d}"

    @command("SAMPle:COUNt:PRETrigger", least=1)
    def _set_pretrigger(self, count: str) -> None:
        wanted = int(number(count, 0, 1_999_999, MINimum=0, DEFault=0, MAXimum=1_999_999))
        if wanted and "DIG" not in self.options:
            raise Refused(-241)  # the data sheet has it with the option DIG; the number of the error is unverified
        self.pretrigger = wanted

    @command("SAMPle:COUNt:PRETrigger?", most=1)
    def _get_pretrigger(self, _: str = "") -> str:
        return f"{self.pretrigger:+d}"

    @command("TRIGger:SOURce", least=1)
    def _trigger_source(self, source: str) -> None:
        self.source = choice(source, "IMMediate", "EXTernal", "BUS", "INTernal")

    @command("TRIGger:SLOPe", least=1)
    def _slope(self, slope: str) -> None:
        self.slope = choice(slope, "POSitive", "NEGative")

    @command("TRIGger:COUNt", least=1)
    def _trigger_count(self, count: str) -> None:
        self.triggers = number(count, 1, 1e9, INFinity=np.inf, DEFault=1)

    @command("TRIGger:DELay", least=1)
    def _trigger_delay(self, seconds: str) -> None:
        self.delay = number(seconds, 0, 3600, MINimum=0)

    @command("TRIGger:DELay:AUTO", least=1)
    def _trigger_delay_auto(self, state: str) -> None:
        boolean(state)
