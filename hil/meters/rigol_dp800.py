"""Rigol DP800 (DP832A and similar): a supply that feeds the board and is polled for its output.

Commands: DP800 Programming Guide (Dec 2015), :APPLy, :MEASure:ALL, :OUTPut[:STATe], :OUTPut:CVCC, :OUTPut:OCP. A reply
holds voltage, current and power of one instant. There is no buffer, no marker input, and only one range.
"""

from __future__ import annotations

from hil.energy.data_sheet import DataSheet
from hil.meters.meter import Host, Spoiled
from hil.meters.polled_scpi import Dialect, PolledScpi
from hil.meters.polling import JITTER
from hil.visa import VisaSession

CHANNEL = "CH1"
LIMIT_A = 1.0  # limits the current of a faulty board
DIALECT = Dialect(
    readings={f":MEAS:ALL? {CHANNEL}": "VI-"},  # its power has fewer digits than the product
    prepare=(":TIME OFF", ":DELAY OFF", ":MONI OFF", f":APPL {CHANNEL},{{volt:g}},{LIMIT_A:g}", f":OUTP {CHANNEL},ON"),
)


class RigolDP800(PolledScpi):
    """A Rigol DP800 supply.

    Args:
        session: to the instrument.
        sheet: its data sheet.
        host: clock.
        jitter, seed: of the interval between two queries.

    Opening it resets it, which switches its output off: open it before the board is flashed. Timers, delayed outputs
    and monitors, which change or cut the output by themselves, are switched off before every series too.
    """

    def __init__(
        self, session: VisaSession, sheet: DataSheet, host: Host, *, jitter: float = JITTER, seed: int = 0
    ) -> None:
        super().__init__(session, sheet, host, DIALECT, jitter=jitter, seed=seed)

    def look(self) -> None:
        """Check that the output still regulates the voltage: at its current limit the board gets too little current."""
        super().look()
        mode = self._session.ask(f":OUTP:CVCC? {CHANNEL}")
        if mode != "CV":
            raise Spoiled(
                f"the {self.sheet.name} left constant voltage ({mode}): the board drew more than its limit of "
                f"{LIMIT_A:g} A",
                beyond_range=True,
            )
