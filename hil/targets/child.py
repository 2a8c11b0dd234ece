"""The process that works with a probe: takes one request after the other from a pipe, and ends with its parent.

`python -m hil.targets.child DESCRIPTOR`; started by probe_process.py.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from hil.errors import Blocked
from hil.targets.pyocd_session import ERRORS, PyocdSession
from hil.threads import start


def main(descriptor: int) -> None:
    """Answer requests `(name of a method, arguments)` with `("done", result)`, `("blocked", stage, reason)` or `("failed", text)`.

    What pyOCD says in between goes before the answer, `("log", line)`: a request that hangs has told how far it came.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the parent's: it closes the probe in good order
    start(threading.Thread(target=_end_with_parent, daemon=True))
    pipe, session = Connection(descriptor), PyocdSession()
    pyocd = logging.getLogger("pyocd")
    pyocd.setLevel(logging.INFO)
    pyocd.propagate = False
    sender = _Sender(pipe)
    pyocd.addHandler(sender)
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        answer = _answer(session, name, arguments)
        sender.acquire()
        pipe.send(answer)
        sender.release()


class _Sender(logging.Handler):
    """Sends each line down the pipe, one message at a time: pyOCD may log from threads of its own."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__()
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        """Send a line."""
        self._pipe.send(("log", f"{record.name}: {record.getMessage()}"))


def _answer(session: PyocdSession, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return "done", getattr(session, name)(*arguments)
    except Blocked as blocked:
        return "blocked", blocked.stage, blocked.reason
    except ERRORS as error:
        return "failed", _said(error)


def _said(error: BaseException) -> str:
    """Return the words of an error; of one without any, those of the one that it came upon."""
    while not str(error) and error.__context__ is not None:
        error = error.__context__
    return f"{type(error).__name__}: {error}" if isinstance(error, LookupError) or not str(error) else str(error)


def _end_with_parent() -> None:
    """Wait for the end of standard input, which the parent never writes to: it comes when the parent is gone, however it went."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
