"""Rigol DP800 (DP832A and similar): a supply that feeds the board and is polled for its output.

Commands: DP800 Programming Guide (Dec 2015), :APPLy, :MEASure:ALL, :OUTPut[:STATe], :OUTPut:CVCC, :OUTPut:OCP. A reply
holds voltage, current and power of one instant. There is no buffer, no marker input, and only one range.
"""

from __future__ import annotations

from hil.meters.meter import InvalidWindow
from hil.meters.polled_scpi import PolledScpi


class RigolDP800(PolledScpi):
    """A Rigol DP800 supply. Arguments and errors: PolledScpi.

    Opening it resets it, which switches its output off: open it before the board is flashed. Timers, delayed outputs
    and monitors, which change or cut the output by themselves, are switched off before every series too.
    """

    def check_settings(self) -> None:
        """Check that the output still regulates the voltage: at its current limit the board gets too little current."""
        super().check_settings()
        mode = self._session.query(":OUTP:CVCC? CH1")
        if mode != "CV":
            raise InvalidWindow(
                f"the {self.sheet.name} left constant voltage ({mode}): the board drew more than its limit of current",
                beyond_range=True,
            )
