"""A lock for each device: it dies with its holder, and names the holder to whoever comes second."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from hil.errors import Blocked

FOLDER = Path(tempfile.gettempdir()) / "trainrig-locks"  # the same for every user of this computer
SHARED_FOLDER, SHARED_FILE = 0o1777, 0o666
POLL_S = 0.05


class Locks:
    """The devices that this session holds.

    The lock is the operating system's on an open file, so that it ends with the process that holds it, however that ends. The note
    beside it tells who that is; a note without a lock means nothing.

    Args:
        wait_s: how long to wait for a device that another session holds; infinity waits as long as it takes.
        folder: holds the lock files; by default one that all users of this computer share.
    """

    def __init__(self, wait_s: float = 0.0, folder: Path | None = None) -> None:
        self._wait_s = wait_s
        self._folder = folder or FOLDER
        self._held: dict[str, FileLock] = {}

    def hold(self, board: str, devices: Iterable[str]) -> None:
        """Hold devices until `release`; those that are held already stay so.

        Args:
            board: what they are for, for messages.
            devices: their identities as rig.toml names them.

        Raises:
            Blocked: another session holds one of them, or no lock can be made. None of them is held then.
        """
        before = set(self._held)
        try:
            for device in sorted(set(devices) - before):  # in one order for all sessions, so that no two wait for each other
                self._held[device] = self._lock(board, device)
        except BaseException:
            for device in set(self._held) - before:
                self._held.pop(device).release()
            raise

    def release(self) -> None:
        """Give every device back."""
        while self._held:
            self._held.popitem()[1].release()

    def _lock(self, board: str, device: str) -> FileLock:
        path = self._folder / (_name(device) + ".lock")
        lock = FileLock(path, timeout=-1 if math.isinf(self._wait_s) else self._wait_s, mode=SHARED_FILE)
        try:
            self._make_folder()
            lock.acquire(poll_interval=POLL_S)
        except Timeout:
            raise Blocked(
                "lock",
                f"{board} is in use: {device} is held by {_holder(path)}: wait for it with --wait=SECONDS, or end that program.",
            ) from None
        except OSError as error:
            raise Blocked(
                "lock", f"{device} of {board} cannot be locked ({error}): make {path} writable for you."
            ) from error
        _leave_note(path)
        return lock

    def _make_folder(self) -> None:
        if not self._folder.is_dir():
            self._folder.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(PermissionError):
                self._folder.chmod(SHARED_FOLDER)


def _name(device: str) -> str:
    """Return a file name for a device: what can be read of it, and a digest that keeps two apart."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', device).strip('-')[:60]}-{hashlib.sha256(device.encode()).hexdigest()[:8]}"


def _note_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _leave_note(path: Path) -> None:
    note = {
        "process": os.getpid(),
        "user": getpass.getuser(),
        "command": _command(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    fresh = _note_of(path).with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # another user's note that cannot be replaced: the lock holds all the same
        fresh.write_text(json.dumps(note), encoding="utf-8")
        fresh.replace(_note_of(path))


def _command() -> str:
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name  # `python -m pytest`
    return " ".join([name, *sys.argv[1:]])[:200]


def _holder(path: Path) -> str:
    """Say who holds a lock, as far as the note tells."""
    try:
        note = json.loads(_note_of(path).read_text(encoding="utf-8"))
        return f"{note['user']}'s `{note['command']}` (process {note['process']}, since {note['since']})"
    except (OSError, ValueError, KeyError):
        return "another program"
