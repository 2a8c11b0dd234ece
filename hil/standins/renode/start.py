"""Find Renode, and start a process that runs a board on it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image
from hil.standins.process import StandIn
from hil.standins.renode.environment import private_environment
from hil.standins.renode.platform import PLATFORMS, why_not
from hil.standins.renode.request import Request

OLDEST = (1, 16, 0)  # docs/renode.md: older versions update DWT only at synchronisation points
VERSION_DEADLINE_S = 30.0
PEOPLE = range(1000, 60_000)  # user ids of people (systemd: Users, Groups, UIDs and GIDs on systemd systems)
_CURE = "unpack the portable archive of Renode {oldest} or later and put it on the PATH, or use another --reality"


def program() -> str | None:
    """Return the path of the program `renode` on the PATH, or None."""
    return shutil.which("renode")


def modelled() -> list[str]:
    """Return the names of the boards that have a platform for Renode, sorted."""
    return sorted(file.stem for file in PLATFORMS.glob("*.toml") if why_not(file.stem) is None)


def other_users_present() -> bool:
    """Return whether processes of other people run on this computer.

    Everybody who can reach Renode's ports can command it (docs/renode.md).
    """
    owners = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            owners.add(entry.stat().st_uid)
    return any(owner in PEOPLE and owner != os.getuid() for owner in owners)


def cure() -> str:
    """Return the cure for a Renode that is missing or too old, as the end of a message."""
    return _CURE.format(oldest=".".join(map(str, OLDEST)))


def version(path: str, environment: dict[str, str]) -> tuple[int, int, int]:
    """Return the version of a Renode.

    Raises:
        Blocked: it does not report its version, or is older than `OLDEST`.
    """
    try:
        done = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=VERSION_DEADLINE_S,
            env=environment,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Blocked("bench", f"{path} does not report its version ({error}): {cure()}.") from error
    numbers = re.search(r"Renode v(\d+)\.(\d+)\.(\d+)", done.stdout)
    if numbers is None:
        first = (done.stdout + done.stderr).strip().partition("\n")[0][:80]
        raise Blocked("bench", f"{path} does not report its version (its output is {first!r}): {cure()}.")
    found = (int(numbers[1]), int(numbers[2]), int(numbers[3]))
    if found < OLDEST:
        raise Blocked("bench", f"{path} is Renode {'.'.join(map(str, found))}, which is too old: {cure()}.")
    return found


def installed() -> str | None:
    """Return the version of the installed Renode, e.g. `1.16.1`, or None if there is no Renode on the PATH.

    Raises:
        Blocked: see `version`.
    """
    path = program()
    if path is None:
        return None
    with tempfile.TemporaryDirectory(prefix="trainrig-renode-") as folder:
        return ".".join(map(str, version(path, private_environment(Path(folder)))))


def start_renode(board: Board, image: Image, log: Path) -> StandIn:
    """Start Renode with a board and return it with its endpoints: a serial port, no probe and no meter.

    Args:
        board: catalogue entry.
        image: firmware, which Renode loads.
        log: file for the log.

    Raises:
        Blocked: Renode is missing or too old, cannot stand in for the board, or did not start.
    """
    folder = Path(tempfile.mkdtemp(prefix="trainrig-renode-"))
    command = [
        sys.executable, "-m", "hil.standins.renode", "--board", board.name, "--elf", str(image.path),
        "--folder", str(folder), "--parent-pid", str(os.getpid()),
    ]  # fmt: skip
    return StandIn(command, _announced, log, "Renode", deadline_s=150.0, folder=folder)


def boot_again(stand_in: StandIn, board: Board, image: Image) -> None:
    """Replace the machine of a stand-in of `start_renode` by a board after reset.

    Raises:
        Blocked: see `start_renode`.
    """
    stand_in.ask(Request(board.name, image.path).to_line())


def _announced(line: str) -> Endpoints | None:
    announcement = json.loads(line)
    if "blocked" in announcement:
        raise Blocked("bench", announcement["blocked"])
    return Endpoints(announcement["board"], "renode", serial=announcement["serial"])
