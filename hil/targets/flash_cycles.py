"""How often this computer has programmed the flash of each board: a flash wears, and nobody else keeps count."""

from __future__ import annotations

import json
import os
from pathlib import Path

from filelock import FileLock

from hil.endpoints import Endpoints

FILE = "flash_cycles.json"
LOCK_S = 10.0


def identity_of(endpoints: Endpoints) -> str:
    """Return the name under which a board is counted: its own, and that of the first that is known of probe, boot loader and port."""
    known = (endpoints.probe, endpoints.loader, endpoints.serial_number, endpoints.serial)
    return f"{endpoints.board} at {next((device for device in known if device), 'an unknown place')}"


def cycles(identity: str, folder: Path | None = None) -> int:
    """Return how often the board has been programmed."""
    return _read((folder or data_folder()) / FILE).get(identity, 0)


def count(identity: str, folder: Path | None = None) -> int:
    """Count one more and return how often it has been now; several programs may count at a time.

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
    """Return the counts; a file that is missing or damaged counts from zero, for no trial is worth failing for it."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: value for name, value in known.items() if isinstance(value, int)} if isinstance(known, dict) else {}


def data_folder() -> Path:
    """Return the user's folder for data that is kept: XDG_DATA_HOME (XDG Base Directory Specification 0.8)."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "share") / "trainrig"
