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
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from hil.errors import Blocked
from hil.threads import start

LOG = logging.getLogger(__name__)
END_WITHIN_S = 1.0


class TimedOut(Exception):
    """No answer within the deadline; the process was killed."""


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
        until = time.monotonic() + deadline_s
        # Killing the process breaks the pipe wherever it hangs, even in the middle of an answer.
        timer = threading.Timer(deadline_s, self._process.kill)
        start(timer)
        try:
            self._pipe.send((request, arguments))
            kind, *values = self._pipe.recv()
            while kind == "log":
                LOG.info("%s", *values)
                kind, *values = self._pipe.recv()
        except (EOFError, OSError):
            late = time.monotonic() >= until
            status = self.stop()
            raise TimedOut if late else Ended(f"status {status}") from None
        finally:
            timer.cancel()
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
