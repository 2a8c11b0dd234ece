"""How to use endpoints: a target is a board made live."""

from hil.targets.target import Target, open_target

__all__ = ["Target", "open_target"]
