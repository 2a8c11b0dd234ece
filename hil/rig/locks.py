"""A lock for each device: it dies with its holder, and names the holder to whoever comes second."""

from __future__ import annotations

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
from hil.rig.lock_file import Held, LockFile, Untrusted, user_name

FOLDER = Path(tempfile.gettempdir())  # the same for every user of this computer, and root's


class Locks:
    """The devices that this session holds.

    The lock is the operating system's on an open file (hil/rig/lock_file.py), so that it ends with the process that holds it, however that ends.
    What the file holds tells who that is; without a lock it means nothing.

    Args:
        wait_s: how long to wait for a device that another session holds; infinity waits as long as it takes.
        folder: holds the lock files; by default the temporary folder that all users of this computer share.
    """

    def __init__(self, wait_s: float = 0.0, folder: Path | None = None) -> None:
        self._wait_s = wait_s
        self._folder = folder or FOLDER
        self._held: dict[str, LockFile] = {}

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
            for device in sorted(
                set(devices) - before
            ):  # in one order for all sessions, so that no two wait for each other
                self._held[device] = self._lock(board, device)
        except BaseException:
            for device in set(self._held) - before:
                self._held.pop(device).release()
            raise

    def release(self) -> None:
        """Give every device back."""
        while self._held:
            self._held.popitem()[1].release()

    def _lock(self, board: str, device: str) -> LockFile:
        lock = LockFile(self._folder / f"trainrig-{_name(device)}.lock")
        try:
            lock.take(self._wait_s, _note())
        except Held as held:
            raise Blocked(
                "lock",
                f"{board} is in use: {device} is held by {_holder(held)}: wait for it with --wait=SECONDS, or end that program.",
            ) from None
        except Untrusted as untrusted:
            raise Blocked("lock", f"{device} of {board} cannot be locked: {untrusted}.") from None
        except OSError as error:
            raise Blocked(
                "lock", f"{device} of {board} cannot be locked ({error}): make {lock.path} writable for you."
            ) from error
        return lock


def _name(device: str) -> str:
    """Return a file name for a device: what can be read of it, and a digest that keeps two apart."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', device).strip('-')[:60]}-{hashlib.sha256(device.encode()).hexdigest()[:8]}"


def _note() -> bytes:
    """Return who we are, for others; the user is known by the file's owner."""
    since = datetime.now().astimezone().isoformat(timespec="seconds")
    return json.dumps({"process": os.getpid(), "command": _command(), "since": since}).encode()


def _command() -> str:
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name  # `python -m pytest`
    return " ".join([name, *sys.argv[1:]])[:200]


def _holder(held: Held) -> str:
    """Say who holds a lock, as far as its note tells; another user may have written anything into it."""
    who = user_name(held.user)
    try:
        note = parse_json(held.note, "the note", "")
        said = f"`{note['command']}` (process {note['process']}, since {note['since']})"
    except (RigError, KeyError, TypeError):
        return f"a program of {who}"
    return f"{''.join(each if each.isprintable() else '?' for each in said[:300])} of {who}"
