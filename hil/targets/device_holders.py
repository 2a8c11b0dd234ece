"""Find the programs that have a device open, for messages."""

from __future__ import annotations

import os
from pathlib import Path


def holders(device: str, processes: Path = Path("/proc")) -> list[str]:
    """Return the other programs that have a device open, as `name (process id)`; empty on systems other than Linux."""
    wanted = os.path.realpath(device)
    found = []
    for process in sorted(processes.glob("[0-9]*"), key=lambda folder: int(folder.name)):
        if int(process.name) != os.getpid() and wanted in _open_files(process):
            found.append(f"{_name(process)} (process {process.name})")
    return found


def _open_files(process: Path) -> set[str]:
    try:
        return {str(entry.readlink()) for entry in (process / "fd").iterdir()}
    except OSError:  # it has ended, or belongs to another user
        return set()


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a program"
