"""Find Renode, and start a process that runs a board on it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from hil.boards import Board
from hil.child_process import module_command
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image
from hil.standins.kinds import StandInKind
from hil.standins.process import StandIn
from hil.standins.renode.platform import PLATFORMS, why_not
from hil.standins.renode.process import private_environment
from hil.standins.renode.request import RenodeRequest

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
    output = _output_of([path, "--version"], environment)
    numbers = re.search(r"Renode v(\d+)\.(\d+)\.(\d+)", output)
    if numbers is None:
        first = output.strip().partition("\n")[0][:80]
        raise Blocked("bench", f"{path} does not report its version (its output is {first!r}): {cure()}.")
    found = (int(numbers[1]), int(numbers[2]), int(numbers[3]))
    if found < OLDEST:
        raise Blocked("bench", f"{path} is Renode {'.'.join(map(str, found))}, which is too old: {cure()}.")
    return found


def _output_of(command: list[str], environment: dict[str, str]) -> str:
    """Run a program and return its output; no process of its group remains. Raises Blocked if it does not end."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=environment,
            start_new_session=True,
        )
        try:
            return process.communicate(timeout=VERSION_DEADLINE_S)[0]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Blocked("bench", f"{command[0]} does not report its version ({error}): {cure()}.") from error


def installed() -> str | None:
    """Return the version of the installed Renode, e.g. `1.16.1`, or None if there is no Renode on the PATH.

    The program is asked once, and again if its file has changed.

    Raises:
        Blocked: see `version`.
    """
    path = program()
    if path is None:
        return None
    found = _ask_version(path, Path(path).stat().st_mtime_ns)
    if isinstance(found, Blocked):
        raise Blocked(found.stage, found.reason)
    return found


@cache
def _ask_version(path: str, changed_ns: int) -> str | Blocked:
    with tempfile.TemporaryDirectory(prefix="trainrig-renode-") as folder:
        try:
            return ".".join(map(str, version(path, private_environment(Path(folder)))))
        except Blocked as blocked:
            return blocked


class Renode(StandIn):
    """A process with Renode, which serves one board after another."""

    ends_with_parent = True

    def serves(self, board: Board, image: Image) -> bool:
        """Replace the machine by a board after reset. Raises Blocked as `start_renode`."""
        self.alive()
        assert self.folder is not None  # of start_renode
        self.ask(RenodeRequest.for_image(board.name, image, self.folder).to_line())
        return True


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
    request = RenodeRequest.for_image(board.name, image, folder)
    command = module_command(
        "hil.standins.renode", "--board", board.name, "--elf", str(image.path),
        "--folder", str(folder), "--parent-pid", str(os.getpid()),
    )  # fmt: skip
    for address, file in request.cargo:
        command += ["--cargo", hex(address), str(file)]
    return Renode(command, _announced, log, "Renode", deadline_s=150.0, folder=folder)


def _announced(line: str) -> Endpoints | None:
    announcement = json.loads(line)
    if "blocked" in announcement:
        raise Blocked("bench", announcement["blocked"])
    return Endpoints(announcement["board"], "renode", serial=announcement["serial"])


RENODE = StandInKind(start_renode, kept=True)
