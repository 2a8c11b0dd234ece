"""Adds the targets of this package that pyOCD lacks to pyOCD itself, so that its own commands know them.

Entry point `trainrig` of the group `pyocd.probe` in pyproject.toml: pyOCD has no group for targets, and loads the
plugins of probes before it chooses a target. pyOCD's own targets stay as they are in its own commands.
"""

from __future__ import annotations

import pkgutil

from pyocd import target as pyocd_target
from pyocd.core.plugin import Plugin

from hil.targets.pyocd_targets import __path__ as folder
from hil.targets.pyocd_targets import register


class AddTargets(Plugin):  # type: ignore[misc]
    """Registers targets, and no probe."""

    name = "trainrig"

    def should_load(self) -> bool:
        """Register the targets; return False, because there is no class of probes to load."""
        for file in pkgutil.iter_modules(folder):
            if file.name != __name__.rpartition(".")[2] and file.name not in pyocd_target.TARGET:
                register(file.name)
        return False
