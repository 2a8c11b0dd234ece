"""pyOCD session options: those common to all boards, and those from the catalogue."""

from __future__ import annotations

from typing import Any

from hil.boards import Board

# Time-out of one call of a flash algorithm. pyOCD's own 5 and 10 s are too short on a busy computer; a hang is ended by
# the deadline of the stage.
FLASH_S = 60.0
COMMON: dict[str, Any] = {
    "auto_unlock": False,  # true would mass-erase a locked chip without asking
    "no_config": True,  # ignore a pyocd.yaml in the working folder
    "resume_on_disconnect": True,
    "chip_erase": "sector",
    "flash.timeout.init": FLASH_S,
    "flash.timeout.erase_sector": FLASH_S,
    "flash.timeout.program": FLASH_S,
}


def with_pack(pack_file: str) -> dict[str, Any]:
    """Return the session options for a chip that a CMSIS pack describes.

    The chip is halted without a reset: pyOCD cannot discover an STM32's core while it is held in reset (pyOCD,
    target_STM32H7B0xx). pyOCD's own targets work around this, those of a pack do not.
    """
    return COMMON | {"connect_mode": "halt", "pack": pack_file}


def options(board: Board) -> dict[str, Any]:
    """Return the session options for a board with pyOCD's own target; without a `reset_type`, the target chooses it."""
    return COMMON | {"connect_mode": board.connect_mode, "reset_type": board.reset_type}
