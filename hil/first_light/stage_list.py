"""The list of stages, from least to most dangerous."""

from __future__ import annotations

from hil.clients import FIRST_LIGHT, registered
from hil.errors import RigError
from hil.first_light import debug_stages, flash_stages, image_stages, line_stages, ram_stages
from hil.first_light.stage import Stage

HOUSE: tuple[type[Stage], ...] = (
    *debug_stages.STAGES, *ram_stages.STAGES, *line_stages.STAGES, *flash_stages.STAGES, *image_stages.STAGES,
)  # fmt: skip


def stages() -> list[Stage]:
    """Return the stages of the house, then those of clients. Raises RigError if a client cannot be loaded."""
    found: list[Stage] = [kind() for kind in HOUSE]
    for client in registered(FIRST_LIGHT):
        if client.error is not None:
            raise RigError(client.error)
        found += [kind() for kind in client.value]
    return found
