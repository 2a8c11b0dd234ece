"""An output of a SCPI power supply, through PyVISA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pyvisa
from pyvisa.resources import MessageBasedResource

from hil.endpoints import SupplyOutput
from hil.errors import Blocked

TIMEOUT_MS = 5000


@contextlib.contextmanager
def open_supply(power: SupplyOutput) -> Iterator[ScpiSupply]:
    """Open a supply, and let go of it at the end; nothing is switched by that.

    Raises:
        Blocked: it does not answer.
    """
    options: dict[str, Any] = {"read_termination": "\n", "write_termination": "\n", "timeout": TIMEOUT_MS}
    with _blocked(power, "the connection"):
        resource = pyvisa.ResourceManager("@py").open_resource(power.supply, resource_pyclass=MessageBasedResource, **options)
    assert isinstance(resource, MessageBasedResource)
    try:
        yield ScpiSupply(resource, power)
    finally:
        with contextlib.suppress(pyvisa.Error, OSError):
            resource.close()


class ScpiSupply:
    """An output of a power supply (SCPI-99, volume 2: OUTPut, INSTrument:NSELect, SOURce). It is never sent `*RST`: its other outputs feed others.

    Args:
        resource: an open VISA resource.
        power: which output, and what it is to give.

    Raises:
        Blocked: it does not answer.
    """

    def __init__(self, resource: MessageBasedResource, power: SupplyOutput) -> None:
        self._resource, self._power = resource, power
        self.name = (
            f"output {power.channel} of the supply {power.supply}"
            if power.channel is not None
            else f"the supply {power.supply}"
        )
        self._tell("*CLS")  # what others have left in the error queue

    def check(self) -> str:
        """Return who the supply says it is, and whether the output is on."""
        identity = self._ask("*IDN?")
        self._select()
        state = "on" if self._is_on() else "off"
        self._no_error()
        return f"{identity} answers; {self.name} is {state}."

    def off(self) -> None:
        """Switch the output off."""
        self._switch(False)

    def on(self) -> None:
        """Set voltage and limit, and switch the output on."""
        self._select()
        self._tell(f"VOLT {self._power.volts:g}", f"CURR {self._power.amps:g}")
        self._no_error()  # before it feeds anything
        self._switch(True)

    def _switch(self, on: bool) -> None:
        self._select()
        self._tell(f"OUTP {'ON' if on else 'OFF'}")
        self._no_error()
        if self._is_on() is not on:
            raise Blocked(
                "power",
                f"{self.name} is still {'off' if on else 'on'}: look at its front panel (a protection that has tripped, a lock).",
            )

    def _select(self) -> None:
        if self._power.channel is not None:
            self._tell(f"INST:NSEL {self._power.channel}")
            self._no_error()  # another output would be switched in its place

    def _is_on(self) -> bool:
        return self._ask("OUTP?").upper() in ("1", "ON")

    def _no_error(self) -> None:
        error = self._ask("SYST:ERR?")
        if not error.lstrip("+").startswith("0"):
            raise Blocked(
                "power", f"{self.name} reports {error}: put `power` right in rig.toml (channel, volts, amps)."
            )

    def _tell(self, *commands: str) -> None:
        for command in commands:
            with _blocked(self._power, command):
                self._resource.write(command)

    def _ask(self, query: str) -> str:
        with _blocked(self._power, query):
            return str(self._resource.query(query)).strip()


@contextlib.contextmanager
def _blocked(power: SupplyOutput, what: str) -> Iterator[None]:
    try:
        yield
    except (pyvisa.Error, OSError, ValueError) as error:
        raise Blocked(
            "power",
            f"the supply {power.supply} did not take {what!r} ({error}): check its cable, its address in rig.toml and its own power.",
        ) from error
