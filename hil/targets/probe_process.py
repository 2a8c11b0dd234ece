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
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from hil.child_process import module_command
from hil.errors import Blocked
from hil.process_time import LOOK_S, ProcessTime
from hil.steady_clock import steady_s
from hil.threads import start

LOG = logging.getLogger(__name__)
END_WITHIN_S = 1.0
LONGEST_S = 3600.0  # for one request, however long the round trip
MOST_DEADLINES = 10  # of a request that makes progress: a computer ten times slower
PYOCD = "hil.targets.pyocd_session:PyocdSession"
SEMIHOSTING = "hil.targets.semihosting_session:SemihostingSession"


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
        trips: to a remote probe, that were answered before.
        stopped: number of the process of the stand-in that a signal had stopped, or None.
        own_stopped: that of the process at the probe, or None.
        went_on: whether there was progress until the end.
    """

    def __init__(
        self, trips: RoundTrips, stopped: int | None = None, own_stopped: int | None = None, went_on: bool = False
    ) -> None:
        super().__init__()
        self.trips, self.stopped, self.own_stopped, self.went_on = trips, stopped, own_stopped, went_on


class ProbeEnded(Exception):
    """The process ended during a request; the message is its exit status."""


class Failed(Exception):
    """The request failed; the message is that of pyOCD."""


class ProbeProcess:
    """The probe process, started on the first request or earlier by `start`, and started again after it was killed.

    The process ends with the program that started it, even if that program is killed.

    Args:
        session: class of the session in the process: `PYOCD`, or `SEMIHOSTING`, which also serves the semihosting of a
            firmware.
    """

    def __init__(self, session: str = PYOCD) -> None:
        self._session = session
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
                module_command("hil.targets.probe_child", str(theirs.fileno()), self._session),
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def ask(self, deadline_s: float, request: str, *arguments: Any, stand_in: int | None = None) -> Any:
        """Call a method of `PyocdSession` in the process and return its result.

        Args:
            deadline_s: from one progress to the next, in time in which the processes could run.
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
        deadline = _Deadline(process, deadline_s, stand_in)
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
                raise TimedOut(trips, deadline.stopped, deadline.own_stopped, deadline.went_on) from None
            raise ProbeEnded(f"status {status}") from None
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


class _Deadline:
    """Kills a process that has made no progress for some seconds in which it, and a stand-in, could run.

    Progress is that pyOCD is loaded, or that a remote probe answers. A probe at this computer reports no answers.
    A request that goes on and on ends after `MOST_DEADLINES` times as long, and the time of its round trips.
    """

    def __init__(self, process: subprocess.Popen[bytes], seconds: float, stand_in: int | None) -> None:
        self._process, self._seconds, self._most_s = process, seconds, MOST_DEADLINES * seconds
        self.is_over = self.went_on = False
        self.stopped: int | None = None
        self.own_stopped: int | None = None
        self._own = ProcessTime(process.pid)
        self._stand_in = ProcessTime(stand_in) if stand_in is not None else None
        self._done = threading.Event()
        self._run_s = self._progress_s = 0.0  # of the time in which all could run
        self._thread = threading.Thread(target=self._watch, daemon=True)
        start(self._thread)

    def answered(self, trips: RoundTrips) -> None:
        """Note the progress."""
        self._progress_s = self._run_s
        self._most_s = min(MOST_DEADLINES * self._seconds + trips.seconds, LONGEST_S)

    def cancel(self) -> None:
        """Let the process live."""
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        watched = [self._own] if self._stand_in is None else [self._own, self._stand_in]
        before = steady_s()
        while not self._done.wait(LOOK_S):
            lost = [each.lost_s for each in watched]
            for each in watched:
                each.look()
            now = steady_s()
            most = max(each.lost_s - old for each, old in zip(watched, lost, strict=True))
            self._run_s, before = self._run_s + max(now - before - most, 0.0), now
            self.own_stopped = self._own.stopped
            self.stopped = self._stand_in.stopped if self._stand_in is not None else None
            self.went_on = self._run_s > self._most_s
            late = self._run_s - self._progress_s > self._seconds
            if late or self.went_on or self.stopped is not None or self.own_stopped is not None:
                self.is_over = True
                self._process.kill()
                return


class ProbeProcesses:
    """Processes of probes, used again by later devices: pyOCD loads once in each.

    Args:
        session: of each, as that of `ProbeProcess`.
    """

    def __init__(self, session: str = PYOCD) -> None:
        self._session, self._free, self._used = session, list[ProbeProcess](), list[ProbeProcess]()

    @property
    def pids(self) -> list[int]:
        """Process ids of those that run, of devices in use first."""
        return [process.pid for process in (*self._used, *self._free) if process.pid is not None]

    @contextlib.contextmanager
    def one(self) -> Iterator[ProbeProcess]:
        """Give a process that no other device uses, until the end of the `with` block."""
        process = self._free.pop() if self._free else ProbeProcess(self._session)
        self._used.append(process)
        try:
            yield process
        finally:
            self._used.remove(process)
            self._free.append(process)

    def stop(self) -> None:
        """End the processes."""
        for process in (*self._used, *self._free):
            process.stop()
