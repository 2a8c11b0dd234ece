"""Semihosting through the probe of a board: a process of its own serves it, and the firmware has a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import RigError
from hil.targets.semihosted_probe import SemihostedProbe

if TYPE_CHECKING:
    from hil.rig.rig import Taken

NOT_A_COMMAND = "{} is a command here, which has files, output and an exit code by itself: omit --semihosting."


def by_probe(taken: Taken, log: Path) -> Taken:
    """Return a reserved board with what its firmware has by semihosting through its probe.

    Args:
        taken: the session of its probe's process is a `SemihostingSession`.
        log: file to which the errors of the firmware are appended; it works in a folder of its own beside it.

    Raises:
        RigError: it has no probe, or rig.toml resets it by a command.
        Blocked: the process of the probe does not answer.
    """
    ends, name = taken.endpoints, taken.board.name
    if ends.probe is None or "pyocd" not in taken.board.routes:
        cure = "name its probe in rig.toml (`hil devices` lists the probes)" if ends.reality == "hardware" else (
            "use a board on QEMU, or one with a virtual board (`hil boards`)"
        )  # fmt: skip
        raise RigError(
            f"semihosting is for a board on QEMU or at a debug probe, and {name} has neither here ({ends.reality}): "
            f"omit --semihosting, or {cure}."
        )
    if ends.commands is not None and ends.commands.reset is not None:
        raise RigError(
            f"semihosting needs the probe from the first instruction on, and rig.toml resets {name} by a command: "
            "omit --semihosting, or remove `reset` from its table."
        )
    number = ends.process if taken.stand_in is not None else None
    firmware = SemihostedProbe(name, taken.probe_process, log, number)
    return replace(taken, endpoints=replace(ends, console=firmware.console), endable=firmware)
