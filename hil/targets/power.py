"""Switch a board's power where rig.toml names a way: a port of a USB hub by uhubctl, or an output of a SCPI power supply by PyVISA."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Protocol

from hil.endpoints import HubPort, Power
from hil.targets.uhubctl import UhubctlPort

OFF_S = 2.0  # for a board's capacitors; uhubctl's own `cycle` waits as long


class PowerSwitch(Protocol):
    """The power of one board.

    Attributes:
        name: what is switched, for a sentence.
    """

    name: str

    def check(self) -> str:
        """Return one sentence that says that it could be switched. Raises `Blocked` when it could not."""
        ...

    def off(self) -> None:
        """Switch it off; raises `Blocked` when it is not off then."""
        ...

    def on(self) -> None:
        """Switch it on; raises `Blocked` when it is not on then."""
        ...


def cycle(switch: PowerSwitch, off_s: float = OFF_S) -> None:
    """Switch off, wait, switch on.

    Raises:
        Blocked: it is not off, or not on again.
    """
    switch.off()
    time.sleep(off_s)
    switch.on()


@contextlib.contextmanager
def open_power(power: Power) -> Iterator[PowerSwitch]:
    """Open what rig.toml names, and let go of it at the end; nothing is switched by that.

    Raises:
        Blocked: uhubctl is not installed, or the supply does not answer.
    """
    if isinstance(power, HubPort):
        yield UhubctlPort(power)
        return
    from hil.targets.scpi_supply import (
        open_supply,  # PyVISA takes a while to load, and `hil devices` is to answer at once
    )

    with open_supply(power) as supply:
        yield supply
