"""Semihosting through the probe of a board: a process of its own serves it, and the firmware has a folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import RigError
from hil.targets.probe_process import ProbeProcess
from hil.targets.semihosted_probe import SemihostedProbe

if TYPE_CHECKING:
    from hil.rig.rig import Taken

NOT_A_COMMAND = "{} is a command here, which has files, output and an exit code by itself: omit --semihosting."


class SemihostingProcesses:
    """Processes of probes that serve semihosting, each for one board at a time; pyOCD loads once in each."""

    def __init__(self) -> None:
        self._free: list[ProbeProcess] = []

    @contextlib.contextmanager
    def one(self) -> Iterator[ProbeProcess]:
        """Give a process that nobody else uses, until the end of the `with` block."""
        process = self._free.pop() if self._free else ProbeProcess("SemihostingSession")
        try:
            yield process
        finally:
            self._free.append(process)

    def stop(self) -> None:
        """End the processes."""
        while self._free:
            self._free.pop().stop()


def by_probe(taken: Taken, log: Path) -> Taken:
    """Return a reserved board with what its firmware has by semihosting through its probe.

    Args:
        taken: its process is one of `SemihostingProcesses`.
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
