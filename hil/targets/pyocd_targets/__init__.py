"""pyOCD targets that pyOCD lacks or that the rig changes.

Each module has the name of its target and defines `TARGET`, a class derived from one of pyOCD's targets.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module


def register(name: str) -> None:
    """Register the target with pyOCD in this process, replacing pyOCD's own; do nothing if it has no module here."""
    from pyocd import target as pyocd_target  # pyOCD, when it is loaded, loads plugin.py, which imports this module

    if name in (file.name for file in pkgutil.iter_modules(__path__)):
        pyocd_target.TARGET[name] = import_module(f"{__name__}.{name}").TARGET
