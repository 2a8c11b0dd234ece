"""Chips that pyOCD does not have, or not as the rig needs them: a module each, named as the target, which derives it from pyOCD's own as `TARGET`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from pyocd import target as pyocd_target


def register(name: str) -> None:
    """Make a target known to pyOCD in this process, in the place of its own of that name; one that has no module here stays as pyOCD has it."""
    if name in (file.name for file in pkgutil.iter_modules(__path__)):
        pyocd_target.TARGET[name] = import_module(f"{__name__}.{name}").TARGET
