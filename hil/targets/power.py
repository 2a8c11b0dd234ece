"""Switch a board's power: a USB hub port by uhubctl, a SCPI supply output by PyVISA, a switch of a lab by labgrid."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Protocol

from hil.endpoints import HubPort, NetworkSwitch, Power
from hil.lab.network_switch import NetworkSwitchPort
from hil.targets.uhubctl import UhubctlPort

OFF_S = 2.0  # seconds for a board's capacitors to discharge; the same as in uhubctl's own `cycle`


class PowerSwitch(Protocol):
    """The power of one board.

    Attributes:
        name: what is switched, for messages.
    """

    name: str

    def check(self) -> str:
        """Return a sentence that says that it can be switched. Raises `Blocked` if it cannot."""
        ...

    def switch(self, on: bool) -> None:
        """Switch on or off. Raises `Blocked` if it does not change."""
        ...


def cycle(switch: PowerSwitch, off_s: float = OFF_S) -> None:
    """Switch off, wait `off_s` seconds, switch on; raise `Blocked` if it stayed on, or did not come on again."""
    switch.switch(False)
    time.sleep(off_s)
    switch.switch(True)


@contextlib.contextmanager
def open_power(power: Power) -> Iterator[PowerSwitch]:
    """Open the power switch that rig.toml names, without switching anything, and close it at the end.

    Raises Blocked if uhubctl is not installed, the supply does not answer, or labgrid has no driver for the switch.
    """
    if isinstance(power, HubPort):
        yield UhubctlPort(power)
        return
    if isinstance(power, NetworkSwitch):
        yield NetworkSwitchPort(power)
        return
    # Imported here: PyVISA loads slowly, and `hil devices` should answer at once.
    from hil.targets.scpi_supply import ScpiSupply

    with contextlib.closing(ScpiSupply(power)) as supply:
        yield supply
