"""Run pyOCD in a separate process, which can be killed when it hangs.

pyOCD and its USB libraries may wait or spin for ever on a probe that is gone. A hanging thread cannot be ended and
keeps the device open. A process can be killed, and the operating system then releases the device.
"""

from __future__ import annotations

import contextlib
import logging
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from hil.errors import Blocked
from hil.threads import start

LOG = logging.getLogger(__name__)
END_WITHIN_S = 1.0
LONGEST_S = 3600.0  # for one request, however long the round trip


@dataclass(frozen=True)
class RoundTrips:
    """How many round trips to a remote probe a request has taken, and the seconds of the fastest one."""

    number: int = 0
    each_s: float = 0.0

    @property
    def seconds(self) -> float:
        """What the network has taken of the request."""
        return self.number * self.each_s


class TimedOut(Exception):
    """No answer within the deadline, to which the round trips were added; the process was killed."""

    def __init__(self, trips: RoundTrips = RoundTrips()) -> None:
        super().__init__()
        self.trips = trips


class Ended(Exception):
    """The process ended during a request; the message is its exit status."""


class Failed(Exception):
    """The request failed; the message is that of pyOCD."""


class ProbeProcess:
    """The probe process, started on the first request or earlier by `start`, and started again after it was killed.

    The process ends with the program that started it, even if that program is killed.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Process id, None if the process is not running."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process unless it runs. Does not wait until pyOCD is loaded, which takes half a second."""
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        if sys.platform == "win32":
            raise Blocked(
                "connect",
                "debug probes are not supported on Windows: run the rig in WSL 2, "
                "and pass the probe through with usbipd-win.",
            )
        self._pipe, theirs = Pipe()
        with contextlib.closing(theirs):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hil.targets.probe_child", str(theirs.fileno())],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def ask(self, deadline_s: float, request: str, *arguments: Any) -> Any:
        """Call a method of `PyocdSession` in the process and return its result.

        Raises:
            Blocked: raised by the method.
            Failed, TimedOut, Ended: see these classes.
        """
        self.start()
        assert self._process is not None and self._pipe is not None
        started, trips = time.monotonic(), RoundTrips()
        # Killing the process breaks the pipe wherever it hangs, even in the middle of an answer.
        deadline = _Deadline(self._process, deadline_s)
        try:
            self._pipe.send((request, arguments))
            kind, *values = self._pipe.recv()
            while kind in ("log", "answered"):
                if kind == "log":
                    LOG.info("%s", *values)
                else:
                    trips = RoundTrips(trips.number + values[0], values[1])
                    allowed = min(deadline_s + trips.seconds, LONGEST_S)
                    deadline.move(allowed - (time.monotonic() - started))
                kind, *values = self._pipe.recv()
        except (EOFError, OSError):
            status = self.stop()
            raise TimedOut(trips) if deadline.is_over else Ended(f"status {status}") from None
        finally:
            deadline.cancel()
        if kind == "blocked":
            raise Blocked(*values)
        if kind == "failed":
            raise Failed(*values)
        return values[0]

    def stop(self) -> int | None:
        """Close the pipes of the process, kill it unless it then ends by itself, and return its exit status."""
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            pipe.close()
        if process is None:
            return None
        assert process.stdin is not None
        process.stdin.close()
        try:
            return process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


class _Deadline:
    """Kills a process after some seconds, unless it is moved or cancelled before."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process, self.is_over = process, False
        self._timer = self._started(seconds)

    def move(self, seconds: float) -> None:
        """Let it be so many seconds from now."""
        self._timer.cancel()
        self._timer = self._started(seconds)

    def cancel(self) -> None:
        """Let the process live."""
        self._timer.cancel()

    def _started(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(max(seconds, 0.0), self._end)
        start(timer)
        return timer

    def _end(self) -> None:
        self.is_over = True
        self._process.kill()
