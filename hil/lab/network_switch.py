"""A power switch of a labgrid place, switched by labgrid's own driver for its model."""

from __future__ import annotations

import importlib
from typing import Any

from hil.endpoints import NetworkSwitch
from hil.errors import Blocked, message_of
from hil.lab.package import load


class NetworkSwitchPort:
    """Power switch of one port.

    Args:
        power: model, address and number of the port.

    Raises:
        Blocked: labgrid has no driver for the model.
        RigError: labgrid is not installed here.
    """

    def __init__(self, power: NetworkSwitch) -> None:
        load()
        self.name = f"port {power.index} of the {power.model} power switch {power.host}"
        try:
            target = importlib.import_module("labgrid").Target("trainrig")
            resources, drivers = (importlib.import_module(f"labgrid.{each}") for each in ("resource", "driver"))
            resources.NetworkPowerPort(target, name=None, model=power.model, host=power.host, index=power.index)
            self._driver: Any = drivers.NetworkPowerDriver(target, name=None)
            target.activate(self._driver)
        except Exception as error:  # each driver has its own
            raise Blocked(
                "power", f"labgrid has no driver that drives {self.name} ({message_of(error)}): correct its exporter."
            ) from error

    def check(self) -> str:
        """Return a sentence that says that it can be switched. Raises `Blocked` if it cannot."""
        return f"{self.name} is {'on' if self._is_on() else 'off'} and can be switched."

    def switch(self, on: bool) -> None:
        """Switch on or off. Raises `Blocked` if it does not change."""
        self._guarded(self._driver.on if on else self._driver.off)
        if self._is_on() != on:
            raise Blocked("power", f"{self.name} did not switch {'on' if on else 'off'}: look at the switch.")

    def _is_on(self) -> bool:
        return bool(self._guarded(self._driver.get))

    def _guarded(self, action: Any) -> Any:
        try:
            return action()
        except Exception as error:  # each driver raises what its library raises
            raise Blocked(
                "power", f"{self.name} does not answer ({message_of(error)}): look whether it is on the network."
            ) from error
