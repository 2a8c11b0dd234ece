"""Flash routes, serial ports and power switches. A target is a board with open endpoints."""

from hil.targets.target import Target, open_target

__all__ = ["Target", "open_target"]
