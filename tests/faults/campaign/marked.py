"""Processes that are found by a mark in their environment, whoever their parent is by now."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from pathlib import Path


def kept_in(folder: Path) -> dict[str, str]:
    """Return the variables of a process that keeps its locks and its data in a folder."""
    return {"TMPDIR": str(folder), "XDG_DATA_HOME": str(folder / "data")}


class Mark:
    """A variable that a process hands on to everything that it starts."""

    def __init__(self) -> None:
        self.name, self.value = "TRAINRIG_RUN", str(uuid.uuid4())

    def environment(self) -> dict[str, str]:
        """Return the variables of a process that hands it on."""
        return os.environ | {self.name: self.value}

    def kill(self) -> None:
        """End every process that has it, at once."""
        for one in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)

    def processes(self) -> dict[int, str]:
        """Return the command lines of those that run, by process id."""
        wanted, found = f"{self.name}={self.value}".encode(), {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return {number: command for number, command in found.items() if command}  # a zombie has none

    def left(self, within_s: float) -> list[str]:
        """Return the command lines of those that have not ended within so many seconds."""
        end = time.monotonic() + within_s
        while (left := list(self.processes().values())) and time.monotonic() < end:
            time.sleep(0.1)
        return left
