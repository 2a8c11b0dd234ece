"""Count how often this computer has programmed the flash of each board, because flash wears out."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from filelock import FileLock

from hil.endpoints import Endpoints

FILE = "flash_cycles.json"
LOCK_S = 10.0


def identity_of(endpoints: Endpoints) -> str:
    """Return the key of a board's count: its name and the first known id of probe, boot loader or serial port."""
    known = (endpoints.probe, endpoints.loader, endpoints.serial_number, endpoints.serial)
    return f"{endpoints.board} at {next((device for device in known if device), 'an unknown place')}"


def after_flashing(endpoints: Endpoints, programmed: bool) -> int | None:
    """Count a programming of a board's flash and return how many there were; None for a stand-in, or if unknown."""
    if endpoints.reality != "hardware":
        return None
    identity = identity_of(endpoints)
    with contextlib.suppress(OSError):  # a folder that cannot be written is no reason to stop a trial
        return count(identity) if programmed else cycles(identity)
    return None


def cycles(identity: str, folder: Path | None = None) -> int:
    """Return how often this computer has programmed the board."""
    return _read((folder or data_folder()) / FILE).get(identity, 0)


def count(identity: str, folder: Path | None = None) -> int:
    """Add one to the count and return it; safe when several programs count at the same time.

    Raises:
        OSError: the folder cannot be written.
    """
    path = (folder or data_folder()) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock"), timeout=LOCK_S):
        known = _read(path)
        known[identity] = known.get(identity, 0) + 1
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        fresh.replace(path)
    return known[identity]


def _read(path: Path) -> dict[str, int]:
    """Return the counts. A missing or damaged file counts from zero: it is no reason to fail a trial."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: value for name, value in known.items() if isinstance(value, int)} if isinstance(known, dict) else {}


def data_folder() -> Path:
    """Return the user's folder for persistent data: XDG_DATA_HOME (XDG Base Directory Specification 0.8)."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "share") / "trainrig"
