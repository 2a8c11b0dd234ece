"""How pyOCD connects to a chip: what is the same for all, and what the catalogue says of a board."""

from __future__ import annotations

from typing import Any

from hil.boards import Board

FLASH_S = 60.0  # for one call of a flash algorithm; the deadline of the stage ends a hang, pyOCD's own 5 and 10 s end a busy computer
COMMON: dict[str, Any] = {
    "auto_unlock": False,  # true would mass-erase a locked chip without asking
    "no_config": True,  # a pyocd.yaml in the working folder is not ours
    "resume_on_disconnect": True,
    "chip_erase": "sector",
    "flash.timeout.init": FLASH_S,
    "flash.timeout.erase_sector": FLASH_S,
    "flash.timeout.program": FLASH_S,
}


def with_pack(pack_file: str) -> dict[str, Any]:
    """Return the session options for a chip that a CMSIS pack describes.

    It is halted as it runs: an STM32's core cannot be looked for while it is held in reset (pyOCD, target_STM32H7B0xx), which pyOCD's own targets
    get around and a pack's do not.
    """
    return COMMON | {"connect_mode": "halt", "pack": pack_file}


def options(board: Board) -> dict[str, Any]:
    """Return the session options for a board through pyOCD's own target; how it is reset is left to that where the catalogue does not say."""
    return COMMON | {"connect_mode": board.connect_mode, "reset_type": board.reset_type}
