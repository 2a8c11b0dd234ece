"""The folder of a campaign: its lock, and requests to stop."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from hil.bounded_read import SMALL_TEXT, read_json
from hil.errors import RigError
from hil.training.campaign.plan import NAME

CAMPAIGNS = Path("reports/campaigns")
STOP, LOCK, HOLDER = "stop", "lock", "running.json"
PATIENCE_S = 1.0  # `hil campaign status` holds the lock for a moment
POLL_S = 0.2
NO_CAMPAIGN = "`hil campaign start` begins one, or name its folder"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a campaign: one process works on it at a time.

    Raises:
        RigError: another process works on it.
    """
    lock = FileLock(folder / LOCK, timeout=PATIENCE_S)
    try:
        lock.acquire(poll_interval=POLL_S / 4)
    except Timeout:
        stop = f"`hil campaign stop {folder}` stops it after its current step"
        raise RigError(f"the campaign in {folder} runs already{_holder(folder)}: {stop}.") from None
    try:
        (folder / STOP).unlink(missing_ok=True)
        (folder / HOLDER).write_text(json.dumps({"process": os.getpid()}), encoding="utf-8")
        yield
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


def is_running(folder: Path) -> bool:
    """Return whether a process works on the campaign. The operating system releases the lock of a dead process."""
    if not (folder / LOCK).exists():
        return False
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        return True
    lock.release()
    return False


def request_stop(folder: Path) -> None:
    """Ask the process that works on the campaign to stop after its current step, and wait until it has.

    Raises:
        RigError: no process works on it.
    """
    if not is_running(folder):
        raise RigError(f"the campaign in {folder} does not run: there is nothing to stop.")
    (folder / STOP).touch()
    while is_running(folder):
        time.sleep(POLL_S)
    (folder / STOP).unlink(missing_ok=True)


def find_campaign(folder: Path | None) -> Path:
    """Return the folder of a campaign: the named one, or the only one in CAMPAIGNS.

    Raises:
        RigError: there is none, there are several, or it contains a link, which could redirect files elsewhere.
    """
    if folder is None:
        found = sorted(path.parent for path in CAMPAIGNS.glob(f"*/{NAME}"))
        if not found:
            raise RigError(f"there is no campaign in {CAMPAIGNS}: {NO_CAMPAIGN}.")
        if len(found) > 1:
            names = ", ".join(path.name for path in found)
            raise RigError(f"there are {len(found)} campaigns in {CAMPAIGNS}: name one of {names} with its folder.")
        folder = found[0]
    elif not (folder / NAME).exists():
        raise RigError(f"{folder} holds no campaign: {NO_CAMPAIGN}.")
    for path in folder.iterdir():
        if path.is_symlink():
            raise RigError(f"{path} is a link: do not trust this folder, or replace the link by the file.")
    return folder


def _holder(folder: Path) -> str:
    try:
        return f" (process {read_json(folder / HOLDER, SMALL_TEXT, '')['process']})"
    except (RigError, KeyError, TypeError):
        return ""
