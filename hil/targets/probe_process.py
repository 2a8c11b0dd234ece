"""A process of its own for the work with a probe, that can be killed while it does it.

pyOCD and the USB libraries below it may wait, or spin, for ever on a probe that is gone; a thread that does so cannot be ended and keeps the
device open. A process can, and the operating system then gives the device back.
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
    """The process ended in the middle of a request; the message is its exit status."""


class Failed(Exception):
    """The request failed; the message is that of the library."""


class ProbeProcess:
    """Starts when it is first needed, or before by `start`; a new one is started after one that had to be killed.

    The process ends with the program that started it, in whatever way that ends.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Process id, None while there is none."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process, unless it runs, and do not wait for it: it takes half a second to load pyOCD."""
        if self._process is not None and self._process.poll() is None:
            return
        self.stop()
        if sys.platform == "win32":
            raise Blocked("connect", "debug probes are not driven on Windows: run the rig in WSL 2, and pass the probe through with usbipd-win.")
        self._pipe, theirs = Pipe()
        with contextlib.closing(theirs):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hil.targets.child", str(theirs.fileno())],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
            )  # fmt: skip

    def ask(self, deadline_s: float, request: str, *arguments: Any) -> Any:
        """Have a method of `PyocdSession` called in the process and return its result.

        Raises:
            Blocked: what the method has raised.
            Failed, TimedOut, Ended: see there.
        """
        self.start()
        assert self._process is not None and self._pipe is not None
        until = time.monotonic() + deadline_s
        # Wherever it hangs, even in the middle of its answer: the pipe breaks.
        watch = threading.Timer(deadline_s, self._process.kill)
        start(watch)
        try:
            self._pipe.send((request, arguments))
            kind, *told = self._pipe.recv()
            while kind == "log":
                LOG.info("%s", *told)
                kind, *told = self._pipe.recv()
        except (EOFError, OSError):
            late = time.monotonic() >= until
            status = self.stop()
            raise TimedOut if late else Ended(f"status {status}") from None
        finally:
            watch.cancel()
        if kind == "blocked":
            raise Blocked(*told)
        if kind == "failed":
            raise Failed(*told)
        return told[0]

    def stop(self) -> int | None:
        """End the process and return its exit status: it ends by itself when its pipes are closed, and is killed when it does not."""
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
