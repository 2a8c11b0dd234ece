"""The probe process: executes requests from a pipe one at a time, and ends with its parent.

`python -m hil.targets.probe_child DESCRIPTOR SESSION`; started by probe_process.py. Between two requests it does what
the session has to do then.
"""

from __future__ import annotations

import logging
import os
import pkgutil
import signal
import sys
import threading
from collections import deque
from multiprocessing.connection import Connection
from typing import Any

from hil.errors import Blocked
from hil.targets.pyocd_session import ERRORS, PyocdSession
from hil.threads import start

KEPT = 100  # log lines between two requests


def main(descriptor: int, kind: str) -> None:
    """Serve requests `(method name, arguments)` until the pipe closes.

    The answer is `("done", result)`, `("blocked", stage, reason)` or `("failed", text)`. Log lines of pyOCD are sent
    before it as `("log", line)`, so the log of a request that hangs shows how far it came. The round trips to a remote
    probe are sent as `("answered", number, seconds of one)`: its deadline follows them.

    Args:
        descriptor: of the pipe.
        kind: class of the session, as `MODULE:NAME`; no other is loaded.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl+C and closes the probe properly
    start(threading.Thread(target=_end_with_parent, daemon=True))
    pipe = Connection(descriptor)
    pyocd = logging.getLogger("pyocd")
    pyocd.setLevel(logging.INFO)
    pyocd.propagate = False
    sender = _Sender(pipe)
    pyocd.addHandler(sender)

    def report(answered: int, round_trip_s: float) -> None:
        sender.send("answered", answered, round_trip_s)

    session: PyocdSession = pkgutil.resolve_name(kind)(report)
    while True:
        while not pipe.poll(session.idle()):
            pass
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        sender.begin()
        sender.send("answered", 0, 0.0)  # pyOCD is loaded: that takes seconds on a slow computer
        sender.end(*_answer(session, name, arguments))


class _Sender(logging.Handler):
    """Sends messages through the pipe. Its lock keeps them whole, because pyOCD may log from several threads.

    The parent reads the pipe only while it waits for an answer. So what comes between two requests is not sent: the
    last log lines are kept for the next one, and progress is for a request that waits already.
    """

    def __init__(self, pipe: Connection) -> None:
        super().__init__()
        self._pipe, self._answers = pipe, False
        self._kept: deque[tuple[Any, ...]] = deque(maxlen=KEPT)

    def emit(self, record: logging.LogRecord) -> None:
        """Send one log line."""
        self.send("log", f"{record.name}: {record.getMessage()}")

    def send(self, *message: Any) -> None:
        """Send one message of a request."""
        self.acquire()
        try:
            if self._answers or (message[0] != "log" and self._pipe.poll()):
                self._pipe.send(message)
            elif message[0] == "log":
                self._kept.append(message)
        finally:
            self.release()

    def begin(self) -> None:
        """Begin with the messages of a request."""
        self.acquire()
        try:
            self._answers = True
            while self._kept:
                self._pipe.send(self._kept.popleft())
        finally:
            self.release()

    def end(self, *answer: Any) -> None:
        """Send the answer of a request, its last message."""
        self.acquire()
        try:
            self._pipe.send(answer)
            self._answers = False
        finally:
            self.release()


def _answer(session: PyocdSession, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return "done", getattr(session, name)(*arguments)
    except Blocked as blocked:
        return "blocked", blocked.stage, blocked.reason
    except ERRORS as error:
        return "failed", _message(error)


def _message(error: BaseException) -> str:
    """Return the message of an error; if it is empty, that of the error during whose handling it was raised."""
    while not str(error) and error.__context__ is not None:
        error = error.__context__
    return f"{type(error).__name__}: {error}" if isinstance(error, LookupError) or not str(error) else str(error)


def _end_with_parent() -> None:
    """Exit at the end of standard input. The parent never writes to it, so the end comes when the parent is gone."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
