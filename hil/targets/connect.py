"""How pyOCD connects to each chip: what differs between targets."""

from __future__ import annotations

from typing import Any

from hil.targets import nrf52840, stm32f746, stm32h7b3

COMMON: dict[str, Any] = {
    "auto_unlock": False,  # true would mass-erase a locked chip without asking
    "no_config": True,  # a pyocd.yaml in the working folder is not ours
    "resume_on_disconnect": True,
    "chip_erase": "sector",
}
# Of an nRF52840 the reset line works only where UICR says so, and a reset by it closes the debug port until the program opens it.
# A board whose probe has no reset line is halted as it runs, and reset through its core (AIRCR.SYSRESETREQ): so a Pico, whose
# RUN pin no Picoprobe is wired to, and whose debug ports pyOCD would not select again after a reset of the whole chip.
_BY_TARGET: dict[str, dict[str, Any]] = {
    stm32h7b3.NAME: {"connect_mode": "under-reset"},
    stm32f746.NAME: {"connect_mode": "under-reset"},
    nrf52840.NAME: {"connect_mode": "halt", "reset_type": "sysresetreq"},
    "rp2040": {"connect_mode": "halt", "reset_type": "sysresetreq"},
}


def with_pack(pack_file: str) -> dict[str, Any]:
    """Return the session options for a chip that a CMSIS pack describes.

    It is halted as it runs: an STM32's core cannot be looked for while it is held in reset (pyOCD, target_STM32H7B0xx), which pyOCD's own targets
    get around and a pack's do not.
    """
    return COMMON | {"connect_mode": "halt", "pack": pack_file}


def options(target: str) -> dict[str, Any]:
    """Return the session options for a pyOCD target; one that is not named here is halted as it runs."""
    return COMMON | _BY_TARGET.get(target, {"connect_mode": "halt"})
