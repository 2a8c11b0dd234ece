"""Start, watch and end the process of a stand-in."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hil.boards import Board
from hil.child_process import script_command
from hil.endpoints import Endpoints
from hil.errors import Blocked, DeviceFault, short_path
from hil.images import Image
from hil.process_time import LOOK_S, AbleTime, ProcessTime, stopped_process, stopped_sentence
from hil.standins import parent_watchdog
from hil.steady_clock import steady_s

STOP_AFTER_S = 3.0  # from SIGTERM to SIGKILL


class StandIn:
    """A running stand-in and the endpoints that it has announced.

    The standard input of the process is a pipe. It closes when this process ends, also if this process is killed. Then
    a watchdog ends the program (parent_watchdog.py), unless its class says that it ends by itself: only to such a one
    `ask` may write.

    Args:
        command: program and arguments.
        announce: turns one line of standard output into endpoints; returns None if the endpoints come in a later line.
        log: file to which the standard error of the process is appended.
        name: name of the stand-in in messages.
        deadline_s: time [s] within which the endpoints must be announced, of that in which the process could run.
        folder: is removed after the process has ended, also if it was killed.
        image: the program, if a lockup of its core ends the process.

    Attributes:
        endpoints: what it has announced.
        log: as the argument.
        is_command: whether a reset ends its program and starts another: nothing in its memory outlasts that.
        plugin: the package that it is of, for messages; empty of the house's own.
        ends_with_parent: whether the program reads its standard input, and ends when that closes.

    Raises:
        Blocked: the process ended, or announced no endpoints in time.
    """

    is_command = False
    plugin = ""
    ends_with_parent = False

    def __init__(
        self,
        command: list[str],
        announce: Callable[[str], Endpoints | None],
        log: Path,
        name: str,
        deadline_s: float = 60.0,
        folder: Path | None = None,
        image: Image | None = None,
    ) -> None:
        self.folder, self._image = folder, image
        self.log, self._name = log, name
        self._announce, self._deadline_s = announce, deadline_s
        self._lines: list[str] = []
        self._log_begin = log.stat().st_size if log.exists() else 0
        watched = command if self.ends_with_parent else script_command(parent_watchdog.__file__, *command)
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                watched, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
                bufsize=0,  # `select` does not see lines that Python has read already
            )  # fmt: skip
        self._time, self._looked_at = ProcessTime(self.process.pid), steady_s()
        try:
            self.endpoints = self._await()
        except BaseException:
            self.stop()
            raise

    def ask(self, request: bytes) -> None:
        """Write a request to the process and wait for the endpoints that it announces in reply.

        Raises:
            Blocked: the process ended, or announced no endpoints in time.
        """
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the process has ended: _await reports it
            self.process.stdin.write(request)
            self.process.stdin.flush()
        self.endpoints = self._await()

    def _await(self) -> Endpoints:
        able = AbleTime(self.lost_s)
        while able.seconds < self._deadline_s:
            line = self._read_line(LOOK_S)
            if line is None:
                self.alive()
                continue
            endpoints = self._announce(line)
            if endpoints is not None:
                return replace(endpoints, process=self.process.pid)
        raise Blocked(
            "bench",
            f"the stand-in {self._name} offered no endpoints within {self._deadline_s:.0f} s, not counting the time in "
            f"which it could not run: its log is {short_path(self.log)}.",
        )

    def _read_line(self, timeout_s: float) -> str | None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], timeout_s)
        line = self.process.stdout.readline() if ready else b""
        return line.decode(errors="replace").strip() if line else None

    def lost_s(self) -> float:
        """Return the seconds in which the process could not run (hil/process_time.py)."""
        if steady_s() - self._looked_at >= LOOK_S:
            self._looked_at = steady_s()
            self._time.look()
        return self._time.lost_s

    def log_text(self) -> str:
        """Return the log of the process so far, without that of a former one."""
        return self.log.read_bytes()[self._log_begin :].decode(errors="replace")

    def lines(self) -> list[str]:
        """Return all lines printed since the endpoints, without waiting."""
        while (line := self._read_line(0)) is not None:
            self._lines.append(line)
        return self._lines

    def forget_lines(self) -> None:
        """Forget the lines printed so far."""
        self.lines().clear()

    def alive(self, within_s: float = 0.0) -> None:
        """Raise if the process or a child is stopped for good, has ended, or ends within `within_s` seconds.

        With `within_s`, which is for a board that no longer answers, it also waits to see whether a stopped one is
        continued (`stopped_process`).

        Raises:
            DeviceFault: the chip has ended it: its core is locked up.
            Blocked: it is stopped, or has ended for another reason.
        """
        if within_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(within_s)
        status = self.process.poll()
        if status is not None:
            fault = self.chip_fault(self._image) if self._image is not None else None
            if fault is not None:
                raise DeviceFault(fault)
            tail = self.log_text().strip().splitlines()[-1:]
            last_line = f" ({tail[0]})" if tail else ""
            of, cure = "", "run again, and report it if it comes back"
            if self.plugin:
                of, cure = f" of the plugin {self.plugin}", f"look at its log {short_path(self.log)}, and correct it"
            raise Blocked("bench", f"the stand-in {self._name}{of} ended with {_status(status)}{last_line}: {cure}.")
        self.lost_s()
        stopped = self._time.stopped
        if stopped is None and within_s:  # nobody has looked while the board was silent
            stopped = stopped_process(self.process.pid)
        if stopped is not None:
            raise Blocked("bench", stopped_sentence(f"the stand-in {self._name}", stopped))

    def bad_end(self) -> Blocked | DeviceFault | None:
        """Return the error of a process that has ended with another status than 0; None of one that runs."""
        if self.process.poll() in (None, 0):
            return None
        try:
            self.alive()
        except (Blocked, DeviceFault) as ended:
            return ended
        return None

    def chip_fault(self, image: Image) -> str | None:
        """Return a sentence about an invalid access or a lockup that it has reported, None if there is none."""
        return None

    def own_resets(self) -> int:
        """Return how often the program has reset the machine since the last call, as far as the stand-in knows it."""
        return 0

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        """Reset the machine, if it can without a probe; return whether it did.

        `while_stopped` is called while the machine stands still, before its program begins. Raises Blocked if it fails.
        """
        return False

    def serves(self, board: Board, image: Image) -> bool:
        """Return whether it can serve one more trial, of this board and image, and prepare it for that.

        Raises Blocked if it has ended.
        """
        return False

    def stop(self) -> None:
        """End the process: SIGTERM first, then SIGKILL."""
        self._end()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_AFTER_S)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # start_new_session made it the leader of its own group
            self.process.wait()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        if self.process.stdout is not None:
            self.process.stdout.close()


def _status(status: int) -> str:
    """Return the status of a process that has ended, with the name of the signal that ended it."""
    try:
        return f"status {status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"status {status}"
