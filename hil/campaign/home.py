"""The folder of a campaign: who has it, and who asks it to stop."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from hil.bounded import SMALL_TEXT, read_json
from hil.campaign.plan import NAME
from hil.errors import RigError

CAMPAIGNS = Path("reports/campaigns")
STOP, LOCK, HOLDER = "stop", "lock", "running.json"
PATIENCE_S = 1.0  # somebody who only asks whether the folder is held has it for a moment
POLL_S = 0.2


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a campaign: one process works on it at a time.

    Raises:
        RigError: another process has it.
    """
    lock = FileLock(folder / LOCK, timeout=PATIENCE_S)
    try:
        lock.acquire(poll_interval=POLL_S / 4)
    except Timeout:
        raise RigError(
            f"the campaign in {folder} runs already{_who(folder)}: `hil campaign stop {folder}` stops it after the step it is at."
        ) from None
    try:
        (folder / STOP).unlink(missing_ok=True)
        (folder / HOLDER).write_text(json.dumps({"process": os.getpid()}), encoding="utf-8")
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def runs(folder: Path) -> bool:
    """Whether a process works on the campaign now: the lock is the operating system's, and ends with the process however that ends."""
    if not (folder / LOCK).exists():
        return False
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return True
    lock.release()
    return False


def ask_to_stop(folder: Path) -> None:
    """Ask the process that works on the campaign to stop after the step it is at, and wait until it has.

    Raises:
        RigError: none does.
    """
    if not runs(folder):
        raise RigError(f"the campaign in {folder} does not run: there is nothing to stop.")
    (folder / STOP).touch()
    while runs(folder):
        time.sleep(POLL_S)
    (folder / STOP).unlink(missing_ok=True)


def chosen(folder: Path | None) -> Path:
    """Return the folder of a campaign: the one that is named, or the only one there is.

    Raises:
        RigError: none is there, or several, or one with a link in it, which a campaign never makes: its files would be written elsewhere.
    """
    found = _chosen(folder)
    for path in found.iterdir():
        if path.is_symlink():
            raise RigError(f"{path} is a link: do not trust this folder, or put the file itself in its place.")
    return found


def _chosen(folder: Path | None) -> Path:
    if folder is not None:
        if not (folder / NAME).exists():
            raise RigError(f"{folder} holds no campaign: `hil campaign start` begins one, or name its folder.")
        return folder
    found = sorted(path.parent for path in CAMPAIGNS.glob(f"*/{NAME}"))
    if not found:
        raise RigError(f"there is no campaign in {CAMPAIGNS}: `hil campaign start` begins one, or name its folder.")
    if len(found) > 1:
        raise RigError(
            f"there are {len(found)} campaigns in {CAMPAIGNS}: name one of {', '.join(path.name for path in found)} with its folder."
        )
    return found[0]


def _who(folder: Path) -> str:
    try:
        return f" (process {read_json(folder / HOLDER, SMALL_TEXT, '')['process']})"
    except (RigError, KeyError, TypeError):
        return ""
