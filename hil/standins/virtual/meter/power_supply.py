"""A SCPI power supply with one output, which feeds the virtual board: the commands that a rig needs to switch it.

Sources: SCPI-99, volume 2 (OUTPut, SOURce:VOLTage, SOURce:CURRent, INSTrument:NSELect, SYSTem:ERRor). It does not model
a product.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.meter.scpi import ScpiSetting, between, switch, whole
from hil.standins.virtual.meter.scpi_instrument import ScpiInstrument

_TOLERANCE = 0.1  # relative to the board's voltage: other values would damage it
_LIMIT_A = 3.0


class PowerSupply(ScpiInstrument):
    """One power supply; its output is on when the virtual board starts, and *RST does not switch it.

    Args:
        volt: supply voltage of the board [V].
        switch_board: switches the board on and off.
    """

    def __init__(self, volt: float, switch_board: Callable[[bool], None]) -> None:
        self._switch_board, self._on = switch_board, True
        self._level = ScpiSetting(volt, between((1 - _TOLERANCE) * volt, (1 + _TOLERANCE) * volt))
        self._limit = ScpiSetting(0.5, between(0.001, _LIMIT_A))
        super().__init__("trainrig,virtual supply,1,1", {
            ":INSTrument:NSELect": ScpiSetting(1, whole(1, 1)), ":INSTrument:NSELect?": lambda _: "1",
            "[:SOURce]:VOLTage[:LEVel][:IMMediate][:AMPLitude]": self._level,
            "[:SOURce]:VOLTage[:LEVel][:IMMediate][:AMPLitude]?": self._level.answer(".4f"),
            "[:SOURce]:CURRent[:LEVel][:IMMediate][:AMPLitude]": self._limit,
            "[:SOURce]:CURRent[:LEVel][:IMMediate][:AMPLitude]?": self._limit.answer(".4f"),
            ":OUTPut[:STATe]": self._switch, ":OUTPut[:STATe]?": lambda _: str(int(self._on)),
        })  # fmt: skip

    def _switch(self, argument: str) -> None:
        self._on = switch(argument)
        self._switch_board(self._on)
