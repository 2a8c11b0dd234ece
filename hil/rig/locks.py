"""A lock for each device, which ends with its holder and tells other sessions who holds it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from hil.bounded_read import parse_json
from hil.errors import Blocked, RigError
from hil.rig.lock_file import MOST_NOTE, LockFile, LockHeld, UnsafeLock, held_by, user_name

FOLDER = Path(tempfile.gettempdir())  # shared by all users of this computer; belongs to root


class Locks:
    """The devices that this session has locked.

    Each is a lock of the operating system on an open file (hil/rig/lock_file.py), so it ends with its process, even if
    that is killed. The content of the file names the holder; it has no meaning unless the file is locked.

    Args:
        wait_s: how long to wait for a device that another session holds, in seconds; infinity waits for ever.
        folder: folder of the lock files; by default the temporary folder that all users of this computer share.
    """

    def __init__(self, wait_s: float = 0.0, folder: Path | None = None) -> None:
        self._wait_s = wait_s
        self._folder = folder or FOLDER
        self._held: dict[str, LockFile] = {}

    def hold(self, board: str, devices: Iterable[str]) -> None:
        """Lock the devices of a board until `release`. Those that this session holds already stay locked.

        Raises:
            Blocked: another session holds one of them, or a lock cannot be made; none of the new ones is locked then.
        """
        before = set(self._held)
        try:
            # All sessions lock in the same order, so no two sessions wait for each other.
            for device in sorted(set(devices) - before):
                self._held[device] = self._lock(board, device)
        except BaseException:
            for device in set(self._held) - before:
                self._held.pop(device).release()
            raise

    def left_by(self, device: str) -> int | None:
        """Return the process that holds a device or was killed while it did, None if there is none.

        If `hold` then succeeds, it was killed.
        """
        with contextlib.suppress(OSError, RigError, KeyError, TypeError, ValueError):
            return int(parse_json(self._path(device).read_bytes()[:MOST_NOTE], "the note", "")["process"])
        return None

    def holder(self, device: str) -> str:
        """Return in a few words who holds a device, empty if nobody does. It takes no lock that others could meet."""
        held = held_by(self._path(device))
        return "" if held is None else _brief(held)

    def release(self) -> None:
        """Release all devices."""
        while self._held:
            self._held.popitem()[1].release()

    def _lock(self, board: str, device: str) -> LockFile:
        lock = LockFile(self._path(device))
        try:
            lock.take(self._wait_s, _note())
        except LockHeld as held:
            raise Blocked(
                "lock",
                f"{board} is in use: {device} is held by {_holder(held)}: "
                "wait for it with --wait=SECONDS, or end that program.",
            ) from None
        except UnsafeLock as untrusted:
            raise Blocked("lock", f"{device} of {board} cannot be locked: {untrusted}.") from None
        except OSError as error:
            raise Blocked(
                "lock", f"{device} of {board} cannot be locked ({error}): make {lock.path} writable for your user."
            ) from error
        return lock

    def _path(self, device: str) -> Path:
        return self._folder / f"trainrig-{_name(device)}.lock"


def _name(device: str) -> str:
    """Return a file name for a device: its readable characters and a digest that makes the name unique."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', device).strip('-')[:60]}-{hashlib.sha256(device.encode()).hexdigest()[:8]}"


def _note() -> bytes:
    """Return the note that names this process to other sessions; the owner of the file gives the user."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    return json.dumps({"process": os.getpid(), "command": _command(), "since": since}).encode()


def _command() -> str:
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name  # `python -m pytest`
    return " ".join([name, *sys.argv[1:]])[:200]


def _brief(held: LockHeld) -> str:
    """Return the holder of a lock as `the user NAME, process NUMBER, since TIME`, as far as the note is one."""
    who = user_name(held.user)
    try:
        note = parse_json(held.note, "the note", "")
        since = datetime.fromisoformat(note["since"])
        return f"{who}, process {int(note['process'])}, since {since:%Y-%m-%d %H:%M%z}"
    except (RigError, KeyError, TypeError, ValueError, OverflowError):
        return who


def _holder(held: LockHeld) -> str:
    """Return the holder of a lock for a message. The note is untrusted: another user may have written anything."""
    who = user_name(held.user)
    try:
        note = parse_json(held.note, "the note", "")
        text = f"`{note['command']}` (process {note['process']}, since {note['since']})"
    except (RigError, KeyError, TypeError):
        return f"a program of {who}"
    return f"{''.join(each if each.isprintable() else '?' for each in text[:300])} of {who}"
