"""Flash routes, serial ports and power switches. A target is a board with open endpoints."""

from typing import TYPE_CHECKING

from hil.door import door

if TYPE_CHECKING:
    from hil.targets.target import Target, open_target

__all__ = [
    "Target",
    "open_target",
]
__getattr__ = door(
    __name__,
    {
        "Target": "target",
        "open_target": "target",
    },
)
