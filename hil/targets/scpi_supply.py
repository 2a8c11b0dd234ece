"""An output of a SCPI power supply, through PyVISA."""

from __future__ import annotations

from hil.endpoints import SupplyOutput
from hil.errors import Blocked
from hil.visa import VisaSession


class ScpiSupply:
    """An output of a power supply (SCPI-99, volume 2: OUTPut, INSTrument:NSELect, SOURce).

    `*RST` is never sent, because other outputs of the supply may feed other devices.

    Args:
        power: the output, its voltage and its current limit.

    Raises:
        Blocked: it does not answer.
    """

    def __init__(self, power: SupplyOutput) -> None:
        supply, output = f"supply {power.supply}", f"output {power.channel} of the supply {power.supply}"
        self.name = f"the {supply}" if power.channel is None else output
        self._power = power
        self._session = VisaSession(power.supply, supply if power.channel is None else output, stage="power")
        self._session.write("*CLS")  # clear old entries of the error queue

    def close(self) -> None:
        """Close the session with the supply."""
        self._session.close()

    def check(self) -> str:
        """Return a sentence with the supply's identity and whether the output is on."""
        identity = self._session.query("*IDN?")
        self._select()
        state = "on" if self._is_on() else "off"
        self._no_error()
        return f"{identity} answers; {self.name} is {state}."

    def switch(self, on: bool) -> None:
        """Switch the output off; or set voltage and current limit, then switch it on."""
        self._select()
        if on:
            self._session.write(f"VOLT {self._power.volts:g}", f"CURR {self._power.amps:g}")
            self._no_error()  # before the output is on
        self._session.write(f"OUTP {'ON' if on else 'OFF'}")
        self._no_error()
        if self._is_on() is not on:
            raise Blocked(
                "power",
                f"{self.name} is still {'off' if on else 'on'}: "
                "look at its front panel for a tripped protection or a lock.",
            )

    def _select(self) -> None:
        if self._power.channel is not None:
            self._session.write(f"INST:NSEL {self._power.channel}")
            self._no_error()  # if the selection failed, another output would be switched

    def _is_on(self) -> bool:
        return self._session.query("OUTP?").upper() in ("1", "ON")

    def _no_error(self) -> None:
        self._session.check("SYST:ERR?", "correct `power` in rig.toml (channel, volts, amps)")
