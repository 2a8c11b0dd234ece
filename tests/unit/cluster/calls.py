"""What the workers of these tests are asked for."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path

from hil.errors import RigError


def add(one: int, other: int) -> int:
    return one + other


def environment(name: str) -> str | None:
    return os.environ.get(name)


def place() -> str:
    """Return the folder of the worker, which is also that of its temporary files."""
    from distributed import get_worker

    own: str = get_worker().local_directory
    assert tempfile.gettempdir() == own
    return own


def refuse(why: str) -> None:
    raise RigError(f"{why}: do something else.")


def stumble() -> None:
    raise ZeroDivisionError("in the middle")


def note(folder: str, name: str) -> int:
    """Leave a file for every call."""
    Path(folder, f"{name}-{time.monotonic_ns()}").touch()
    return os.getpid()


def die(folder: str, deaths: int) -> int:
    """Die so many times, then return."""
    pid = note(folder, "die")
    if len(list(Path(folder).glob("die-*"))) <= deaths:
        os.kill(pid, signal.SIGKILL)
    return pid


def wait_for(path: str) -> str:
    """Note the call, and wait until a file is there."""
    Path(f"{path}-{time.monotonic_ns()}.begun").touch()
    while not Path(path).exists():
        time.sleep(0.01)
    return "done"
