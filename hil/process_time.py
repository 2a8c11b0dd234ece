"""Time in which a process could run: wall time without that in which it was stopped, or waited for a processor.

A deadline in this time follows the computer: on one that is busy or slow, a healthy process gets as much of it as
elsewhere. Linux says both: the state of a process (proc(5), /proc/PID/stat), and for each thread the time on a
processor and the time that it was ready and had none (/proc/PID/task/TID/schedstat, Documentation/scheduler/
sched-stats.rst). Elsewhere this is wall time.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hil.steady_clock import steady_s

STOPPED = (b"T", b"t")  # states: by a signal, by a debugger
LARGEST = 1 << 16  # bytes of a file that is read
STOPPED_FOR_S = 5.0  # of wall time without a pause, until a process counts as stopped for good
LOOK_S = 0.05  # from one look at a process to the next


@dataclass(frozen=True)
class _Look:
    """The state of a process and its children at one moment: who was stopped, and times in seconds, by thread."""

    stopped: frozenset[int] = frozenset()
    ran: dict[tuple[int, str], float] = field(default_factory=dict)
    waited: dict[tuple[int, str], float] = field(default_factory=dict)


class ProcessTime:
    """Measures the time of a process and its children; the caller looks often, at least ten times a second.

    Attributes:
        pid: number of the process.
        lost_s: seconds in which it could not run, since this object was made.
    """

    def __init__(self, pid: int) -> None:
        self.pid, self.lost_s = pid, 0.0
        self._at, self._look = steady_s(), _look(pid)
        self._since = dict.fromkeys(self._look.stopped, self._at)  # by process: stopped, and has not run since then

    def look(self) -> None:
        """Measure what the process has lost since the last look."""
        now, look = steady_s(), _look(self.pid)
        passed = now - self._at
        waits = (waited - self._look.waited.get(thread, waited) for thread, waited in look.waited.items())
        lost = passed if look.stopped else min(max(waits, default=0.0), passed)
        went = {thread[0] for thread, seconds in look.ran.items() if seconds > self._look.ran.get(thread, 0.0)}
        self._since = {pid: now if pid in went else self._since.get(pid, now) for pid in look.stopped}
        self.lost_s += lost
        self._at, self._look = now, look

    @property
    def is_paused(self) -> bool:
        """Whether this process or a child was stopped at the last look."""
        return bool(self._since)

    @property
    def stopped(self) -> int | None:
        """Number of the process, of this one and its children, that was stopped for long, by the last look, or None.

        It is stopped for so long that nobody seems to continue it.
        """
        return next((pid for pid, since in self._since.items() if self._at - since >= STOPPED_FOR_S), None)


class AbleTime:
    """Measures the seconds since it was made in which another process could run.

    Args:
        lost_s: returns the seconds in which it could not, since any moment.

    Attributes:
        began: when it was made, by `steady_s`.
    """

    def __init__(self, lost_s: Callable[[], float]) -> None:
        self.began, self._lost_s, self._lost_before = steady_s(), lost_s, lost_s()

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return steady_s() - self.began - (self._lost_s() - self._lost_before)


def stopped_process(pid: int) -> int | None:
    """Return the number of the process, of one and its children, that is stopped for good; it takes STOPPED_FOR_S.

    It returns None as soon as none is stopped, and of one that still runs now and then, after twice that time.
    """
    process, end = ProcessTime(pid), steady_s() + 2 * STOPPED_FOR_S
    while process.stopped is None and process.is_paused and steady_s() < end:
        time.sleep(LOOK_S)
        process.look()
    return process.stopped


def stopped_sentence(name: str, pid: int) -> str:
    """Return the sentence about a program of which the process `pid` is stopped."""
    return f"{name} is stopped: continue its process with `kill -CONT {pid}`, or end it with `kill -KILL {pid}`."


def _look(pid: int) -> _Look:
    """Return the state of a process with its children; of one that has ended, or on another system, an empty one."""
    stopped, ran, waited = set(), {}, {}
    processes = [pid]
    for number in processes:  # grows
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            if _read(f"/proc/{number}/stat").rpartition(b")")[2].split()[0] in STOPPED:
                stopped.add(number)
            with os.scandir(f"/proc/{number}/task") as found:
                threads = [thread.name for thread in found]
            for thread in threads:
                processes += map(int, _read(f"/proc/{number}/task/{thread}/children").split())
            for thread in threads:
                on, without, _ = _read(f"/proc/{number}/task/{thread}/schedstat").split()
                ran[number, thread], waited[number, thread] = int(on) / 1e9, int(without) / 1e9
    return _Look(frozenset(stopped), ran, waited)


def _read(path: str) -> bytes:
    """Return what a small file of /proc has: with `open` a look takes twice as long, and a trial has a hundred."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, LARGEST)
    finally:
        os.close(file)
