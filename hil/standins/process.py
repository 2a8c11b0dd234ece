"""A stand-in's process: started, watched, and ended whatever happens to its owner."""

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

STOP_AFTER_S = 3.0  # between asking a process to end and killing it


class StandIn:
    """A running stand-in and the endpoints that it has announced.

    Args:
        command: program and arguments.
        announce: turns one line of the process's standard output into endpoints, or None while more lines are to come.
        log: file to which the process's error output is appended.
        name: of the stand-in, for messages.
        deadline_s: wall time within which the endpoints must be announced.
        folder: removed when the process has ended, even where it was killed.

    Its standard input is a pipe, whose end tells the process that we are gone, however we went; only `ask` writes to it.

    Raises:
        Blocked: the process ended or kept silent instead.
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
        """Write a request to a process that takes some, and take the endpoints that it announces then.

        Raises:
            Blocked: the process ended or kept silent instead.
        """
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended, which is noticed below
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

    def said(self) -> str:
        """Return the log of the process so far."""
        return self._log.read_text(errors="replace")

    def lines(self) -> list[str]:
        """Return every line that the process has printed since the endpoints, without waiting."""
        while (line := self._read_line(0)) is not None:
            self._lines.append(line)
        return self._lines

    def alive(self, within_s: float = 0.0) -> None:
        """Raise `Blocked` when the process has ended, or ends within so many seconds."""
        if within_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(within_s)
        status = self.process.poll()
        if status is not None:
            tail = self.said().strip().splitlines()[-1:]
            said = f" ({tail[0]})" if tail else ""
            raise Blocked(
                "bench",
                f"the stand-in {self._name} ended with status {status}{said}: run again, and report it if it comes back.",
            )

    def stop(self) -> None:
        """End the process: ask first, then kill."""
        self._end()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_AFTER_S)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # its session is its own
            self.process.wait()
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        if self.process.stdout is not None:
            self.process.stdout.close()
