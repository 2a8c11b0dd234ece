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

from hil.child_process import module_command
from hil.errors import Blocked
from hil.process_time import LOOK_S, ProcessTime
from hil.threads import start

LOG = logging.getLogger(__name__)
END_WITHIN_S = 1.0
LONGEST_S = 3600.0  # for one request, however long the round trip
MOST_DEADLINES = 10  # of a request to a stand-in that makes progress: a computer ten times slower


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
    """No answer within the deadline; the process was killed.

    Attributes:
        trips: what was added to the deadline.
        stopped: number of the process of the stand-in that a signal had stopped, or None.
        own_stopped: that of the process at the probe, or None.
    """

    def __init__(
        self, trips: RoundTrips = RoundTrips(), stopped: int | None = None, own_stopped: int | None = None
    ) -> None:
        super().__init__()
        self.trips, self.stopped, self.own_stopped = trips, stopped, own_stopped


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
                module_command("hil.targets.probe_child", str(theirs.fileno())),
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def ask(self, deadline_s: float, request: str, *arguments: Any, stand_in: int | None = None) -> Any:
        """Call a method of `PyocdSession` in the process and return its result.

        Args:
            deadline_s: from the request to the answer; a remote probe gets the time of its round trips too. With a
                stand-in, from one progress to the next.
            stand_in: process of the stand-in that the probe belongs to.

        Raises:
            Blocked: raised by the method.
            Failed, TimedOut, Ended: see these classes.
        """
        self.start()
        assert self._process is not None and self._pipe is not None
        trips = RoundTrips()
        # Killing the process breaks the pipe wherever it hangs, even in the middle of an answer.
        process = self._process
        deadline = _OfHardware(process, deadline_s) if stand_in is None else _OfStandIn(process, deadline_s, stand_in)
        try:
            self._pipe.send((request, arguments))
            kind, *values = self._pipe.recv()
            while kind in ("log", "answered"):
                if kind == "log":
                    LOG.info("%s", *values)
                else:
                    trips = RoundTrips(trips.number + values[0], values[1])
                    deadline.answered(trips)
                kind, *values = self._pipe.recv()
        except (EOFError, OSError):
            status = self.stop()
            if deadline.is_over:
                raise TimedOut(trips, deadline.stopped, deadline.own_stopped) from None
            raise Ended(f"status {status}") from None
        except BaseException:  # no memory, Ctrl-C: the next request would take the answer that is left for its own
            self.stop()
            raise
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


class _OfHardware:
    """Kills a process after some seconds of wall time and its round trips, unless it is cancelled before."""

    stopped: int | None = None
    own_stopped: int | None = None

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self._process, self._seconds, self._started, self.is_over = process, seconds, time.monotonic(), False
        self._timer = self._running(seconds)

    def answered(self, trips: RoundTrips) -> None:
        """Add the time of the round trips so far."""
        self._timer.cancel()
        allowed = min(self._seconds + trips.seconds, LONGEST_S)
        self._timer = self._running(allowed - (time.monotonic() - self._started))

    def cancel(self) -> None:
        """Let the process live."""
        self._timer.cancel()

    def _running(self, seconds: float) -> threading.Timer:
        timer = threading.Timer(max(seconds, 0.0), self._end)
        start(timer)
        return timer

    def _end(self) -> None:
        self.is_over = True
        self._process.kill()


class _OfStandIn:
    """Kills a process that has made no progress for some seconds in which it and the stand-in could run.

    Progress is an answered round trip. A request that goes on and on ends after `MOST_DEADLINES` times as long.
    """

    def __init__(self, process: subprocess.Popen[bytes], seconds: float, stand_in: int) -> None:
        self._process, self._seconds = process, seconds
        self.is_over = False
        self.stopped: int | None = None
        self.own_stopped: int | None = None
        self._times = ProcessTime(stand_in), ProcessTime(process.pid)
        self._done = threading.Event()
        self._own_s = self._progress_s = 0.0  # of the time in which both could run
        self._thread = threading.Thread(target=self._watch, daemon=True)
        start(self._thread)

    def answered(self, trips: RoundTrips) -> None:
        """Note the progress."""
        self._progress_s = self._own_s

    def cancel(self) -> None:
        """Let the process live."""
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        before = time.monotonic()
        while not self._done.wait(LOOK_S):
            lost = [each.lost_s for each in self._times]
            for each in self._times:
                each.look()
            now = time.monotonic()
            most = max(each.lost_s - old for each, old in zip(self._times, lost, strict=True))
            self._own_s, before = self._own_s + max(now - before - most, 0.0), now
            self.stopped, self.own_stopped = (each.stopped for each in self._times)
            late = self._own_s - self._progress_s > self._seconds or self._own_s > MOST_DEADLINES * self._seconds
            if late or self.stopped is not None or self.own_stopped is not None:
                self.is_over = True
                self._process.kill()
                return
