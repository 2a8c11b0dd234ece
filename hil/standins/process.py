"""Start, watch and end the process of a stand-in."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from hil.endpoints import Endpoints
from hil.errors import Blocked

STOP_AFTER_S = 3.0  # from SIGTERM to SIGKILL


class StandIn:
    """A running stand-in and the endpoints that it has announced.

    The standard input of the process is a pipe. It closes when this process ends, also if this process is killed. Only
    `ask` writes to it.

    Args:
        command: program and arguments.
        announce: turns one line of standard output into endpoints; returns None if the endpoints come in a later line.
        log: file to which the standard error of the process is appended.
        name: name of the stand-in in messages.
        deadline_s: wall time [s] within which the endpoints must be announced.
        folder: is removed after the process has ended, also if it was killed.

    Raises:
        Blocked: the process ended, or announced no endpoints in time.
    """

    def __init__(
        self,
        command: list[str],
        announce: Callable[[str], Endpoints | None],
        log: Path,
        name: str,
        deadline_s: float = 60.0,
        folder: Path | None = None,
    ) -> None:
        self._folder = folder
        self._name, self._log = name, log
        self._announce, self._deadline_s = announce, deadline_s
        self._lines: list[str] = []
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
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
        end = time.monotonic() + self._deadline_s
        while (left := end - time.monotonic()) > 0:
            line = self._read_line(left)
            if line is None:
                self.alive()
                continue
            endpoints = self._announce(line)
            if endpoints is not None:
                return endpoints
        raise Blocked(
            "bench",
            f"the stand-in {self._name} offered no endpoints within {self._deadline_s:.0f} s: its log is {self._log}.",
        )

    def _read_line(self, timeout_s: float) -> str | None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], timeout_s)
        line = self.process.stdout.readline() if ready else b""
        return line.decode(errors="replace").strip() if line else None

    def log_text(self) -> str:
        """Return the log of the process so far."""
        return self._log.read_text(errors="replace")

    def lines(self) -> list[str]:
        """Return all lines printed since the endpoints, without waiting."""
        while (line := self._read_line(0)) is not None:
            self._lines.append(line)
        return self._lines

    def alive(self, within_s: float = 0.0) -> None:
        """Raise `Blocked` if the process has ended, or ends within `within_s` seconds."""
        if within_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(within_s)
        status = self.process.poll()
        if status is not None:
            tail = self.log_text().strip().splitlines()[-1:]
            last_line = f" ({tail[0]})" if tail else ""
            raise Blocked(
                "bench",
                f"the stand-in {self._name} ended with status {status}{last_line}: "
                "run again, and report it if it comes back.",
            )

    def stop(self) -> None:
        """End the process: SIGTERM first, then SIGKILL."""
        self._end()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

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
